"""Cancellation keeps what came through; a crash leaves traces enough to end in the same world."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from console.engines.graph import EMPTY, PermanentError, ReconcileError, Reconciler, Request, ref
from console.model.graph import Intent, Outcome
from console.model.graph_events import RunFinished
from tests.engines.graph.world import (
    PROJECT,
    Concat,
    Heard,
    PlainStorage,
    Readable,
    Said,
    Storage,
    Words,
    World,
    concat,
    deployed,
    graph,
    kinds,
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


async def crash_at(world: World, engine: Reconciler, wanted: Any, point: str) -> None:
    """Run until the point is reached, then drop the run as a dying process would: nothing it does from then on has effect."""
    reached = asyncio.Event()

    async def tick(here: str) -> None:
        if here == point:
            reached.set()
        if reached.is_set():
            await asyncio.Event().wait()

    world.tick = tick
    run = asyncio.create_task(engine.reconcile("crashed", PROJECT, wanted))
    await asyncio.wait([run, asyncio.create_task(reached.wait())], return_when=asyncio.FIRST_COMPLETED)
    assert reached.is_set()
    run.cancel()
    await asyncio.wait([run])
    world.tick = None


@pytest.mark.scenario("graph:G37")
@pytest.mark.parametrize("point", ["after create a", "before put a"])
async def test_an_object_made_before_a_crash_is_adopted(world: World, point: str) -> None:
    storage = Storage(world)
    wanted = graph(concat("a", "x", kind="readable"))
    await crash_at(world, reconciler(world, storage), wanted, point)
    assert len(world.objects) == 1
    assert await storage.list_resources(PROJECT) == []
    report = await reconciler(world, storage).reconcile("again", PROJECT, wanted)
    assert world.of("create") == ["a"]
    assert len(world.objects) == 1
    (record,) = await storage.list_resources(PROJECT)
    assert (record.id, record.output) == ("id1", {"text": "x"})
    entry = report.of("readable", "a")
    assert (entry.outcome, entry.reason) == (Outcome.CREATED, "adopted")


async def test_an_adopted_object_is_brought_up_to_what_is_now_wanted(world: World) -> None:
    storage = Storage(world)
    await crash_at(world, reconciler(world, storage), graph(concat("a", "old", kind="readable")), "after create a")
    await reconciler(world, storage).reconcile("again", PROJECT, graph(concat("a", "new", kind="readable")))
    assert world.of("create") == world.of("update") == ["a"]
    assert world.requests["update a"].previous is not None
    assert world.requests["update a"].previous.input == Words(text="old")
    assert [text for _identity, text in world.objects.values()] == ["new"]


async def test_a_create_that_never_happened_is_made_under_the_id_it_was_promised(world: World) -> None:
    storage = Storage(world)
    wanted = graph(concat("a", kind="readable"))
    await crash_at(world, reconciler(world, storage), wanted, "after intent a")
    await reconciler(world, storage).reconcile("again", PROJECT, wanted)
    assert list(world.objects) == ["id1"]


@pytest.mark.scenario("graph:G38")
async def test_without_reading_the_create_is_repeated_under_the_same_id(world: World) -> None:
    storage = Storage(world)
    wanted = graph(concat("a", "x"))
    await crash_at(world, reconciler(world, storage), wanted, "after create a")
    await reconciler(world, storage).reconcile("again", PROJECT, wanted)
    assert world.of("create") == ["a", "a"]
    assert list(world.objects) == ["id1"]
    assert [record.id for record in await storage.list_resources(PROJECT)] == ["id1"]
    assert await storage.list_intents(PROJECT) == []


@pytest.mark.scenario("graph:G39")
async def test_a_delete_before_a_crash_is_repeated(world: World) -> None:
    storage = Storage(world)
    await reconciler(world, storage).reconcile("1", PROJECT, graph(concat("a")))
    await crash_at(world, reconciler(world, storage), EMPTY, "after delete a")
    assert len(await storage.list_resources(PROJECT)) == 1
    await reconciler(world, storage).reconcile("again", PROJECT, EMPTY)
    assert world.of("delete") == ["a", "a"]
    assert await storage.list_resources(PROJECT) == []


@pytest.mark.parametrize("kind", ["concat", "readable"])
async def test_what_was_begun_and_is_no_longer_wanted_is_deleted(world: World, kind: str) -> None:
    storage = Storage(world)
    await crash_at(world, reconciler(world, storage), graph(concat("a", kind=kind)), "after create a")
    await reconciler(world, storage).reconcile("again", PROJECT, EMPTY)
    assert world.objects == {}
    assert await storage.list_intents(PROJECT) == []


@pytest.mark.parametrize("kind", ["versioned", "single"])
@pytest.mark.parametrize("point", ["after intent a", "after create a", "after put a"])
async def test_a_crash_in_a_replacement_ends_in_one_object(world: World, kind: str, point: str) -> None:
    storage = Storage(world)
    await reconciler(world, storage).reconcile("1", PROJECT, graph(concat("a", "one", kind=kind)))
    second = Reconciler(storage, kinds(world), id_gen=iter(["id2", "id3"]).__next__)
    await crash_at(world, second, graph(concat("a", "two", kind=kind)), point)
    await Reconciler(storage, kinds(world), id_gen=iter(["id4"]).__next__).reconcile(
        "again", PROJECT, graph(concat("a", "two", kind=kind))
    )
    assert [text for _identity, text in world.objects.values()] == ["two"]
    assert [record.id for record in await storage.list_resources(PROJECT)] == ["id2"]
    assert await storage.list_intents(PROJECT) == []


async def test_a_resource_of_which_nobody_can_say_whether_it_exists_fails(world: World) -> None:
    class Unreadable(Readable):
        async def read(self, req: Request[Words, Said]) -> Said | None:
            raise PermanentError("cannot look")

    storage = Storage(world)
    await storage.put_intent(PROJECT, Intent(id="x", kind="unreadable", name="a"))
    registry = kinds(world, unreadable=Unreadable(world))
    with pytest.raises(ReconcileError, match="cannot look"):
        await reconciler(world, storage, registry=registry).reconcile("r", PROJECT, graph(concat("a", kind="unreadable")))
    assert world.of("create") == []


async def test_refreshing_finds_what_vanished_and_what_changed_outside(world: World) -> None:
    storage = Storage(world)
    engine = reconciler(world, storage)
    wanted = graph(
        concat("gone", "g", kind="readable"),
        concat("moved", "m", kind="readable"),
        concat("child", ref("readable", "moved", "text")),
    )
    await engine.reconcile("1", PROJECT, wanted)
    (gone, moved) = (next(key for key, value in world.objects.items() if value[0].name == name) for name in ("gone", "moved"))
    del world.objects[gone]
    world.objects[moved] = (world.objects[moved][0], "elsewhere")
    world.calls.clear()
    await engine.reconcile("2", PROJECT, wanted)
    assert world.calls == []
    report = await engine.reconcile("3", PROJECT, wanted, refresh=True)
    assert report.of("readable", "gone").reason == "vanished"
    assert world.of("create") == ["gone"]
    assert world.requests["create gone"].id == gone
    assert world.of("update") == ["child"]
    assert world.requests["update child"].input.text == "elsewhere"
    world.calls.clear()
    await engine.reconcile("4", PROJECT, wanted)
    assert world.calls == []


async def test_drift_that_the_provider_sees_is_an_update(world: World) -> None:
    from console.engines.graph import Drifted

    class Drifting(Concat):
        async def read(self, req: Request[Words, Said]) -> Drifted[Said]:
            return Drifted(Said(text="x"), ("number",))

    registry = kinds(world, drifting=Drifting(world))
    engine = reconciler(world, Storage(world), registry=registry)
    wanted = graph(concat("a", "x", kind="drifting"))
    await engine.reconcile("1", PROJECT, wanted)
    report = await engine.reconcile("2", PROJECT, wanted, refresh=True)
    assert world.of("update") == ["a"]
    assert report.of("drifting", "a").reason == "drift"
    assert world.requests["update a"].config_changed
