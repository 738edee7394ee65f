"""A graph that can't be worked on is refused as a whole, with everything that is wrong with it."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest

from console.engines.graph import (
    EMPTY,
    Dependency,
    Desired,
    DesiredGraph,
    Expression,
    InMemorySources,
    InvalidGraph,
    Kind,
    ref,
    resource,
)
from console.engines.graph.ordering import shortest_cycle
from console.model.graph import Identity
from tests.engines.graph.world import PROJECT, PlainStorage, World, concat, deployed, graph, kinds, reconciler


@pytest.fixture
def world() -> World:
    return World()


async def problems(world: World, wanted: DesiredGraph, **more: object) -> tuple[str, ...]:
    """What is wrong with the graph; nothing may have been called."""
    with pytest.raises(InvalidGraph) as caught:
        await reconciler(world, PlainStorage(world), **more).reconcile("r", PROJECT, wanted)  # type: ignore[arg-type]
    assert world.calls == []
    assert all(problem in str(caught.value) for problem in caught.value.problems)
    return caught.value.problems


@pytest.mark.scenario("graph:G33")
async def test_a_cycle_is_shown(world: World) -> None:
    found = await problems(world, graph(concat("a", ref("concat", "b", "text")), concat("b", ref("concat", "a", "text"))))
    assert found == ("these wait for each other: concat/a → concat/b → concat/a",)


@pytest.mark.scenario("graph:G33")
async def test_a_reference_to_itself_is_a_cycle(world: World) -> None:
    found = await problems(world, graph(concat("a", ref("concat", "a", "text"))))
    assert found == ("these wait for each other: concat/a → concat/a",)


def test_the_shortest_of_several_cycles_is_shown() -> None:
    def node(name: str) -> Identity:
        return Identity("k", name)

    edges = {"a": "b", "b": "c", "c": "ad", "d": "e", "e": "d", "x": "a", "y": ""}
    before = {node(child): [node(parent) for parent in parents] for child, parents in edges.items()}
    assert [key.name for key in shortest_cycle(before)] in (["d", "e", "d"], ["e", "d", "e"])


def test_a_very_long_ring_is_found_at_once() -> None:
    size = 20_000
    ring = {Identity("k", f"{n:05}"): [Identity("k", f"{(n - 1) % size:05}")] for n in range(size)}
    assert len(shortest_cycle(ring)) == size + 1


@pytest.mark.scenario("graph:G34")
async def test_everything_that_is_wrong_is_told_at_once(world: World) -> None:
    wanted = graph(
        concat("a", ref("concat", "missing", "text")),
        concat("b", kind="unheard-of"),
        concat("twin"),
        concat("twin"),
    )
    assert await problems(world, wanted) == (
        "concat/twin is declared 2 times",
        "concat/a depends on concat/missing, which is not in the graph",
        "kind unheard-of of unheard-of/b is not registered",
    )


async def test_an_output_that_the_parents_kind_does_not_have_is_a_problem(world: World) -> None:
    found = await problems(world, graph(concat("a"), concat("b", ref("concat", "a", "address"))))
    assert found == ("concat/b refers to concat/a:address, but concat has no such output",)


async def test_fields_must_exist_and_be_set_once(world: World) -> None:
    a, b = concat("a"), concat("b", "static", "x")
    text = Expression((ref("concat", "a", "text"),))
    extra = [
        Dependency(child=b.identity, field=("text",), expression=text),
        Dependency(child=b.identity, field=("nowhere",), expression=text),
        Dependency(child=b.identity, field=("labels", "x"), expression=text),
        Dependency(child=b.identity, field=("labels",), expression=text),
    ]
    assert await problems(world, DesiredGraph([a, b], extra)) == (
        "concat/b has no field nowhere",
        "field text of concat/b is set twice",
        "field labels of concat/b is set twice",
    )


class Inner(msgspec.Struct):
    """A nested struct."""

    port: int
    host: str = ""


class Strict(msgspec.Struct):
    """A model with demands."""

    size: Annotated[int, msgspec.Meta(ge=1)]
    inner: Inner
    note: str = ""


class StrictKind(Kind[Strict, dict[str, str]]):
    """A kind that is never called."""

    input_model = Strict


async def test_static_input_is_held_against_the_model_and_references_are_left_out(world: World) -> None:
    registry = kinds(world, strict=StrictKind())
    wanted = graph(
        concat("a"),
        resource("strict", "few", {"size": 0, "inner": {"port": "http", "host": ref("concat", "a", "text")}}),
        resource("strict", "none", {"noet": "x", "note": None}),
        resource("strict", "referenced", {"size": ref("concat", "a", "text"), "inner": {"port": 1}}),
    )
    assert await problems(world, wanted, registry=registry) == (
        "strict/few: field inner.port: Expected `int`, got `str`",
        "strict/few: field size: Expected `int` >= 1",
        "strict/none: there is no field noet",
        "strict/none: field inner is required",
        "strict/none: field size is required",
    )


async def test_sources_must_be_known(world: World) -> None:
    wanted = graph(concat("a", sources=["abc", "nope"]))
    assert await problems(world, wanted, source=InMemorySources({"abc": b""})) == ("source nope of concat/a is unknown",)
    assert await problems(world, wanted) == ("concat/a has sources, but there is no source storage",)


async def test_a_stored_kind_nobody_knows_any_more_matters_only_if_it_has_to_go(world: World) -> None:
    storage = PlainStorage(world, [deployed("old", kind="retired")])
    engine = reconciler(world, storage)
    await engine.reconcile("1", PROJECT, graph(concat("a")), prune=False)
    with pytest.raises(InvalidGraph, match="retired/old is to be deleted, but kind retired is not registered"):
        await engine.reconcile("2", PROJECT, EMPTY)
    assert world.calls == ["list", "create a", "put a", "list"]


def test_keys_with_dots_are_named_by_their_parts() -> None:
    child = Desired(kind="concat", name="b", input={"labels": {"a.b": ref("concat", "a", ["x.y", "z"])}})
    (edge,) = DesiredGraph([child]).dependencies_of(child)
    assert edge.field == ("labels", "a.b")
    assert edge.expression is not None
    assert edge.expression.references[0].path == ("x.y", "z")
