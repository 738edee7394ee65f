"""Applications: the check, and the setting of an operation."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from console.engines.dispatch.argo_reading import automated, build_operation
from console.engines.dispatch.constants import ConditionReason, Outcome, Reason, RequestOutcome, Timing
from console.engines.dispatch.faults import PermanentError, RetryableError, StaleError
from console.engines.dispatch.types import Binding, Source
from console.engines.ports.applier import APPLICATIONS
from console.errors import ApiError, Forbidden, TimedOut
from tests.engines.dispatch.argo_steps import asked, decision, step, to_the_end
from tests.engines.dispatch.argo_world import APP, MAIN, application, argo
from tests.engines.dispatch.world import URL, WANT, C

pytestmark = pytest.mark.looptime


# Validate


@pytest.mark.scenario("dispatch:V12", "dispatch:V13")
@pytest.mark.parametrize(
    ("block", "on"),
    [({}, True), ({"prune": True}, True), ({"enabled": True}, True), ({"enabled": False, "prune": True}, False), (None, False)],
)
async def test_automated_sync_is_on_unless_it_says_otherwise(block: dict[str, Any] | None, on: bool) -> None:
    policy = {} if block is None else {"automated": block}
    async with argo({"syncPolicy": policy}) as world:
        verdict = await world.client.validate(APP)
        assert verdict.reason is (ConditionReason.AUTOMATED_SYNC_ENABLED if on else ConditionReason.SUCCEEDED)
        assert verdict.source == Source(URL, "main")
        assert automated(world.app) is on


@pytest.mark.scenario("dispatch:V14", "dispatch:V15")
@pytest.mark.parametrize(
    "spec",
    [
        {"sources": [MAIN, MAIN], "source": None},
        {"sources": [MAIN], "source": None},
        {"sourceHydrator": {"drySource": MAIN}},
        {"source": {"repoURL": "https://charts.example.test", "chart": "shop", "targetRevision": "1.0"}},
        {"source": None},
    ],
)
async def test_what_has_no_single_git_source_is_unsupported(spec: dict[str, Any]) -> None:
    async with argo(spec) as world:
        verdict = await world.client.validate(APP)
        assert verdict.reason is ConditionReason.UNSUPPORTED_SOURCE


@pytest.mark.scenario("dispatch:V16")
async def test_an_application_that_may_not_be_updated_is_forbidden() -> None:
    async with argo() as world:
        world.api.denied = {("update", "Application")}
        assert (await world.client.validate(APP)).reason is ConditionReason.FORBIDDEN


async def test_a_check_that_could_not_complete_decides_nothing() -> None:
    async with argo() as world:
        world.api.fail("get", APPLICATIONS, TimedOut("no answer"))
        assert (await world.client.validate(APP)).reason is ConditionReason.FAILED
        world.api.unserved = {"Application"}
        assert (await world.client.validate(APP)).reason is ConditionReason.APPLIER_NOT_FOUND


# Request


@pytest.mark.scenario("dispatch:AC1")
async def test_the_operation_is_set_with_a_guarded_update_that_drops_the_old_state() -> None:
    async with argo({"syncPolicy": {"syncOptions": ["CreateNamespace=true"]}}, running=False) as world:
        world.patch({"status": {"operationState": {"phase": "Succeeded"}, "health": {"status": "Healthy"}}})
        before = world.app
        started = await asked(world)
        assert started.outcome is RequestOutcome.SYNC_REQUESTED
        (call,) = world.api.writes()
        assert call.verb == "replace"
        assert call.body["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
        assert call.body["status"] == {"health": {"status": "Healthy"}}
        assert call.body["operation"] == {
            "sync": {"revision": C, "source": MAIN, "prune": False, "syncOptions": ["CreateNamespace=true"]},
            "initiatedBy": {"username": "gitops-reverser", "automated": True},
            "info": [{"name": "gitops-reverser/request", "value": "T"}],
            "retry": {"limit": 5, "refresh": False},
        }
        assert call.body["spec"] == before["spec"]


@pytest.mark.scenario("dispatch:AC2")
async def test_an_empty_commit_is_left_to_argo_cd() -> None:
    async with argo() as world:
        started = await asked(world, decision(commit=""))
        assert started.outcome is RequestOutcome.CURRENT
        assert not world.api.reads
        assert (await step(world, started)).outcome is Outcome.SUCCEEDED


async def test_a_commit_is_never_taken_as_applied() -> None:
    async with argo() as world:
        await to_the_end(world, await asked(world))
        again = decision(reason=Reason.CATCH_UP)
        again.token = "T2"
        assert (await asked(world, again)).outcome is RequestOutcome.SYNC_REQUESTED


@pytest.mark.scenario("dispatch:AC3", "dispatch:AC4", "dispatch:AC5")
@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"syncPolicy": {"automated": {}}}, ConditionReason.AUTOMATED_SYNC_ENABLED),
        ({"sources": [MAIN, MAIN]}, ConditionReason.UNSUPPORTED_SOURCE),
        ({"source": {"targetRevision": "HEAD"}}, ConditionReason.SOURCE_MISMATCH),
        ({"source": {"targetRevision": None}}, ConditionReason.SOURCE_MISMATCH),
    ],
)
async def test_what_changed_since_the_check_is_seen_on_every_read(spec: dict[str, Any], reason: ConditionReason) -> None:
    async with argo(running=False) as world:
        world.user_syncs()

        async def change() -> None:
            await asyncio.sleep(5)
            world.patch({"spec": spec})

        task = asyncio.create_task(change())
        asking = decision()
        with pytest.raises(PermanentError) as caught:
            await asked(world, asking)
        await task
        assert caught.value.reason is reason
        assert not asking.recorded
        assert not world.api.writes()


@pytest.mark.scenario("dispatch:AC6")
async def test_a_sync_of_somebody_else_is_waited_for() -> None:
    async with argo() as world:
        world.controller.sync_seconds = 40
        world.user_syncs()
        began = world.clock.now()
        await asked(world)
        assert timedelta(seconds=40) <= world.clock.now() - began < timedelta(seconds=45)
        assert world.controller.synced == ["users"]
        assert world.app["operation"]["sync"]["revision"] == C


@pytest.mark.scenario("dispatch:AC7")
async def test_a_sync_that_never_ends_is_not_replaced() -> None:
    async with argo() as world:
        world.controller.sync_seconds = 600
        world.user_syncs()
        asking = decision()
        began = world.clock.now()
        with pytest.raises(RetryableError, match="another operation of jane is running"):
            await asked(world, asking)
        assert timedelta(seconds=300) <= world.clock.now() - began < timedelta(seconds=305)
        assert not asking.recorded
        assert not world.api.writes()


@pytest.mark.scenario("dispatch:AC8")
async def test_without_a_wait_a_running_sync_fails_the_request_at_once() -> None:
    async with argo(timing=Timing(operation_wait=0)) as world:
        world.user_syncs()
        began = world.clock.now()
        with pytest.raises(RetryableError):
            await asked(world)
        assert world.clock.now() - began < timedelta(seconds=1)


@pytest.mark.scenario("dispatch:AC9")
async def test_a_sync_set_just_before_ours_is_waited_for_with_the_same_record() -> None:
    async with argo() as world:
        asking = decision()
        world.api.before("replace", APPLICATIONS, world.user_syncs)
        started = await asked(world, asking)
        assert len(asking.recorded) == 1
        assert started.token == "T"
        assert world.controller.synced == ["users"]
        assert (await to_the_end(world, started)).outcome is Outcome.SUCCEEDED


@pytest.mark.scenario("dispatch:AC10")
async def test_a_status_refresh_before_our_write_only_makes_us_read_again() -> None:
    async with argo(running=False) as world:
        asking = decision()
        world.api.before("replace", APPLICATIONS, lambda: world.patch({"status": {"sync": {"status": "OutOfSync"}}}))
        await asked(world, asking)
        assert [call.verb for call in world.api.writes()] == ["replace", "replace"]
        assert len(asking.recorded) == 1
        assert world.app["status"]["sync"] == {"status": "OutOfSync"}


@pytest.mark.scenario("dispatch:AC11")
async def test_a_decision_that_ends_during_the_wait_asks_nothing() -> None:
    async with argo() as world:
        world.controller.sync_seconds = 40
        world.user_syncs()
        asking = decision()
        asyncio.get_running_loop().call_later(10, lambda: setattr(asking, "stands", False))
        with pytest.raises(StaleError):
            await asked(world, asking)
        assert not asking.recorded


@pytest.mark.scenario("dispatch:AC12")
async def test_a_decision_that_ends_while_recording_sets_nothing() -> None:
    async with argo() as world:
        asking = decision()
        asking.while_recording = lambda: setattr(asking, "stands", False)
        with pytest.raises(StaleError):
            await asked(world, asking)
        assert asking.recorded
        assert not world.api.writes()


@pytest.mark.scenario("dispatch:AC29")
async def test_an_orphan_that_stands_still_for_the_whole_wait_is_overwritten() -> None:
    async with argo() as world:
        orphan = {"phase": "Running", "startedAt": "2026-01-01T00:00:00Z", "operation": {"sync": {"revision": "old"}}}
        world.patch({"status": {"operationState": orphan}})
        began = world.clock.now()
        started = await asked(world)
        assert world.clock.now() - began >= timedelta(seconds=300)
        assert (await to_the_end(world, started)).outcome is Outcome.SUCCEEDED
        assert world.controller.synced == [C], "the stale state must not be resumed"


async def test_an_orphan_that_changes_during_the_wait_is_not_overwritten() -> None:
    async with argo(running=False) as world:
        world.patch({"status": {"operationState": {"phase": "Running", "startedAt": "1"}}})
        change = {"status": {"operationState": {"phase": "Terminating"}}}
        asyncio.get_running_loop().call_later(100, lambda: world.patch(change))
        with pytest.raises(RetryableError):
            await asked(world)
        assert not world.api.writes()


@pytest.mark.scenario("dispatch:AC30", "dispatch:AC31", "dispatch:AC32")
def test_an_operation_does_what_automated_sync_would_have_done() -> None:
    retry = {"limit": 3, "refresh": True, "backoff": {"duration": "5s"}}
    assert build_operation(application(syncPolicy={"retry": retry}), C, "T")["retry"] == {**retry, "refresh": False}
    assert build_operation(application(), C, "T")["retry"] == {"limit": 5, "refresh": False}
    assert build_operation(application(), C, "T")["sync"]["prune"] is False
    off = application(syncPolicy={"automated": {"enabled": False, "prune": True}})
    assert build_operation(off, C, "T")["sync"]["prune"] is True


@pytest.mark.scenario("dispatch:AC37")
async def test_a_forbidden_update_is_permanent() -> None:
    async with argo() as world:
        world.api.fail("replace", APPLICATIONS, Forbidden("no", status=403))
        with pytest.raises(PermanentError) as caught:
            await asked(world)
        assert caught.value.reason is ConditionReason.FORBIDDEN


@pytest.mark.scenario("dispatch:AC38")
async def test_a_server_error_on_the_update_leaves_it_unconfirmed() -> None:
    async with argo(running=False) as world:
        world.api.fail("replace", APPLICATIONS, ApiError("internal error", status=500))
        started = await asked(world)
        assert started.outcome is RequestOutcome.SYNC_REQUESTED
        assert started.unconfirmed is not None
        assert len(world.api.writes()) == 1


async def test_an_application_replaced_during_the_wait_is_stale() -> None:
    async with argo(running=False) as world:
        world.user_syncs()
        asyncio.get_running_loop().call_later(5, world.recreate)
        with pytest.raises(StaleError):
            await asked(world)


async def test_a_branch_may_be_written_as_a_full_reference_only_with_its_own_name() -> None:
    async with argo({"source": {**MAIN, "targetRevision": "refs/heads/main"}}) as world:
        assert (await asked(world)).outcome is RequestOutcome.SYNC_REQUESTED
        with pytest.raises(PermanentError):
            await world.client.request(APP, decision().ask(Binding(WANT.url, "dev")))


# Progress
