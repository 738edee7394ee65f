"""A runtime in memory, of the shape that the screen needs: a real store, real write locks, plans made up by the tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from console.errors import NotServed, Refused
from console.model.commits import ApplyOffer, ChangePreview
from console.model.connections import Connection, Phase
from console.model.docker import Sample
from console.model.kubernetes import Event, LogLine, LogQuery
from console.model.operations import Operation, State, StepView
from console.model.plan import FieldChange, Intent, Plan, PlanStep
from console.model.refs import Ref
from console.model.resource import Listed, Resource, Upserted
from console.model.trigger_report import TriggerReport
from console.runtime.arming import Arming
from console.runtime.reading import events_about, operations_on, related_to
from console.runtime.store import Store

NOW = datetime(2026, 11, 30, 12, 4, 31, tzinfo=UTC)


class StillClock:
    """Always the same instant, so that what is shown is always the same."""

    def __init__(self, now: datetime = NOW) -> None:
        self.instant = now

    def now(self) -> datetime:
        """The instant."""
        return self.instant

    def pass_by(self, seconds: float) -> None:
        """Later."""
        self.instant += timedelta(seconds=seconds)


class Commands:
    """Plans that change one field, run by being remembered."""

    def __init__(self, runtime: StandIn) -> None:
        self._runtime = runtime
        self.arming = Arming(runtime.clock, changed=runtime.show_arming)
        self.running: tuple[str, ...] = ()
        self.offered: dict[str, tuple[str, ...]] = {
            "Stack": ("apply", "correct", "restart", "rollback", "sweep"),
            "FluxTrigger": ("apply", "reconcile", "hold", "release"),
            "Kustomization": ("reconcile", "suspend", "resume"),
            "Container": ("restart",),
        }
        self.plans: dict[str, Plan] = {}
        self.ran: list[tuple[Plan, str]] = []
        self.cancelled: list[str] = []
        self.refusal: Exception | None = None

    def verbs(self, ref: Ref) -> tuple[str, ...]:
        return self.offered.get(ref.kind, ())

    async def plan(self, intent: Intent) -> Plan:
        made = self.plans.get(intent.verb)
        if made is not None:
            return made
        protected = any(item.protected for item in self._runtime.connections() if item.ref.name == intent.connection)
        return one_field_plan(intent, protected=protected)

    async def plan_undo(self, ref: Ref) -> Plan:
        raise Refused(f"No operation of this console on {ref.name} can be undone.")

    async def run(self, plan: Plan, typed: str = "", *, why: str = "") -> str:
        if self.refusal is not None:
            raise self.refusal
        self.ran.append((plan, typed))
        identity = f"op-{len(self.ran)}"
        ref = Ref(plan.intent.connection, "Operation", "", identity, identity)
        self._runtime.store.apply(
            Upserted(
                Operation(
                    ref=ref,
                    target=plan.intent.targets[0],
                    verb=plan.intent.verb,
                    state=State.RUNNING,
                    origin="journal",
                    started=NOW - timedelta(seconds=12),
                    steps=(StepView(key="1", title="write it", state=State.RUNNING, started=NOW - timedelta(seconds=9)),),
                )
            )
        )
        return identity

    def cancel(self, identity: str) -> None:
        self.cancelled.append(identity)


def one_field_plan(intent: Intent, **facts: Any) -> Plan:
    """A plan that changes the replicas of each target."""
    return Plan(
        intent=intent,
        steps=tuple(
            PlanStep(
                key=ref.name,
                title=f"{ref.kind} {ref.name}",
                ref=ref,
                precondition={"Version.Index": "8812"},
                changes=(FieldChange(path="Mode.Replicated.Replicas", before="10", after="6"),),
            )
            for ref in intent.targets
        ),
        effects=("4 tasks stop, 6 restart one after another (about 40 s).", "Nobody else manages these fields."),
        undo=Intent(verb="rollback", targets=intent.targets),
        environment="prod",
        **facts,
    )


class StandIn:
    """The runtime."""

    def __init__(self, clock: StillClock | None = None) -> None:
        self.clock = clock or StillClock()
        self.store = Store()
        self.commands = Commands(self)
        self.looks: list[frozenset[str]] = []
        self.raws: dict[Ref, dict[str, Any]] = {}
        self.reports: dict[Ref, TriggerReport] = {}
        self.offers: dict[Ref, ApplyOffer] = {}
        self.previews: dict[tuple[Ref, str], ChangePreview] = {}
        self.log: list[LogLine] = []
        self.asked: list[LogQuery] = []
        self.sources: tuple[str, ...] = ()
        self.samples: list[Sample] = []
        self.reconnected: list[str] = []
        self.accepted: list[str] = []

    def connections(self) -> list[Connection]:
        return [item for item in self.store.of("Connection").values() if isinstance(item, Connection)]

    def connect(self, name: str, phase: Phase = Phase.LIVE, **facts: Any) -> Connection:
        """A connection in this phase."""
        facts.setdefault("heard", NOW - timedelta(seconds=1))
        facts.setdefault("since", NOW - timedelta(minutes=20))
        connection = Connection(ref=Ref(name, "Connection", "", name), phase=phase, health=phase.health, **facts)
        self.store.apply(Upserted(connection))
        return connection

    def put(self, *resources: Resource) -> None:
        """Objects appear or change."""
        for resource in resources:
            self.store.apply(Upserted(resource))

    def list_nothing(self, connection: str, *kinds: str) -> None:
        """These kinds are known to be empty."""
        for kind in kinds:
            self.store.apply(Listed(connection, kind, ()))

    def show_arming(self, name: str) -> None:
        for item in self.connections():
            if item.ref.name == name:
                left = self.commands.arming.left(name)
                until = self.clock.now() + timedelta(seconds=left) if left else None
                self.store.apply(Upserted(msgspec.structs.replace(item, armed_until=until)))

    def look(self, kinds: Iterable[str], connections: Iterable[str] | None = None) -> Callable[[], None]:
        self.looks.append(frozenset(kinds))
        return lambda: None

    async def raw(self, ref: Ref) -> dict[str, Any]:
        if ref not in self.raws:
            raise NotServed(f"{ref.connection} has no whole objects to show.")
        return self.raws[ref]

    async def logs(self, ref: Ref, query: LogQuery) -> AsyncGenerator[LogLine, None]:
        self.asked.append(query)
        for entry in self.log:
            yield entry
        if query.follow:
            await asyncio.Event().wait()

    async def log_sources(self, ref: Ref) -> tuple[str, ...]:
        return self.sources

    async def stats(self, ref: Ref) -> AsyncGenerator[Sample, None]:
        for sample in self.samples:
            yield sample
        await asyncio.Event().wait()

    def reconnect(self, name: str) -> None:
        self.reconnected.append(name)

    def accept_identity(self, name: str) -> None:
        self.accepted.append(name)

    def related(self, ref: Ref) -> tuple[Resource, ...]:
        return related_to(self.store, ref, frozenset({"Stack", "SwarmService", "Task", "Container", "Pod"}))

    async def trigger_report(self, ref: Ref) -> TriggerReport | None:
        return self.reports.get(ref)

    async def apply_offer(self, ref: Ref) -> ApplyOffer:
        if ref not in self.offers:
            raise NotServed(f"{ref.kind} {ref.path} is not driven by this console.")
        return self.offers[ref]

    async def preview(self, ref: Ref, commit: str) -> ChangePreview:
        if (ref, commit) not in self.previews:
            raise NotServed(f"What {commit[:7]} would change on {ref.path} can't be told here.")
        return self.previews[ref, commit]

    def events_about(self, ref: Ref) -> tuple[Event, ...]:
        return events_about(self.store, ref)

    def operations_on(self, ref: Ref) -> tuple[Operation, ...]:
        return operations_on(self.store, ref)
