"""Local triggers of Applications: the record lies on the Application itself, and ends with it."""

from __future__ import annotations

import asyncio

import pytest

from console.engines.dispatch.constants import Outcome
from console.engines.dispatch.local import read_local
from console.engines.ports.applier import APPLICATIONS
from tests.engines.dispatch.argo_controller import ArgoController
from tests.engines.dispatch.argo_world import application
from tests.engines.dispatch.local_console import APP, local
from tests.engines.dispatch.world import C, eventually, simulated

pytestmark = pytest.mark.looptime


async def test_an_application_carries_its_record_through_the_whole_operation() -> None:
    async with simulated(held=False) as world:
        world.api.create(APPLICATIONS, application())
        controller = ArgoController(world.api, world.clock)
        async with local(world, APP) as console:
            controller.start()
            console.request(C)
            await console.done()
            assert console.outcomes[-1] == "Succeeded"
            app = world.api.peek(APPLICATIONS, "argocd", "shop")
            record = read_local(app).operation
            assert record is not None
            assert record.guard_resource_version == "", "the record itself moves the version that it would name"
            await controller.stop()


@pytest.mark.scenario("dispatch:AC28")
async def test_the_end_of_an_operation_is_not_written_on_another_applier_of_the_same_name() -> None:
    async with simulated(held=False) as world:
        world.api.create(APPLICATIONS, application())
        async with local(world, APP) as console:
            console.request(C)
            await eventually(lambda: read_local(world.api.peek(APPLICATIONS, "argocd", "shop")).operation)
            world.api.delete(APPLICATIONS, "argocd", "shop")
            world.api.create(APPLICATIONS, application())
            await console.done()
            assert console.outcomes[-1] == "Failed"
            await eventually(lambda: console.log.lines[-1].outcome is Outcome.FAILED)
            await asyncio.sleep(30)
            assert read_local(world.api.peek(APPLICATIONS, "argocd", "shop")).operation is None
