"""Fetching ahead."""

from __future__ import annotations

import asyncio

import pytest

from console.engines.dispatch.requests import PrefetchRequest
from console.engines.ports.applier import (
    FLUX_TRIGGERS,
    GIT_REPOSITORIES,
    KUSTOMIZATIONS,
)
from console.errors import TimedOut
from tests.engines.dispatch.reverser import (
    KEY,
    TEAM,
    consoles,
    flux_trigger,
    put,
    set_up,
)
from tests.engines.dispatch.world import A, C, kustomization, simulated

pytestmark = pytest.mark.looptime


@pytest.mark.scenario("dispatch:X17", "dispatch:X18")
@pytest.mark.parametrize(
    ("case", "stamped"),
    [
        ("allowed", 1),
        ("shared", 0),
        ("shared since", 0),
        ("other in flight", 0),
        ("there already", 0),
        ("repointed", 0),
    ],
)
async def test_a_source_is_fetched_ahead_only_when_nothing_else_would_apply_it(case: str, stamped: int) -> None:
    async with simulated() as world:
        set_up(world)
        source = {"gitRepository": {"namespace": "flux-system", "name": "shop"}, "prefetch": case != "shared"}
        world.api.edit(FLUX_TRIGGERS, TEAM, "shop", lambda t: t["status"].update(source=source), "gotk-reconciler")
        if case == "other in flight":
            running = {"token": "t", "reason": "CatchUp", "outcome": "Running"}
            other = flux_trigger("other", source=source, operation=running)
            other[1]["spec"]["kustomizationRef"]["name"] = "another"
            put(world.api, other)
        if case == "shared since":
            world.api.create(KUSTOMIZATIONS, kustomization("another"))
        if case == "repointed":
            world.patch(KUSTOMIZATIONS, {"spec": {"sourceRef": {"name": "elsewhere"}}})
        async with consoles(world) as console:
            commit = A if case == "there already" else C
            console.dispatcher.prefetch_source(PrefetchRequest(trigger=console.ref(), key=KEY, commit=commit))
            await asyncio.sleep(1)
            assert len(world.api.writes(GIT_REPOSITORIES)) == stamped
            assert not console.reports
            assert not console.events.seen


async def test_a_prefetch_that_fails_is_only_logged() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            world.api.fail("get", FLUX_TRIGGERS, TimedOut("no answer"))
            console.dispatcher.prefetch_source(PrefetchRequest(trigger=console.ref(), key=KEY, commit=C))
            await asyncio.sleep(1)
            assert not world.api.writes()
