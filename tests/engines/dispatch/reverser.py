"""The custom resources of GitOps Reverser in a simulated control cluster, and a console beside them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from console.engines.dispatch.clients import ClusterClients
from console.engines.dispatch.constants import FINALIZER, ConditionReason, EventReason, Reason, Timing
from console.engines.dispatch.custom_triggers import CustomTriggers, StatusStore
from console.engines.dispatch.dispatcher import Dispatcher
from console.engines.dispatch.faults import DispatchError
from console.engines.dispatch.requests import ApplyRequest, Report, publishing
from console.engines.dispatch.status_writer import StatusWriter
from console.engines.dispatch.types import ApplierKey, Binding, Operation, TargetRef, TriggerRef
from console.engines.ports.applier import (
    ARGOCD_TRIGGERS,
    CLUSTER_PROVIDERS,
    FLUX_TRIGGERS,
    GIT_PROVIDERS,
    GIT_TARGETS,
    ApiKind,
    JsonObject,
    Objects,
)
from console.errors import Unreachable
from tests.engines.dispatch.apiserver import ApiServer
from tests.engines.dispatch.world import SHOP, URL, WANT, Simulated, eventually

TEAM = "team-a"
KEY = ApplierKey("default", "Kustomization", SHOP.namespace, SHOP.name)


def provider(name: str = "git", url: str = URL) -> tuple[ApiKind, JsonObject]:
    return GIT_PROVIDERS, {"metadata": {"name": name, "namespace": TEAM}, "spec": {"url": url}}


def cluster(name: str = "default", names: list[str] | None = None, **allowed: Any) -> tuple[ApiKind, JsonObject]:
    spec = {"allowedNamespaces": {"names": [TEAM] if names is None else names, **allowed}}
    return CLUSTER_PROVIDERS, {"metadata": {"name": name}, "spec": spec}


def target(name: str, trigger: str = "shop", namespace: str = TEAM, **spec: Any) -> tuple[ApiKind, JsonObject]:
    body: JsonObject = {
        "providerRef": {"kind": "GitProvider", "name": "git"},
        "branch": "main",
        "path": ".",
        "applyTriggerRef": {"kind": "FluxTrigger", "name": trigger},
        **spec,
    }
    return GIT_TARGETS, {"metadata": {"name": name, "namespace": namespace}, "spec": body}


def flux_trigger(name: str = "shop", *, holding: bool = True, **status: Any) -> tuple[ApiKind, JsonObject]:
    metadata: JsonObject = {"name": name, "namespace": TEAM}
    if holding:
        metadata["finalizers"] = [FINALIZER]
    return FLUX_TRIGGERS, {
        "metadata": metadata,
        "spec": {"kustomizationRef": {"namespace": SHOP.namespace, "name": SHOP.name}},
        "status": status,
    }


def argo_trigger(name: str = "shop", **status: Any) -> tuple[ApiKind, JsonObject]:
    return ARGOCD_TRIGGERS, {
        "metadata": {"name": name, "namespace": TEAM},
        "spec": {"applicationRef": {"namespace": "argocd", "name": "shop"}},
        "status": status,
    }


def held(reason: ConditionReason = ConditionReason.SUSPENDED, status: str = "True", generation: int = 1) -> list[JsonObject]:
    return [{"type": "Held", "status": status, "reason": reason.value, "observedGeneration": generation}]


def put(api: ApiServer, *objects: tuple[ApiKind, JsonObject]) -> None:
    for kind, obj in objects:
        api.create(kind, obj)


class OneCluster:
    """Every name leads to the same cluster, except those in ``dead``: the first kind never answers, the other refuses."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self.hanging: set[str] = set()
        self.refusing: set[str] = set()

    async def objects(self, cluster: str) -> Objects:
        if cluster in self.hanging:
            await asyncio.Event().wait()
        if cluster in self.refusing:
            raise Unreachable(f"{cluster} cannot be reached")
        return self._objects


class Event(NamedTuple):
    reason: EventReason
    target: str
    message: str


class EventLog:
    def __init__(self) -> None:
        self.seen: list[Event] = []

    def event(self, trigger: TriggerRef, target: TargetRef, reason: EventReason, message: str) -> None:
        self.seen.append(Event(reason, target.name, message))

    def reasons(self) -> list[str]:
        return [event.reason.value for event in self.seen]


class Console:
    """One process of the engine: a status writer, a dispatcher, and a worker that publishes what is reported."""

    def __init__(self, world: Simulated, control: ApiServer, timing: Timing | None = None) -> None:
        self.world, self.control = world, control
        self.clusters = OneCluster(world.api)
        self.events = EventLog()
        timing = timing or world.timing
        self.writer = StatusWriter(StatusStore(control), timing)
        clients = ClusterClients(self.clusters, world.clock, world.tokens, timing)
        self.dispatcher = Dispatcher(
            clients=clients,
            records=self.writer,
            triggers=CustomTriggers(control, clients),
            events=self.events,
            clock=world.clock,
            tokens=world.tokens,
            timing=timing,
        )
        self.reports: list[Report] = []

    def start(self) -> None:
        self.writer.start()
        self.dispatcher.start()

    async def stop(self) -> None:
        await self.dispatcher.stop()
        await self.writer.stop()

    def trigger(self, kind: ApiKind = FLUX_TRIGGERS, name: str = "shop") -> JsonObject:
        return self.control.peek(kind, TEAM, name)

    def ref(self, kind: ApiKind = FLUX_TRIGGERS, name: str = "shop") -> TriggerRef:
        return TriggerRef(kind.kind, TEAM, name, self.trigger(kind, name)["metadata"]["uid"])

    def targets(self, *names: str) -> tuple[TargetRef, ...]:
        uids = [(name, self.control.peek(GIT_TARGETS, TEAM, name)["metadata"]["uid"]) for name in names]
        return tuple(TargetRef(TEAM, name, uid) for name, uid in uids)

    def request(
        self,
        commit: str,
        reason: Reason = Reason.FOREIGN_COMMIT,
        *names: str,
        key: ApplierKey = KEY,
        kind: ApiKind = FLUX_TRIGGERS,
        binding: Binding = WANT,
        recovered: Operation | None = None,
    ) -> ApplyRequest:
        """Ask for an apply, as a worker does; returns the request."""
        trigger = self.ref(kind)
        request = ApplyRequest(
            trigger=trigger,
            key=key,
            binding=binding,
            commit=commit,
            reason=reason,
            targets=self.targets(*(names or ("web",))),
            report=publishing(self.writer, trigger, self.reports.append),
            recovered=recovered,
        )
        self.dispatcher.request_apply(request)
        return request

    def operation(self, kind: ApiKind = FLUX_TRIGGERS) -> JsonObject:
        """The record in the trigger's status, empty if there is none."""
        found: JsonObject = self.trigger(kind).get("status", {}).get("operation") or {}
        return found

    @property
    def outcomes(self) -> list[str]:
        return [report.operation.outcome.value for report in self.reports if report.operation is not None]

    @property
    def error(self) -> DispatchError | None:
        return self.reports[-1].error if self.reports else None

    async def done(self, count: int = 1, seconds: float = 400) -> Report:
        """Wait for the last report of so many requests."""
        await eventually(lambda: sum(report.last for report in self.reports) >= count, seconds)
        return self.reports[-1]


@asynccontextmanager
async def consoles(world: Simulated, control: ApiServer | None = None, timing: Timing | None = None) -> AsyncIterator[Console]:
    """A running console over a control cluster; stopped at the end."""
    console = Console(world, control or world.api, timing)
    console.start()
    try:
        yield console
    finally:
        await console.stop()


def set_up(world: Simulated, *, generation: int = 1) -> None:
    """One trigger that holds ``shop``, one target that names it."""
    put(world.api, provider(), cluster(), target("web"), flux_trigger(conditions=held(generation=generation)))
    world.new_writes()
