"""What the dispatch engine knows about a trigger: who drives it, what is written, what is applied, what stands in the way.

Read live; shown beside the object, never a ground for a write.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import msgspec

from console.engines.dispatch.binding import binding_mismatch, branch_matches, same_repository, shown
from console.engines.dispatch.constants import DEFAULT_CLUSTER, FIELD_MANAGER
from console.engines.dispatch.flux_reading import suspend_owners, suspended
from console.engines.dispatch.judgement import Condition as Judged
from console.engines.dispatch.judgement import configured
from console.engines.dispatch.local import LocalTrigger, read_local
from console.engines.dispatch.local_triggers import delete_warning, foreign_holder
from console.engines.dispatch.modes import ModeKind
from console.engines.dispatch.references import clusters_of_one_server
from console.engines.dispatch.resources import TriggerView
from console.engines.dispatch.tokens import instant
from console.engines.dispatch.types import ApplierKey, Binding, ObjectName, Operation, Source, TriggerRef, Verdict
from console.engines.ports.applier import APPLICATIONS, KUSTOMIZATIONS, ApiKind
from console.errors import Forbidden, NotFound, NotServed
from console.model.health import Condition, Health
from console.model.refs import Ref
from console.model.trigger_report import RecordedOperation, Rival, TriggerReport, WrittenBinding
from console.runtime.cluster_engine import ClusterEngine
from console.runtime.dispatch_phases import Seen, argo_phases, flux_phases
from console.runtime.dispatch_plans import applied_commit
from console.runtime.hold_notes import read_note


async def trigger_report(engine: ClusterEngine, ref: Ref) -> TriggerReport:
    """The report about the trigger or applier ``ref``.

    :raises QuarterdeckError: the cluster can't be read now.
    """
    if ref.kind in ("FluxTrigger", "ArgoCDTrigger"):
        return await _custom(engine, ref)
    trigger = engine.find(ref.kind, ref.namespace, ref.name)
    return await (_declared(engine, ref, trigger) if trigger is not None else _candidate(engine, ref))


async def _custom(engine: ClusterEngine, ref: Ref) -> TriggerReport:
    driver, driven = await _mode(engine)
    references = engine.references
    trigger = await references.trigger(TriggerRef(ref.kind, ref.namespace, ref.name))
    holder = await references.held_by_another(trigger)
    others = await references.triggers_of_applier(trigger)
    here = trigger.key.cluster == DEFAULT_CLUSTER
    verdict = await _validate(engine, trigger.key) if here else None
    source = verdict.source if verdict else trigger.source
    targets = await references.naming_targets(trigger.ref)
    judgement = await references.judge(trigger, targets, source)
    written = []
    for reference in judgement.references:
        target = next(found for found in targets if found.ref == reference.target)
        want = await references.binding(target)
        told = _written(f"GitTarget {reference.target}", want, source)
        state = reference.state.value.lower()
        written.append(msgspec.structs.replace(told, state=state, why=reference.message))
    raw = await _applier(engine, trigger.key) if here else {}
    report = TriggerReport(
        ref=ref,
        driver=(driver, *await _twins(engine, trigger.key.cluster)),
        driven=driven,
        applier=str(trigger.key),
        written=tuple(written),
        configured=_condition(configured(judgement, f"{holder.ref} holds the applier" if holder else "", verdict)),
        rivals=_rivals(others, holder),
        operation=_operation(trigger.record.operation, raw, flux=trigger.key.kind == KUSTOMIZATIONS.kind),
        repair_pending=trigger.record.repair_pending,
    )
    return _with_applier(report, source, raw, trigger.key.kind, holding=trigger.holding)


async def _declared(engine: ClusterEngine, ref: Ref, trigger: LocalTrigger) -> TriggerReport:
    verdict = await engine.local.validate(trigger)
    raw = await _applier(engine, trigger.key)
    record = read_local(raw)
    said = (
        "A local trigger: declared in the fleet file, driven by this console."
        if verdict.ok
        else "A local trigger, declared in the fleet file, that can't be driven now."
    )
    flux = trigger.kind == KUSTOMIZATIONS.kind
    notes = _hold_notes(raw, ref, record.holding, trigger.hold, engine.clock.now()) if flux else ()
    report = TriggerReport(
        ref=ref,
        driver=(said,),
        driven=Health.OK if verdict.ok else Health.BAD,
        applier=_here(trigger.key),
        written=(_written("the fleet file", trigger.binding, verdict.source),),
        configured=_verdict_condition(verdict),
        held_notes=notes,
        operation=_operation(record.operation, raw, flux=flux),
        repair_pending=record.repair_pending,
    )
    return _with_applier(report, verdict.source, raw, trigger.kind, holding=record.holding)


async def _candidate(engine: ClusterEngine, ref: Ref) -> TriggerReport:
    key = ApplierKey(engine.local_cluster, ref.kind, ref.namespace, ref.name)
    verdict = await _validate(engine, key)
    raw = await _applier(engine, key)
    holder = await foreign_holder(engine.objects, ref.kind, ObjectName(ref.namespace, ref.name))
    driver: tuple[str, ...] = ("A candidate: nobody declared it as a trigger, so this console never makes it apply a commit.",)
    if holder:
        driver = (f"{holder} drives it; this console keeps off.", (await _mode(engine))[0])
    elif suspended(raw) and suspend_owners(raw, FIELD_MANAGER).ours:
        # A trigger that was pointed elsewhere, or lost its finalizer by hand, leaves such a hold behind.
        driver += (
            f"It is suspended under {FIELD_MANAGER}, yet no trigger names it: nobody will hand it back. "
            f"`flux resume kustomization {ref.name} -n {ref.namespace}` ends that hold.",
        )
    report = TriggerReport(
        ref=ref,
        driver=driver,
        driven=Health.HELD if holder else Health.UNKNOWN,
        applier=_here(key),
        configured=None if holder else _verdict_condition(verdict),
        declaration=declaration(ref, verdict.source) if verdict.ok and not holder else (),
    )
    return _with_applier(report, verdict.source, raw, ref.kind, holding=read_local(raw).holding)


def declaration(ref: Ref, source: Source | None) -> tuple[str, ...]:
    """What adopts an applier as a local trigger: an item of ``triggers`` in ``fleet.yaml``."""
    if source is None:
        return ()
    kind = "flux" if ref.kind == KUSTOMIZATIONS.kind else "argocd"
    fields = {
        "name": ref.name,
        "connection": ref.connection,
        "kind": kind,
        "namespace": ref.namespace,
        "object": ref.name,
        "url": shown(source.url),
        "branch": source.revision.removeprefix("refs/heads/"),
    }
    entry = ", ".join(f"{key}: {json.dumps(value)}" for key, value in fields.items())
    return (
        "Adopt it (a), or add to triggers in the fleet file:",
        f"- {{{entry}{', hold: true' if kind == 'flux' else ''}}}",
    )


async def _mode(engine: ClusterEngine) -> tuple[str, Health]:
    mode = await engine.leadership.mode()
    match mode.kind:
        case ModeKind.LEADER:
            return "This console is the engine of this cluster's triggers until it hands the Lease back.", Health.OK
        case ModeKind.DISPLAY if mode.holder:
            return f"{mode.holder} is the engine; this console only shows what it does.", Health.OK
        case ModeKind.DISPLAY:
            said = "No engine is alive: what is held stays held, and nothing is applied. This console can take the Lease over."
            return said, Health.BAD
        case _:
            return "The cluster has no triggers of its own.", Health.UNKNOWN


async def _twins(engine: ClusterEngine, cluster: str) -> tuple[str, ...]:
    """A warning when another ClusterProvider leads to the same server: one applier could then get two triggers unseen."""
    try:
        pairs = await clusters_of_one_server(engine.objects)
    except (Forbidden, NotServed):
        return ()
    others = sorted({name for pair in pairs if cluster in pair for name in pair if name != cluster})
    if not others:
        return ()
    names = ", ".join(others)
    return (f"{cluster} is the same server as {names} by their ClusterProviders: two triggers could meet on one applier.",)


async def _validate(engine: ClusterEngine, key: ApplierKey) -> Verdict:
    # Each kind of trigger holds under a name of its own: what the other's client would call somebody else's hold is ours here.
    client = await (engine.custom_clients if key.cluster == DEFAULT_CLUSTER else engine.clients).client(key)
    return await client.validate(key.ref)


def _here(key: ApplierKey) -> str:
    """An applier of the cluster that one looks at."""
    return f"{key.kind} {key.ref}"


async def _applier(engine: ClusterEngine, key: ApplierKey) -> dict[str, Any]:
    """The applier itself; {} when it is gone, which its verdict says better."""
    try:
        return await engine.objects.get(_kind(key.kind), key.namespace, key.name)
    except NotFound:
        return {}


def _with_applier(
    report: TriggerReport, source: Source | None, raw: dict[str, Any], kind: str, *, holding: bool
) -> TriggerReport:
    """The report with what the applier itself says: what it applies, what it applied, who holds it."""
    note, flux = read_note(raw), kind == KUSTOMIZATIONS.kind
    return msgspec.structs.replace(
        report,
        repository=shown(source.url) if source else "",
        branch=(source.revision or "HEAD") if source else "",
        applied=applied_commit(raw, flux) if raw else "",
        held=holding if flux else None,
        held_by=note.by if holding else "",
        held_why=note.why if holding else "",
        held_until=note.end() if holding else None,
    )


def _written(who: str, want: Binding | None, source: Source | None) -> WrittenBinding:
    if want is None:
        return WrittenBinding(who=who, state="undecided", why="its GitProvider can't be read")
    told = WrittenBinding(who=who, repository=shown(want.url), branch=want.branch)
    if source is None:
        return told
    same = {"repository": same_repository(source.url, want.url), "branch": branch_matches(source, want.branch)}
    differs = tuple(name for name, alike in same.items() if not alike)
    why = binding_mismatch(source, want)
    return msgspec.structs.replace(told, differs=differs, why=why, state="refused" if why else "eligible")


def _condition(judged: Judged) -> Condition:
    return Condition("Configured", judged.status, judged.reason.value, judged.message)


def _verdict_condition(verdict: Verdict) -> Condition:
    unknown = verdict.error is not None
    return Condition(
        "Configured", "True" if verdict.ok else "Unknown" if unknown else "False", verdict.reason.value, verdict.message
    )


def _rivals(others: list[TriggerView], holder: TriggerView | None) -> tuple[Rival, ...]:
    first = [Rival(str(holder.ref), first=True)] if holder is not None else []
    return (*first, *(Rival(str(other.ref)) for other in others if holder is None or other.ref != holder.ref))


def _hold_notes(raw: dict[str, Any], ref: Ref, holding: bool, may_hold: bool, now: datetime) -> tuple[str, ...]:
    if not holding:
        way = "H holds it." if may_hold else "Its declaration allows no hold."
        return (f"Not held: it applies whatever its source has. {way}",)
    said = []
    if (end := read_note(raw).end()) is not None and now >= end:
        said.append("That time is over. Nothing is released by itself: release it, or hold it anew with another time.")
    if warning := delete_warning(ref.path, suspended=suspended(raw)):
        said.append(warning)
    return tuple(said)


def _operation(operation: Operation | None, raw: dict[str, Any], *, flux: bool) -> RecordedOperation | None:
    if operation is None:
        return None
    # What is read here is the record itself, so an end that it tells is recorded.
    seen = Seen(operation, raw, recorded=True)
    return RecordedOperation(
        outcome=operation.outcome.value,
        commit=operation.commit,
        reason=operation.reason.value,
        message=operation.message,
        requested=instant(operation.requested_at),
        completed=instant(operation.completed_at),
        phases=flux_phases(seen) if flux else argo_phases(seen),
    )


def _kind(word: str) -> ApiKind:
    return KUSTOMIZATIONS if word == KUSTOMIZATIONS.kind else APPLICATIONS
