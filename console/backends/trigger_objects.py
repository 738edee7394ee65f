"""GitOps Reverser: triggers, Git targets and providers, cluster providers, as model objects.

Group ``configbutler.ai``. A trigger names one applier; its commits, source and branch come from that applier (or from its own
``status.source``), its operation from the record in ``status.operation``.
"""

from __future__ import annotations

import msgspec

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
)
from console.backends.kube_wire import Conditions, Meta, NameRef, Wire
from console.model.health import Condition, Health
from console.model.kubernetes import KubeObject, Trigger
from console.model.operations import Operation, State, seen_on
from console.model.refs import Ref

HOLD_FINALIZER = "configbutler.ai/kustomization-hold"


class TriggerSpec(Wire):
    """``spec`` of a FluxTrigger or ArgoCDTrigger."""

    cluster_provider_ref: NameRef | None = None
    kustomization_ref: NameRef | None = None
    application_ref: NameRef | None = None


class TriggerSource(Wire):
    """``status.source``: what the applier really applies from."""

    url: str | None = None
    revision: str | None = None


class ApplyOperation(Wire):
    """``status.operation``: the record of one operation."""

    token: str | None = None
    commit: str | None = None
    reason: str | None = None
    outcome: str | None = None
    requested_at: str | None = None
    completed_at: str | None = None
    applied_revision: str | None = None
    message: str | None = None


class TriggerStatus(Conditions):
    """``status`` of a trigger."""

    source: TriggerSource | None = None
    operation: ApplyOperation | None = None
    repair_pending: bool | None = None


class WireTrigger(Wire):
    """A FluxTrigger or ArgoCDTrigger."""

    metadata: Meta = msgspec.field(default_factory=Meta)
    spec: TriggerSpec = msgspec.field(default_factory=TriggerSpec)
    status: TriggerStatus = msgspec.field(default_factory=TriggerStatus)


class TargetSpec(Wire):
    """``spec`` of a GitTarget, GitProvider or ClusterProvider."""

    provider_ref: NameRef | None = None
    cluster_provider_ref: NameRef | None = None
    apply_trigger_ref: NameRef | None = None
    branch: str | None = None
    path: str | None = None
    url: str | None = None
    allowed_branches: list[str] | None = None


class WireTarget(Wire):
    """A GitTarget, GitProvider or ClusterProvider."""

    metadata: Meta = msgspec.field(default_factory=Meta)
    spec: TargetSpec = msgspec.field(default_factory=TargetSpec)
    status: Conditions = msgspec.field(default_factory=Conditions)


_OUTCOMES = {
    "Requested": State.PENDING,
    "Running": State.RUNNING,
    "Settling": State.WAITING,
    "Succeeded": State.SUCCEEDED,
    "Failed": State.FAILED,
    "Unresolved": State.UNKNOWN,
}
_WAITS = {
    "Requested": "The applier has not begun yet.",
    "Running": "The applier is at work.",
    "Settling": "The applier has ended and is being suspended again.",
    "Unresolved": "Nobody follows it; the next engine that starts resolves it by reading.",
}


def trigger(kind: str, wire: WireTrigger, scope: Scope) -> Trigger:
    """A FluxTrigger or ArgoCDTrigger, with what its applier says."""
    meta, spec, status = wire.metadata, wire.spec, wire.status
    conditions = conditions_of(status.conditions)
    applier_ref, applier = _applier(kind, wire, scope)
    asked = status.operation or ApplyOperation()
    health, reason = _judge(wire, conditions, applier_ref, applier)
    held = condition(conditions, "Held")
    holds = HOLD_FINALIZER in (meta.finalizers or ())
    source = status.source or TriggerSource()
    provider = (spec.cluster_provider_ref.name if spec.cluster_provider_ref else None) or "default"
    return Trigger(
        ref=scope.ref(kind, meta),
        health=health,
        reason=reason,
        **common(meta, asked.completed_at or asked.requested_at or newest(conditions)),
        related=tuple(ref for ref in (applier_ref, scope.named("ClusterProvider", "", provider)) if ref is not None),
        applier=applier_ref,
        source=source.url or (applier.source if applier else ""),
        branch=source.revision or (applier.branch if applier else ""),
        path=applier.path if applier else "",
        configured=condition(conditions, "Configured"),
        ready=condition(conditions, "Ready"),
        conditions=conditions,
        held=holds or (held is not None and held.status == "True"),
        held_by=_holder(conditions) or (meta.name if holds else ""),
        suspended=applier.suspended if applier else False,
        suspended_by=applier.suspended_by if applier else "",
        automated=applier.automated if applier else None,
        sync=applier.sync if applier else "",
        operation=asked.outcome or "",
        wanted=(asked.commit if _in_flight(asked) else None) or (applier.wanted if applier else "") or asked.commit or "",
        applied=applier.applied if applier else "",
        generation=meta.generation or 0,
        observed_generation=status.observed_generation or 0,
        interval=applier.interval if applier else "",
    )


def _applier(kind: str, wire: WireTrigger, scope: Scope) -> tuple[Ref | None, Trigger | None]:
    applied = "Kustomization" if kind == "FluxTrigger" else "Application"
    named = wire.spec.kustomization_ref if kind == "FluxTrigger" else wire.spec.application_ref
    namespace, name = in_namespace(named, wire.metadata.namespace or "")
    if not name:
        return None, None
    found = scope.find(applied, namespace, name)
    return scope.named(applied, namespace, name), found if isinstance(found, Trigger) else None


def _in_flight(asked: ApplyOperation) -> bool:
    return asked.outcome is not None and not _OUTCOMES.get(asked.outcome, State.UNKNOWN).ended


def _holder(conditions: tuple[Condition, ...]) -> str:
    """The other trigger that holds the applier, from the message that says so."""
    configured = condition(conditions, "Configured")
    if configured is None or configured.reason != "HeldByAnotherTrigger":
        return ""
    _, found, rest = configured.message.partition(" is held by ")
    return rest.partition(";")[0].strip() if found else "another trigger"


def _judge(
    wire: WireTrigger, conditions: tuple[Condition, ...], applier_ref: Ref | None, applier: Trigger | None
) -> tuple[Health, str]:
    """A trigger is as well as its configuration, its last operation and its applier, in this order.

    That a held Kustomization is suspended is what holding means, so it doesn't make its trigger look held up.
    """
    meta, asked = wire.metadata, wire.status.operation or ApplyOperation()
    configured = condition(conditions, "Configured")
    if meta.deletion_timestamp is not None:
        return Health.BUSY, "It is being deleted."
    if configured is not None and configured.status == "False":
        return Health.BAD, sentence(configured.message, configured.reason)
    if _in_flight(asked):
        return Health.BUSY, _WAITS.get(asked.outcome or "", "An operation is in flight.")
    if asked.outcome == "Unresolved":
        return Health.UNKNOWN, sentence(asked.message or "", _WAITS["Unresolved"])
    if asked.outcome == "Failed":
        return Health.BAD, sentence(asked.message or "", "The last operation failed")
    if wire.status.repair_pending:
        return Health.WARN, "The last state of the cluster is uncertain: the same commit will be applied again."
    health, reason = judge_conditions(conditions, meta.generation or 0, wire.status.observed_generation or 0)
    if configured is not None and configured.status == "Unknown" and health in (Health.OK, Health.UNKNOWN):
        # Nothing holds anything here: a trigger that nobody names is at rest, one that is not decided yet is not known.
        idle = configured.reason == "NotReferenced"
        return Health.OK if idle else Health.UNKNOWN, sentence(configured.message, configured.reason)
    if health is Health.OK and applier is not None and applier.health in (Health.BAD, Health.WARN, Health.BUSY):
        return applier.health, f"{applier.ref.kind} {applier.ref.name}: {applier.reason}"
    if health is Health.OK and applier_ref is not None and applier is None:
        return Health.UNKNOWN, f"{applier_ref.kind} {applier_ref.path} can't be seen here."
    return health, reason


def operation(kind: str, wire: WireTrigger, scope: Scope) -> Operation | None:
    """The operation that is recorded on the trigger: in flight, or the last one."""
    asked = wire.status.operation
    if asked is None or not asked.outcome:
        return None
    state = _OUTCOMES.get(asked.outcome, State.UNKNOWN)
    target = scope.ref(kind, wire.metadata)
    applier_ref, _ = _applier(kind, wire, scope)
    return Operation(
        ref=seen_on(target),
        health=state.health,
        reason=sentence(asked.message or "") if state.ended and state is not State.SUCCEEDED else "",
        created=instant(asked.requested_at),
        changed=instant(asked.completed_at or asked.requested_at),
        target=target,
        verb="apply",
        state=state,
        step=asked.outcome,
        waiting_for=_WAITS.get(asked.outcome, ""),
        started=instant(asked.requested_at),
        ended=instant(asked.completed_at),
        who="GitOps Reverser",
        why=asked.reason or "",
        message=asked.message or "",
        commit=asked.commit or "",
        related=tuple(ref for ref in (target, applier_ref) if ref is not None),
    )


def target(kind: str, wire: WireTarget, scope: Scope) -> KubeObject:
    """A GitTarget, GitProvider or ClusterProvider."""
    meta, spec, status = wire.metadata, wire.spec, wire.status
    conditions = conditions_of(status.conditions)
    observed = status.observed_generation or 0
    health, reason = judge_conditions(conditions, meta.generation or 0, observed, deleting=meta.deletion_timestamp is not None)
    namespace = meta.namespace or ""
    related: list[Ref] = []
    summary, url = "", spec.url or ""
    if kind == "GitTarget":
        if spec.provider_ref is not None:
            related.append(scope.named("GitProvider", namespace, spec.provider_ref.name or ""))
            provider = scope.find("GitProvider", namespace, spec.provider_ref.name or "")
            url = provider.url if isinstance(provider, KubeObject) else ""
        if spec.apply_trigger_ref is not None and spec.apply_trigger_ref.name:
            related.append(scope.named(spec.apply_trigger_ref.kind or "FluxTrigger", namespace, spec.apply_trigger_ref.name))
        cluster = (spec.cluster_provider_ref.name if spec.cluster_provider_ref else None) or "default"
        related.append(scope.named("ClusterProvider", "", cluster))
        summary = f"{url}@{spec.branch or ''} {spec.path or ''}".strip()
        health, reason = _failing(conditions, health, reason)
    elif kind == "GitProvider":
        summary = f"{url} ({', '.join(spec.allowed_branches)})" if spec.allowed_branches else url
    return KubeObject(
        ref=scope.ref(kind, meta),
        health=health,
        reason=reason,
        **common(meta, newest(conditions)),
        related=tuple(related),
        summary=summary,
        conditions=conditions,
        url=url,
        branch=spec.branch or "",
        generation=meta.generation or 0,
        observed_generation=observed,
    )


def _failing(conditions: tuple[Condition, ...], health: Health, reason: str) -> tuple[Health, str]:
    """A GitTarget whose trigger is refused isn't well, although it writes to Git as it should."""
    trigger_ready = condition(conditions, "ApplyTriggerReady")
    if health is Health.OK and trigger_ready is not None and trigger_ready.status == "False":
        return Health.WARN, sentence(trigger_ready.message, trigger_ready.reason)
    return health, reason
