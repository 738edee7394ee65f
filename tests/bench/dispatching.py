"""The dispatch engine on a simulated API server: round trips are virtual (10 ms each), the engine's own work is real."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import looptime

from console.engines.dispatch.constants import Reason
from console.engines.dispatch.local import LocalTrigger
from console.engines.dispatch.types import TargetRef
from console.engines.ports.applier import GIT_REPOSITORIES, KUSTOMIZATIONS, ApiKind, JsonObject
from console.journal.journal import Journal
from console.kit.timing import Clock
from console.runtime.cluster_engine import ClusterEngine
from tests.bench.figures import Figure
from tests.engines.dispatch.apiserver import ApiServer
from tests.engines.dispatch.reverser import EventLog
from tests.engines.dispatch.world import B, Simulated, eventually, kustomization, ready, repository

T = TypeVar("T")
ROUNDS = 9
UNFINISHED = 100
MANY = 1_000
QUIET_MINUTES = 3
PATIENCE = 100_000.0
SPACE = "flux-system"


class Forgetful(Journal):
    """Takes every record and keeps none, so that no disk is measured."""

    def __init__(self) -> None:
        pass

    async def dispatched(self, applier: str, token: str, record: bytes) -> None:
        """Nothing."""


class TimedServer(ApiServer):
    """Notes when an applier is let go, and counts every call."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.let_go: dict[str, tuple[float, float]] = {}
        self.went = asyncio.Event()
        self.count = 0

    async def apply(self, kind: ApiKind, body: JsonObject, *, manager: str, force: bool) -> JsonObject:
        if body.get("spec", {}).get("suspend") is False:
            self.let_go[body["metadata"]["name"]] = (time.perf_counter(), asyncio.get_running_loop().time())
            self.went.set()
        self.count += 1
        return await super().apply(kind, body, manager=manager, force=force)

    async def get(self, kind: ApiKind, namespace: str, name: str) -> JsonObject:
        self.count += 1
        return await super().get(kind, namespace, name)

    async def list(self, kind: ApiKind, namespace: str = "") -> list[JsonObject]:
        self.count += 1
        return await super().list(kind, namespace)


class World(Simulated):
    """Flux with many Kustomizations, and an engine with a local trigger for each."""

    def __init__(self, triggers: int) -> None:
        super().__init__()
        server = TimedServer(self.clock)
        server.listeners = self.api.listeners
        self.api = self.objects = self.timed = server
        self.api.unserved = {"FluxTrigger", "ArgoCDTrigger"}
        for controller in self.controllers:
            controller.api = server
        server.create(GIT_REPOSITORIES, repository())
        self.names = [f"app-{number:04}" for number in range(triggers)]
        for name in self.names:
            server.create(KUSTOMIZATIONS, kustomization(name), "kustomize-controller", "Apply")

    def engine(self) -> ClusterEngine:
        """A new process."""
        made = ClusterEngine("east", "uid", self.api, Forgetful(), EventLog(), self.clock, "bench", self.timing)
        for name in self.names:
            trigger = LocalTrigger(
                cluster=made.local_cluster,
                cluster_uid="uid",
                kind="Kustomization",
                namespace=SPACE,
                name=name,
                binding=self.binding,
                hold=True,
            )
            made.declarations.adopt(trigger)
        return made

    def trigger(self, engine: ClusterEngine, name: str) -> LocalTrigger:
        found = engine.find("Kustomization", SPACE, name)
        assert found is not None
        return found

    def ask(self, engine: ClusterEngine, name: str, commit: str = B) -> None:
        """The decision to apply a commit."""
        trigger = self.trigger(engine, name)
        engine.request(trigger.ref, trigger.key, trigger.binding, commit, Reason.FOREIGN_COMMIT, (TargetRef(SPACE, name),))

    def ended(self, engine: ClusterEngine, name: str, commit: str = B) -> bool:
        """Whether the operation for this commit is known to have ended."""
        operation = engine.operations.get(self.trigger(engine, name).ref.key)
        return operation is not None and operation.commit == commit and not operation.in_flight


@asynccontextmanager
async def _world(triggers: int) -> AsyncIterator[tuple[World, ClusterEngine]]:
    """Everything applied once and held."""
    world = World(triggers)
    for controller in world.controllers:
        controller.start()
    engine = world.engine()
    try:
        await eventually(lambda: all(ready(world.api._objects["Kustomization", SPACE, name]) for name in world.names), PATIENCE)
        for name in world.names:
            await engine.hold(world.trigger(engine, name))
        engine.start()
        await asyncio.sleep(60)
        yield world, engine
    finally:
        await engine.stop()
        for controller in world.controllers:
            await controller.stop()


async def _latency(triggers: int) -> tuple[list[float], list[float], float]:
    """From the decision to the write that lets go: real milliseconds of work, and virtual ones with round trips.

    The third figure is how many calls a minute are made when nothing happens.
    """
    work, trips = [], []
    async with _world(triggers) as (world, engine):
        before = world.timed.count
        await asyncio.sleep(60 * QUIET_MINUTES)
        calls = (world.timed.count - before) / QUIET_MINUTES
        for number in range(ROUNDS):
            name = world.names[number % triggers]
            commit = await world.push()
            # The commit is there already: what is measured is the console, not the fetching.
            # It is held again by then, too: a console asks only what it holds.
            world.source.enqueue(SPACE, "shop")
            await asyncio.sleep(120)
            world.timed.went.clear()
            real, virtual = time.perf_counter(), asyncio.get_running_loop().time()
            world.ask(engine, name, commit)
            async with asyncio.timeout(PATIENCE):
                await world.timed.went.wait()
            at = world.timed.let_go[name]
            work.append((at[0] - real) * 1000)
            trips.append((at[1] - virtual) * 1000)
            await eventually(lambda name=name, commit=commit: world.ended(engine, name, commit), PATIENCE)  # type: ignore[misc]
    return work, trips, calls


async def _polls() -> float:
    """Reads of the applier from the request to the known end, less what a minute at rest reads."""
    async with _world(1) as (world, engine):
        await world.push(B)
        world.new_writes()
        began = asyncio.get_running_loop().time()
        world.ask(engine, world.names[0])
        await eventually(lambda: world.ended(engine, world.names[0]), PATIENCE)
        reads, took = sum(world.api.reads.values()), asyncio.get_running_loop().time() - began
        world.new_writes()
        await asyncio.sleep(600)
        return reads - took * sum(world.api.reads.values()) / 600


async def _recovery() -> tuple[float, float]:
    """Real and virtual seconds until a new process knows the end of a hundred operations that ended while none ran."""
    async with _world(UNFINISHED) as (world, engine):
        await world.push(B)
        await world.kustomize.stop()
        for name in world.names:
            world.ask(engine, name)
        await eventually(lambda: len(world.timed.let_go) == UNFINISHED, PATIENCE)
        await asyncio.sleep(5)
        await engine.stop()
        world.kustomize.start()
        await asyncio.sleep(900)
        again = world.engine()
        real, virtual = time.perf_counter(), asyncio.get_running_loop().time()
        again.start()
        try:
            await eventually(lambda: all(world.ended(again, name) for name in world.names), PATIENCE, every=0.05)
            return time.perf_counter() - real, asyncio.get_running_loop().time() - virtual
        finally:
            await again.stop()


def dispatching() -> Sequence[Figure]:
    """Latency by the number of triggers, calls at rest, polls, recovery."""
    # Operations that end long after their time are what recovery is about; their warnings are no figures.
    logging.getLogger("console").setLevel(logging.ERROR)
    figures = []
    for triggers in (1, 100, MANY):
        work, trips, calls = _virtually(lambda triggers=triggers: _latency(triggers))  # type: ignore[misc]
        figures += [
            Figure(f"decision to request, {triggers:,} triggers: the engine's own work", work, "ms"),
            Figure(f"decision to request, {triggers:,} triggers: with 10 ms a round trip", trips, "ms"),
            Figure(f"calls at rest, {triggers:,} triggers", [calls], "a minute"),
        ]
    seconds, virtual = _virtually(_recovery)
    return [
        *figures,
        Figure("reads for one operation, from request to known end", [_virtually(_polls)], "reads"),
        Figure(f"recovery of {UNFINISHED} unfinished operations: own work", [seconds], "s"),
        Figure(f"recovery of {UNFINISHED} unfinished operations: with 10 ms a round trip", [virtual], "s"),
    ]


def _virtually(body: Callable[[], Coroutine[object, object, T]]) -> T:
    """Run with virtual time: waiting costs nothing."""
    with asyncio.Runner(loop_factory=looptime.new_event_loop) as runner:
        return runner.run(body())
