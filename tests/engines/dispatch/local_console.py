"""A console on a cluster without the custom resources."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

import msgspec

from console.engines.dispatch.clients import ClusterClients
from console.engines.dispatch.constants import Reason, Timing
from console.engines.dispatch.dispatcher import Dispatcher
from console.engines.dispatch.local import AnnotationStore, Declarations, LocalTrigger, read_local
from console.engines.dispatch.local_triggers import LocalTriggers
from console.engines.dispatch.requests import ApplyRequest, Report, publishing
from console.engines.dispatch.status_writer import StatusWriter
from console.engines.dispatch.tokens import Tokens
from console.engines.dispatch.types import Operation, TargetRef, TriggerRef
from console.engines.ports.applier import Objects
from console.errors import JournalError
from console.kit.timing import Clock
from tests.engines.dispatch.reverser import EventLog, OneCluster
from tests.engines.dispatch.world import SHOP, WANT, Simulated, eventually

TRIGGER = LocalTrigger(
    cluster="east",
    cluster_uid="uid-of-kube-system",
    kind="Kustomization",
    namespace=SHOP.namespace,
    name=SHOP.name,
    binding=WANT,
    hold=True,
)
APP = msgspec.structs.replace(TRIGGER, kind="Application", namespace="argocd", hold=False)


class Log:
    """A journal that may be full. ``lines`` are durable once ``write`` has returned."""

    def __init__(self) -> None:
        self.lines: list[Operation] = []
        self.full = False

    async def write(self, trigger: TriggerRef, operation: Operation) -> None:
        await asyncio.sleep(0.01)
        if self.full:
            raise JournalError("the journal cannot be written: the disk is full")
        self.lines.append(operation)


class Ground(Protocol):
    """What a console stands on: a cluster's API, a clock, tokens, durations."""

    @property
    def api(self) -> Objects: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def tokens(self) -> Tokens: ...
    @property
    def timing(self) -> Timing: ...


class LocalConsole:
    """One process of the console on a cluster without the custom resources."""

    def __init__(self, world: Ground, trigger: LocalTrigger = TRIGGER) -> None:
        self.trigger = trigger
        clusters = OneCluster(world.api)
        self.clients = ClusterClients(clusters, world.clock, world.tokens, world.timing)
        self.declarations, self.log, self.events = Declarations(), Log(), EventLog()
        self.declarations.adopt(trigger)
        self.store = AnnotationStore(clusters, self.declarations, self.log)
        self.triggers = LocalTriggers(clusters, self.clients, self.declarations, self.store)
        self.writer = StatusWriter(self.store, world.timing)
        self.dispatcher = Dispatcher(
            clients=self.clients,
            records=self.writer,
            triggers=self.triggers,
            events=self.events,
            clock=world.clock,
            tokens=world.tokens,
            timing=world.timing,
        )
        self.reports: list[Report] = []

    def start(self) -> None:
        self.writer.start()
        self.dispatcher.start()

    async def stop(self) -> None:
        await self.dispatcher.stop()
        await self.writer.stop()

    def request(self, commit: str, reason: Reason = Reason.REPAIR, recovered: Operation | None = None) -> None:
        trigger = self.trigger
        self.dispatcher.request_apply(
            ApplyRequest(
                trigger=trigger.ref,
                key=trigger.key,
                binding=trigger.binding,
                commit=commit,
                reason=reason,
                targets=(TargetRef(trigger.namespace, trigger.name),),
                report=publishing(self.writer, trigger.ref, self.reports.append),
                recovered=recovered,
            )
        )

    @property
    def outcomes(self) -> list[str]:
        return [report.operation.outcome.value for report in self.reports if report.operation is not None]

    async def done(self, count: int = 1) -> Report:
        await eventually(lambda: sum(report.last for report in self.reports) >= count, 400)
        return self.reports[-1]


@asynccontextmanager
async def local(world: Simulated, trigger: LocalTrigger = TRIGGER, *, held: bool = True) -> AsyncIterator[LocalConsole]:
    world.api.unserved = {"FluxTrigger", "ArgoCDTrigger"}
    console = LocalConsole(world, trigger)
    console.start()
    try:
        if held and trigger.kind == "Kustomization":
            await console.triggers.hold(trigger)
            await asyncio.sleep(2)
            world.new_writes()
        yield console
    finally:
        await console.stop()


def recorded(world: Simulated) -> Any:
    return read_local(world.k)
