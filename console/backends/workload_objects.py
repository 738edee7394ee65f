"""What runs in a cluster: pods and their controllers, as model objects."""

from __future__ import annotations

from console.backends.kube_common import Scope, common, condition, conditions_of, newest, sentence
from console.backends.workload_wire import ContainerStatus, WirePod, WireWorkload
from console.model.health import Condition, Health
from console.model.kubernetes import Pod, Workload
from console.model.refs import Ref

# Reasons of a waiting container that are no trouble: it only has not started yet.
_STARTING = ("ContainerCreating", "PodInitializing", "")


def pod(wire: WirePod, scope: Scope) -> Pod:
    """A pod; the phase is the word that kubectl prints for it."""
    meta, spec, status = wire.metadata, wire.spec, wire.status
    statuses = status.container_statuses or []
    phase, message = _phase(wire)
    health, reason = _judge_pod(wire, phase, message)
    owner = next((owner for owner in meta.owner_references or () if owner.controller), None)
    namespace = meta.namespace or ""
    sidecars = [container.name for container in spec.init_containers or () if container.restart_policy == "Always"]
    return Pod(
        ref=scope.ref("Pod", meta),
        health=health,
        reason=reason,
        **common(meta, newest(conditions_of(status.conditions)) or status.start_time),
        related=(Ref(scope.connection, owner.kind or "", namespace, owner.name or "", owner.uid or ""),) if owner else (),
        phase=phase,
        ready=sum(1 for entry in statuses if entry.ready),
        containers=(*(container.name for container in spec.containers or ()), *sidecars),
        restarts=sum(entry.restart_count or 0 for entry in statuses),
        node=spec.node_name or "",
        owner=f"{owner.kind}/{owner.name}" if owner else "",
    )


def _phase(wire: WirePod) -> tuple[str, str]:
    """The word for a pod, as ``kubectl get pods`` chooses it, and the message that belongs to it."""
    status = wire.status
    word, message = status.reason or status.phase or "Unknown", status.message or ""
    sidecars = {container.name for container in wire.spec.init_containers or () if container.restart_policy == "Always"}
    inits = status.init_container_statuses or []
    for number, entry in enumerate(inits):
        state = entry.state
        if (state.terminated and state.terminated.exit_code == 0) or (entry.name in sidecars and state.running):
            continue
        if state.terminated is not None:
            code = state.terminated.exit_code
            return (
                f"Init:{state.terminated.reason or f'ExitCode:{code}'}",
                state.terminated.message or f"Container {entry.name} ended with exit code {code}",
            )
        if state.waiting is not None and state.waiting.reason not in _STARTING:
            return f"Init:{state.waiting.reason}", state.waiting.message or ""
        word, message = f"Init:{number}/{len(inits)}", ""
        break
    else:
        for entry in status.container_statuses or ():
            state = entry.state
            if state.waiting is not None and state.waiting.reason:
                word, message = state.waiting.reason, state.waiting.message or _last_end(entry)
            elif state.terminated is not None:
                word = state.terminated.reason or f"ExitCode:{state.terminated.exit_code}"
                message = (
                    state.terminated.message or f"Container {entry.name} ended with exit code {state.terminated.exit_code}"
                )
            else:
                continue
            if word not in _STARTING and word != "Completed":
                break
    if wire.metadata.deletion_timestamp is not None:
        return ("Unknown", message) if status.reason == "NodeLost" else ("Terminating", "")
    return word, message


def _last_end(entry: ContainerStatus) -> str:
    last = entry.last_state.terminated if entry.last_state else None
    if last is None:
        return ""
    return f"Container {entry.name} ended with exit code {last.exit_code}" + (f" ({last.reason})" if last.reason else "")


def _judge_pod(wire: WirePod, phase: str, message: str) -> tuple[Health, str]:
    status = wire.status
    if phase in ("Succeeded", "Completed"):
        return Health.OK, ""
    if phase == "Terminating":
        return Health.BUSY, "It is being deleted."
    if status.phase == "Running" and phase == "Running":
        if all(entry.ready for entry in status.container_statuses or ()):
            return Health.OK, ""
        waiting = [entry.name for entry in status.container_statuses or () if not entry.ready]
        return Health.WARN, f"Not ready: {', '.join(waiting)}."
    if phase == "Pending":
        scheduled = condition(conditions_of(status.conditions), "PodScheduled")
        if scheduled is not None and scheduled.status == "False":
            return Health.WARN, sentence(scheduled.message, "It can't be scheduled")
        return Health.BUSY, "It waits to be started."
    if phase in _STARTING or (phase.startswith("Init:") and phase[5:6].isdigit()):
        return Health.BUSY, "Its containers are being started."
    if phase == "Unknown":
        return Health.UNKNOWN, sentence(message, "Its node doesn't answer")
    return Health.BAD, sentence(message, phase)


def workload(kind: str, wire: WireWorkload, scope: Scope) -> Workload:
    """A Deployment, StatefulSet, DaemonSet or Job; counts are pods."""
    meta, spec, status = wire.metadata, wire.spec, wire.status
    if kind == "DaemonSet":
        wanted, ready = status.desired_number_scheduled or 0, status.number_ready or 0
        updated = status.updated_number_scheduled or 0
    elif kind == "Job":
        wanted = spec.completions if spec.completions is not None else (spec.parallelism or 1)
        ready, updated = status.succeeded or 0, status.active or 0
    else:
        wanted = 1 if spec.replicas is None else spec.replicas
        ready, updated = status.ready_replicas or 0, status.updated_replicas or 0
    conditions = conditions_of(status.conditions)
    health, reason = _judge_workload(kind, wire, conditions, (wanted, ready, updated))
    containers = spec.template.spec.containers or []
    return Workload(
        ref=scope.ref(kind, meta),
        health=health,
        reason=reason,
        **common(meta, newest(conditions)),
        related=tuple(
            Ref(scope.connection, owner.kind or "", meta.namespace or "", owner.name or "", owner.uid or "")
            for owner in meta.owner_references or ()
        ),
        wanted=wanted,
        ready=ready,
        updated=updated,
        images=tuple(dict.fromkeys(container.image or "" for container in containers)),
        conditions=conditions,
    )


def _judge_workload(
    kind: str, wire: WireWorkload, conditions: tuple[Condition, ...], counts: tuple[int, int, int]
) -> tuple[Health, str]:
    wanted, ready, updated = counts
    if wire.metadata.deletion_timestamp is not None:
        return Health.BUSY, "It is being deleted."
    if kind == "Job":
        return _judge_job(wire, conditions, wanted, ready)
    progressing = condition(conditions, "Progressing")
    if progressing is not None and progressing.status == "False":
        return Health.BAD, sentence(progressing.message, progressing.reason)
    failure = condition(conditions, "ReplicaFailure")
    if failure is not None and failure.status == "True":
        return Health.BAD, sentence(failure.message, failure.reason)
    observed = wire.status.observed_generation or 0
    if observed < (wire.metadata.generation or 0):
        return Health.BUSY, "Its controller has not seen the latest change yet."
    if updated < wanted:
        return Health.BUSY, f"{updated} of {wanted} pods are of the new kind."
    if ready < wanted:
        return (Health.BAD if ready == 0 else Health.WARN), f"{ready} of {wanted} pods are ready."
    if wire.spec.paused:
        return Health.HELD, "Its rollout is paused."
    return Health.OK, ""


def _judge_job(wire: WireWorkload, conditions: tuple[Condition, ...], wanted: int, done: int) -> tuple[Health, str]:
    failed = condition(conditions, "Failed")
    if failed is not None and failed.status == "True":
        return Health.BAD, sentence(failed.message, failed.reason)
    complete = condition(conditions, "Complete")
    if (complete is not None and complete.status == "True") or done >= wanted:
        return Health.OK, ""
    if wire.spec.suspend:
        return Health.HELD, "It is suspended."
    failures = f", {wire.status.failed} failed" if wire.status.failed else ""
    return Health.BUSY, f"{done} of {wanted} pods completed{failures}."
