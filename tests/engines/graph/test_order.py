"""Parents before children, children deleted before parents, everything wanted before anything is removed."""

from __future__ import annotations

from typing import Any

import pytest

from console.engines.graph import EMPTY, join, ref
from console.model.graph import Identity, Outcome
from tests.engines.graph.world import PROJECT, PlainStorage, World, concat, deployed, graph, reconciler

pytestmark = pytest.mark.looptime


@pytest.fixture
def world() -> World:
    return World()


def before(world: World, first: str, second: str) -> bool:
    """Whether the first call came before the second."""
    return world.calls.index(first) < world.calls.index(second)


def overlap(world: World, *names: str) -> bool:
    """Whether these ran at the same time."""
    return max(world.spans[name][0] for name in names) < min(world.spans[name][1] for name in names)


def out(name: str, kind: str = "concat") -> Any:
    """A reference to the text of another resource."""
    return ref(kind, name, "text")


@pytest.mark.scenario("graph:G07")
async def test_a_child_is_made_from_its_stored_parents_output(world: World) -> None:
    storage = PlainStorage(world)
    await reconciler(world, storage).reconcile("r", PROJECT, graph(concat("bar", out("foo"), "!"), concat("foo", "x", "y")))
    assert world.calls == ["list", "create foo", "put foo", "create bar", "put bar"]
    assert storage.named("bar").input == {"text": "xy", "add": "!"}
    assert storage.named("bar").deps == (Identity("concat", "foo"),)


@pytest.mark.scenario("graph:G08")
async def test_a_reference_to_an_unchanged_parent_resolves_to_its_stored_output(world: World) -> None:
    stored = [
        deployed("foo", input={"text": "x"}, output={"text": "as stored"}),
        deployed("bar", input={"text": "as stored"}, deps=["foo"]),
    ]
    await reconciler(world, PlainStorage(world, stored)).reconcile(
        "r", PROJECT, graph(concat("foo", "x"), concat("bar", out("foo")))
    )
    assert world.calls == ["list"]


def parent_and_child(parent: Any, add: str, kind: str = "concat") -> Any:
    """foo, and bar made from foo's text."""
    return graph(concat("foo", parent, kind=kind), concat("bar", out("foo", kind), add))


@pytest.mark.scenario("graph:G09")
async def test_a_change_of_the_childs_own_part_updates_the_child_only(world: World) -> None:
    storage = PlainStorage(world)
    engine = reconciler(world, storage)
    await engine.reconcile("1", PROJECT, parent_and_child("x", "1"))
    world.calls.clear()
    await engine.reconcile("2", PROJECT, parent_and_child("x", "2"))
    assert world.calls == ["list", "update bar", "put bar"]


@pytest.mark.scenario("graph:G10")
async def test_a_parents_new_output_updates_its_child_after_it(world: World) -> None:
    storage = PlainStorage(world)
    engine = reconciler(world, storage)
    await engine.reconcile("1", PROJECT, parent_and_child("x", "1"))
    world.calls.clear()
    await engine.reconcile("2", PROJECT, parent_and_child("new", "1"))
    assert world.calls == ["list", "update foo", "put foo", "update bar", "put bar"]
    assert storage.named("bar").input["text"] == "new"


@pytest.mark.scenario("graph:G11")
async def test_a_parent_that_changes_without_a_new_output_leaves_its_child_alone(world: World) -> None:
    storage = PlainStorage(world)
    engine = reconciler(world, storage)
    await engine.reconcile("1", PROJECT, parent_and_child("x", "1", "nop"))
    world.calls.clear()
    await engine.reconcile("2", PROJECT, parent_and_child("new", "1", "nop"))
    assert world.calls == ["list", "update foo", "put foo"]


@pytest.mark.scenario("graph:G12")
async def test_two_parents_run_together_and_the_child_waits_for_both(world: World) -> None:
    world.delays = {"a": 1.0, "b": 3.0}
    await reconciler(world, PlainStorage(world)).reconcile(
        "r", PROJECT, graph(concat("a"), concat("b"), concat("c", after=[("concat", "a"), ("concat", "b")]))
    )
    assert overlap(world, "a", "b")
    assert before(world, "put a", "create c")
    assert before(world, "put b", "create c")


@pytest.mark.scenario("graph:G13")
async def test_a_diamond_runs_its_sides_together_and_its_top_once(world: World) -> None:
    world.delays = dict.fromkeys("abcd", 1.0)
    await reconciler(world, PlainStorage(world)).reconcile(
        "r",
        PROJECT,
        graph(
            concat("d", join(out("b"), out("c"))),
            concat("c", out("a")),
            concat("b", out("a")),
            concat("a", "x"),
        ),
    )
    assert world.of("create") == ["a", "b", "c", "d"]
    assert overlap(world, "b", "c")
    assert world.spans["a"][1] <= world.spans["b"][0]
    assert max(world.spans["b"][1], world.spans["c"][1]) <= world.spans["d"][0]


@pytest.mark.scenario("graph:G14")
async def test_several_outputs_are_joined_to_text(world: World) -> None:
    storage = PlainStorage(world)
    pieces = join(out("a", "upper"), "-", out("b", "upper"), "-", out("c", "upper"))
    parents = [concat(name, name, kind="upper") for name in "abc"]
    await reconciler(world, storage).reconcile("r", PROJECT, graph(concat("x", pieces), *parents))
    assert storage.named("x").input == {"text": "A-B-C"}
    assert storage.named("x").deps == tuple(Identity("upper", name) for name in "abc")


@pytest.mark.scenario("graph:G15")
async def test_children_of_one_parent_run_together_after_it(world: World) -> None:
    world.delays = dict.fromkeys("axyz", 1.0)
    await reconciler(world, PlainStorage(world)).reconcile(
        "r", PROJECT, graph(*(concat(name, out("a")) for name in "zyx"), concat("a", "t"))
    )
    assert overlap(world, "x", "y", "z")
    assert world.spans["a"][1] <= world.spans["x"][0]
    assert world.of("create") == ["a", "x", "y", "z"]


@pytest.mark.scenario("graph:G17")
async def test_what_is_wanted_is_made_before_what_is_not_goes(world: World) -> None:
    storage = PlainStorage(world, [deployed("foo")])
    await reconciler(world, storage).reconcile("r", PROJECT, graph(concat("bar")))
    assert world.calls == ["list", "create bar", "put bar", "delete foo", "drop foo"]


@pytest.mark.scenario("graph:G19")
@pytest.mark.parametrize("listed", ["abc", "bca", "cab", "bac", "acb", "cba"])
async def test_children_go_before_parents_however_storage_lists_them(world: World, listed: str) -> None:
    needs = {"a": [], "b": ["a"], "c": ["b"]}
    storage = PlainStorage(world, [deployed(name, deps=needs[name]) for name in listed])
    report = await reconciler(world, storage).reconcile("r", PROJECT, EMPTY)
    assert world.of("delete") == ["c", "b", "a"]
    assert storage.names == []
    assert report.totals["deleted"] == 3


@pytest.mark.scenario("graph:G20")
async def test_a_chain_with_shortcuts_is_taken_down_from_its_end(world: World) -> None:
    stored = [
        deployed("foo"),
        deployed("bar", deps=["foo"]),
        deployed("baz", deps=["foo", "bar"]),
        deployed("qux", deps=["baz"]),
    ]
    await reconciler(world, PlainStorage(world, stored)).reconcile("r", PROJECT, EMPTY)
    assert world.of("delete") == ["qux", "baz", "bar", "foo"]


async def test_destroy_deletes_everything_whatever_graph_is_given(world: World) -> None:
    storage = PlainStorage(world, [deployed("a"), deployed("b", deps=["a"])])
    await reconciler(world, storage).reconcile("r", PROJECT, graph(concat("a")), mode="destroy")
    assert world.of("delete") == ["b", "a"]


async def test_unrelated_deletes_run_together(world: World) -> None:
    world.delays = {"a": 1.0, "b": 1.0}
    await reconciler(world, PlainStorage(world, [deployed("a"), deployed("b")])).reconcile("r", PROJECT, EMPTY)
    assert overlap(world, "a", "b")


@pytest.mark.scenario("graph:G22")
async def test_a_stored_dependency_on_something_kept_is_no_obstacle(world: World) -> None:
    storage = PlainStorage(world, [deployed("a", input={"text": "x"}), deployed("b", deps=["a", "never heard of"])])
    await reconciler(world, storage).reconcile("r", PROJECT, graph(concat("a", "x")))
    assert world.calls == ["list", "delete b", "drop b"]


@pytest.mark.scenario("graph:G23")
async def test_the_same_name_of_another_kind_is_another_resource(world: World) -> None:
    storage = PlainStorage(world, [deployed("foo", kind="concat")])
    await reconciler(world, storage).reconcile("r", PROJECT, graph(concat("foo", kind="upper")))
    assert world.calls == ["list", "create foo", "put foo", "delete foo", "drop foo"]
    assert storage.named("foo").kind == "upper"


@pytest.mark.scenario("graph:G49")
async def test_stored_records_that_wait_for_each_other_still_go(world: World) -> None:
    storage = PlainStorage(world, [deployed("a", deps=["b"]), deployed("b", deps=["a"])])
    report = await reconciler(world, storage).reconcile("r", PROJECT, EMPTY)
    # The edge whose child sorts last is dropped: a no longer waits for b, so a goes first.
    assert world.of("delete") == ["a", "b"]
    assert storage.names == []
    (warning,) = report.warnings
    assert "concat/a → concat/b → concat/a" in warning or "concat/b → concat/a → concat/b" in warning


@pytest.mark.scenario("graph:G58")
async def test_a_sub_graph_handles_ancestors_and_deletes_nothing(world: World) -> None:
    storage = PlainStorage(world, [deployed("other"), deployed("unwanted")])
    whole = graph(concat("a", "x"), concat("b", out("a")), concat("c", out("b")), concat("other"))
    await reconciler(world, storage).reconcile("r", PROJECT, whole.with_ancestors([("concat", "b")]), prune=False)
    assert world.of("create") == ["a", "b"]
    assert world.of("delete") == []
    assert storage.names == ["a", "b", "other", "unwanted"]


async def test_unrelated_resources_run_by_name_with_a_limit_of_one(world: World) -> None:
    storage = PlainStorage(world)
    report = await reconciler(world, storage, concurrency=1).reconcile("r", PROJECT, graph(*(concat(name) for name in "dbca")))
    assert world.of("create") == ["a", "b", "c", "d"]
    assert [entry.outcome for entry in report.resources] == [Outcome.CREATED] * 4


def test_the_graph_answers_its_three_questions() -> None:
    a, b, c = concat("a", "x"), concat("b", join(out("a"), "!")), concat("c", after=[("concat", "a"), ("concat", "b")])
    lonely = concat("lonely")
    wanted = graph(a, b, c, lonely)
    assert [item.name for item in wanted.leaves()] == ["c", "lonely"]
    assert [item.name for item in wanted.parents(c)] == ["a", "b"]
    (edge,) = wanted.dependencies_of(b)
    assert edge.field == ("text",)
    assert edge.parents == (Identity("concat", "a"),)
