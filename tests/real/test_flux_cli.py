"""What somebody else's `flux suspend`, `resume` and `reconcile` really write, and what the engine makes of it in mid-flight."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from console.engines.dispatch.constants import Outcome
from console.engines.dispatch.flux_reading import annotation, last_handled, suspend_owners, suspended
from tests.engines.dispatch.flux_bodies import ask, end
from tests.real.flux import FluxLab
from tests.real.flux_cli import FluxCli, Said
from tests.real.flux_world import RealFlux, real_flux


@pytest.fixture
async def world(flux: FluxLab, flux_cli: FluxCli) -> AsyncIterator[RealFlux]:
    """A Kustomization that has applied a first commit, and the people with the command line."""
    async with real_flux(flux, flux_cli) as found:
        await found.begin(wait=True, timeout="5m")
        yield found


async def typed(world: RealFlux, verb: str, *more: str) -> Said:
    assert world.cli is not None
    return await world.cli(verb, "kustomization", "shop", *more, namespace=world.name.namespace)


def owners(world: RealFlux, obj: dict[str, object]) -> tuple[bool, tuple[str, ...]]:
    """Whether `spec.suspend` is ours, and who else wrote it."""
    found = suspend_owners(obj, world.client.manager)
    assert not found.appliers
    return found.ours, found.updaters


@pytest.mark.scenario("dispatch:C1", "dispatch:C2", "dispatch:C3", "dispatch:K5")
async def test_what_each_of_them_writes(world: RealFlux) -> None:
    assert (await typed(world, "suspend")).code == 0
    assert owners(world, await world.shop()) == (False, ("flux",))
    assert (await typed(world, "resume")).code == 0
    await world.hold()
    before = await world.shop()
    assert (await typed(world, "suspend")).code == 0
    assert await world.shop() == before, "on what is suspended it changes nothing, ownership neither"
    refused = await typed(world, "reconcile")
    assert refused.code == 1
    assert "resource is suspended" in refused.text
    assert await world.shop() == before

    assert (await typed(world, "resume")).code == 0
    resumed = await world.shop()
    assert "suspend" not in resumed["spec"], "it takes the field away"
    assert owners(world, resumed) == (False, ()), "and our ownership with it"
    assert annotation(resumed) == annotation(before), "it asks for nothing"
    await world.until(lambda obj: obj["status"]["observedGeneration"] == resumed["metadata"]["generation"])

    said = await typed(world, "reconcile")
    assert (said.code, "applied revision" in said.text) == (0, True), said.text
    asked = await world.shop()
    assert annotation(asked) not in (None, annotation(resumed))
    assert last_handled(asked) == annotation(asked)
    assert asked["metadata"]["generation"] == resumed["metadata"]["generation"]


@pytest.mark.scenario("dispatch:P9", "dispatch:P12", "dispatch:P14")
async def test_in_mid_flight_none_of_them_ends_an_apply_and_it_is_held_again(world: RealFlux) -> None:
    await world.hold()
    commit = await world.push(slow=True)
    started = await ask(world, commit)
    await world.checking()
    during = await world.shop()
    assert (await typed(world, "resume", "--wait=false")).code == 0
    assert (await world.shop())["metadata"] == during["metadata"], "it has nothing to change"
    reconciling = asyncio.create_task(typed(world, "reconcile"))
    try:
        await world.until(lambda obj: annotation(obj) != started.token)
        assert (await typed(world, "suspend")).code == 0
        assert suspended(await world.shop())
        assert (await world.client.progress(world.name, started)).outcome is Outcome.RUNNING
        await world.let_go()
        ended = await end(world, started)
    finally:
        await asyncio.gather(reconciling, return_exceptions=True)
    assert (ended.outcome, ended.applied_revision) == (Outcome.SUCCEEDED, f"main@sha1:{commit}")
    after = await world.shop()
    assert owners(world, after) == (True, ("flux",)), "our suspend shares the field with theirs"
    assert (await world.client.suspension(world.name)).complete
    assert await world.client.release(world.name) == ""
    assert not suspended(await world.shop()), "a release takes it back from both"
