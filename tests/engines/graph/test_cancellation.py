"""A cancelled run starts nothing new, gives what runs its time, and keeps what came through."""

from __future__ import annotations

import asyncio

import pytest

from console.engines.graph import EMPTY, ref
from console.model.graph import Outcome
from console.model.graph_events import RunFinished
from tests.engines.graph.world import (
    PROJECT,
    Heard,
    PlainStorage,
    World,
    concat,
    deployed,
    graph,
    reconciler,
)

pytestmark = pytest.mark.looptime


@pytest.fixture
def world() -> World:
    return World()


async def takes_its_time() -> None:
    """An operation that, once cancelled, still needs three seconds to come to a good end."""
    try:
        await asyncio.sleep(100)
    except asyncio.CancelledError:
        await asyncio.sleep(3)


async def ignores_everything() -> None:
    """An operation that can't be cancelled and takes 60 seconds."""
    loop = asyncio.get_running_loop()
    end = loop.time() + 60
    while (left := end - loop.time()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue


@pytest.mark.scenario("graph:G36")
async def test_a_create_that_ends_well_during_cancellation_is_stored(world: World) -> None:
    world.scripts["create a"] = [takes_its_time]
    storage, heard = PlainStorage(world, [deployed("old")]), Heard()
    wanted = graph(concat("a", "x"), concat("b", ref("concat", "a", "text")))
    run = asyncio.create_task(reconciler(world, storage, events=heard).reconcile("r", PROJECT, wanted))
    await asyncio.sleep(1)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert storage.names == ["a", "old"]
    assert world.of("create") == ["a"]
    assert world.of("delete") == []
    report = heard.of(RunFinished)[-1].report
    assert report.outcome == "cancelled"
    assert report.of("concat", "a").outcome is Outcome.CREATED
    assert report.of("concat", "b").outcome is Outcome.CANCELLED
    assert heard[-1] is heard.of(RunFinished)[-1]


async def test_running_operations_have_ten_seconds_to_end(world: World) -> None:
    world.scripts["create a"] = [ignores_everything]
    storage = PlainStorage(world)
    run = asyncio.create_task(reconciler(world, storage).reconcile("r", PROJECT, graph(concat("a"))))
    await asyncio.sleep(1)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert asyncio.get_running_loop().time() == pytest.approx(11, abs=0.5)
    await asyncio.sleep(100)
    assert storage.names == []


async def test_a_second_cancellation_ends_the_grace(world: World) -> None:
    world.scripts["create a"] = [ignores_everything]
    run = asyncio.create_task(reconciler(world, PlainStorage(world)).reconcile("r", PROJECT, graph(concat("a"))))
    await asyncio.sleep(1)
    run.cancel()
    await asyncio.sleep(2)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert asyncio.get_running_loop().time() == pytest.approx(3, abs=0.5)
    await asyncio.sleep(100)


async def test_storing_is_seen_through_even_by_an_impatient_operator(world: World) -> None:
    async def slow(point: str) -> None:
        if point == "before put a":
            await asyncio.sleep(4)

    world.tick = slow
    storage = PlainStorage(world)
    run = asyncio.create_task(reconciler(world, storage).reconcile("r", PROJECT, graph(concat("a"))))
    await asyncio.sleep(1)
    run.cancel()
    await asyncio.sleep(1)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert storage.names == ["a"]


async def test_cancelling_while_deleting_takes_no_new_deletes(world: World) -> None:
    world.delays = {"b": 5.0}
    storage = PlainStorage(world, [deployed("a"), deployed("b", deps=["a"])])
    run = asyncio.create_task(reconciler(world, storage).reconcile("r", PROJECT, EMPTY))
    await asyncio.sleep(1)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert world.of("delete") == ["b"]
    assert storage.names == ["a", "b"]


async def test_a_resource_waiting_for_its_next_try_is_cancelled_at_once(world: World) -> None:
    world.scripts["create a"] = [OSError("down")] * 50
    run = asyncio.create_task(reconciler(world, PlainStorage(world)).reconcile("r", PROJECT, graph(concat("a"))))
    await asyncio.sleep(60)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert asyncio.get_running_loop().time() == pytest.approx(60, abs=0.1)


async def test_a_replacement_that_was_cancelled_after_its_delete_is_finished_by_the_next_run(world: World) -> None:
    storage = PlainStorage(world)
    engine = reconciler(world, storage)
    await engine.reconcile("1", PROJECT, graph(concat("a", "one", kind="single")))
    world.scripts["delete a"] = [takes_its_time]
    run = asyncio.create_task(engine.reconcile("2", PROJECT, graph(concat("a", "two", kind="single"))))
    await asyncio.sleep(1)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert world.of("create") == ["a"]
    assert storage.names == []
    await engine.reconcile("3", PROJECT, graph(concat("a", "two", kind="single")))
    assert [text for _identity, text in world.objects.values()] == ["two"]


async def test_an_operation_that_fails_while_being_cancelled_is_not_tried_again(world: World) -> None:
    async def breaks_off() -> None:
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            raise OSError("connection lost") from None

    world.scripts["create a"] = [breaks_off]
    run = asyncio.create_task(reconciler(world, PlainStorage(world)).reconcile("r", PROJECT, graph(concat("a"))))
    await asyncio.sleep(1)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert world.of("create") == ["a"]
    assert asyncio.get_running_loop().time() == pytest.approx(1, abs=0.2)
