"""A swarm's services, tasks, nodes, networks, configs, secrets and volumes as model objects."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from console.backends.docker_wire import WireNetwork, WireVolume
from console.backends.kube_common import instant, sentence
from console.backends.swarm_states import FAILED, mode_of
from console.backends.swarm_wire import UpdateStatus, WireFile, WireNode, WireService, WireTask
from console.model.convergence import Convergence, ServiceState, Step
from console.model.docker import Node, SwarmObject, SwarmService, Task
from console.model.health import Health
from console.model.operations import Operation, State, seen_on
from console.model.refs import Ref

STACK_LABEL = "com.docker.stack.namespace"
_NO_LABELS: Mapping[str, str] = MappingProxyType({})
_HEALTH = {Step.CONVERGED: Health.OK, Step.PROGRESSING: Health.BUSY, Step.WEDGED: Health.BAD}
_UPDATES = {
    "updating": (State.RUNNING, "update"),
    "paused": (State.WAITING, "update"),
    "completed": (State.SUCCEEDED, "update"),
    "rollback_started": (State.RUNNING, "roll back"),
    "rollback_paused": (State.FAILED, "roll back"),
    "rollback_completed": (State.FAILED, "update"),
}
_ON_THE_WAY = frozenset({"new", "allocated", "pending", "assigned", "accepted", "preparing", "ready", "starting"})


def stack_of(labels: Mapping[str, str] | None) -> str:
    """The stack that an object belongs to, by its label."""
    return (labels or _NO_LABELS).get(STACK_LABEL, "")


def stack_ref(connection: str, name: str) -> Ref:
    """The reference of a stack: it is nothing but its name."""
    return Ref(connection, "Stack", "", name, name)


def service_ref(connection: str, wire: WireService) -> Ref:
    """The reference of a service."""
    return Ref(connection, "SwarmService", "", wire.spec.name, wire.id)


def service(connection: str, wire: WireService, state: ServiceState, verdict: Convergence) -> SwarmService:
    """A service, with the verdict on how far it is."""
    spec = wire.spec
    image, _, digest = spec.task_template.container_spec.image.partition("@")
    update = wire.update_status or UpdateStatus()
    stack = stack_of(spec.labels)
    related = [stack_ref(connection, stack)] if stack else []
    related += _mounted(connection, wire)
    ports = (wire.endpoint.ports if wire.endpoint else None) or ()
    return SwarmService(
        ref=service_ref(connection, wire),
        health=_HEALTH[verdict.step],
        reason=sentence(verdict.why),
        created=instant(wire.created_at),
        changed=instant(wire.updated_at),
        version=str(wire.version.index),
        labels=spec.labels or _NO_LABELS,
        related=tuple(related),
        stack=stack,
        mode=mode_of(wire),
        wanted=state.desired,
        running=state.running,
        completed=state.completed,
        image=image,
        digest=digest,
        update=update.state or "",
        update_message=update.message or "",
        update_started=instant(update.started_at),
        ports=tuple(
            f"{port.published_port or ''}:{port.target_port}/{port.protocol or 'tcp'}"
            + (" host" if port.publish_mode == "host" else "")
            for port in ports
        ),
        force=spec.task_template.force_update or 0,
        previous=wire.previous_spec is not None,
    )


def _mounted(connection: str, wire: WireService) -> list[Ref]:
    spec = wire.spec.task_template
    found = [
        Ref(connection, "SwarmConfig", "", use.config_name or "", use.config_id or "")
        for use in spec.container_spec.configs or ()
    ]
    found += [
        Ref(connection, "SwarmSecret", "", use.secret_name or "", use.secret_id or "")
        for use in spec.container_spec.secrets or ()
    ]
    return found


def operation(connection: str, wire: WireService) -> Operation | None:
    """The update that runs on a service, or the last one, if the engine remembers it."""
    update = wire.update_status
    if update is None or not update.state:
        return None
    state, verb = _UPDATES.get(update.state, (State.UNKNOWN, "update"))
    target = service_ref(connection, wire)
    waiting = ""
    if update.state == "paused":
        waiting = "A person: the update stopped at a failing task."
    elif state is State.RUNNING:
        waiting = "The new tasks to run through their monitor time."
    started = instant(update.started_at)
    return Operation(
        ref=seen_on(target),
        health=Health.BAD if update.state == "paused" else state.health,
        reason=sentence(update.message or "") if state in (State.FAILED, State.WAITING) else "",
        created=started,
        changed=instant(update.completed_at) or started,
        target=target,
        verb=verb,
        state=state,
        step=update.state,
        waiting_for=waiting,
        started=started,
        ended=instant(update.completed_at) if state.ended else None,
        who="Swarm",
        message=update.message or "",
        related=(target,),
    )


def task(connection: str, wire: WireTask, service_of: Ref, hostname: str, *, newest: bool) -> Task:
    """A task. An older one of its slot is history: it says what happened, but is no trouble any more."""
    status = wire.status
    health, reason = _judge_task(wire) if newest else (Health.OK, "")
    container = status.container_status
    place = str(wire.slot) if wire.slot else (hostname or wire.node_id)
    return Task(
        ref=Ref(connection, "Task", "", f"{service_of.name}.{place}", wire.id),
        health=health,
        reason=reason,
        created=instant(wire.created_at),
        changed=instant(status.timestamp) or instant(wire.updated_at),
        version=str(wire.version.index),
        labels=wire.labels or _NO_LABELS,
        related=(service_of,),
        service=service_of,
        slot=wire.slot,
        node=hostname or wire.node_id,
        state=status.state,
        desired=wire.desired_state,
        error=status.err or "",
        image=wire.spec.container_spec.image.partition("@")[0],
        container=(container.container_id if container else None) or "",
        exit_code=(container.exit_code if container else None) or 0,
    )


def _judge_task(wire: WireTask) -> tuple[Health, str]:
    state, text = wire.status.state, wire.status.err or ""
    if state in FAILED:
        return Health.BAD, sentence(text, f"It is {state}")
    if state in _ON_THE_WAY:
        if text:
            return Health.WARN, sentence(text)
        return Health.BUSY, sentence(wire.status.message or "", f"It is {state}")
    if state == "running" and wire.desired_state != "running":
        return Health.BUSY, "It is being stopped."
    return Health.OK, ""


def node(connection: str, wire: WireNode, tasks: int) -> Node:
    """A node and how many tasks run on it."""
    manager = wire.manager_status
    reachability = (manager.reachability or "") if manager else ""
    state, availability = wire.status.state, wire.spec.availability
    health, reason = Health.OK, ""
    if state == "down":
        health, reason = Health.BAD, sentence(wire.status.message or "", "The node is down")
    elif reachability == "unreachable":
        health, reason = Health.BAD, "The other managers can't reach it."
    elif state != "ready":
        health, reason = Health.UNKNOWN, sentence(wire.status.message or "", f"Its state is {state or 'unknown'}")
    elif availability in ("drain", "pause"):
        word = "Drained: its tasks run elsewhere." if availability == "drain" else "Paused: it gets no new tasks."
        health, reason = Health.HELD, word
    engine = wire.description.engine
    return Node(
        ref=Ref(connection, "SwarmNode", "", wire.description.hostname or wire.id, wire.id),
        health=health,
        reason=reason,
        created=instant(wire.created_at),
        changed=instant(wire.updated_at),
        version=str(wire.version.index),
        labels=wire.spec.labels or _NO_LABELS,
        hostname=wire.description.hostname,
        role=wire.spec.role,
        state=state,
        availability=availability,
        leader=manager.leader if manager else False,
        reachability=reachability,
        address=wire.status.addr or "",
        engine=(engine.engine_version if engine else None) or "",
        tasks=tasks,
    )


def network(connection: str, wire: WireNetwork) -> SwarmObject:
    """A network of the engine or of the swarm."""
    words = [wire.driver or "", wire.scope or ""]
    words += [
        word for word, on in (("ingress", wire.ingress), ("attachable", wire.attachable), ("internal", wire.internal)) if on
    ]
    return _object(connection, "SwarmNetwork", (wire.name, wire.id), wire.labels, " ".join(filter(None, words)), wire.created)


def file(connection: str, kind: str, wire: WireFile) -> SwarmObject:
    """A config or a secret: that it is there, never what is in it."""
    found = _object(connection, kind, (wire.spec.name, wire.id), wire.spec.labels, "", wire.created_at)
    return msgspec.structs.replace(found, changed=instant(wire.updated_at), version=str(wire.version.index))


def volume(connection: str, wire: WireVolume) -> SwarmObject:
    """A volume of this engine."""
    detail = " ".join(filter(None, (wire.driver or "", wire.scope or "")))
    return _object(connection, "Volume", (wire.name, wire.name), wire.labels, detail, wire.created_at)


def _object(
    connection: str, kind: str, name_and_id: tuple[str, str], labels: Mapping[str, str] | None, detail: str, created: str | None
) -> SwarmObject:
    stack = stack_of(labels)
    return SwarmObject(
        ref=Ref(connection, kind, "", *name_and_id),
        health=Health.OK,
        created=instant(created),
        changed=instant(created),
        labels=labels or _NO_LABELS,
        related=(stack_ref(connection, stack),) if stack else (),
        stack=stack,
        detail=detail,
    )
