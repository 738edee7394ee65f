"""The dispatcher over an Application."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from console.engines.dispatch.constants import Reason, Timing
from console.engines.dispatch.faults import PermanentError, RetryableError
from console.engines.dispatch.requests import ApplyRequest
from console.engines.dispatch.types import ApplierKey
from console.engines.ports.applier import (
    APPLICATIONS,
    ARGOCD_TRIGGERS,
)
from console.errors import Conflict, Forbidden
from tests.engines.dispatch.argo_controller import ArgoController
from tests.engines.dispatch.argo_world import application
from tests.engines.dispatch.reverser import (
    Console,
    argo_trigger,
    consoles,
    put,
    set_up,
    target,
)
from tests.engines.dispatch.world import C, Simulated, eventually, simulated

pytestmark = pytest.mark.looptime

ARGO_KEY = ApplierKey("default", "Application", "argocd", "shop")


def argo_set_up(world: Simulated) -> ArgoController:
    set_up(world)
    put(world.api, argo_trigger(), target("app", applyTriggerRef={"kind": "ArgoCDTrigger", "name": "shop"}))
    world.api.create(APPLICATIONS, application())
    return ArgoController(world.api, world.clock)


def argo_request(console: Console, **more: Any) -> ApplyRequest:
    return console.request(C, Reason.FOREIGN_COMMIT, "app", key=ARGO_KEY, kind=ARGOCD_TRIGGERS, **more)


async def test_an_application_is_synced_and_followed() -> None:
    async with simulated() as world:
        controller = argo_set_up(world)
        async with consoles(world) as console:
            controller.start()
            argo_request(console)
            await console.done()
            assert console.outcomes[-1] == "Succeeded"
            await eventually(lambda: console.operation(ARGOCD_TRIGGERS)["outcome"] == "Succeeded")
            await controller.stop()


@pytest.mark.scenario("dispatch:AC7", "dispatch:AC11")
async def test_the_wait_for_a_foreign_sync_is_added_to_the_timeout_of_the_attempt() -> None:
    async with simulated() as world:
        argo_set_up(world)
        world.api.patch(APPLICATIONS, "argocd", "shop", {"operation": {"sync": {}, "initiatedBy": {"username": "jane"}}}, "x")
        async with consoles(world) as console:
            began = asyncio.get_running_loop().time()
            argo_request(console)
            await console.done()
            assert console.error is not None
            assert "jane" in console.error.message
            assert asyncio.get_running_loop().time() - began == pytest.approx(300, abs=5)
            assert console.operation(ARGOCD_TRIGGERS) == {}


@pytest.mark.scenario("dispatch:AC24")
async def test_a_closed_sync_window_makes_it_unresolved_until_it_opens() -> None:
    async with simulated() as world:
        controller = argo_set_up(world)
        controller.window_open = False
        async with consoles(world) as console:
            controller.start()
            argo_request(console)
            await eventually(lambda: "Running" in console.outcomes)
            await eventually(lambda: "Unresolved" in console.outcomes, seconds=400)
            controller.window_open = True
            await console.done()
            assert console.outcomes[-1] == "Succeeded"
            await controller.stop()


@pytest.mark.scenario("dispatch:AC33")
async def test_without_its_controller_an_application_stays_requested_and_then_unresolved() -> None:
    async with simulated() as world:
        argo_set_up(world)
        async with consoles(world) as console:
            argo_request(console)
            await asyncio.sleep(290)
            assert console.outcomes == ["Requested"]
            await asyncio.sleep(600)
            assert console.outcomes == ["Requested", "Unresolved"]
            before = world.api.reads["Application"]
            await asyncio.sleep(600)
            assert world.api.reads["Application"] - before == 10


@pytest.mark.scenario("dispatch:AC36")
async def test_an_abandoned_application_is_left_to_its_sync() -> None:
    async with simulated() as world:
        controller = argo_set_up(world)
        async with consoles(world) as console:
            controller.sync_seconds = 60
            controller.start()
            request = argo_request(console)
            await eventually(lambda: "Running" in console.outcomes)
            token = console.operation(ARGOCD_TRIGGERS)["token"]
            console.dispatcher.abandon(request)
            await asyncio.sleep(0.1)
            assert not console.dispatcher.following(console.ref(ARGOCD_TRIGGERS), token)
            count = len(console.reports)
            await eventually(lambda: controller.synced == [C], seconds=90)
            assert len(console.reports) == count
            await controller.stop()


@pytest.mark.scenario("dispatch:AC12", "dispatch:AC37")
async def test_a_forbidden_application_loses_its_record_again() -> None:
    async with simulated() as world:
        argo_set_up(world)
        async with consoles(world) as console:
            world.api.fail("replace", APPLICATIONS, Forbidden("no", status=403))
            argo_request(console)
            await console.done()
            assert isinstance(console.error, PermanentError)
            await eventually(lambda: console.operation(ARGOCD_TRIGGERS) == {})


# Recovery


@pytest.mark.scenario("dispatch:AC10")
async def test_a_deadline_that_passes_during_a_write_that_conflicts_ends_the_attempt() -> None:
    async with simulated() as world:
        controller = argo_set_up(world)
        async with consoles(world, timing=Timing(attempt_timeout=5)) as console:

            async def slow() -> None:
                await asyncio.sleep(6)

            world.api.before("replace", APPLICATIONS, slow)
            world.api.fail("replace", APPLICATIONS, Conflict("changed", status=409), times=100)
            argo_request(console)
            await console.done()
            assert isinstance(console.error, RetryableError)
            assert "did not end within 5 s" in console.error.message
            assert len(world.api.writes(APPLICATIONS)) == 1
            await eventually(lambda: not console.operation(ARGOCD_TRIGGERS))
            assert not console.dispatcher._desk.slots
        await controller.stop()
