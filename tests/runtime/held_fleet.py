"""Flux with many Kustomizations on a simulated API server that counts its calls, and engines with a local trigger for each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from console.engines.dispatch.constants import Reason
from console.engines.dispatch.local import LocalTrigger
from console.engines.dispatch.types import TargetRef, TriggerRef
from console.engines.ports.applier import GIT_REPOSITORIES, KUSTOMIZATIONS, ApiKind, JsonObject
from console.journal.journal import Journal
from console.journal.records import Who
from console.kit.timing import Clock
from console.runtime.cluster_engine import ClusterEngine
from tests.engines.dispatch.apiserver import ApiServer, Fault
from tests.engines.dispatch.reverser import EventLog
from tests.engines.dispatch.world import B, Simulated, eventually, kustomization, ready, repository

PATIENCE = 100_000.0
SPACE = "flux-system"
PAGE = 500


class Forgetful(Journal):
    """Takes every record and keeps none, so that no disk is measured."""

    def __init__(self) -> None:
        self.who = Who(user="ops")

    async def dispatched(self, applier: str, token: str, record: bytes) -> None:
        """Nothing."""


class CountingServer(ApiServer):
    """Counts every call, and notes when an applier is let go: real and virtual time."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.let_go: dict[str, tuple[float, float]] = {}
        self.went = asyncio.Event()
        self.count = 0

    async def apply(self, kind: ApiKind, body: JsonObject, *, manager: str, force: bool) -> JsonObject:
        if body.get("spec", {}).get("suspend") is False:
            self.let_go[body["metadata"]["name"]] = (time.perf_counter(), asyncio.get_running_loop().time())
            self.went.set()
        return await super().apply(kind, body, manager=manager, force=force)

    async def versions(self, kind: ApiKind, namespace: str = "") -> dict[tuple[str, str], str]:
        found = await super().versions(kind, namespace)
        # A real one is asked for them by pages.
        self.count += max(len(found) - 1, 0) // PAGE
        return found

    async def _answer(self, verb: str, kind: ApiKind) -> Fault | None:
        self.count += 1
        return await super()._answer(verb, kind)


class HeldFleet(Simulated):
    """The world. ``timed`` is its server."""

    def __init__(self, triggers: int) -> None:
        super().__init__()
        server = CountingServer(self.clock)
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
        operation = engine.operations.get(TriggerRef("LocalTrigger", "uid", f"Kustomization/{SPACE}/{name}"))
        return operation is not None and operation.commit == commit and not operation.in_flight

    def suspended(self, name: str) -> bool:
        """Whether it is suspended now."""
        return self.api.peek(KUSTOMIZATIONS, SPACE, name)["spec"].get("suspend") is True


@asynccontextmanager
async def held_fleet(triggers: int) -> AsyncIterator[tuple[HeldFleet, ClusterEngine]]:
    """Everything applied once and held, and the engine at rest."""
    world = HeldFleet(triggers)
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
