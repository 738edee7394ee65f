"""A crash leaves traces enough to end in the same world."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import pytest

from console.engines.graph import EMPTY, PermanentError, ReconcileError, Reconciler, Request, ref
from console.errors import UnclearAnswer
from console.model.graph import Identity, Intent, Outcome
from tests.engines.graph.world import (
    PROJECT,
    Readable,
    Said,
    Storage,
    Words,
    World,
    concat,
    graph,
    kinds,
    reconciler,
)

pytestmark = pytest.mark.looptime


@pytest.fixture
def world() -> World:
    return World()


async def crash(world: World, engine: Reconciler, wanted: Any, is_moment: Callable[[str], bool]) -> bool:
    """Run until the moment, then drop the run as a dying process would: nothing it does from then on has effect.

    False if the run ended before.
    """
    dead = asyncio.Event()

    async def tick(point: str) -> None:
        if is_moment(point):
            dead.set()
        if dead.is_set():
            await asyncio.Event().wait()

    world.tick = tick
    run, death = asyncio.create_task(engine.reconcile("2", PROJECT, wanted)), asyncio.create_task(dead.wait())
    await asyncio.wait([run, death], return_when=asyncio.FIRST_COMPLETED)
    run.cancel()
    death.cancel()
    await asyncio.wait([run, death])
    world.tick = None
    return dead.is_set()


async def crash_at(world: World, engine: Reconciler, wanted: Any, point: str) -> None:
    """Die at a named point, which must be reached."""
    assert await crash(world, engine, wanted, lambda here: here == point)


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


async def test_a_create_whose_answer_was_lost_is_looked_for_before_it_is_tried_again(world: World) -> None:
    class LosesAnswers(Readable):
        async def create(self, req: Request[Words, Said]) -> Said:
            await super().create(req)
            raise UnclearAnswer("the connection broke in mid-answer")

    storage = Storage(world)
    registry = kinds(world, lossy=LosesAnswers(world))
    report = await reconciler(world, storage, registry=registry).reconcile("r", PROJECT, graph(concat("a", "x", kind="lossy")))
    assert world.of("create") == ["a"]
    assert report.of("lossy", "a").outcome is Outcome.CREATED
    assert [record.output for record in await storage.list_resources(PROJECT)] == [{"text": "x"}]


async def test_a_crash_at_each_single_step_of_a_run_ends_in_the_same_world() -> None:
    before = graph(
        concat("kept", "k"),
        concat("changed", "old"),
        concat("conf", "one", kind="versioned"),
        concat("lone", "one", kind="single"),
        concat("user", ref("versioned", "conf", "text")),
        concat("gone", "g"),
        concat("gone-too", ref("concat", "gone", "text")),
    )
    wanted = graph(
        concat("kept", "k"),
        concat("changed", "new"),
        concat("conf", "two", kind="versioned"),
        concat("lone", "two", kind="single"),
        concat("user", ref("versioned", "conf", "text")),
        concat("fresh", ref("concat", "user", "text"), kind="readable"),
    )
    expected = {
        Identity("concat", "kept"): "k",
        Identity("concat", "changed"): "new",
        Identity("versioned", "conf"): "two",
        Identity("single", "lone"): "two",
        Identity("concat", "user"): "two",
        Identity("readable", "fresh"): "two",
    }
    for steps in count(1):
        world = World()
        storage = Storage(world)
        await Reconciler(storage, kinds(world)).reconcile("1", PROJECT, before)
        reached = count(1)
        moment = partial(lambda reached, last, _point: next(reached) >= last, reached, steps)
        crashed = await crash(world, Reconciler(storage, kinds(world)), wanted, moment)
        await Reconciler(storage, kinds(world)).reconcile("3", PROJECT, wanted)
        assert world.texts == expected
        assert {record.identity for record in await storage.list_resources(PROJECT)} == set(expected)
        assert await storage.list_intents(PROJECT) == []
        if not crashed:
            break
    assert steps > 30


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
