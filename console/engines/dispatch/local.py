"""Local triggers: declared by the user, for clusters without the custom resources. Section 10.

The record is an annotation on the applier itself, so that a console on another machine sees an operation in flight where it
acts, and nothing that protects the cluster is lost with a laptop. The console's own journal gets each change *before* it.
"""

from __future__ import annotations

import json
from typing import Any, Protocol

import msgspec

from console.engines.dispatch.constants import FIELD_MANAGER, LOCAL_RECORD, Outcome
from console.engines.dispatch.records import read_operation, write_operation
from console.engines.dispatch.types import ApplierKey, Binding, Operation, TriggerRecord, TriggerRef
from console.engines.ports.applier import APPLICATIONS, KUSTOMIZATIONS, ApiKind, JsonObject
from console.engines.ports.dispatch import Clusters, Stored
from console.errors import Conflict, NotFound, ProtocolError
from console.kit.dig import text

LOCAL_KIND = "LocalTrigger"
_HOLDING_TRIES = 6
_MEND = f"Put the annotation {LOCAL_RECORD} right, or remove it when no apply runs there; then hold it again."
_KINDS: dict[str, ApiKind] = {kind.kind: kind for kind in (KUSTOMIZATIONS, APPLICATIONS)}


class LocalTrigger(msgspec.Struct, frozen=True, kw_only=True):
    """A declared trigger. ``cluster`` is the connection to reach it by, ``cluster_uid`` the cluster itself.

    ``hold``: the console may keep a Kustomization suspended between applies. ``confirmed``: the user said that a hold found
    under our field manager is ours.
    """

    cluster: str
    cluster_uid: str
    kind: str
    namespace: str
    name: str
    binding: Binding
    revert_refused_edits: bool = False
    hold: bool = False
    confirmed: bool = False

    @property
    def key(self) -> ApplierKey:
        """The applier."""
        return ApplierKey(self.cluster, self.kind, self.namespace, self.name)

    @property
    def ref(self) -> TriggerRef:
        """Its identity: by the cluster's own uid, so that two connections to one cluster give one trigger."""
        return TriggerRef(LOCAL_KIND, self.cluster_uid, f"{self.kind}/{self.namespace}/{self.name}")


class LocalRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the annotation holds. ``holding`` is set before the first suspend and cleared after the release."""

    operation: Operation | None = None
    repair_pending: bool = False
    holding: bool = False


def read_local(applier: JsonObject) -> LocalRecord:
    """The record on an applier. :raises ProtocolError: it can't be understood."""
    raw = text(applier, "metadata", "annotations", LOCAL_RECORD)
    where = f"{applier.get('kind', 'applier')} {text(applier, 'metadata', 'namespace')}/{text(applier, 'metadata', 'name')}"
    value = _parsed(raw, where)
    return LocalRecord(
        operation=read_operation(value.get("operation"), where, _MEND),
        repair_pending=value.get("repairPending") is True,
        holding=value.get("holding") is True,
    )


def local_patch(applier: JsonObject, record: LocalRecord) -> JsonObject:
    """The merge patch that puts a record on an applier exactly as it was read; an empty record removes the annotation."""
    value: JsonObject = {}
    if record.operation is not None:
        old = _parsed(text(applier, "metadata", "annotations", LOCAL_RECORD), "").get("operation")
        value["operation"] = write_operation(record.operation, old)
    if record.repair_pending:
        value["repairPending"] = True
    if record.holding:
        value["holding"] = True
    annotation = json.dumps(value, separators=(",", ":"), sort_keys=True) if value else None
    return {
        "metadata": {
            "uid": text(applier, "metadata", "uid"),
            "resourceVersion": text(applier, "metadata", "resourceVersion"),
            "annotations": {LOCAL_RECORD: annotation},
        }
    }


def _parsed(raw: str, where: str) -> JsonObject:
    if not raw:
        return {}
    try:
        value: Any = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"the record on {where} is no JSON: {error}", _MEND) from error
    if not isinstance(value, dict):
        raise ProtocolError(f"the record on {where} is no JSON object", _MEND)
    return value


class OperationLog(Protocol):
    """The journal of this console, as the engine sees it."""

    async def write(self, trigger: TriggerRef, operation: Operation) -> None:
        """Store an operation durably before this returns. :raises JournalError: it was not."""
        ...


class Declared(Protocol):
    """Finds the declaration behind a trigger reference."""

    def find(self, ref: TriggerRef) -> LocalTrigger:
        """:raises NotFound: nothing of that name is declared (any more)."""
        ...


class AnnotationStore:
    """Keeps records on the appliers; satisfies :class:`~console.engines.ports.dispatch.RecordStore`.

    A merge patch, not an apply: the hold is the whole apply intent of our manager, and a record must not be part of it.
    """

    on_applier = True

    def __init__(self, clusters: Clusters, declared: Declared, log: OperationLog, manager: str = FIELD_MANAGER) -> None:
        self._clusters = clusters
        self._declared = declared
        self._log = log
        self._manager = manager

    async def read(self, trigger: TriggerRef) -> Stored:
        """The applier, read live."""
        key = self._declared.find(trigger).key
        objects = await self._clusters.objects(key.cluster)
        applier = await objects.get(_KINDS[key.kind], key.namespace, key.name)
        record = read_local(applier)
        return Stored(
            document=applier,
            record=TriggerRecord(operation=record.operation, repair_pending=record.repair_pending),
            version=text(applier, "metadata", "resourceVersion"),
            deleting=text(applier, "metadata", "deletionTimestamp") != "",
        )

    async def write(self, trigger: TriggerRef, stored: Stored, record: TriggerRecord) -> JsonObject:
        """Journal first, then the annotation: what the cluster shows is never ahead of the journal.

        :raises NotFound: the applier that the operation began on is gone, and another of its name stays as it was made.
        """
        operation = record.operation
        gone = operation is not None and operation.applier_uid not in ("", text(stored.document, "metadata", "uid"))
        present = stored.record.operation
        if present is not None and present.in_flight and not present.same_as(operation):
            # It is withdrawn: the annotation forgets it, but the journal must not go on saying that it is under way.
            withdrawn = msgspec.structs.replace(present, outcome=Outcome.FAILED, message="withdrawn: nothing was asked")
            await self._log.write(trigger, withdrawn)
        if operation is not None and operation != present and (operation.outcome.complete or not gone):
            await self._log.write(trigger, operation)
        if gone:
            raise NotFound(f"{trigger} was replaced by another of its name.", status=404)
        before = read_local(stored.document)
        patch = local_patch(
            stored.document,
            LocalRecord(operation=record.operation, repair_pending=record.repair_pending, holding=before.holding),
        )
        return await self._merge(trigger, patch)

    async def set_holding(self, trigger: TriggerRef, holding: bool) -> None:
        """Note on the applier that we hold it, or no longer do.

        A refused guard means that nothing was written and somebody else was: controllers report right after a release. So it is
        read and tried again, a few times. :raises Conflict: it never stood still.
        """
        for left in reversed(range(_HOLDING_TRIES)):
            stored = await self.read(trigger)
            before = read_local(stored.document)
            if before.holding == holding:
                return
            try:
                await self._merge(trigger, local_patch(stored.document, msgspec.structs.replace(before, holding=holding)))
            except Conflict:
                if not left:
                    raise
            else:
                return

    async def local_record(self, trigger: TriggerRef) -> LocalRecord:
        """The whole annotation. :raises NotFound: the applier is gone."""
        return read_local((await self.read(trigger)).document)

    async def _merge(self, trigger: TriggerRef, patch: JsonObject) -> JsonObject:
        key = self._declared.find(trigger).key
        objects = await self._clusters.objects(key.cluster)
        return await objects.merge(_KINDS[key.kind], key.namespace, key.name, patch, manager=self._manager)


class Declarations:
    """The adopted triggers of this console. A candidate that nobody adopted is in no way known here."""

    def __init__(self) -> None:
        self._triggers: dict[TriggerRef, LocalTrigger] = {}
        self._by_applier: dict[tuple[str, str, str], LocalTrigger] = {}

    def adopt(self, trigger: LocalTrigger) -> str:
        """Take a declared trigger; returns why not, empty when it was taken.

        One applier has one trigger: a second connection to the same cluster finds it taken.
        """
        present = self._triggers.get(trigger.ref.key)
        if present is not None and present.cluster != trigger.cluster:
            return f"{trigger.kind} {trigger.namespace}/{trigger.name} is already a trigger by the connection {present.cluster}"
        self._triggers[trigger.ref.key] = trigger
        self._by_applier[trigger.kind, trigger.namespace, trigger.name] = trigger
        return ""

    def drop(self, ref: TriggerRef) -> None:
        """Forget a trigger; whatever it holds must have been released before."""
        dropped = self._triggers.pop(ref.key, None)
        if dropped is not None:
            self._by_applier.pop((dropped.kind, dropped.namespace, dropped.name), None)

    def find(self, ref: TriggerRef) -> LocalTrigger:
        """:raises NotFound: nothing of that name is declared."""
        try:
            return self._triggers[ref.key]
        except KeyError:
            raise NotFound(f"{ref} is not declared", "Adopt it, or declare it in the fleet file.", status=404) from None

    def of_applier(self, kind: str, namespace: str, name: str) -> LocalTrigger | None:
        """The trigger that drives an applier; None if nothing declared does."""
        return self._by_applier.get((kind, namespace, name))

    def all(self) -> tuple[LocalTrigger, ...]:
        """Every adopted trigger."""
        return tuple(self._triggers.values())
