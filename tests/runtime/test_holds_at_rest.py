"""What keeping holds costs when nothing happens, and that nothing is missed for it."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from console.engines.dispatch.hold_rounds import KEEP_SECONDS
from console.engines.ports.applier import KUSTOMIZATIONS
from console.errors import Forbidden, Interrupted, Unreachable
from console.kit.supervisor import cancel
from console.model.refs import Ref
from console.model.resource import Resource, Upserted
from console.runtime.dispatching import Dispatching
from console.runtime.store import Store
from tests.engines.dispatch.world import B, eventually
from tests.runtime.held_fleet import SPACE, HeldFleet, held_fleet

pytestmark = pytest.mark.looptime


def resume(world: HeldFleet, name: str) -> None:
    world.api.patch(KUSTOMIZATIONS, SPACE, name, {"spec": {"suspend": None}}, "flux")


def kustomization(name: str) -> Ref:
    return Ref("east", "Kustomization", SPACE, name)


async def requests_in(world: HeldFleet, seconds: float) -> int:
    before = world.timed.count
    await asyncio.sleep(seconds)
    return world.timed.count - before


@pytest.mark.parametrize("triggers", [1, 40])
async def test_at_rest_a_round_costs_one_request_however_many_are_held(triggers: int) -> None:
    async with held_fleet(triggers) as (world, _):
        assert await requests_in(world, 600) in (59, 60, 61)


@pytest.mark.scenario("dispatch:X16")
async def test_only_what_changed_is_read_and_it_is_suspended_again() -> None:
    async with held_fleet(20) as (world, _):
        await requests_in(world, KEEP_SECONDS)
        resume(world, "app-0007")
        world.timed.reads.clear()
        world.new_writes()
        await eventually(lambda: world.suspended("app-0007"), KEEP_SECONDS + 1)
        assert [call.name for call in world.timed.writes(KUSTOMIZATIONS)] == ["app-0007"]
        assert world.timed.reads["Kustomization"] <= 5


async def test_who_is_told_of_a_change_looks_at_once() -> None:
    async with held_fleet(20) as (world, engine):
        # Just after a list, so that the next one is far.
        before = world.timed.count
        await eventually(lambda: world.timed.count > before, 60, every=0.1)
        resume(world, "app-0003")
        engine.look([kustomization("app-0003"), kustomization("nobody")])
        await eventually(lambda: world.suspended("app-0003"), 0.2, every=0.01)
        assert [call.name for call in world.timed.writes(KUSTOMIZATIONS)][-1] == "app-0003"


async def test_where_lists_are_refused_each_is_read_by_itself() -> None:
    async with held_fleet(10) as (world, _):
        world.timed.fail("list", KUSTOMIZATIONS, Forbidden("may not list", status=403), times=100)
        await asyncio.sleep(KEEP_SECONDS)
        # A refused list is not asked for again with every round.
        assert await requests_in(world, 300) in range(290, 311)
        resume(world, "app-0002")
        await eventually(lambda: world.suspended("app-0002"), KEEP_SECONDS + 1)


async def test_a_list_that_fails_is_tried_again_soon_and_nothing_is_done_meanwhile() -> None:
    async with held_fleet(10) as (world, _):
        world.new_writes()
        world.timed.fail("list", KUSTOMIZATIONS, Unreachable("refused"), times=3)
        world.timed.fail("list", KUSTOMIZATIONS, Interrupted("cut"), times=2)
        await asyncio.sleep(KEEP_SECONDS + 1)
        assert not world.timed.writes(KUSTOMIZATIONS)
        resume(world, "app-0002")
        await eventually(lambda: world.suspended("app-0002"), 2 * KEEP_SECONDS)


async def test_a_kustomization_that_is_made_again_costs_nothing_while_it_is_gone() -> None:
    async with held_fleet(5) as (world, _):
        del world.api._objects["Kustomization", SPACE, "app-0001"]
        await asyncio.sleep(KEEP_SECONDS)
        assert await requests_in(world, 300) in (29, 30, 31)


async def test_an_apply_is_left_alone_by_whoever_keeps_the_hold() -> None:
    async with held_fleet(5) as (world, engine):
        world.kustomize.apply_seconds = 60
        await world.push(B)
        world.ask(engine, "app-0004")
        await eventually(lambda: not world.suspended("app-0004"))
        engine.look([kustomization("app-0004")])
        await asyncio.sleep(30)
        assert not world.suspended("app-0004")
        await eventually(lambda: world.ended(engine, "app-0004"), 120)
        assert world.suspended("app-0004")


async def test_what_was_in_flight_is_found_with_one_list_for_all() -> None:
    async with held_fleet(12) as (world, engine):
        await world.push(B)
        await world.kustomize.stop()
        for name in world.names:
            world.ask(engine, name)
        await eventually(lambda: len(world.timed.let_go) == len(world.names))
        await engine.stop()
        again = world.engine()
        world.timed.reads.clear()
        try:
            await again._recover_local()
            assert len(again.operations) == len(world.names)
            assert world.timed.reads["Kustomization"] == 1
        finally:
            await again.stop()


async def test_an_operation_ends_as_soon_as_a_watch_shows_its_steps() -> None:
    async def ends(watched: bool) -> float:
        async with held_fleet(1) as (world, engine):
            if watched:
                ref = kustomization("app-0000")
                world.api.listeners.append(lambda kind, old, new: engine.look([msgspec.structs.replace(ref, kind=kind)]))
            world.kustomize.apply_seconds = 0.3
            began = asyncio.get_running_loop().time()
            await world.push(B)
            world.ask(engine, "app-0000")
            await eventually(lambda: world.ended(engine, "app-0000"), 60, every=0.05)
            return asyncio.get_running_loop().time() - began

    assert await ends(watched=True) < 2 < 5 < await ends(watched=False)


async def test_what_a_watch_brings_into_the_store_wakes_the_engine() -> None:
    async with held_fleet(2) as (world, engine):
        store = Store()
        dispatching = Dispatching((), store, lambda name: None, None, world.clock, "us", drives=True)
        dispatching.engines["east"] = engine
        running = asyncio.create_task(dispatching.run())
        try:
            await asyncio.sleep(KEEP_SECONDS + 0.5)
            resume(world, "app-0001")
            store.apply(Upserted(Resource(ref=kustomization("app-0001"))))
            await eventually(lambda: world.suspended("app-0001"), 1, every=0.01)
        finally:
            await cancel([running])
