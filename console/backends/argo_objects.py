"""Argo CD: Applications and projects as model objects.

An Application has no status subresource and no controller that hides a failure behind a condition: sync, health and the last
operation are three separate words, and each can be bad while the others are well.
"""

from __future__ import annotations

import msgspec

from console.backends.kube_common import Scope, common, instant, sentence
from console.backends.kube_wire import Meta, Wire
from console.model.health import Condition, Health
from console.model.kubernetes import KubeObject, Trigger
from console.model.operations import Operation, State, seen_on


class ApplicationSource(Wire):
    """One source of an Application."""

    repo_url: str | None = msgspec.field(default=None, name="repoURL")
    target_revision: str | None = None
    path: str | None = None
    chart: str | None = None


class Automated(Wire):
    """``spec.syncPolicy.automated``: on by being there, unless ``enabled`` is false."""

    enabled: bool | None = None


class SyncPolicy(Wire):
    """``spec.syncPolicy``."""

    automated: Automated | None = None


class Destination(Wire):
    """``spec.destination``."""

    server: str | None = None
    name: str | None = None
    namespace: str | None = None


class ApplicationSpec(Wire):
    """``spec`` of an Application."""

    project: str | None = None
    source: ApplicationSource | None = None
    sources: list[ApplicationSource] | None = None
    sync_policy: SyncPolicy | None = None
    destination: Destination | None = None


class SyncState(Wire):
    """``status.sync``."""

    status: str | None = None
    revision: str | None = None
    revisions: list[str] | None = None


class HealthState(Wire):
    """``status.health``."""

    status: str | None = None
    message: str | None = None
    last_transition_time: str | None = None


class Initiator(Wire):
    """Who began an operation."""

    username: str | None = None
    automated: bool | None = None


class SyncOperation(Wire):
    """``operation.sync``."""

    revision: str | None = None
    revisions: list[str] | None = None


class WireOperation(Wire):
    """``.operation``: what is asked for and not begun, or the request inside ``operationState``."""

    sync: SyncOperation | None = None
    initiated_by: Initiator | None = None


class SyncResult(Wire):
    """``status.operationState.syncResult``."""

    revision: str | None = None
    revisions: list[str] | None = None


class OperationState(Wire):
    """``status.operationState``: the operation that runs, or the last one."""

    phase: str | None = None
    message: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    operation: WireOperation | None = None
    sync_result: SyncResult | None = None


class Deployed(Wire):
    """One entry of ``status.history``, oldest first."""

    revision: str | None = None
    revisions: list[str] | None = None


class ApplicationCondition(Wire):
    """A condition of an Application: its being there is the news."""

    type: str = ""
    message: str | None = None
    last_transition_time: str | None = None


class ApplicationStatus(Wire):
    """``status`` of an Application."""

    sync: SyncState = msgspec.field(default_factory=SyncState)
    health: HealthState = msgspec.field(default_factory=HealthState)
    operation_state: OperationState | None = None
    history: list[Deployed] | None = None
    conditions: list[ApplicationCondition] | None = None


class WireApplication(Wire):
    """An Argo CD Application."""

    metadata: Meta = msgspec.field(default_factory=Meta)
    spec: ApplicationSpec = msgspec.field(default_factory=ApplicationSpec)
    status: ApplicationStatus = msgspec.field(default_factory=ApplicationStatus)
    operation: WireOperation | None = None


class ProjectSpec(Wire):
    """``spec`` of an AppProject."""

    description: str | None = None
    source_repos: list[str] | None = None
    destinations: list[Destination] | None = None


class WireProject(Wire):
    """An Argo CD AppProject."""

    metadata: Meta = msgspec.field(default_factory=Meta)
    spec: ProjectSpec = msgspec.field(default_factory=ProjectSpec)


_RUNNING = ("Running", "Terminating")
_FAILED = ("Failed", "Error")
_STATES = {
    "Running": State.RUNNING,
    "Terminating": State.RUNNING,
    "Succeeded": State.SUCCEEDED,
    "Failed": State.FAILED,
    "Error": State.FAILED,
}


def application(wire: WireApplication, scope: Scope) -> Trigger:
    """An Application as a local trigger: its own applier."""
    meta, spec, status = wire.metadata, wire.spec, wire.status
    state = status.operation_state
    sources = [spec.source] if spec.source is not None else list(spec.sources or ())
    first = sources[0] if sources else ApplicationSource()
    automated = spec.sync_policy.automated if spec.sync_policy else None
    health, reason = _judge(wire)
    conditions = tuple(
        Condition(type=entry.type, status="True", message=entry.message or "", since=entry.last_transition_time or "")
        for entry in status.conditions or ()
    )
    more = f" and {len(sources) - 1} more" if len(sources) > 1 else ""
    return Trigger(
        ref=scope.ref("Application", meta),
        health=health,
        reason=reason,
        **common(meta, (state.finished_at or state.started_at) if state else status.health.last_transition_time),
        related=(scope.named("AppProject", meta.namespace or "", spec.project or "default"),),
        applier=scope.ref("Application", meta),
        source=f"{first.repo_url or ''}{more}",
        branch=first.target_revision or "HEAD",
        path=first.path or first.chart or "",
        ready=Condition(
            type="Health",
            status={"Healthy": "True", "Degraded": "False", "Missing": "False"}.get(status.health.status or "", "Unknown"),
            reason=status.health.status or "Unknown",
            message=status.health.message or "",
        ),
        conditions=conditions,
        automated=automated is not None and automated.enabled is not False,
        sync=status.sync.status or "Unknown",
        operation="Requested" if wire.operation is not None and not _runs(state) else (state.phase or "" if state else ""),
        wanted=_joined(status.sync.revision, status.sync.revisions),
        applied=_applied(status),
        generation=meta.generation or 0,
    )


def _runs(state: OperationState | None) -> bool:
    return state is not None and state.phase in _RUNNING


def _joined(revision: str | None, revisions: list[str] | None) -> str:
    return revision or ",".join(revisions or ())


def _applied(status: ApplicationStatus) -> str:
    """The last revision that was applied with success: history holds only those, the newest last."""
    if status.history:
        return _joined(status.history[-1].revision, status.history[-1].revisions)
    state = status.operation_state
    if state is not None and state.phase == "Succeeded" and state.sync_result is not None:
        return _joined(state.sync_result.revision, state.sync_result.revisions)
    return ""


def _judge(wire: WireApplication) -> tuple[Health, str]:
    status, state = wire.status, wire.status.operation_state
    sync, alive = status.sync.status or "Unknown", status.health.status or "Unknown"
    if wire.metadata.deletion_timestamp is not None:
        return Health.BUSY, "It is being deleted."
    for entry in status.conditions or ():
        if entry.type.endswith("Error"):
            return Health.BAD, sentence(entry.message or "", entry.type)
    if alive in ("Degraded", "Missing"):
        return Health.BAD, sentence(status.health.message or "", f"Argo CD says that it is {alive.lower()}")
    if _runs(state) or wire.operation is not None:
        return Health.BUSY, sentence((state.message if state else "") or "", "A sync was asked for and runs")
    if state is not None and state.phase in _FAILED and sync != "Synced":
        return Health.BAD, sentence(state.message or "", "The last sync failed")
    if alive == "Progressing":
        return Health.BUSY, sentence(status.health.message or "", "What was applied is not ready yet")
    if alive == "Suspended":
        return Health.HELD, sentence(status.health.message or "", "A part of it is suspended")
    if sync == "OutOfSync":
        return Health.WARN, "The cluster differs from the source."
    if state is not None and state.phase in _FAILED:
        return Health.WARN, sentence(state.message or "", "The last sync failed")
    if sync == "Unknown" or alive == "Unknown":
        return Health.UNKNOWN, "Argo CD can't tell how it is."
    return Health.OK, ""


def project(wire: WireProject, scope: Scope) -> KubeObject:
    """An AppProject: what its Applications may use."""
    spec = wire.spec
    summary = f"{len(spec.source_repos or ())} repositories, {len(spec.destinations or ())} destinations"
    return KubeObject(
        ref=scope.ref("AppProject", wire.metadata),
        health=Health.OK,
        **common(wire.metadata),
        summary=f"{spec.description}: {summary}" if spec.description else summary,
        generation=wire.metadata.generation or 0,
    )


def operation(wire: WireApplication, scope: Scope) -> Operation | None:
    """The sync that runs, is asked for, or was the last one."""
    state, asked = wire.status.operation_state, wire.operation
    target = scope.ref("Application", wire.metadata)
    if asked is not None and not _runs(state):
        state, verdict, began = OperationState(operation=asked), State.PENDING, ""
    elif state is None or state.phase is None:
        return None
    else:
        verdict, began = _STATES.get(state.phase, State.UNKNOWN), state.started_at or ""
    request = state.operation
    initiator = (request.initiated_by if request else None) or Initiator()
    commit = _joined(state.sync_result.revision, state.sync_result.revisions) if state.sync_result else ""
    if not commit and request is not None and request.sync is not None:
        commit = _joined(request.sync.revision, request.sync.revisions)
    waiting = "" if verdict.ended else sentence(state.message or "", "Argo CD has not begun it yet")
    return Operation(
        ref=seen_on(target),
        health=verdict.health,
        reason=sentence(state.message or "") if verdict is State.FAILED else "",
        created=instant(began),
        changed=instant(state.finished_at or began),
        target=target,
        verb="terminate" if state.phase == "Terminating" else "sync",
        state=verdict,
        step=state.phase or "Requested",
        waiting_for=waiting,
        started=instant(began),
        ended=instant(state.finished_at),
        who=initiator.username or ("Argo CD, automated" if initiator.automated else "Argo CD"),
        message=state.message or "",
        commit=commit,
        related=(target,),
    )
