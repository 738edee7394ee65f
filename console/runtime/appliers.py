"""What stands between a person and an apply, read once: who drives an applier, from what, and whether it may be asked now."""

from __future__ import annotations

from typing import Any

import msgspec

from console.engines.dispatch.constants import DEFAULT_CLUSTER, ConditionReason
from console.engines.dispatch.flux_reading import suspended
from console.engines.dispatch.judgement import ReferenceState
from console.engines.dispatch.local import LocalTrigger, read_local
from console.engines.dispatch.local_triggers import foreign_holder
from console.engines.dispatch.types import ApplierKey, Binding, Operation, TriggerRef, Verdict
from console.engines.ports.applier import APPLICATIONS, KUSTOMIZATIONS
from console.errors import NotFound, NotServed, Refused
from console.model.refs import Ref
from console.runtime.cluster_engine import ClusterEngine
from console.runtime.dispatch_plans import HINTS, read_source
from console.runtime.trigger_notes import declaration

_KINDS = {KUSTOMIZATIONS.kind: KUSTOMIZATIONS, APPLICATIONS.kind: APPLICATIONS}


class Applier(msgspec.Struct, frozen=True, kw_only=True):
    """One applier and how it may be driven.

    :param raw: the Kustomization or Application; ``source`` its GitRepository, empty for Argo CD.
    :param binding: what is to be applied from; what the applier applies where nobody declared anything.
    :param refused: why no apply can be asked for now, with what to do about it; "" if one can.
    :param consents: whether live edits may be reverted.
    :param notes: sentences beside that.
    """

    key: ApplierKey
    raw: dict[str, Any]
    source: dict[str, Any]
    binding: Binding | None
    refused: str = ""
    consents: bool = False
    operation: Operation | None = None
    repair_pending: bool = False
    notes: tuple[str, ...] = ()

    @property
    def flux(self) -> bool:
        """Whether it is a Kustomization."""
        return self.key.kind == KUSTOMIZATIONS.kind


async def read_applier(engine: ClusterEngine, ref: Ref) -> Applier:
    """The applier behind a trigger, a declared applier or a candidate.

    :raises NotServed: no applier is behind such an object. :raises QuarterdeckError: it can't be read now.
    """
    if ref.kind in ("FluxTrigger", "ArgoCDTrigger"):
        return await _custom(engine, TriggerRef(ref.kind, ref.namespace, ref.name))
    if ref.kind not in _KINDS:
        raise NotServed(f"{ref.kind} {ref.path} applies no commits.")
    trigger = engine.find(ref.kind, ref.namespace, ref.name)
    return await (_local(engine, trigger) if trigger is not None else _candidate(engine, ref))


async def _raw(engine: ClusterEngine, key: ApplierKey) -> dict[str, Any]:
    try:
        return await engine.objects.get(_KINDS[key.kind], key.namespace, key.name)
    except NotFound as error:
        raise Refused(f"{key} is gone.") from error


async def _local(engine: ClusterEngine, trigger: LocalTrigger) -> Applier:
    verdict = await engine.local.validate(trigger)
    raw = await _raw(engine, trigger.key)
    record = read_local(raw)
    refused = _unfit(trigger.key, verdict) or _in_flight(record.operation)
    if not refused and trigger.kind == KUSTOMIZATIONS.kind and not (record.holding and suspended(raw)):
        refused = "It is not held: only what is held is applied commit by commit. " + (
            "Hold it first (H)." if trigger.hold else "Its declaration allows no hold: say hold: true in the fleet file."
        )
    return Applier(
        key=trigger.key,
        raw=raw,
        source=await read_source(engine, verdict),
        binding=trigger.binding,
        refused=refused,
        consents=trigger.revert_refused_edits,
        operation=record.operation,
        repair_pending=record.repair_pending,
    )


async def _candidate(engine: ClusterEngine, ref: Ref) -> Applier:
    key = ApplierKey(engine.local_cluster, ref.kind, ref.namespace, ref.name)
    holder = await foreign_holder(engine.objects, key.kind, key.ref)
    client = await (engine.custom_clients if holder else engine.clients).client(key)
    verdict = await client.validate(key.ref)
    source = verdict.source
    raw = await _raw(engine, key)
    branch = source.revision.removeprefix("refs/heads/") if source is not None else ""
    notes: tuple[str, ...] = ()
    if holder:
        refused = f"{holder} drives it: apply there."
    else:
        refused = _unfit(key, verdict) or (
            "Nobody declared it as a trigger, so this console never makes it apply a commit. Adopt it first (a)."
        )
        notes = declaration(ref, source) if verdict.ok else ()
    return Applier(
        key=key,
        raw=raw,
        source=await read_source(engine, verdict),
        binding=Binding(source.url, branch) if source is not None and source.url and branch else None,
        refused=refused,
        notes=notes,
    )


async def _custom(engine: ClusterEngine, ref: TriggerRef) -> Applier:
    references = engine.references
    view = await references.trigger(ref)
    if view.key.cluster != DEFAULT_CLUSTER:
        raise Refused(
            f"{view.key} is in another cluster than its trigger.", "Declare a local trigger on a connection to that cluster."
        )
    client = await engine.custom_clients.client(view.key)
    verdict = await client.validate(view.key.ref)
    raw = await _raw(engine, view.key)
    targets = await references.naming_targets(view.ref)
    judgement = await references.judge(view, targets, verdict.source)
    eligible = {item.target for item in judgement.references if item.state is ReferenceState.ELIGIBLE}
    asking = [target for target in targets if target.ref in eligible]
    binding = await references.binding(asking[0]) if asking else None
    source = verdict.source
    refused = ""
    holder = await references.held_by_another(view)
    if not engine.leadership.held:
        refused = (
            "This console is not the engine of this cluster's triggers: it only shows what they do. "
            "Take the engine's Lease over first, if no engine is alive (a)."
        )
    elif holder is not None:
        refused = f"{holder.ref} came first for {view.key}: use that one."
    elif unfit := _unfit(view.key, verdict):
        refused = unfit
    elif binding is None:
        refused = f"No GitTarget may ask it: {judgement.message or 'none names it'}."
    if binding is None and source is not None and source.url and source.revision:
        binding = Binding(source.url, source.revision.removeprefix("refs/heads/"))
    asks = f"It would be asked for GitTarget {', '.join(str(target.ref) for target in asking)}." if asking else ""
    return Applier(
        key=view.key,
        raw=raw,
        source=await read_source(engine, verdict),
        binding=binding,
        refused=refused or _in_flight(view.record.operation),
        consents=any(target.consents for target in asking),
        operation=view.record.operation,
        repair_pending=view.record.repair_pending,
        notes=(asks,) if asks else (),
    )


def _unfit(key: ApplierKey, verdict: Verdict) -> str:
    if verdict.ok:
        return ""
    hint = HINTS.get(verdict.reason, "") if isinstance(verdict.reason, ConditionReason) else ""
    return f"{key.kind} {key.ref} can't be driven: {verdict.message}. {hint}".strip()


def _in_flight(operation: Operation | None) -> str:
    if operation is None or not operation.in_flight:
        return ""
    return f"An operation with commit {operation.commit[:7]} is in flight: wait for its end."
