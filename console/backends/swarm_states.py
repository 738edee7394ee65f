"""What one snapshot of nodes, services and tasks says about each service: counts by the newest task of each slot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from console.backends.kube_common import instant
from console.backends.swarm_wire import Platform, WireNode, WireService, WireTask
from console.model.convergence import SETTLE, ServiceState

FAILED = frozenset({"failed", "rejected", "orphaned"})
_NANO = 1e9
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_SAME_ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}
# The engine was seen replacing a failed task of a replicated job although its restart condition was "none": so it must be the
# newest of its slot for this long (seconds) before it counts as dead.
JOB_PROOF = 5.0


class Slots(msgspec.Struct, frozen=True):
    """A service's tasks by slot (by node for global modes), the newest first in each."""

    by_slot: Mapping[str, Sequence[WireTask]]

    @property
    def newest(self) -> tuple[WireTask, ...]:
        """The newest task of each slot."""
        return tuple(tasks[0] for tasks in self.by_slot.values())


def mode_of(service: WireService) -> str:
    """replicated, global, replicated-job or global-job."""
    mode = service.spec.mode
    if mode.global_ is not None:
        return "global"
    if mode.replicated_job is not None:
        return "replicated-job"
    return "global-job" if mode.global_job is not None else "replicated"


def slots_of(service: WireService, tasks: Iterable[WireTask]) -> Slots:
    """Sort a service's tasks into slots."""
    by_node = mode_of(service) in ("global", "global-job")
    found: dict[str, list[WireTask]] = {}
    for task in tasks:
        found.setdefault(task.node_id if by_node else str(task.slot), []).append(task)
    for history in found.values():
        history.sort(key=lambda task: (instant(task.created_at) or _NEVER, task.version.index), reverse=True)
    return Slots(found)


def schedulable(nodes: Iterable[WireNode]) -> dict[str, WireNode]:
    """Nodes that are neither drained nor down, by id. Nothing stricter: a paused node's running tasks count."""
    return {node.id: node for node in nodes if node.spec.availability != "drain" and node.status.state != "down"}


def admits(node: WireNode, constraints: Iterable[str], platforms: Sequence[Platform]) -> bool:
    """Whether tasks with these constraints and platforms may run on the node (swarmkit's constraint language)."""
    for constraint in constraints:
        negated = "!=" in constraint
        key, _, wanted = constraint.partition("!=" if negated else "==")
        actual = _attribute(node, key.strip())
        if actual is None or (actual.lower() == wanted.strip().lower()) is negated:
            return False
    return not platforms or any(_fits(node, platform) for platform in platforms)


def _attribute(node: WireNode, key: str) -> str | None:
    platform = node.description.platform or Platform()
    engine = node.description.engine
    fixed = {
        "node.id": node.id,
        "node.hostname": node.description.hostname,
        "node.ip": node.status.addr or "",
        "node.role": node.spec.role,
        "node.platform.os": platform.os or "",
        "node.platform.arch": platform.architecture or "",
    }
    if key.lower() in fixed:
        return fixed[key.lower()]
    if key.lower().startswith("node.labels."):
        return (node.spec.labels or {}).get(key[len("node.labels.") :], "")
    if key.lower().startswith("engine.labels."):
        return ((engine.labels if engine else None) or {}).get(key[len("engine.labels.") :], "")
    return None


def _fits(node: WireNode, wanted: Platform) -> bool:
    has = node.description.platform or Platform()
    same_os = not wanted.os or wanted.os == has.os
    return same_os and (not wanted.architecture or _architecture(wanted.architecture) == _architecture(has.architecture or ""))


def _architecture(name: str) -> str:
    return _SAME_ARCHITECTURE.get(name, name)


def state_of(
    service: WireService,
    slots: Slots,
    nodes: Mapping[str, WireNode],
    now: datetime,
    dead_since: Mapping[str, datetime] | None = None,
) -> ServiceState:
    """The facts about one service.

    :param nodes: the schedulable ones.
    :param dead_since: when a failed task of a replicated job was first seen as the newest of its slot, by task id.
    """
    mode = mode_of(service)
    native = mode.endswith("-job")
    policy = service.spec.task_template.restart_policy
    restart = (policy.condition if policy else None) or "any"
    monitor = (service.spec.update_config.monitor or 0) / _NANO if service.spec.update_config else 0.0
    iteration = _iteration(service)
    newest = [task for task in slots.newest if not native or _task_iteration(task) == iteration]
    counted = [task for task in newest if task.node_id in nodes]
    wanted_states = ("running", "complete") if native else ("running",)
    running = sum(1 for task in counted if task.status.state == "running" and task.desired_state in wanted_states)
    job = native or restart in ("none", "on-failure")
    completed = sum(1 for task in counted if task.status.state == "complete") if job else 0
    dead = _dead_task(newest, restart, mode, now, dead_since or {})
    created = [moment for task in counted if (moment := instant(task.created_at))]
    update = service.update_status
    return ServiceState(
        name=service.spec.name,
        mode=mode,
        running=running,
        desired=_desired(service, mode, nodes.values()),
        completed=completed,
        job=job,
        native_job=native,
        update_state=(update.state or "") if update else "",
        update_started_at=instant(update.started_at) if update else None,
        monitor=monitor,
        newest_task_age=max(0.0, (now - max(created)).total_seconds()) if created else None,
        dead_task=dead is not None,
        dead_task_reason=(dead.status.err or dead.status.message or "") if dead else "",
        error=active_error(slots),
        exhausted=restart == "on-failure" and not native and _exhausted(service, newest, monitor, now),
    )


def active_error(slots: Slots) -> str:
    """The engine's text of the latest failure that nothing has overcome.

    A slot's failure counts while it is newer than the slot's newest task that reached running or complete.
    """
    latest: tuple[datetime, str] | None = None
    for history in slots.by_slot.values():
        for task in history:
            if task.status.state in ("running", "complete"):
                break
            text = task.status.err
            if text and (task.status.state in FAILED or task.desired_state == "running"):
                at = instant(task.status.timestamp) or instant(task.created_at)
                if at is not None and (latest is None or at > latest[0]):
                    latest = (at, text)
                break
    return latest[1] if latest else ""


def _iteration(service: WireService) -> int:
    status = service.job_status
    return status.job_iteration.index if status is not None and status.job_iteration is not None else 0


def _task_iteration(task: WireTask) -> int:
    return task.job_iteration.index if task.job_iteration is not None else 0


def _desired(service: WireService, mode: str, nodes: Iterable[WireNode]) -> int:
    spec = service.spec
    if mode == "replicated":
        replicas = spec.mode.replicated.replicas if spec.mode.replicated else None
        return 1 if replicas is None else replicas
    if mode == "replicated-job":
        job = spec.mode.replicated_job
        total = job.total_completions if job else None
        concurrent = job.max_concurrent if job else None
        return total if total is not None else (concurrent if concurrent is not None else 1)
    placement = spec.task_template.placement
    constraints = (placement.constraints if placement else None) or ()
    platforms = (placement.platforms if placement else None) or ()
    return sum(1 for node in nodes if admits(node, constraints, platforms))


def _dead_task(
    newest: Iterable[WireTask], restart: str, mode: str, now: datetime, dead_since: Mapping[str, datetime]
) -> WireTask | None:
    if restart != "none":
        return None
    for task in newest:
        if task.status.state not in FAILED:
            continue
        if mode != "replicated-job":
            return task
        seen = dead_since.get(task.id)
        if seen is not None and now - seen >= timedelta(seconds=JOB_PROOF):
            return task
    return None


def _exhausted(service: WireService, newest: Iterable[WireTask], monitor: float, now: datetime) -> bool:
    """With restart "on-failure" a failed task that nothing replaced in time is the last one of its slot."""
    policy = service.spec.task_template.restart_policy
    delay = SETTLE if policy is None or policy.delay is None else policy.delay / _NANO
    patience = timedelta(seconds=delay + max(monitor, SETTLE))
    for task in newest:
        at = instant(task.status.timestamp) or instant(task.created_at)
        if task.status.state in FAILED and at is not None and now - at > patience:
            return True
    return False
