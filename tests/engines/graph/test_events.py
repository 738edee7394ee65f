"""What a run tells, in which order, and that nobody who listens can hurt it."""

from __future__ import annotations

import asyncio

import pytest

from console.engines.graph import EventStream, GateClosed, Kind, PermanentError, ReconcileError, Request, resource
from console.engines.graph.telling import Backlog
from console.model.graph import Identity, Outcome
from console.model.graph_events import (
    Finished,
    GateWaiting,
    GraphEvent,
    ListedExisting,
    PhaseStarted,
    Progress,
    Queued,
    RunFinished,
    RunStarted,
    Skipped,
    Started,
    Waiting,
)
from tests.engines.graph.world import PROJECT, Heard, PlainStorage, World, concat, deployed, graph, kinds, reconciler

pytestmark = pytest.mark.looptime
AFTER_A = [("concat", "a")]


@pytest.fixture
def world() -> World:
    return World()


async def test_a_run_is_told_from_its_first_event_to_its_last(world: World) -> None:
    heard = Heard()
    storage = PlainStorage(world, [deployed("old")])
    await reconciler(world, storage, events=heard).reconcile("r", PROJECT, graph(concat("a"), concat("b", after=AFTER_A)))
    assert [(type(event), event.identity and event.identity.name) for event in heard] == [
        (RunStarted, None),
        (Queued, "a"),
        (Queued, "b"),
        (Waiting, "b"),
        (ListedExisting, None),
        (PhaseStarted, None),
        (Started, "a"),
        (Finished, "a"),
        (Started, "b"),
        (Finished, "b"),
        (Queued, "old"),
        (PhaseStarted, None),
        (Started, "old"),
        (Finished, "old"),
        (RunFinished, None),
    ]
    assert [event.number for event in heard] == list(range(1, 16))
    assert {event.run_id for event in heard} == {"r"}


async def test_each_resource_is_queued_first_and_ends_exactly_once(world: World) -> None:
    heard = Heard()
    world.scripts["create a"] = [PermanentError("no")]
    wanted = graph(concat("a"), concat("b", after=AFTER_A), concat("c"))
    with pytest.raises(ReconcileError):
        await reconciler(world, PlainStorage(world, [deployed("old")]), events=heard).reconcile("r", PROJECT, wanted)
    for name in ("a", "b", "c", "old"):
        own = [event for event in heard if event.identity and event.identity.name == name]
        assert isinstance(own[0], Queued)
        assert [isinstance(event, Finished | Skipped) for event in own] == [False] * (len(own) - 1) + [True]


@pytest.mark.scenario("graph:G48")
@pytest.mark.parametrize("trouble", ["raises", "blocks", "raises later"])
async def test_a_bad_listener_does_no_harm(world: World, trouble: str) -> None:
    def raises(event: GraphEvent) -> None:
        raise RuntimeError("listener broke")

    async def blocks(event: GraphEvent) -> None:
        await asyncio.Event().wait()

    async def raises_later(event: GraphEvent) -> None:
        await asyncio.sleep(0)
        raise RuntimeError("listener broke")

    listener = {"raises": raises, "blocks": blocks, "raises later": raises_later}[trouble]
    storage = PlainStorage(world)
    report = await reconciler(world, storage, events=listener).reconcile("r", PROJECT, graph(concat("a")))
    assert report.outcome == "succeeded"
    assert report.duration < 0.1
    assert storage.names == ["a"]
    assert asyncio.get_running_loop().time() <= 1.5


async def test_a_listener_that_fails_on_one_event_still_gets_the_others(world: World) -> None:
    heard = Heard()

    def picky(event: GraphEvent) -> None:
        if isinstance(event, Started):
            raise RuntimeError("not this one")
        heard(event)

    await reconciler(world, PlainStorage(world), events=picky).reconcile("r", PROJECT, graph(concat("a")))
    assert isinstance(heard[-1], RunFinished)


def test_a_full_backlog_drops_the_oldest_progress_and_nothing_else() -> None:
    backlog = Backlog(limit=3)
    identity = Identity("k", "n")
    backlog.add(RunStarted(run_id="r", total=1))
    for number in range(5):
        backlog.add(Progress(run_id="r", identity=identity, text=str(number)))
    for _number in range(3):
        backlog.add(Queued(run_id="r", identity=identity))
    events = [backlog.pop() for _number in range(len(backlog))]
    assert [type(event) for event in events] == [RunStarted, Queued, Queued, Queued]
    assert [event.number for event in events] == [1, 2, 3, 4]


async def test_events_can_be_read_as_a_stream(world: World) -> None:
    stream = EventStream()
    seen: list[GraphEvent] = []

    async def read() -> None:
        async for event in stream:
            seen.append(event)

    reader = asyncio.create_task(read())
    engine = reconciler(world, PlainStorage(world), events=stream)
    await engine.reconcile("1", PROJECT, graph(concat("a")))
    await engine.reconcile("2", PROJECT, graph(concat("a")))
    stream.close()
    await reader
    assert [event.number for event in seen if event.run_id == "2"] == [1, 2, 3, 4, 5, 6]
    assert isinstance(seen[-1], RunFinished)


class Gated(Kind[dict[str, str], dict[str, str]]):
    """A kind with a gate that the test opens."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.error: Exception | None = None
        self.asked = 0

    async def create(self, req: Request[dict[str, str], dict[str, str]]) -> dict[str, str]:
        """Made at once, ready later."""
        return {"made": "yes"}

    async def wait_ready(self, req: Request[dict[str, str], dict[str, str]]) -> None:
        """Wait for the test."""
        self.asked += 1
        assert req.output == {"made": "yes"}
        if self.error is not None:
            raise self.error
        await self.open.wait()


async def test_children_wait_for_the_gate_outside_the_slot(world: World) -> None:
    heard, gate = Heard(), Gated()
    engine = reconciler(world, PlainStorage(world), registry=kinds(world, gated=gate), events=heard, concurrency=1)
    wanted = graph(resource("gated", "g"), concat("child", after=[("gated", "g")]), concat("z-other"))
    run = asyncio.create_task(engine.reconcile("r", PROJECT, wanted))
    await asyncio.sleep(5)
    assert world.of("create") == ["z-other"]
    assert heard.of(GateWaiting)
    gate.open.set()
    await run
    assert world.of("create") == ["z-other", "child"]


async def test_a_gate_that_does_not_open_in_time_fails_the_resource_and_the_next_run_asks_again(world: World) -> None:
    gate = Gated()
    storage = PlainStorage(world)
    engine = reconciler(world, storage, registry=kinds(world, gated=gate))
    wanted = graph(resource("gated", "g"), concat("child", after=[("gated", "g")]))
    with pytest.raises(ReconcileError, match="gated/g was not ready within 600 s"):
        await engine.reconcile("1", PROJECT, wanted)
    assert storage.names == ["g"]
    gate.open.set()
    report = await engine.reconcile("2", PROJECT, wanted)
    assert report.of("gated", "g").outcome is Outcome.UNCHANGED
    assert storage.names == ["child", "g"]
    assert gate.asked == 2
    await engine.reconcile("3", PROJECT, wanted)
    assert gate.asked == 2


async def test_a_gate_that_will_not_open_skips_the_children_without_a_failure(world: World) -> None:
    gate = Gated()
    gate.error = GateClosed("suspended")
    storage = PlainStorage(world, [deployed("child", input={"text": "old"})])
    engine = reconciler(world, storage, registry=kinds(world, gated=gate))
    wanted = graph(resource("gated", "g"), concat("child", "new", after=[("gated", "g")]))
    report = await engine.reconcile("r", PROJECT, wanted)
    assert report.outcome == "succeeded"
    assert report.of("concat", "child").reason == "parent suspended"
    assert storage.names == ["child", "g"]


async def test_new_dependencies_alone_do_not_ask_the_gate(world: World) -> None:
    gate = Gated()
    gate.open.set()
    engine = reconciler(world, PlainStorage(world), registry=kinds(world, gated=gate))
    await engine.reconcile("1", PROJECT, graph(concat("a"), resource("gated", "g")))
    await engine.reconcile("2", PROJECT, graph(concat("a"), resource("gated", "g", after=AFTER_A)))
    assert gate.asked == 1
