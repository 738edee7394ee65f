"""Services of Docker hosts, and the containers they run in."""

from __future__ import annotations

from console.model.docker import Container
from console.views import columns, formats, words
from console.views.cells import Cell, Column, Context, Table, cell
from console.views.glyphs import attention

_SWARM_TASK = "com.docker.swarm.task.id"


def own_service(container: Container) -> bool:
    """Whether a container belongs on the list of services: a Swarm's tasks are shown with their stack."""
    return _SWARM_TASK not in container.labels


def service_name(container: Container) -> str:
    """The service that a container runs, with its number among several; a container started by hand is its own service."""
    return f"{container.service}{words.replica(container)}" if container.service else container.ref.name


def ready_word(container: Container) -> str:
    """What the health check says, or that there is none, or how the container ended."""
    if container.state == "running":
        return {"": "no probe", "healthy": "ready", "unhealthy": "not ready"}.get(container.probe, container.probe)
    if container.oom_killed:
        return "out of memory"
    return f"exit {container.exit_code}" if container.state in ("exited", "dead") else ""


def _state(container: Container, _: Context) -> Cell:
    return cell("drifted" if container.drift else container.state, "warn" if container.drift else attention(container.health))


_APP: Column[Container] = columns.texted("app", "APP", lambda item: item.app, width=14, priority=3)
_IMAGE: Column[Container] = columns.texted("image", "IMAGE", lambda item: formats.image(item.image), width=26, priority=4)
_STATE: Column[Container] = Column(key="sync", title="STATE", width=11, cell=_state, sort=lambda item: item.state)
_READY: Column[Container] = Column(
    key="ready",
    title="READY",
    width=13,
    priority=3,
    cell=lambda item, _: cell(ready_word(item), attention(item.health)),
    sort=ready_word,
)
_RESTARTS: Column[Container] = columns.numbered("restarts", "RESTARTS", lambda item: item.restarts, width=8, priority=5)
_PORTS: Column[Container] = columns.texted("ports", "PORTS", lambda item: ", ".join(item.ports), width=22, priority=7)

SERVICES: Table[Container] = Table(
    name="services",
    title="Services",
    kinds=("Container",),
    one="service",
    many="services",
    aliases=("service", "svc"),
    keep=own_service,
    columns=(
        columns.MARK,
        columns.WHERE,
        _APP,
        columns.named(lambda item: service_name(item) if isinstance(item, Container) else item.ref.name, "SERVICE", 20),
        _STATE,
        columns.HEALTH,
        _READY,
        _IMAGE,
        columns.texted("drift", "DRIFT", lambda item: item.drift, width=18, priority=5, tone="warn"),
        _RESTARTS,
        columns.WHAT,
        _PORTS,
        columns.aged(at=lambda item: item.started or item.created),
    ),
)
CONTAINERS: Table[Container] = Table(
    name="containers",
    title="Containers",
    kinds=("Container",),
    one="container",
    many="containers",
    aliases=("container", "ct"),
    columns=(
        columns.MARK,
        columns.WHERE,
        columns.named(lambda item: item.ref.name, "CONTAINER", 26),
        _APP,
        _STATE,
        columns.HEALTH,
        _READY,
        _IMAGE,
        _RESTARTS,
        columns.texted("status", "STATUS", lambda item: item.status, width=22, priority=5),
        columns.WHAT,
        _PORTS,
        columns.CREATED,
    ),
)
