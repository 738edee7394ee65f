"""What the dispatcher and the status writer need of the rest of the console."""

from __future__ import annotations

from typing import Protocol

import msgspec

from console.engines.dispatch.constants import EventReason, Reason
from console.engines.dispatch.types import (
    ApplierKey,
    Ask,
    Binding,
    ObjectName,
    Operation,
    Progress,
    Recorded,
    Started,
    TargetRef,
    TriggerRecord,
    TriggerRef,
    TriggerStatus,
    Verdict,
)
from console.engines.ports.applier import JsonObject, Objects


class Clusters(Protocol):
    """Finds a cluster by name."""

    async def objects(self, cluster: str) -> Objects:
        """The objects of a cluster (a ClusterProvider or a connection).

        :raises QuarterdeckError: there is no such cluster, or no credentials for it.
        """
        ...


class ApplierClient(Protocol):
    """One cluster's appliers of one kind."""

    async def validate(self, ref: ObjectName) -> Verdict:
        """Whether the applier can be driven."""
        ...

    async def request(self, ref: ObjectName, ask: Ask) -> Started:
        """Start at most one operation, or raise one of the dispatch errors."""
        ...

    async def progress(self, ref: ObjectName, started: Started) -> Progress:
        """How the operation stands, by one look."""
        ...


class Clients(Protocol):
    """Finds the client for an applier."""

    async def client(self, key: ApplierKey) -> ApplierClient:
        """The client of the applier's kind in its cluster. Raises as :meth:`Clusters.objects`."""
        ...

    async def prefetch(self, key: ApplierKey, source: ObjectName, commit: str) -> None:
        """Let the source of a Kustomization fetch ahead; raises dispatch errors."""
        ...


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """A record as it is kept now. ``document`` is the object that carries it, ``version`` its resourceVersion."""

    document: JsonObject
    record: TriggerRecord
    version: str
    uid: str = ""
    deleting: bool = False


class RecordStore(Protocol):
    """Where triggers' records are kept: a trigger's status, or an annotation on the applier."""

    on_applier: bool
    """Whether the document is the applier itself, so that recording moves its resourceVersion."""

    async def read(self, trigger: TriggerRef) -> Stored:
        """The record, read live. :raises NotFound: the trigger is gone."""
        ...

    async def write(self, trigger: TriggerRef, stored: Stored, record: TriggerRecord) -> JsonObject:
        """Replace it, guarded by the version read. :raises Conflict: it changed since."""
        ...


class Records(Protocol):
    """The status writer as the dispatcher sees it."""

    def publish(self, trigger: TriggerRef, status: TriggerStatus) -> None:
        """Have it written soon. Never blocks."""
        ...

    async def record(self, trigger: TriggerRef, operation: Operation) -> Recorded:
        """Have it written now; raises when it may not be, and then nothing may start."""
        ...


class Decision(Protocol):
    """What was decided: the part of a request that a re-check is about."""

    @property
    def trigger(self) -> TriggerRef:
        """Whose applier is asked."""
        ...

    @property
    def key(self) -> ApplierKey:
        """The applier."""
        ...

    @property
    def binding(self) -> Binding:
        """What is written, and must be applied."""
        ...

    @property
    def reason(self) -> Reason:
        """Why."""
        ...

    @property
    def targets(self) -> tuple[TargetRef, ...]:
        """For whom."""
        ...


class Triggers(Protocol):
    """Fresh reads about triggers and their targets."""

    def drives(self, trigger: TriggerRef) -> bool:
        """Whether this console may still write the trigger's applier; once false, its operations are another engine's."""
        ...

    async def still_asked(self, decision: Decision) -> tuple[TargetRef, ...]:
        """The targets for which the decision still holds, not empty.

        :raises StaleError: for none of them. :raises RetryableError: a read failed.
        """
        ...

    async def require_held(self, decision: Decision) -> None:
        """Return when the trigger holds its applier: suspended, and that suspend is handled. :raises RetryableError: else."""
        ...

    async def prefetch_source(self, trigger: TriggerRef, key: ApplierKey) -> ObjectName | None:
        """The GitRepository that may be asked to fetch ahead now; None when it may not."""
        ...


class EventSink(Protocol):
    """Where Events go: Kubernetes Events on GitTargets, or the console's own event log."""

    def event(self, trigger: TriggerRef, target: TargetRef, reason: EventReason, message: str) -> None:
        """Record one. Never blocks, never raises."""
        ...
