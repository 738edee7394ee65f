"""The bodies that also run on real controllers, on the simulated ones."""

from __future__ import annotations

import pytest

from tests.engines.dispatch.flux_bodies import BODIES, Body
from tests.engines.dispatch.world import eventually, ready, simulated

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize("body", BODIES)
async def test_on_simulated_controllers(body: Body) -> None:
    async with simulated(held=False) as world:
        await eventually(lambda: ready(world.k))
        await body(world)
