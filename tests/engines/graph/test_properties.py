"""What must hold for any graph, any failure and a crash at any moment."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from itertools import pairwise
from typing import Any

import looptime
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.engines.graph import Backoff, Desired, DesiredGraph, PermanentError, ReconcileError, Reconciler, join
from console.engines.graph.ordering import shortest_cycle
from console.model.graph import Deployed, Identity
from tests.engines.graph.world import PROJECT, Storage, World, concat, kinds, quick_backoff

KINDS = ("concat", "upper", "nop", "readable", "versioned")
MODEST = settings(max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow])
MORE = settings(MODEST, max_examples=80)


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run in a fresh loop of virtual time, so that back-off and slow providers take none."""
    with asyncio.Runner(loop_factory=lambda: looptime.new_event_loop(noop_cycles=0)) as runner:
        runner.run(work)


@st.composite
def graphs(draw: st.DrawFn, most: int = 9) -> DesiredGraph:
    """An acyclic graph: each resource may refer to, or merely follow, any before it."""
    resources: list[Desired] = []
    for number in range(draw(st.integers(0, most))):
        kind = draw(st.sampled_from(KINDS))
        name = f"{draw(st.sampled_from('abxyz'))}{number}"
        earlier = draw(st.sets(st.sampled_from(range(number)), max_size=3)) if number else set()
        parents = [resources[position] for position in sorted(earlier)]
        referred = [parent for parent in parents if draw(st.booleans())]
        text = join(*(parent.ref("text") for parent in referred), draw(st.sampled_from("pq")))
        resources.append(
            concat(name, text, draw(st.sampled_from(["", "!"])), kind=kind, after=[parent.identity for parent in parents])
        )
    return DesiredGraph(draw(st.permutations(resources)))


def engine(world: World, storage: Storage, limit: int = 10, backoff: Any = quick_backoff) -> Reconciler:
    """A reconciler with unique ids."""
    return Reconciler(storage, kinds(world), concurrency=limit, backoff=backoff)


async def state(storage: Storage) -> dict[Identity, tuple[Any, ...]]:
    """What is stored, without the ids, which no two runs share."""
    records: list[Deployed] = await storage.list_resources(PROJECT)
    assert len({record.identity for record in records}) == len(records)
    return {record.identity: (record.input, record.output, record.deps) for record in records}


async def clean_state(wanted: DesiredGraph) -> tuple[dict[Identity, tuple[Any, ...]], dict[Identity, str]]:
    """State and world after one undisturbed run over nothing."""
    world = World()
    storage = Storage(world)
    await engine(world, storage).reconcile("clean", PROJECT, wanted)
    return await state(storage), world.texts


@pytest.mark.scenario("graph:G41")
@MODEST
@given(graphs())
def test_a_second_run_of_any_graph_only_lists(wanted: DesiredGraph) -> None:
    async def work() -> None:
        world = World()
        storage = Storage(world)
        first = await engine(world, storage).reconcile("1", PROJECT, wanted)
        assert first.totals["created"] == len(wanted.resources())
        world.calls.clear()
        await engine(world, storage).reconcile("2", PROJECT, wanted)
        assert world.calls == []

    run(work())


@pytest.mark.scenario("graph:G42")
@MODEST
@given(graphs(), graphs(), st.randoms(use_true_random=False), st.booleans())
def test_after_any_failures_a_run_without_them_ends_as_a_clean_first_run(
    before: DesiredGraph, wanted: DesiredGraph, rng: random.Random, fail_fast: bool
) -> None:
    async def work() -> None:
        world = World()
        storage = Storage(world)
        for number, graph in enumerate((before, wanted, wanted)):
            names = [item.name for item in (*before.resources(), *wanted.resources())]
            world.scripts = {
                f"{verb} {name}": [rng.choice([None, None, OSError("flaky"), PermanentError("no")])]
                for name in sorted(set(names))
                for verb in ("create", "update", "delete")
            }
            world.delays = {name: rng.choice([0.0, 1.0, 2.0]) for name in sorted(set(names))}
            try:
                await engine(world, storage).reconcile(f"r{number}", PROJECT, graph, fail_fast=fail_fast)
            except ReconcileError as error:
                assert error.report.failures
        world.scripts.clear()
        await engine(world, storage).reconcile("last", PROJECT, wanted)
        assert await storage.list_intents(PROJECT) == []
        assert (await state(storage), world.texts) == await clean_state(wanted)

    run(work())


@pytest.mark.scenario("graph:G43")
@MODEST
@given(graphs(), graphs(), st.integers(1, 4), st.randoms(use_true_random=False))
def test_parents_end_before_children_start_and_children_go_before_parents(
    first: DesiredGraph, second: DesiredGraph, limit: int, rng: random.Random
) -> None:
    async def work() -> None:
        world = World()
        storage = Storage(world)
        world.delays = {item.name: rng.choice([0.5, 1.0, 3.0]) for item in (*first.resources(), *second.resources())}
        for graph in (first, second):
            stored = {record.identity: record for record in await storage.list_resources(PROJECT)}
            world.calls.clear()
            world.spans.clear()
            await engine(world, storage, limit).reconcile("r", PROJECT, graph)
            assert world.most <= limit
            touched = world.of("create") + world.of("update")
            assert len(set(touched)) == len(touched)
            made = {name: world.spans[name] for name in touched if f"delete {name}" not in world.calls}
            for item in graph.resources():
                for parent in graph.parents(item):
                    if item.name in made and parent.name in made:
                        assert made[item.name][0] >= made[parent.name][1]
            deleted = world.of("delete")
            gone = [record for record in stored.values() if deleted.count(record.name) == 1]
            order = {record.identity: deleted.index(record.name) for record in gone}
            for record in gone:
                for needed in record.deps:
                    if needed in order:
                        assert order[record.identity] < order[needed]
            if deleted and touched:
                last_made = max(world.calls.index(call) for call in world.calls if call.startswith(("create", "update")))
                assert last_made < min(world.calls.index(call) for call in world.calls if call.startswith("delete"))

    run(work())


@MODEST
@given(graphs(), graphs(), st.randoms(use_true_random=False))
def test_nothing_is_deleted_after_a_failed_create(first: DesiredGraph, second: DesiredGraph, rng: random.Random) -> None:
    async def work() -> None:
        world = World()
        storage = Storage(world)
        await engine(world, storage).reconcile("1", PROJECT, first)
        world.calls.clear()
        names = sorted(item.name for item in second.resources())
        world.scripts = {
            f"{verb} {name}": [PermanentError("no")] if rng.random() < 0.3 else []
            for name in names
            for verb in ("create", "update")
        }
        try:
            await engine(world, storage).reconcile("2", PROJECT, second)
        except ReconcileError:
            assert world.of("delete") == []

    run(work())


class Frozen:
    """A process that dies at its n-th step: from then on nothing it does has effect."""

    def __init__(self, at: int) -> None:
        self.left = at
        self.dead = asyncio.Event()

    async def tick(self, point: str) -> None:
        """Count down; once dead, hang."""
        self.left -= 1
        if self.left <= 0:
            self.dead.set()
            await asyncio.Event().wait()


@MORE
@given(graphs(5), graphs(5), st.integers(1, 60), st.integers(1, 3))
def test_a_crash_at_any_moment_ends_in_the_same_world(
    before: DesiredGraph, wanted: DesiredGraph, moment: int, limit: int
) -> None:
    async def work() -> None:
        world = World()
        storage = Storage(world)
        await engine(world, storage).reconcile("1", PROJECT, before)
        frozen = Frozen(moment)
        world.tick = frozen.tick
        crashed = asyncio.create_task(engine(world, storage, limit).reconcile("2", PROJECT, wanted))
        death = asyncio.create_task(frozen.dead.wait())
        await asyncio.wait([crashed, death], return_when=asyncio.FIRST_COMPLETED)
        frozen.left = 0
        crashed.cancel()
        death.cancel()
        await asyncio.wait([crashed, death])
        if not crashed.cancelled():
            assert crashed.exception() is None
        world.tick = None
        await engine(world, storage).reconcile("3", PROJECT, wanted)
        assert await storage.list_intents(PROJECT) == []
        assert (await state(storage), world.texts) == await clean_state(wanted)
        world.calls.clear()
        await engine(world, storage).reconcile("4", PROJECT, wanted)
        assert [call for call in world.calls if not call.startswith("read")] == []

    run(work())


@MODEST
@given(graphs(), st.integers(1, 40), st.booleans())
def test_a_cancelled_run_stores_exactly_what_it_made(wanted: DesiredGraph, moment: int, patient: bool) -> None:
    async def work() -> None:
        world = World()
        storage = Storage(world)
        world.delays = {item.name: 0.5 + index % 3 for index, item in enumerate(wanted.resources())}
        running = asyncio.create_task(engine(world, storage, 2).reconcile("1", PROJECT, wanted))
        await asyncio.sleep(moment / 4)
        running.cancel()
        if not patient:
            await asyncio.sleep(0)
            running.cancel()
        await asyncio.wait([running])
        assert {record.id for record in await storage.list_resources(PROJECT)} == set(world.objects)
        await engine(world, storage).reconcile("2", PROJECT, wanted)
        assert (await state(storage), world.texts) == await clean_state(wanted)

    run(work())


@MODEST
@given(st.dictionaries(st.integers(0, 7), st.sets(st.integers(0, 7), max_size=3), max_size=8))
def test_the_cycle_that_is_shown_is_a_shortest_one(edges: dict[int, set[int]]) -> None:
    def node(number: int) -> Identity:
        return Identity("k", str(number))

    before = {node(child): {node(parent) for parent in parents} for child, parents in edges.items()}
    found = shortest_cycle(before)

    def steps_back(start: Identity) -> int:
        layer, seen, steps = {start}, set[Identity](), 0
        while layer:
            steps += 1
            layer = {parent for key in layer for parent in before.get(key, ())}
            if start in layer:
                return steps
            layer -= seen
            seen |= layer
        return 0

    lengths = [steps for key in before if (steps := steps_back(key))]
    assert len(found) == (min(lengths) + 1 if lengths else 0)
    for parent, child in pairwise(found):
        assert parent in before[child]


def test_waits_of_different_operations_share_nothing() -> None:
    made: list[Backoff] = []

    def factory() -> Backoff:
        made.append(Backoff(jitter=0.0))
        return made[-1]

    async def work() -> None:
        world = World()
        storage = Storage(world)
        world.scripts = {f"create {name}": [OSError("x"), None] for name in "ab"}
        await engine(world, storage, backoff=factory).reconcile("1", PROJECT, DesiredGraph([concat("a"), concat("b")]))
        assert len(made) == 2

    run(work())
