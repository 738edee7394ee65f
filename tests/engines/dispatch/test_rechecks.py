"""What can have changed since the worker decided: the re-check before each request."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from console.engines.dispatch.constants import Reason
from console.engines.dispatch.faults import RetryableError, StaleError
from console.engines.dispatch.requests import ApplyRequest
from console.engines.ports.applier import (
    CLUSTER_PROVIDERS,
    FLUX_TRIGGERS,
    GIT_PROVIDERS,
    GIT_TARGETS,
    KUSTOMIZATIONS,
    JsonObject,
)
from console.errors import TimedOut
from tests.engines.dispatch.reverser import (
    KEY,
    TEAM,
    consoles,
    flux_trigger,
    put,
    set_up,
    target,
)
from tests.engines.dispatch.world import WANT, A, simulated

pytestmark = pytest.mark.looptime


@pytest.mark.scenario("dispatch:R35")
async def test_a_target_made_anew_is_not_asked_for() -> None:
    async with simulated() as world:
        set_up(world)
        put(world.api, target("api"))
        async with consoles(world) as console:
            targets = console.targets("api", "web")
            world.api.delete(GIT_TARGETS, TEAM, "web")
            put(world.api, target("web"))
            request = ApplyRequest(
                trigger=console.ref(),
                key=KEY,
                binding=WANT,
                commit=A,
                reason=Reason.REPAIR,
                targets=targets,
                report=console.reports.append,
            )
            console.dispatcher.request_apply(request)
            await console.done()
            assert [(event.reason, event.target) for event in console.events.seen] == [("ApplyRequested", "api")]


@pytest.mark.scenario("dispatch:R36", "dispatch:R38")
@pytest.mark.parametrize(
    ("kind", "namespace", "name", "patch"),
    [
        (GIT_TARGETS, TEAM, "web", None),
        (GIT_TARGETS, TEAM, "web", {"spec": {"applyTriggerRef": {"name": "other"}}}),
        (GIT_TARGETS, TEAM, "web", {"spec": {"branch": "dev"}}),
        (GIT_PROVIDERS, TEAM, "git", {"spec": {"url": "https://git.example.test/team/other"}}),
        (GIT_PROVIDERS, TEAM, "git", None),
        (CLUSTER_PROVIDERS, "", "default", {"spec": {"allowedNamespaces": {"names": ["team-b"]}}}),
        (FLUX_TRIGGERS, TEAM, "shop", {"spec": {"kustomizationRef": {"name": "other"}}}),
    ],
)
async def test_nothing_is_asked_when_no_target_is_left(kind: Any, namespace: str, name: str, patch: JsonObject | None) -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            console.request(A, Reason.REPAIR)
            if patch is None:
                world.api.delete(kind, namespace, name)
            else:
                world.api.patch(kind, namespace, name, patch, "kubectl-edit")
            await console.done()
            assert isinstance(console.error, StaleError)
            assert not console.events.seen
            assert not world.api.writes(KUSTOMIZATIONS)


@pytest.mark.scenario("dispatch:R37")
async def test_a_refusal_without_consent_is_not_turned_into_something_weaker() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            console.request(A, Reason.REFUSAL)
            await console.done()
            assert isinstance(console.error, StaleError)
            assert "consent" in console.error.message
            assert not world.api.writes()
            world.api.patch(GIT_TARGETS, TEAM, "web", {"spec": {"revertRefusedEdits": True}}, "kubectl-edit")
            console.request(A, Reason.REFUSAL)
            await console.done(2)
            assert console.outcomes[-1] == "Succeeded"


async def test_a_recheck_that_cannot_be_read_is_retryable() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            world.api.fail("get", CLUSTER_PROVIDERS, TimedOut("no answer"))
            console.request(A, Reason.REPAIR)
            await console.done()
            assert isinstance(console.error, RetryableError)


@pytest.mark.scenario("dispatch:X11", "dispatch:X12")
@pytest.mark.parametrize("in_flight", [False, True])
async def test_a_trigger_that_is_not_first_in_line_asks_nothing(in_flight: bool) -> None:
    async with simulated() as world:
        set_up(world)
        await asyncio.sleep(5)
        status: dict[str, Any] = {"operation": {"token": "t", "reason": "CatchUp", "outcome": "Running"}} if in_flight else {}
        put(world.api, flux_trigger("younger", **status), target("other", "younger"))
        async with consoles(world) as console:
            console.request(A, Reason.REPAIR)
            await console.done()
            if in_flight:
                assert isinstance(console.error, StaleError)
                assert console.error.message == (
                    "Kustomization flux-system/shop is held by FluxTrigger team-a/younger; "
                    "this trigger takes over when that one lets go"
                )
            else:
                assert console.outcomes[-1] == "Succeeded"
