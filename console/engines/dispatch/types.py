"""The nouns of the dispatch engine: appliers, bindings, records, requests and how they stand."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

import msgspec

from console.engines.dispatch.constants import DEFAULT_CLUSTER, ConditionReason, Outcome, Reason, RequestOutcome
from console.engines.ports.applier import JsonObject
from console.errors import QuarterdeckError


class ObjectName(msgspec.Struct, frozen=True, order=True):
    """Namespace and name of an object in a cluster known from elsewhere."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class ApplierKey(msgspec.Struct, frozen=True, order=True):
    """What all mutual exclusion is about. ``cluster`` is a ClusterProvider name or, for local triggers, a connection."""

    cluster: str
    kind: str
    namespace: str
    name: str

    @property
    def ref(self) -> ObjectName:
        """The applier inside its cluster."""
        return ObjectName(self.namespace, self.name)

    def __str__(self) -> str:
        where = "" if self.cluster == DEFAULT_CLUSTER else f" in {self.cluster}"
        return f"{self.kind} {self.namespace}/{self.name}{where}"


class TriggerRef(msgspec.Struct, frozen=True, order=True):
    """A trigger: ``kind`` is FluxTrigger, ArgoCDTrigger, or LocalTrigger, whose name then is its applier's path."""

    kind: str
    namespace: str
    name: str
    uid: str = ""

    @property
    def key(self) -> TriggerRef:
        """The same trigger whatever its incarnation; for tables in memory."""
        return TriggerRef(self.kind, self.namespace, self.name)

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class TargetRef(msgspec.Struct, frozen=True, order=True):
    """A GitTarget in one incarnation."""

    namespace: str
    name: str
    uid: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Binding(msgspec.Struct, frozen=True):
    """What an applier must apply from."""

    url: str
    branch: str


class Source(msgspec.Struct, frozen=True):
    """What an applier really applies from, as read. ``git_repository`` is None for Argo CD."""

    url: str
    revision: str
    git_repository: ObjectName | None = None


class Verdict(msgspec.Struct, frozen=True):
    """Answer of a configuration check. ``error`` has the cause when the check could not complete."""

    ok: bool
    reason: ConditionReason
    message: str = ""
    source: Source | None = None
    error: QuarterdeckError | None = None


class Operation(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The record of one operation (2.6). Times are RFC 3339 text, as on the wire.

    The guard fields are what the starting write was bound to; they are known before it, and make recovery exact.
    """

    token: str
    reason: Reason
    outcome: Outcome
    commit: str = ""
    requested_at: str = ""
    suspend_token: str = ""
    completed_at: str = ""
    applied_revision: str = ""
    message: str = ""
    applier_uid: str = msgspec.field(default="", name="applierUID")
    guard_resource_version: str = ""
    guard_generation: int = 0

    @property
    def in_flight(self) -> bool:
        """Whether the applier has not been seen to end it."""
        return not self.outcome.complete

    def same_as(self, other: Operation | None) -> bool:
        """Whether both are records of one operation."""
        return other is not None and self.token != "" and self.token == other.token and self.commit == other.commit


class TriggerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The two fields of a trigger's status that belong to the engine."""

    operation: Operation | None = None
    repair_pending: bool = False


class TriggerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One publication about a trigger. None says nothing about that field. ``withdrawn``: tokens of operations that were
    recorded and then asked for no apply."""

    operation: Operation | None = None
    repair_pending: bool | None = None
    withdrawn: tuple[str, ...] = ()


class Progress(msgspec.Struct, frozen=True):
    """How an operation stands."""

    outcome: Outcome
    message: str = ""
    applied_revision: str = ""
    suspend_token: str = ""


class Guards(msgspec.Struct, frozen=True):
    """What a starting write will be bound to: the applier as last read before it."""

    applier_uid: str
    resource_version: str
    generation: int


class Recorded(msgspec.Struct, frozen=True):
    """What a record came to. When it is kept on the applier itself, ``applier`` is that object as it stands now and
    ``replaced_version`` the resourceVersion that the record was written over: the request checks that it was its own."""

    applier: JsonObject | None = None
    replaced_version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What one request asks, and the questions it may put to the rest of the console while it works.

    ``current`` tells whether the decision still stands; ``record`` makes the durable record and raises when nothing may
    start; ``held`` raises unless the trigger holds its applier; ``waited`` tells that so many seconds were spent waiting for
    somebody else's operation, which the deadline of the attempt does not count. ``pause`` waits so many seconds, or until
    something is known to have changed.
    """

    want: Binding
    commit: str
    reason: Reason
    token: str
    current: Callable[[], bool]
    record: Callable[[Guards], Awaitable[Recorded]]
    held: Callable[[], Awaitable[None]]
    waited: Callable[[float], None] = lambda seconds: None
    pause: Callable[[float], Awaitable[object]] = asyncio.sleep


@dataclass(slots=True, kw_only=True)
class Started:
    """The in-memory handle of an operation, carried from read to read.

    ``seen``: the token was found on the applier at least once. ``resume_generation`` is what the confirmed resume returned,
    0 when unknown; ``suspend_generation`` likewise for the suspend after the apply. ``verdict`` is an apply verdict read
    before that suspend.
    """

    outcome: RequestOutcome
    token: str
    commit: str
    requested_at: datetime
    suspend_token: str = ""
    overdue: bool = False
    recovered: bool = False
    unconfirmed: QuarterdeckError | None = None
    applier_uid: str = ""
    resume_generation: int = 0
    suspend_generation: int = 0
    guard_resource_version: str = ""
    guard_generation: int = 0
    seen: bool = False
    verdict: Progress | None = None


class Trace(msgspec.Struct, frozen=True):
    """What applying passes leave in the status. ``ended`` is when the newest of its history ended (RFC 3339, or "").

    ``hand`` is when who changed the object last, apart from its controller and us; it is no part of the trace.
    """

    applied: str = ""
    attempted: str = ""
    ended: str = ""
    hand: tuple[str, str] = ("", "")

    def same_as(self, other: Trace) -> bool:
        """Whether nothing was applied between the two."""
        return (self.applied, self.attempted, self.ended) == (other.applied, other.attempted, other.ended)


class Suspension(msgspec.Struct, frozen=True):
    """How a Kustomization is held: ``applied`` is the verdict of its last apply, whoever asked for it."""

    suspended: bool
    held: bool
    handled: bool
    applied: Progress
    trace: Trace = Trace()

    @property
    def complete(self) -> bool:
        """Suspended under our manager, and no reconcile is running any more."""
        return self.suspended and self.held and self.handled


class Consumer(msgspec.Struct, frozen=True, order=True):
    """An object that applies a GitRepository."""

    kind: str
    namespace: str
    name: str
