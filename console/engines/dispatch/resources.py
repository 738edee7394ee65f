"""Triggers and targets as the engine sees them, read from the custom resources. Pure. Section 2 and 9.1."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from console.engines.dispatch.constants import DEFAULT_CLUSTER, FINALIZER
from console.engines.dispatch.records import read_operation
from console.engines.dispatch.types import ApplierKey, ObjectName, Source, TargetRef, TriggerRecord, TriggerRef
from console.engines.ports.applier import (
    APPLICATIONS,
    ARGOCD_TRIGGERS,
    FLUX_TRIGGERS,
    KUSTOMIZATIONS,
    REVERSER_GROUP,
    ApiKind,
    JsonObject,
)
from console.kit.dig import dig, mapping, number, text

_APPLIERS = {FLUX_TRIGGERS.kind: ("kustomizationRef", KUSTOMIZATIONS), ARGOCD_TRIGGERS.kind: ("applicationRef", APPLICATIONS)}
TRIGGER_KINDS: dict[str, ApiKind] = {kind.kind: kind for kind in (FLUX_TRIGGERS, ARGOCD_TRIGGERS)}


class TriggerView(msgspec.Struct, frozen=True, kw_only=True):
    """A FluxTrigger or ArgoCDTrigger."""

    ref: TriggerRef
    key: ApplierKey
    created: str
    generation: int
    deleting: bool
    holding: bool
    record: TriggerRecord
    source: Source | None
    prefetch: bool
    obj: JsonObject

    @property
    def in_flight(self) -> bool:
        """Whether an operation is recorded that has not ended."""
        return self.record.operation is not None and self.record.operation.in_flight


class TargetView(msgspec.Struct, frozen=True, kw_only=True):
    """A GitTarget: what it writes, and which trigger it names."""

    ref: TargetRef
    trigger_group: str
    trigger_kind: str
    trigger_name: str
    provider: str
    branch: str
    cluster_provider: str
    consents: bool
    deleting: bool


def trigger_record(obj: JsonObject) -> TriggerRecord:
    """The engine's two fields of a trigger's status. :raises ProtocolError: the operation can't be understood."""
    where = f"{obj.get('kind', 'trigger')} {text(obj, 'metadata', 'namespace')}/{text(obj, 'metadata', 'name')}"
    operation = read_operation(dig(obj, "status", "operation"), where)
    return TriggerRecord(operation=operation, repair_pending=dig(obj, "status", "repairPending") is True)


def trigger_ref(obj: JsonObject) -> TriggerRef:
    """Which trigger an object is; its kind must be one of the two."""
    return TriggerRef(
        obj["kind"], text(obj, "metadata", "namespace"), text(obj, "metadata", "name"), text(obj, "metadata", "uid")
    )


def applier_key(obj: JsonObject) -> ApplierKey:
    """What a trigger drives, whatever its record says; its kind must be one of the two."""
    reference, applier = _APPLIERS[obj["kind"]]
    return ApplierKey(
        text(obj, "spec", "clusterProviderRef", "name") or DEFAULT_CLUSTER,
        applier.kind,
        text(obj, "spec", reference, "namespace") or text(obj, "metadata", "namespace"),
        text(obj, "spec", reference, "name"),
    )


def trigger_view(obj: JsonObject) -> TriggerView:
    """Read a trigger; its kind must be one of the two. :raises ProtocolError: as :func:`trigger_record`."""
    return TriggerView(
        ref=trigger_ref(obj),
        key=applier_key(obj),
        created=text(obj, "metadata", "creationTimestamp"),
        generation=number(obj, "metadata", "generation"),
        deleting=text(obj, "metadata", "deletionTimestamp") != "",
        holding=obj["kind"] == FLUX_TRIGGERS.kind and FINALIZER in (dig(obj, "metadata", "finalizers") or []),
        record=trigger_record(obj),
        source=_published_source(obj),
        prefetch=dig(obj, "status", "source", "prefetch") is True,
        obj=obj,
    )


def _published_source(obj: JsonObject) -> Source | None:
    source = mapping(obj, "status", "source")
    if not source:
        return None
    repository = mapping(source, "gitRepository")
    name = ObjectName(text(repository, "namespace"), text(repository, "name")) if repository else None
    return Source(text(source, "url"), text(source, "revision"), name)


def target_view(obj: JsonObject) -> TargetView:
    """Read a GitTarget."""
    reference = dig(obj, "spec", "applyTriggerRef") or {}
    return TargetView(
        ref=TargetRef(text(obj, "metadata", "namespace"), text(obj, "metadata", "name"), text(obj, "metadata", "uid")),
        trigger_group=str(reference.get("group") or REVERSER_GROUP),
        trigger_kind=str(reference.get("kind") or ""),
        trigger_name=str(reference.get("name") or ""),
        provider=text(obj, "spec", "providerRef", "name"),
        branch=text(obj, "spec", "branch"),
        cluster_provider=text(obj, "spec", "clusterProviderRef", "name") or DEFAULT_CLUSTER,
        consents=dig(obj, "spec", "revertRefusedEdits") is True,
        deleting=text(obj, "metadata", "deletionTimestamp") != "",
    )


def names(target: TargetView, trigger: TriggerRef) -> bool:
    """Whether a target names a trigger: a reference never leaves its namespace."""
    return (
        target.ref.namespace == trigger.namespace
        and target.trigger_group == REVERSER_GROUP
        and target.trigger_kind == trigger.kind
        and target.trigger_name == trigger.name
    )


def naming_targets(targets: Iterable[TargetView], trigger: TriggerRef) -> list[TargetView]:
    """The targets that name a trigger and are not being deleted, by name."""
    return sorted(
        (target for target in targets if names(target, trigger) and not target.deleting), key=lambda target: target.ref
    )


def same_applier(one: TriggerView, other: JsonObject) -> bool:
    """Whether another trigger's object drives the applier too. Two names of one physical cluster are two clusters here."""
    return one.ref.kind == other.get("kind") and one.key == applier_key(other)


def first_in_line(candidates: Iterable[TriggerView]) -> TriggerView | None:
    """Who holds an applier that several triggers name: nothing in flight and nothing held is ever pre-empted."""
    return min(
        candidates,
        key=lambda trigger: (
            not trigger.in_flight,
            not trigger.holding,
            trigger.created,
            trigger.ref.namespace,
            trigger.ref.name,
        ),
        default=None,
    )


def held_message(loser: TriggerView, holder: TriggerView) -> str:
    """Why a trigger does nothing for now."""
    return f"{loser.key.kind} {loser.key.ref} is held by {holder.ref}; this trigger takes over when that one lets go"
