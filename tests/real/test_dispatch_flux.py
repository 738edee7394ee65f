"""The dispatch engine against the real kustomize-controller: the same bodies as on the simulated one."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.engines.dispatch.flux_bodies import BODIES, Body
from tests.real.flux import FluxLab
from tests.real.flux_cli import FluxCli
from tests.real.flux_world import RealFlux, real_flux
from tests.real.place import Place
from tests.real.requires import why_not


@pytest.fixture
async def world(flux: FluxLab, place: Place) -> AsyncIterator[RealFlux]:
    """The Kustomization, with a first commit applied; others use Flux's own command line where it could be built."""
    cli = None if why_not("flux-cli") else FluxCli(place, flux.kube)
    async with real_flux(flux, cli) as found:
        await found.begin()
        yield found


@pytest.mark.parametrize("body", BODIES)
async def test_on_real_controllers(body: Body, world: RealFlux) -> None:
    await body(world)
