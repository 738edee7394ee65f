"""Fields that can't be changed in place: new beside old, or old before new."""

from __future__ import annotations

import pytest

from console.engines.graph import DesiredGraph, InMemoryStorage, PermanentError, ReconcileError, Reconciler, ref
from console.model.graph import Action, Outcome
from tests.engines.graph.world import PROJECT, PlainStorage, World, concat, graph, kinds, reconciler


@pytest.fixture
def world() -> World:
    return World()


def wanted(text: str, kind: str = "versioned", add: str = "") -> DesiredGraph:
    """A configuration of this text, and an application that uses it."""
    return graph(concat("conf", text, add, kind=kind), concat("app", ref(kind, "conf", "text")))


@pytest.mark.scenario("graph:G24")
async def test_a_replacement_is_made_first_then_used_and_the_old_one_goes_last(world: World) -> None:
    storage = PlainStorage(world)
    engine = reconciler(world, storage)
    await engine.reconcile("1", PROJECT, wanted("one"))
    world.calls.clear()
    report = await engine.reconcile("2", PROJECT, wanted("two"))
    assert world.calls == [
        "list",
        "create conf",
        "put conf",
        "update app",
        "put app",
        "delete conf",
        "drop conf",
    ]
    assert world.requests["delete conf"].id == "id1"
    assert world.requests["update app"].input.text == "two"
    assert storage.names == ["app", "conf"]
    assert report.of("versioned", "conf").outcome is Outcome.REPLACED
    assert report.totals == {"created": 1, "updated": 1, "deleted": 1}
    world.calls.clear()
    await engine.reconcile("3", PROJECT, wanted("two"))
    assert world.calls == ["list"]


async def test_another_field_of_such_a_kind_is_still_updated_in_place(world: World) -> None:
    engine = reconciler(world, PlainStorage(world))
    await engine.reconcile("1", PROJECT, wanted("one"))
    world.calls.clear()
    await engine.reconcile("2", PROJECT, wanted("one", add="!"))
    assert world.of("update") == ["conf", "app"]
    assert world.of("create") == []


async def test_the_old_version_stays_while_its_user_could_not_move_and_goes_in_the_next_run(world: World) -> None:
    storage = InMemoryStorage()
    engine = reconciler(world, storage)
    await engine.reconcile("1", PROJECT, wanted("one"))
    world.scripts["update app"] = [PermanentError("no")]
    with pytest.raises(ReconcileError):
        await engine.reconcile("2", PROJECT, wanted("two"))
    assert len(world.objects) == 3
    world.calls.clear()
    await engine.reconcile("3", PROJECT, wanted("two"))
    assert world.calls == ["update app", "delete conf"]
    assert sorted(text for _identity, text in world.objects.values()) == ["two", "two"]
    assert len(await storage.list_resources(PROJECT)) == 2


async def test_the_newer_version_is_told_by_what_it_replaced_not_by_its_id(world: World) -> None:
    storage = InMemoryStorage()
    engine = Reconciler(storage, kinds(world), id_gen=iter(["z", "app", "a"]).__next__)
    await engine.reconcile("1", PROJECT, wanted("one"))
    world.scripts["update app"] = [PermanentError("no")]
    with pytest.raises(ReconcileError):
        await engine.reconcile("2", PROJECT, wanted("two"))
    await engine.reconcile("3", PROJECT, wanted("two"))
    assert {record.id for record in await storage.list_resources(PROJECT)} == {"a", "app"}
    assert set(world.objects) == {"a", "app"}


@pytest.mark.scenario("graph:G25")
async def test_where_two_cannot_stand_side_by_side_the_old_one_goes_first_and_the_plan_says_so(world: World) -> None:
    engine = reconciler(world, PlainStorage(world))
    await engine.reconcile("1", PROJECT, wanted("one", "single"))
    world.calls.clear()
    plan = (await engine.reconcile("p", PROJECT, wanted("two", "single"), mode="plan")).plan
    assert plan is not None
    (step,) = (step for step in plan.steps if step.identity.name == "conf")
    assert step.action is Action.REPLACE
    assert step.reason == "interrupts"
    assert any("interrupts" in warning for warning in plan.warnings)
    assert plan.deletes == ()
    world.calls.clear()
    await engine.reconcile("2", PROJECT, wanted("two", "single"))
    assert world.calls == ["list", "delete conf", "drop conf", "create conf", "put conf", "update app", "put app"]


async def test_an_interrupted_replacement_is_completed_by_the_next_run(world: World) -> None:
    storage = InMemoryStorage()
    engine = reconciler(world, storage)
    await engine.reconcile("1", PROJECT, wanted("one", "single"))
    world.scripts["create conf"] = [PermanentError("no")]
    with pytest.raises(ReconcileError):
        await engine.reconcile("2", PROJECT, wanted("two", "single"))
    assert [text for _identity, text in world.objects.values()] == ["one"]
    await engine.reconcile("3", PROJECT, wanted("two", "single"))
    assert sorted(text for _identity, text in world.objects.values()) == ["two", "two"]


async def test_a_plan_shows_the_old_version_as_a_delete(world: World) -> None:
    engine = reconciler(world, PlainStorage(world))
    await engine.reconcile("1", PROJECT, wanted("one"))
    plan = (await engine.reconcile("p", PROJECT, wanted("two"), mode="plan")).plan
    assert plan is not None
    assert [(step.identity.name, step.version, step.reason) for step in plan.deletes] == [("conf", "id1", "replaced")]
