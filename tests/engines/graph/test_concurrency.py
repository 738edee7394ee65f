"""How much runs at once, and who may run at all."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest

from console.engines.graph import EMPTY, Busy, InMemoryStorage, LockLost
from tests.engines.graph.world import PROJECT, Concat, PlainStorage, Storage, World, concat, deployed, graph, kinds, reconciler

pytestmark = pytest.mark.looptime


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.scenario("graph:G26")
@pytest.mark.parametrize(("limit", "expected"), [(1, 0.8), (4, 0.2), (8, 0.1), (16, 0.05)])
async def test_sixteen_steps_take_as_long_as_the_limit_makes_them(world: World, limit: int, expected: float) -> None:
    names = [f"n{number:02}" for number in range(16)]
    world.delays = dict.fromkeys(names, 0.05)
    report = await reconciler(world, PlainStorage(world), concurrency=limit).reconcile(
        "r", PROJECT, graph(*(concat(name) for name in names))
    )
    assert report.duration == pytest.approx(expected, rel=0.5)
    assert world.most == limit


@pytest.mark.scenario("graph:G27")
async def test_a_chain_longer_than_the_limit_completes(world: World) -> None:
    chain = [concat("n0"), *(concat(f"n{number}", after=[("concat", f"n{number - 1}")]) for number in range(1, 5))]
    storage = PlainStorage(world)
    async with asyncio.timeout(60):
        await reconciler(world, storage, concurrency=1).reconcile("r", PROJECT, graph(*reversed(chain)))
    assert len(storage.names) == 5


@pytest.mark.scenario("graph:G28")
async def test_never_more_than_ten_run_at_once_by_default(world: World) -> None:
    names = [f"n{number:02}" for number in range(50)]
    world.delays = {name: 0.1 * (1 + number % 3) for number, name in enumerate(names)}
    await reconciler(world, PlainStorage(world)).reconcile("r", PROJECT, graph(*(concat(name) for name in names)))
    assert world.most == 10


async def test_deletes_share_the_limit(world: World) -> None:
    names = [f"n{number:02}" for number in range(9)]
    world.delays = dict.fromkeys(names, 1.0)
    storage = PlainStorage(world, [deployed(name) for name in names])
    report = await reconciler(world, storage, concurrency=3).reconcile("r", PROJECT, EMPTY)
    assert world.most == 3
    assert report.duration == pytest.approx(3.0)


async def test_a_group_of_kinds_has_a_limit_of_its_own_inside_the_slots(world: World) -> None:
    class OnOneHost(Concat):
        group: ClassVar[str] = "host-1"
        group_limit: ClassVar[int] = 2

    names = [f"n{number}" for number in range(6)]
    world.delays = dict.fromkeys(names, 1.0)
    registry = kinds(world, hosted=OnOneHost(world))
    wanted = graph(*(concat(name, kind="hosted") for name in names))
    await reconciler(world, PlainStorage(world), registry=registry).reconcile("r", PROJECT, wanted)
    assert world.most == 2


@pytest.mark.scenario("graph:G46")
@pytest.mark.parametrize("same_process", [True, False])
async def test_a_second_run_of_a_project_is_told_of_the_first_and_other_projects_are_not_held_up(
    world: World, same_process: bool
) -> None:
    world.delays = {"a": 5.0}
    storage = InMemoryStorage()
    engine = reconciler(world, storage)
    second = "second" if same_process else "first"
    other = engine if same_process else reconciler(world, storage)
    first = asyncio.create_task(engine.reconcile("first", PROJECT, graph(concat("a"))))
    await asyncio.sleep(1)
    with pytest.raises(Busy, match="first") as caught:
        await other.reconcile(second, PROJECT, graph(concat("a")))
    assert caught.value.holder == "first"
    await other.reconcile("third", "elsewhere", graph(concat("b")))
    assert not first.done()
    await first
    await other.reconcile("fourth", PROJECT, graph(concat("a")))


async def test_a_lock_whose_holder_is_gone_can_be_taken_after_a_minute(world: World) -> None:
    storage = InMemoryStorage()
    assert await storage.lock_run(PROJECT, "r1", "dead") == ""
    with pytest.raises(Busy):
        await reconciler(world, storage).reconcile("r1", PROJECT, EMPTY)
    await asyncio.sleep(61)
    await reconciler(world, storage).reconcile("r2", PROJECT, EMPTY)


async def test_a_long_run_keeps_its_lock_alive(world: World) -> None:
    world.delays = {"a": 110.0}
    storage = InMemoryStorage()
    run = asyncio.create_task(reconciler(world, storage).reconcile("long", PROJECT, graph(concat("a"))))
    await asyncio.sleep(100)
    with pytest.raises(Busy, match="long"):
        await reconciler(world, storage).reconcile("other", PROJECT, EMPTY)
    await run


async def test_a_run_whose_lock_was_taken_stops(world: World) -> None:
    world.delays = {"a": 100.0}
    storage = Storage(world)
    run = asyncio.create_task(
        reconciler(world, storage).reconcile("sleeper", PROJECT, graph(concat("a"), concat("b", after=[("concat", "a")])))
    )
    await asyncio.sleep(1)
    storage.forget_locks()
    await storage.lock_run(PROJECT, "thief", "another process")
    with pytest.raises(LockLost, match="thief"):
        await run
    assert world.of("create") == ["a"]
    assert await storage.list_resources(PROJECT) == []


@pytest.mark.scenario("graph:G47")
async def test_records_of_another_project_are_neither_seen_nor_deleted(world: World) -> None:
    storage = InMemoryStorage()
    await storage.put_resource("other", deployed("theirs"))
    await reconciler(world, storage).reconcile("r", PROJECT, graph(concat("ours")))
    await reconciler(world, storage).reconcile("r", PROJECT, EMPTY)
    assert world.of("delete") == ["ours"]
    assert [record.name for record in await storage.list_resources("other")] == ["theirs"]
