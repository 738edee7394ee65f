"""Match, compare, and what each result of the comparison leads to."""

from __future__ import annotations

import pytest

from console.engines.graph import EMPTY, InMemorySources, Reconciler, Request, resource
from console.model.graph import Identity, Outcome
from tests.engines.graph.world import (
    PROJECT,
    Concat,
    PlainStorage,
    Said,
    Words,
    World,
    concat,
    deployed,
    graph,
    kinds,
    reconciler,
)

SOURCES = InMemorySources({"abc": b"1", "xyz": b"2", "a": b"a", "b": b"b"})


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.scenario("graph:G01")
async def test_an_empty_graph_over_nothing_only_lists(world: World) -> None:
    await reconciler(world, PlainStorage(world)).reconcile("r", PROJECT, EMPTY)
    assert world.calls == ["list"]


@pytest.mark.scenario("graph:G02")
async def test_an_equal_resource_is_not_touched(world: World) -> None:
    storage = PlainStorage(world, [deployed("foo", input={"text": "x"})])
    report = await reconciler(world, storage).reconcile("r", PROJECT, graph(concat("foo", "x")))
    assert world.calls == ["list"]
    assert report.of("concat", "foo").outcome is Outcome.UNCHANGED


@pytest.mark.scenario("graph:G03")
async def test_a_new_resource_is_created_with_an_id_of_the_generator_and_stored(world: World) -> None:
    storage = PlainStorage(world)
    report = await reconciler(world, storage).reconcile("r", PROJECT, graph(concat("foo", "x")))
    assert world.calls == ["list", "create foo", "put foo"]
    assert storage.named("foo").id == "id1" == world.requests["create foo"].id
    assert report.totals == {"created": 1, "updated": 0, "deleted": 0}


@pytest.mark.scenario("graph:G04")
async def test_a_changed_input_is_an_update_under_the_same_id(world: World) -> None:
    storage = PlainStorage(world, [deployed("foo", input={"text": "before"})])
    await reconciler(world, storage).reconcile("r", PROJECT, graph(concat("foo", "after")))
    assert world.calls == ["list", "update foo", "put foo"]
    request = world.requests["update foo"]
    assert (request.config_changed, request.sources_changed) == (True, False)
    assert request.previous is not None
    assert request.previous.input == Words(text="before")
    assert request.previous.output == Said(text="before")
    assert storage.named("foo").id == "id-foo"
    assert storage.named("foo").input == {"text": "after"}


@pytest.mark.scenario("graph:G05")
async def test_other_sources_are_an_update_of_sources_only(world: World) -> None:
    storage = PlainStorage(world, [deployed("foo", input={"text": "x"}, sources=("abc",))])
    wanted = graph(concat("foo", "x", sources=["xyz"]))
    await reconciler(world, storage, source=SOURCES).reconcile("r", PROJECT, wanted)
    request = world.requests["update foo"]
    assert (request.config_changed, request.sources_changed) == (False, True)
    assert storage.named("foo").sources == ("xyz",)


@pytest.mark.scenario("graph:G06")
@pytest.mark.parametrize(("stored", "wanted"), [(("a", "b"), ["b", "a"]), ((), None), ((), [])])
async def test_the_order_of_sources_and_their_absence_make_no_difference(
    world: World, stored: tuple[str, ...], wanted: list[str] | None
) -> None:
    storage = PlainStorage(world, [deployed("foo", sources=stored)])
    await reconciler(world, storage, source=SOURCES).reconcile("r", PROJECT, graph(concat("foo", sources=wanted)))
    assert world.calls == ["list"]


async def test_a_provider_reads_its_sources_through_the_request(world: World) -> None:
    read: list[bytes] = []

    class Reader(Concat):
        async def create(self, req: Request[Words, Said]) -> Said:
            assert req.open_source is not None
            read.extend([chunk async for chunk in await req.open_source("abc")])
            return Said()

    wanted = graph(concat("foo", kind="reader", sources=["abc"]))
    registry = kinds(world, reader=Reader(world))
    await reconciler(world, PlainStorage(world), registry=registry, source=SOURCES).reconcile("r", PROJECT, wanted)
    assert read == [b"1"]


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [
        ({"text": "x", "number": 0}, {"text": "x"}),
        ({"text": "x", "add": None}, {"text": "x", "add": ""}),
        ({"number": 1}, {"number": 1.0}),
        ({"labels": {"a": "1", "b": "2"}}, {"labels": {"b": "2", "a": "1"}}),
        ({"text": "x", "long gone": 1}, {"text": "x"}),
    ],
)
async def test_absent_null_and_default_are_the_same_and_numbers_count_by_value(
    world: World, stored: dict[str, object], wanted: dict[str, object]
) -> None:
    storage = PlainStorage(world, [deployed("foo", kind="nop", input=stored, output={})])
    await reconciler(world, storage).reconcile("r", PROJECT, graph(resource("nop", "foo", wanted)))
    assert world.calls == ["list"]


async def test_the_order_of_a_list_does_make_a_difference(world: World) -> None:
    storage = PlainStorage(world, [deployed("foo", kind="nop", input={"parts": ["a", "b"]}, output={})])
    await reconciler(world, storage).reconcile("r", PROJECT, graph(resource("nop", "foo", {"parts": ["b", "a"]})))
    assert world.of("update") == ["foo"]


async def test_new_dependencies_alone_rewrite_the_record_without_a_provider_call(world: World) -> None:
    storage = PlainStorage(world, [deployed("a"), deployed("b", input={"text": "x"})])
    wanted = graph(concat("a"), concat("b", "x", after=[("concat", "a")]))
    report = await reconciler(world, storage).reconcile("r", PROJECT, wanted)
    assert world.calls == ["list", "put b"]
    assert storage.named("b").deps == (Identity("concat", "a"),)
    assert report.of("concat", "b").outcome is Outcome.UNCHANGED


@pytest.mark.scenario("graph:G50")
async def test_an_update_clears_removed_inputs_and_keeps_outputs_that_are_not_set(world: World) -> None:
    stored = deployed("foo", input={"text": "old", "add": "!"}, output={"text": "old!", "extra": "kept"})
    storage = PlainStorage(world, [stored])
    await reconciler(world, storage).reconcile("r", PROJECT, graph(concat("foo", "new")))
    assert storage.named("foo").input == {"text": "new"}
    assert storage.named("foo").output == {"text": "new", "extra": "kept"}


@pytest.mark.scenario("graph:G60")
def test_concurrency_is_ten_unless_said_and_never_negative(world: World) -> None:
    storage = PlainStorage(world)
    assert Reconciler(storage, kinds(world)).concurrency == 10
    assert Reconciler(storage, kinds(world), concurrency=0).concurrency == 10
    assert Reconciler(storage, kinds(world), concurrency=3).concurrency == 3
    with pytest.raises(ValueError, match="negative"):
        Reconciler(storage, kinds(world), concurrency=-1)


@pytest.mark.scenario("graph:G61")
async def test_logger_backoff_and_source_may_be_left_out(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    storage = PlainStorage(world)
    await Reconciler(storage, kinds(world)).reconcile("r", PROJECT, graph(concat("foo", "x")))
    assert storage.names == ["foo"]
    assert capfd.readouterr() == ("", "")


async def test_ids_of_the_default_generator_are_unique_and_sort_by_time() -> None:
    from console.engines.graph import uuid7

    ids = [uuid7() for _number in range(200)]
    assert len(set(ids)) == 200
    assert [made[:13] for made in ids] == sorted(made[:13] for made in ids)
    assert all(made[14] == "7" and made[19] in "89ab" for made in ids)


async def test_an_id_generator_may_be_an_object(world: World) -> None:
    class Fixed:
        def generate_id(self) -> str:
            return "the-id"

    storage = PlainStorage(world)
    await Reconciler(storage, kinds(world), id_gen=Fixed()).reconcile("r", PROJECT, graph(concat("foo")))
    assert storage.named("foo").id == "the-id"
