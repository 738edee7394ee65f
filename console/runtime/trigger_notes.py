"""What the dispatch engine knows about a trigger, in sentences.

Who drives it, what is written, what is applied, what stands in the way. Read live; shown beside the object, never a ground for
a write.
"""

from __future__ import annotations

import json
from datetime import datetime

from console.engines.dispatch.binding import binding_mismatch, shown
from console.engines.dispatch.constants import DEFAULT_CLUSTER, Outcome
from console.engines.dispatch.flux_reading import suspended
from console.engines.dispatch.judgement import Condition, configured
from console.engines.dispatch.local import LocalTrigger, read_local
from console.engines.dispatch.local_triggers import delete_warning, foreign_holder
from console.engines.dispatch.modes import ModeKind
from console.engines.dispatch.revisions import describe_commit
from console.engines.dispatch.types import ApplierKey, ObjectName, Operation, Source, TriggerRef, Verdict
from console.engines.ports.applier import APPLICATIONS, KUSTOMIZATIONS, ApiKind
from console.model.refs import Ref
from console.runtime.cluster_engine import ClusterEngine
from console.runtime.hold_notes import read_note

_OUTCOMES = {
    Outcome.REQUESTED: "is asked for; the controller has not taken it up",
    Outcome.RUNNING: "is being applied",
    Outcome.SETTLING: "is applied; the suspend after it is not handled yet",
    Outcome.UNRESOLVED: "has not ended in five minutes; it is still followed",
    Outcome.SUCCEEDED: "was applied",
    Outcome.FAILED: "was not applied",
}


async def trigger_notes(engine: ClusterEngine, ref: Ref) -> tuple[str, ...]:
    """Sentences about the trigger or applier ``ref``, most important first.

    :raises QuarterdeckError: the cluster can't be read now.
    """
    if ref.kind in ("FluxTrigger", "ArgoCDTrigger"):
        return await _custom(engine, TriggerRef(ref.kind, ref.namespace, ref.name))
    trigger = engine.find(ref.kind, ref.namespace, ref.name)
    return await (_declared(engine, trigger, engine.clock.now()) if trigger is not None else _candidate(engine, ref))


async def _custom(engine: ClusterEngine, ref: TriggerRef) -> tuple[str, ...]:
    said = [await _mode(engine)]
    trigger = await engine.references.trigger(ref)
    said.append(f"It drives {trigger.key}.")
    holder = await engine.references.held_by_another(trigger)
    if holder is not None:
        said.append(f"{holder.ref} came first for {trigger.key}: this one waits until that one lets go.")
    others = [str(other.ref) for other in await engine.references.triggers_of_applier(trigger)]
    if others and holder is None:
        said.append(f"{', '.join(others)} name the same applier and wait for this one.")
    verdict = await _validate(engine, trigger.key) if trigger.key.cluster == DEFAULT_CLUSTER else None
    source = verdict.source if verdict else trigger.source
    said += _source_lines(source, verdict)
    targets = await engine.references.naming_targets(trigger.ref)
    if not targets:
        said.append("No GitTarget names it, so there is nothing that it would apply.")
    judgement = await engine.references.judge(trigger, targets, source)
    why_held = f"{holder.ref} holds the applier" if holder is not None else ""
    said.append(_configured(configured(judgement, why_held, verdict)))
    for reference in judgement.references:
        target = next(found for found in targets if found.ref == reference.target)
        want = await engine.references.binding(target)
        writes = f"writes {shown(want.url)} at {want.branch}" if want else "has no readable GitProvider"
        why = f" ({reference.message})" if reference.message else ""
        said.append(f"GitTarget {reference.target} {writes}: {reference.state.value.lower()}{why}.")
    return (*said, *_operation(trigger.record.operation, trigger.record.repair_pending))


def _configured(condition: Condition) -> str:
    """What ``Configured`` is by what was read just now; what stands in the trigger's status may be older."""
    why = f": {condition.message}" if condition.message else ""
    return f"Configured is {condition.status} by what was read now ({condition.reason.value}{why})."


async def _mode(engine: ClusterEngine) -> str:
    mode = await engine.leadership.mode()
    match mode.kind:
        case ModeKind.LEADER:
            return "This console is the engine of this cluster's triggers until it hands the Lease back."
        case ModeKind.DISPLAY if mode.holder:
            return f"{mode.holder} is the engine; this console only shows what it does."
        case ModeKind.DISPLAY:
            return "No engine is alive: what is held stays held, and nothing is applied. This console can take the Lease over."
        case _:
            return "The cluster has no triggers of its own."


async def _declared(engine: ClusterEngine, trigger: LocalTrigger, now: datetime) -> tuple[str, ...]:
    verdict = await engine.local.validate(trigger)
    raw = await engine.objects.get(_kind(trigger.kind), trigger.namespace, trigger.name)
    record, note = read_local(raw), read_note(raw)
    said = [
        "A local trigger: declared in the fleet file, driven by this console."
        if verdict.ok
        else f"A local trigger that can't be driven now: {verdict.message}."
    ]
    said.append(f"Written: {shown(trigger.binding.url)} at {trigger.binding.branch}.")
    said += _source_lines(verdict.source, None)
    if mismatch := binding_mismatch(verdict.source, trigger.binding) if verdict.source else "":
        said.append(f"They differ: {mismatch}.")
    if record.holding:
        said.append(f"Held by {note.words() or 'a console'}.")
        if (end := note.end()) is not None and now >= end:
            said.append("That time is over. Nothing is released by itself: release it, or hold it anew with another time.")
        if warning := delete_warning(f"{trigger.namespace}/{trigger.name}", suspended=suspended(raw)):
            said.append(warning)
    elif trigger.kind == KUSTOMIZATIONS.kind:
        said.append(
            "Not held: it applies whatever its source has. "
            + ("H holds it." if trigger.hold else "Its declaration allows no hold.")
        )
    return (*said, *_operation(record.operation, record.repair_pending))


async def _candidate(engine: ClusterEngine, ref: Ref) -> tuple[str, ...]:
    verdict = await _validate(engine, ApplierKey(engine.local_cluster, ref.kind, ref.namespace, ref.name))
    holder = await foreign_holder(engine.objects, ref.kind, ObjectName(ref.namespace, ref.name))
    if holder:
        return (f"{holder} drives it; this console keeps off.", await _mode(engine))
    said = ["A candidate: nobody declared it as a trigger, so this console never makes it apply a commit."]
    if not verdict.ok:
        return (*said, f"It could not be driven as it is: {verdict.message}.")
    return (*said, *_source_lines(verdict.source, None), *declaration(ref, verdict.source))


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
    return ("To adopt it, add to triggers in the fleet file:", f"- {{{entry}{', hold: true' if kind == 'flux' else ''}}}")


async def _validate(engine: ClusterEngine, key: ApplierKey) -> Verdict:
    # Each kind of trigger holds under a name of its own: what the other's client would call somebody else's hold is ours here.
    client = await (engine.custom_clients if key.cluster == DEFAULT_CLUSTER else engine.clients).client(key)
    return await client.validate(key.ref)


def _source_lines(source: Source | None, verdict: Verdict | None) -> list[str]:
    said = []
    if verdict is not None and not verdict.ok:
        said.append(f"The applier can't be driven as it is: {verdict.message}.")
    if source is not None:
        said.append(f"Applied: {shown(source.url)} at {source.revision or 'HEAD'}.")
    return said


def _operation(operation: Operation | None, repair_pending: bool) -> tuple[str, ...]:
    said = []
    if operation is not None:
        what = f"{describe_commit(operation.commit).capitalize()} {_OUTCOMES[operation.outcome]}"
        said.append(f"{what} ({operation.reason.value}{', ' + operation.message if operation.message else ''}).")
    if repair_pending:
        said.append("A repair is pending: the last state of the cluster is uncertain.")
    return tuple(said)


def _kind(word: str) -> ApiKind:
    return KUSTOMIZATIONS if word == KUSTOMIZATIONS.kind else APPLICATIONS
