"""Attempts: record and withdrawal, the slot, reports, Events, crashes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from console.engines.dispatch.constants import ConditionReason, Reason, RequestOutcome
from console.engines.dispatch.faults import PermanentError, RetryableError, StaleError
from console.engines.dispatch.requests import ApplyRequest
from console.engines.dispatch.types import ApplierKey
from console.engines.ports.applier import (
    CLUSTER_PROVIDERS,
    FLUX_TRIGGERS,
    GIT_REPOSITORIES,
    KUSTOMIZATIONS,
    JsonObject,
)
from console.errors import Forbidden, Unreachable
from tests.engines.dispatch.reverser import (
    TEAM,
    Console,
    consoles,
    flux_trigger,
    held,
    put,
    set_up,
    target,
)
from tests.engines.dispatch.world import SHOP, WANT, A, B, C, eventually, simulated

pytestmark = pytest.mark.looptime


@pytest.mark.scenario("dispatch:R1", "dispatch:P3")
async def test_a_request_is_recorded_followed_and_ended() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            world.kustomize.apply_seconds = 5
            await world.push(C)
            console.request(C)
            report = await console.done()
            assert console.outcomes == ["Requested", "Running", "Settling", "Succeeded"]
            assert report.operation is not None
            await eventually(lambda: console.operation().get("outcome") == "Succeeded")
            record = console.operation()
            assert record["appliedRevision"] == f"main@sha1:{C}"
            assert record["suspendToken"] == world.k["metadata"]["annotations"]["reconcile.fluxcd.io/requestedAt"]
            assert record["completedAt"]
            assert record["applierUID"] == world.k["metadata"]["uid"]
            assert record["guardGeneration"] > 0
            assert console.events.reasons() == ["ApplyRequested"]
            assert C[:7] in console.events.seen[0].message
            assert not console.dispatcher.following(console.ref(), record["token"])


async def test_what_is_applied_already_is_reported_as_current() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            console.request(A)
            report = await console.done()
            assert (report.outcome, report.operation, report.error) == (RequestOutcome.CURRENT, None, None)
            assert not console.events.seen
            assert console.operation() == {}


async def test_before_start_a_request_fails_at_once() -> None:
    async with simulated() as world:
        set_up(world)
        console = Console(world, world.api)
        console.request(C)
        await console.done()
        assert isinstance(console.error, RetryableError)
        assert "not started" in console.error.message
        await console.stop()


@pytest.mark.scenario("dispatch:R12")
async def test_a_source_that_never_fetches_fails_the_attempt_at_its_timeout() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            await world.source.stop()
            began = asyncio.get_running_loop().time()
            console.request(C)
            await console.done()
            assert isinstance(console.error, RetryableError)
            assert asyncio.get_running_loop().time() - began == pytest.approx(30, abs=1)
            assert console.operation() == {}


@pytest.mark.scenario("dispatch:R23", "dispatch:R27", "dispatch:R28", "dispatch:R31")
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (None, StaleError),
        (Forbidden("no", status=403), PermanentError),
        (Unreachable("connection refused"), RetryableError),
    ],
)
async def test_the_record_of_what_was_not_started_is_withdrawn(error: Any, kind: type) -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            if error is None:
                label: JsonObject = {"metadata": {"labels": {"a": "b"}}}
                world.api.before("apply", KUSTOMIZATIONS, lambda: world.patch(KUSTOMIZATIONS, label))
            else:
                world.api.fail("apply", KUSTOMIZATIONS, error)
            console.request(A, Reason.REPAIR)
            await console.done()
            assert isinstance(console.error, kind)
            recorded = [call for call in world.api.writes(FLUX_TRIGGERS) if "operation" in call.body["status"]]
            assert recorded, "it was recorded first"
            await eventually(lambda: console.operation() == {})
            assert world.k["spec"]["suspend"] is True
            assert console.events.reasons() == ([] if kind is StaleError else ["ApplyRequestFailed"])


async def test_a_decision_superseded_while_recording_is_withdrawn() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            request = console.request(A, Reason.REPAIR)
            world.api.before("replace", FLUX_TRIGGERS, lambda: console.dispatcher.abandon(request))
            await eventually(lambda: world.api.writes(FLUX_TRIGGERS))
            await eventually(lambda: console.operation() == {})
            assert not world.api.writes(KUSTOMIZATIONS)
            assert not console.reports


@pytest.mark.scenario("dispatch:R24")
@pytest.mark.parametrize(
    "conditions",
    [
        [],
        held(ConditionReason.SUSPENDING, "False"),
        held(ConditionReason.APPLYING),
        held(generation=7),
    ],
)
async def test_a_trigger_that_does_not_hold_its_kustomization_resumes_nothing(conditions: list[JsonObject]) -> None:
    async with simulated() as world:
        set_up(world)
        world.api.edit(FLUX_TRIGGERS, TEAM, "shop", lambda t: t["status"].update(conditions=conditions), "gotk-reconciler")
        async with consoles(world) as console:
            console.request(A, Reason.REPAIR)
            await console.done()
            assert isinstance(console.error, RetryableError)
            assert console.operation() == {}
            assert not world.api.writes(KUSTOMIZATIONS)


@pytest.mark.scenario("dispatch:R25")
async def test_another_operation_in_flight_on_the_trigger_stops_the_request() -> None:
    async with simulated() as world:
        set_up(world)
        other = {"token": "other", "reason": "External", "outcome": "Running"}
        world.api.edit(FLUX_TRIGGERS, TEAM, "shop", lambda t: t["status"].update(operation=other), "gotk-reconciler")
        async with consoles(world) as console:
            console.request(A, Reason.REPAIR)
            await console.done()
            assert isinstance(console.error, RetryableError)
            assert console.operation() == other
            assert not world.api.writes(KUSTOMIZATIONS)


@pytest.mark.scenario("dispatch:R26")
async def test_a_trigger_deleted_just_before_the_record_resumes_nothing() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            # Held by its finalizer, so that it is only being deleted; the fetch gives the time for it.
            await world.push(C)
            world.api.before("apply", GIT_REPOSITORIES, lambda: world.api.delete(FLUX_TRIGGERS, TEAM, "shop"))
            trigger = console.ref()
            world.api.edit(
                FLUX_TRIGGERS, TEAM, "shop", lambda t: t["status"].update(conditions=held(generation=2)), "gotk-reconciler"
            )
            console.request(C)
            await console.done()
            assert isinstance(console.error, RetryableError)
            assert not world.resumes
            assert trigger.uid


@pytest.mark.scenario("dispatch:X14")
async def test_a_busy_applier_takes_no_second_request() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            console.request(A, Reason.REPAIR)
            await eventually(lambda: console.outcomes)
            writes = len(world.api.writes(KUSTOMIZATIONS))
            console.request(A, Reason.REPAIR)
            await eventually(lambda: console.error)
            assert isinstance(console.error, RetryableError)
            assert "busy" in console.error.message
            assert len(world.api.writes(KUSTOMIZATIONS)) == writes
            await console.done(2)
            console.request(A, Reason.REPAIR)
            await console.done(3)
            assert console.outcomes[-1] == "Succeeded"


@pytest.mark.scenario("dispatch:X15")
async def test_an_operation_is_followed_from_before_its_record() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            seen: list[bool] = []
            # In the very write of the record, whose token a reconciler may see at once.
            world.api.before(
                "replace",
                FLUX_TRIGGERS,
                lambda: seen.append(
                    console.dispatcher.following(
                        console.ref(), world.api.writes(FLUX_TRIGGERS)[-1].body["status"]["operation"]["token"]
                    )
                ),
            )
            console.request(A, Reason.REPAIR)
            await console.done()
            assert seen == [True]
            assert not console.dispatcher.following(console.ref(), console.operation()["token"])


@pytest.mark.scenario("dispatch:W13")
async def test_a_run_of_failed_attempts_is_told_once() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            world.remote.refuses = "authentication required"
            for attempt in range(5):
                console.request(C)
                await console.done(attempt + 1)
            assert console.events.reasons() == ["ApplyRequestFailed"]
            world.remote.refuses = ""
            await world.push(C)
            console.request(C)
            await console.done(6)
            world.remote.refuses = "authentication required"
            console.request(B)
            await console.done(7)
            assert console.events.reasons() == ["ApplyRequestFailed", "ApplyRequested", "ApplyRequestFailed"]


@pytest.mark.scenario("dispatch:W14")
async def test_a_run_of_failed_applies_is_told_once_and_ends_with_a_success() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            for attempt, fails in enumerate((True, True, False, True)):
                world.kustomize.fails = ("BuildFailed", "no such file") if fails else None
                console.request(A, Reason.REPAIR)
                await console.done(attempt + 1)
            assert [reason for reason in console.events.reasons() if reason != "ApplyRequested"] == [
                "ApplyFailed",
                "ApplyFailed",
            ]


@pytest.mark.scenario("dispatch:W15")
async def test_an_unreachable_cluster_fails_only_its_own_attempts() -> None:
    async with simulated() as world:
        set_up(world)
        far = ApplierKey("far", "Kustomization", SHOP.namespace, SHOP.name)
        trigger = flux_trigger("far", conditions=held())
        trigger[1]["spec"]["clusterProviderRef"] = {"name": "far"}
        put(world.api, (CLUSTER_PROVIDERS, {"metadata": {"name": "far"}, "spec": {"allowedNamespaces": {"names": [TEAM]}}}))
        put(world.api, trigger, target("far", "far"))
        async with consoles(world) as console:
            console.clusters.hanging = {"far"}
            reports: list[Any] = []
            began = asyncio.get_running_loop().time()
            console.dispatcher.request_apply(
                ApplyRequest(
                    trigger=console.ref(name="far"),
                    key=far,
                    binding=WANT,
                    commit=A,
                    reason=Reason.REPAIR,
                    targets=console.targets("far"),
                    report=reports.append,
                )
            )
            console.request(A, Reason.REPAIR)
            await console.done()
            assert asyncio.get_running_loop().time() - began < 15
            assert not reports
            await eventually(lambda: reports)
            assert asyncio.get_running_loop().time() - began == pytest.approx(30, abs=1)
            assert isinstance(reports[0].error, RetryableError)
