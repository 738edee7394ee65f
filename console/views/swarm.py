"""What a Swarm holds: stacks, services, tasks, nodes, and the objects that stacks use."""

from __future__ import annotations

from collections.abc import Callable

from console.model.docker import Node, Stack, SwarmObject, SwarmService, Task
from console.views import columns, formats, words
from console.views.cells import Cell, Column, Context, Table, cell, prose
from console.views.glyphs import attention

STACKS: Table[Stack] = Table(
    name="stacks",
    title="Stacks",
    kinds=("Stack",),
    one="stack",
    many="stacks",
    aliases=("stack", "st"),
    columns=(
        columns.MARK,
        columns.WHERE,
        columns.NAME,
        columns.SYNC,
        columns.HEALTH,
        columns.OPERATION,
        columns.shared("services", "SERVICES", lambda item: item.services_ok, lambda item: item.services),
        columns.shared("tasks", "TASKS", lambda item: item.tasks_running, lambda item: item.tasks_wanted),
        columns.texted("drift", "DRIFT", lambda item: item.drift, width=16, priority=5, tone="warn"),
        columns.WHAT,
        columns.REVISION,
        columns.AGE,
    ),
)


def _update(service: SwarmService, _: Context) -> Cell:
    return cell(service.update.replace("_", " "), attention(service.health))


SWARM_SERVICES: Table[SwarmService] = Table(
    name="swarmservices",
    title="Swarm services",
    kinds=("SwarmService",),
    one="Swarm service",
    many="Swarm services",
    aliases=("swarmservice", "ss"),
    columns=(
        columns.MARK,
        columns.WHERE,
        columns.texted("stack", "STACK", lambda item: item.stack, width=14, priority=4),
        columns.NAME,
        columns.HEALTH,
        Column(key="operation", title="UPDATE", width=18, priority=3, cell=_update, sort=lambda item: item.update),
        Column(
            key="tasks",
            title="TASKS",
            width=7,
            align="right",
            cell=lambda item, _: cell(words.tally(item), attention(item.health)),
            sort=lambda item: item.running + item.completed - item.wanted,
        ),
        columns.texted("mode", "MODE", lambda item: item.mode, width=14, priority=6),
        columns.texted("image", "IMAGE", lambda item: formats.image(item.image), width=26, priority=4),
        columns.texted("ports", "PORTS", lambda item: ", ".join(item.ports), width=16, priority=7, wide=True),
        columns.WHAT,
        columns.AGE,
    ),
)


def _task_name(task: Task) -> str:
    return f"{task.service.name}.{task.slot}" if task.slot else task.service.name


TASKS: Table[Task] = Table(
    name="tasks",
    title="Tasks",
    kinds=("Task",),
    one="task",
    many="tasks",
    aliases=("task",),
    columns=(
        columns.MARK,
        columns.WHERE,
        columns.texted("name", "TASK", _task_name, width=24, priority=1, tone="plain"),
        columns.texted("node", "NODE", lambda item: item.node, width=14, priority=4),
        columns.texted("desired", "DESIRED", lambda item: item.desired, width=10, priority=4),
        Column(
            key="state",
            title="STATE",
            width=11,
            cell=lambda item, _: cell(item.state, attention(item.health)),
            sort=lambda item: item.state,
        ),
        columns.texted("image", "IMAGE", lambda item: formats.image(item.image), width=26, priority=6),
        Column(
            key="what",
            title="ERROR",
            priority=2,
            cell=lambda item, _: prose(item.error or item.reason, attention(item.health)),
            sort=lambda item: item.error,
        ),
        columns.AGE,
    ),
)


def _manager(node: Node) -> str:
    return "leader" if node.leader else node.reachability if node.role == "manager" else ""


NODES: Table[Node] = Table(
    name="nodes",
    title="Nodes",
    kinds=("SwarmNode",),
    one="node",
    many="nodes",
    aliases=("node", "swarmnodes"),
    columns=(
        columns.MARK,
        columns.WHERE,
        columns.named(lambda item: item.hostname if isinstance(item, Node) and item.hostname else item.ref.name, "HOST"),
        columns.texted("role", "ROLE", lambda item: item.role, width=8),
        Column(
            key="state",
            title="STATE",
            width=12,
            cell=lambda item, _: cell(item.state, attention(item.health)),
            sort=lambda item: item.state,
        ),
        columns.texted("availability", "AVAILABILITY", lambda item: item.availability, width=12),
        columns.texted("manager", "MANAGER", _manager, width=11, priority=4),
        columns.numbered("tasks", "TASKS", lambda item: item.tasks, width=6),
        columns.texted("address", "ADDRESS", lambda item: item.address, width=16, priority=6),
        columns.texted("engine", "ENGINE", lambda item: item.engine, width=10, priority=5),
        columns.WHAT,
        columns.CREATED,
    ),
)


def _objects(name: str, kind: str, one: str, detail: str, aliases: tuple[str, ...] = ()) -> Table[SwarmObject]:
    text: Callable[[SwarmObject], str] = lambda item: item.detail  # noqa: E731 -- a named function would say no more
    return Table(
        name=name,
        title=name.capitalize(),
        kinds=(kind,),
        one=one,
        many=name,
        aliases=(one, *aliases),
        columns=(
            columns.WHERE,
            columns.texted("stack", "STACK", lambda item: item.stack, width=16, priority=3),
            columns.named(lambda item: item.ref.name, width=None),
            columns.texted("detail", detail, text, width=24),
            columns.CREATED,
        ),
    )


NETWORKS = _objects("networks", "SwarmNetwork", "network", "DRIVER", ("net",))
CONFIGS = _objects("configs", "SwarmConfig", "config", "DETAIL")
SECRETS = _objects("secrets", "SwarmSecret", "secret", "DETAIL")
VOLUMES = _objects("volumes", "Volume", "volume", "DRIVER", ("vol",))
