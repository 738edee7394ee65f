"""Containers of a host as model objects, and the samples of their use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from console.backends.docker_wire import ContainerPort, Inspected, WireContainer
from console.backends.kube_common import instant, sentence
from console.backends.swarm_objects import STACK_LABEL, stack_ref
from console.model.docker import Container, Sample
from console.model.health import Health
from console.model.refs import Ref

_NO_LABELS: Mapping[str, str] = MappingProxyType({})
_APP_LABELS = ("com.docker.compose.project", "platform-reserved.app", STACK_LABEL)
_SERVICE_LABELS = ("com.docker.compose.service", "platform-reserved.service", "com.docker.swarm.service.name")
_EXIT = re.compile(r"^(?:Exited|Restarting|Dead) \((?P<code>-?\d+)\)")
_PROBE = re.compile(r"\((?P<probe>healthy|unhealthy|health: starting)\)")
# Ended by TERM or KILL (128 + 15, 128 + 9): how a container ends that somebody stopped.
_STOPPED = (0, 137, 143)
_NEVER = "0001-01-01T00:00:00Z"


def container_name(wire: WireContainer) -> str:
    """The container's own name: the shortest, since links add names with a slash in them."""
    return min((name.removeprefix("/") for name in wire.names or ()), key=len, default=wire.id[:12])


def container(connection: str, wire: WireContainer, inspected: Inspected | None) -> Container:
    """A container; what only an inspection tells is empty until there was one."""
    labels = wire.labels or _NO_LABELS
    state = inspected.state if inspected else None
    probe = _probe(wire.status)
    code = state.exit_code if state else _exit_code(wire.status)
    health, reason = _judge(wire, probe, code, inspected)
    stack = labels.get(STACK_LABEL, "")
    started = instant(_real(state.started_at)) if state else None
    finished = instant(_real(state.finished_at)) if state else None
    created = datetime.fromtimestamp(wire.created, UTC)
    image = (inspected.config.image if inspected else None) or wire.image
    return Container(
        ref=Ref(connection, "Container", "", container_name(wire), wire.id),
        health=health,
        reason=reason,
        created=created,
        changed=max(filter(None, (started, finished, created))),
        labels=labels,
        related=(stack_ref(connection, stack),) if stack else (),
        app=_first(labels, _APP_LABELS),
        service=_first(labels, _SERVICE_LABELS),
        image=image.partition("@")[0],
        image_id=wire.image_id,
        state=wire.state,
        probe=probe,
        status=_without_times(wire.status),
        restarts=inspected.restart_count if inspected else 0,
        exit_code=code if wire.state in ("exited", "dead", "restarting") else 0,
        oom_killed=state.oom_killed if state else False,
        ports=_ports(wire),
        started=started,
        finished=finished,
        networks=tuple(sorted((wire.network_settings.networks if wire.network_settings else None) or ())),
    )


def _first(labels: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((labels[name] for name in names if labels.get(name)), "")


def _real(moment: str | None) -> str | None:
    return None if moment == _NEVER else moment


def _probe(status: str) -> str:
    found = _PROBE.search(status)
    return found["probe"].removeprefix("health: ") if found else ""


def _exit_code(status: str) -> int:
    found = _EXIT.match(status)
    return int(found["code"]) if found else 0


def _without_times(status: str) -> str:
    """The state without "3 hours ago": it would change every minute, and ages are made from instants."""
    if status.startswith("Up"):
        return "Up"
    found = _EXIT.match(status)
    return found.group() if found else status.partition(" ")[0]


def _ports(wire: WireContainer) -> tuple[str, ...]:
    def text(port: ContainerPort) -> str:
        public = f"{port.public_port}:" if port.public_port else ""
        return f"{public}{port.private_port}/{port.type}"

    # One port on all addresses is told twice, for IPv4 and IPv6.
    return tuple(dict.fromkeys(text(port) for port in sorted(wire.ports or (), key=lambda port: port.private_port)))


def _judge(wire: WireContainer, probe: str, code: int, inspected: Inspected | None) -> tuple[Health, str]:
    restarts = inspected.restart_count if inspected else 0
    match wire.state:
        case "running" if probe == "unhealthy":
            return Health.BAD, "Its health check fails."
        case "running" if probe == "starting":
            return Health.BUSY, "Its health check has not passed yet."
        case "running":
            return Health.OK, ""
        case "paused":
            return Health.HELD, "It is paused."
        case "restarting":
            often = f"; restarted {restarts} times" if restarts > 1 else ""
            return Health.BAD, f"It keeps ending with exit code {code}{often}."
        case "created":
            error = (inspected.state.error if inspected else None) or ""
            return (Health.BAD, sentence(error)) if error else (Health.BUSY, "It was created and not started.")
        case "removing":
            return Health.BUSY, "It is being removed."
        case "exited" if inspected is not None and inspected.state.oom_killed:
            return Health.BAD, "It was killed since it ran out of memory."
        case "exited" if code in _STOPPED:
            return Health.HELD, "It is stopped." if code else "It has ended."
        case "exited":
            error = (inspected.state.error if inspected else None) or ""
            return Health.BAD, sentence(error, f"It ended with exit code {code}")
        case _:
            return Health.BAD, f"It is {wire.state or 'in no known state'}."


def sample(ref: Ref, raw: Mapping[str, Any]) -> Sample:
    """One measurement from one line of ``/containers/ID/stats``.

    As the docker command line computes it: CPU time used since the last line, as a share of what the whole machine had, times
    its processors; memory without what the page cache can give back (``inactive_file``, on cgroup v1 ``total_inactive_file``).
    """
    cpu, before = raw.get("cpu_stats") or {}, raw.get("precpu_stats") or {}
    used = _number(cpu, "cpu_usage", "total_usage") - _number(before, "cpu_usage", "total_usage")
    had = _number(cpu, "system_cpu_usage") - _number(before, "system_cpu_usage")
    processors = _number(cpu, "online_cpus") or len((cpu.get("cpu_usage") or {}).get("percpu_usage") or ()) or 1
    memory = raw.get("memory_stats") or {}
    usage = _number(memory, "usage")
    cache = _number(memory, "stats", "total_inactive_file") or _number(memory, "stats", "inactive_file")
    return Sample(
        ref=ref,
        at=instant(str(raw.get("read") or "")) or datetime.now(UTC),
        cpu=round(100.0 * used / had * processors, 2) if had > 0 and used >= 0 and _number(before, "system_cpu_usage") else 0.0,
        memory=max(0, usage - cache),
        memory_limit=_number(memory, "limit"),
    )


def _number(value: Mapping[str, Any], *path: str) -> int:
    found: Any = value
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return int(found) if isinstance(found, int | float) else 0
