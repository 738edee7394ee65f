"""Flux: Kustomizations, HelmReleases and the sources they apply from, as model objects.

Facts about the controllers: suspended objects are not touched, and their conditions are those of the last pass; ``Ready`` is
Unknown while a pass runs; ``lastAppliedRevision`` moves only after a full success; ``status.lastHandledReconcileAt`` repeats
the ``reconcile.fluxcd.io/requestedAt`` annotation once a pass that read it has ended.
"""

from __future__ import annotations

import msgspec

from console.backends.flux_wire import FluxSpec, FluxStatus, SourceSpec, WireHelmRelease, WireKustomization, WireSource
from console.backends.kube_common import (
    Scope,
    common,
    condition,
    conditions_of,
    in_namespace,
    instant,
    judge_conditions,
    newest,
    sentence,
    suspended_by,
)
from console.backends.kube_wire import OwnedMeta
from console.model import holds
from console.model.health import Condition, Health
from console.model.holds import HoldNote, parse_note, says_holding
from console.model.kubernetes import KubeObject, Trigger
from console.model.operations import Operation, State, seen_on
from console.model.refs import Ref
from console.model.revisions import commit_of


class _Judged(msgspec.Struct, frozen=True):
    health: Health
    reason: str
    conditions: tuple[Condition, ...]
    suspended: bool
    suspended_by: str


def _judge(meta: OwnedMeta, spec: FluxSpec, status: FluxStatus) -> _Judged:
    conditions = conditions_of(status.conditions)
    deleting = meta.deletion_timestamp is not None
    health, reason = judge_conditions(conditions, meta.generation or 0, status.observed_generation or 0, deleting=deleting)
    suspended = bool(spec.suspend)
    owner = suspended_by(meta) if suspended else ""
    if suspended and not deleting:
        who = f"Suspended by {owner}" if owner else "Suspended"
        if health is Health.BAD:
            reason = f"{who} after a failure: {reason}"
        else:
            health, reason = Health.HELD, f"{who}: changes in the source are not applied."
    elif health is Health.OK and _unhandled(meta, status):
        health, reason = Health.BUSY, "A reconciliation was asked for and has not ended yet."
    return _Judged(health, reason, conditions, suspended, owner)


def _unhandled(meta: OwnedMeta, status: FluxStatus) -> bool:
    asked = meta.annotations.requested_at if meta.annotations else None
    return bool(asked) and asked != status.last_handled_reconcile_at


def kustomization(wire: WireKustomization, scope: Scope) -> Trigger:
    """A Kustomization as a local trigger: its own applier, following its source."""
    meta, spec, status = wire.metadata, wire.spec, wire.status
    judged = _judge(meta, spec, status)
    note = _hold_note(meta)
    health, reason = _held(judged, note) if note else (judged.health, judged.reason)
    namespace = meta.namespace or ""
    source_namespace, source_name = in_namespace(spec.source_ref, namespace)
    source_kind = (spec.source_ref.kind if spec.source_ref else None) or "GitRepository"
    source = scope.find(source_kind, source_namespace, source_name)
    known = source if isinstance(source, KubeObject) else None
    wanted = (known.revision if known else "") or status.last_attempted_revision or ""
    related = [scope.named(source_kind, source_namespace, source_name)] if source_name else []
    for dependency in spec.depends_on or ():
        related.append(scope.named("Kustomization", *in_namespace(dependency, namespace)))
    ready = condition(judged.conditions, "Ready")
    return Trigger(
        ref=scope.ref("Kustomization", meta),
        health=health,
        reason=reason,
        **common(meta, newest(judged.conditions)),
        related=tuple(related),
        applier=scope.ref("Kustomization", meta),
        source=(known.url if known else "") or f"{source_kind}/{source_name}",
        branch=known.branch if known else "",
        path=spec.path or "./",
        ready=ready,
        conditions=judged.conditions,
        held=note is not None,
        held_by=note.who() if note else "",
        held_until=note.end() if note else None,
        suspended=judged.suspended,
        suspended_by=judged.suspended_by,
        sync=_sync(wanted, status.last_applied_revision or ""),
        operation=_phase(judged, meta, status),
        wanted=commit_of(wanted),
        applied=commit_of(status.last_applied_revision or ""),
        generation=meta.generation or 0,
        observed_generation=status.observed_generation or 0,
        interval=spec.interval or "",
    )


def _hold_note(meta: OwnedMeta) -> HoldNote | None:
    """The note on what a console holds; None for what none holds, whatever an annotation that was left behind says."""
    told = meta.annotations
    if told is None or not says_holding(told.dispatch or ""):
        return None
    return parse_note(told.hold or "")


def _held(judged: _Judged, note: HoldNote) -> tuple[Health, str]:
    """How a held Kustomization does. A hold is well meant, and what went wrong before it still counts."""
    words = f"Held by {note.words() or 'a console'}"
    match judged.health:
        case Health.HELD:
            return Health.HELD, f"{words}: only what is asked for is applied."
        case Health.OK:
            return Health.HELD, f"{words}, and resumed for now: it is suspended again."
        case Health.BAD if judged.suspended:
            return Health.BAD, f"{words}, after a failure: {_failure(judged)}"
        case _:
            return judged.health, judged.reason


def _failure(judged: _Judged) -> str:
    return judged.reason.partition(" after a failure: ")[2] or judged.reason


def _sync(wanted: str, applied: str) -> str:
    if not wanted:
        return ""
    return "Synced" if commit_of(wanted) == commit_of(applied) else "OutOfSync"


def _phase(judged: _Judged, meta: OwnedMeta, status: FluxStatus) -> str:
    """The word for what a controller does now: "Reconciling", "Requested" or nothing."""
    ready = condition(judged.conditions, "Ready")
    reconciling = condition(judged.conditions, "Reconciling")
    if not judged.suspended:
        if (reconciling and reconciling.status == "True") or (ready and ready.status == "Unknown"):
            return "Reconciling"
        if _unhandled(meta, status):
            return "Requested"
    return ""


def helm_release(wire: WireHelmRelease, scope: Scope) -> KubeObject:
    """A HelmRelease: chart and version, and how its last action went."""
    meta, spec, status = wire.metadata, wire.spec, wire.status
    judged = _judge(meta, spec, status)
    namespace = meta.namespace or ""
    related: list[Ref] = []
    chart = ""
    if spec.chart_ref is not None:
        kind = spec.chart_ref.kind or "OCIRepository"
        related.append(scope.named(kind, *in_namespace(spec.chart_ref, namespace)))
        chart = spec.chart_ref.name or ""
    elif spec.chart is not None:
        chart = spec.chart.spec.chart or ""
        source = spec.chart.spec.source_ref
        if source is not None:
            related.append(scope.named(source.kind or "HelmRepository", *in_namespace(source, namespace)))
        if status.helm_chart and "/" in status.helm_chart:
            related.append(scope.named("HelmChart", *status.helm_chart.split("/", 1)))
    for dependency in spec.depends_on or ():
        related.append(scope.named("HelmRelease", *in_namespace(dependency, namespace)))
    latest = status.history[0] if status.history else None
    revision = (latest.chart_version if latest else None) or status.last_applied_revision or ""
    words = [f"{(latest.chart_name if latest else None) or chart} {revision}".strip()]
    if latest is not None and latest.version:
        words.append(f"release {latest.version} {latest.status or ''}".strip())
    return KubeObject(
        ref=scope.ref("HelmRelease", meta),
        health=judged.health,
        reason=judged.reason,
        **common(meta, newest(judged.conditions)),
        related=tuple(related),
        summary=", ".join(word for word in words if word),
        conditions=judged.conditions,
        suspended=judged.suspended,
        suspended_by=judged.suspended_by,
        revision=revision or status.last_attempted_revision or "",
        interval=spec.interval or "",
        generation=meta.generation or 0,
        observed_generation=status.observed_generation or 0,
    )


def source(kind: str, wire: WireSource, scope: Scope) -> KubeObject:
    """A source: where it fetches from, what it follows there and what it has."""
    meta, spec, status = wire.metadata, wire.spec, wire.status
    judged = _judge(meta, spec, status)
    namespace = meta.namespace or ""
    revision = (status.artifact.revision if status.artifact else None) or ""
    follows = _follows(kind, spec)
    url = spec.url or ""
    if kind == "Bucket":
        url = f"{spec.endpoint or ''}/{spec.bucket_name or ''}"
    elif kind == "HelmChart":
        url = f"{spec.chart or ''} {spec.version or ''}".strip()
    elif kind == "ImageRepository":
        url = spec.image or ""
    health, reason = judged.health, judged.reason
    if kind == "HelmRepository" and not judged.conditions and url.startswith("oci://"):
        # The controller keeps no status for OCI Helm repositories: they are only an address.
        health, reason = Health.OK, ""
    related: tuple[Ref, ...] = ()
    if spec.source_ref is not None:
        related = (scope.named(spec.source_ref.kind or "HelmRepository", *in_namespace(spec.source_ref, namespace)),)
    return KubeObject(
        ref=scope.ref(kind, meta),
        health=health,
        reason=reason,
        **common(meta, (status.artifact.last_update_time if status.artifact else None) or newest(judged.conditions)),
        related=related,
        summary=f"{url}@{follows}" if follows else url,
        conditions=judged.conditions,
        suspended=judged.suspended,
        suspended_by=judged.suspended_by,
        revision=revision,
        url=url,
        branch=follows,
        interval=spec.interval or "",
        generation=meta.generation or 0,
        observed_generation=status.observed_generation or 0,
    )


def _follows(kind: str, spec: SourceSpec) -> str:
    """The branch, tag or pin that a source follows; a GitRepository that names none follows ``master``."""
    ref = spec.ref
    if kind == "GitRepository":
        if ref is None:
            return "master"
        return ref.commit or ref.name or ref.tag or ref.semver or ref.branch or "master"
    if kind == "OCIRepository":
        return (ref.digest or ref.semver or ref.tag or "latest") if ref else "latest"
    return ""


def found_apply(wire: WireKustomization, target: Ref) -> Operation | None:
    """An apply of somebody else that a console found on what it holds: no journal has asked for it, so the record tells it."""
    annotations = wire.metadata.annotations
    found = holds.found_apply(annotations.dispatch or "") if annotations is not None else None
    if found is None:
        return None
    state = State.SUCCEEDED if found.outcome == "Succeeded" else State.FAILED
    ended = instant(found.completed_at)
    return Operation(
        ref=seen_on(target),
        health=state.health,
        reason=sentence(found.message) if state is State.FAILED else "",
        created=ended,
        changed=ended,
        target=target,
        verb="apply",
        state=state,
        started=ended,
        ended=ended,
        who="somebody else",
        why=found.reason,
        message=sentence(found.message),
        commit=found.commit,
        related=(target,),
    )


def operation(resource: Trigger | KubeObject) -> Operation | None:
    """The pass that a Flux controller makes over this object now, if it says that it makes one."""
    reconciling = condition(resource.conditions, "Reconciling")
    ready = condition(resource.conditions, "Ready")
    if resource.suspended:
        return None
    if reconciling is not None and reconciling.status == "True":
        told = reconciling
    elif ready is not None and ready.status == "Unknown":
        told = ready
    else:
        return None
    ref = resource.ref
    failing = ready is not None and ready.status == "False"
    commit = resource.wanted if isinstance(resource, Trigger) else resource.revision
    return Operation(
        ref=seen_on(ref),
        health=Health.BAD if failing else State.RUNNING.health,
        reason=sentence(ready.message) if failing and ready is not None else "",
        created=instant(told.since),
        changed=instant(told.since),
        target=ref,
        verb="reconcile",
        state=State.RUNNING,
        step=told.reason,
        waiting_for=sentence(told.message),
        started=instant(told.since),
        who="Flux",
        message=ready.message if ready is not None else "",
        commit=commit,
        related=(ref,),
    )
