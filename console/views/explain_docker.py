"""Three sentences for what a Swarm or a Docker host holds: stacks, services, tasks, nodes, containers."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from console.model.docker import Container, Node, Stack, SwarmObject, SwarmService, Task
from console.model.health import Health
from console.model.resource import Resource
from console.views import formats, reasons, words
from console.views.cells import Context
from console.views.services import service_name

Three = tuple[str, str, str]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def task_trouble(neighbours: Iterable[Resource]) -> str:
    """The newest error among the tasks that are known, in plain words, with its service; or ""."""
    failing = [item for item in neighbours if isinstance(item, Task) and item.error and item.health.needs_attention]
    if not failing:
        return ""
    newest = max(failing, key=lambda item: (item.changed or item.created or _EPOCH).timestamp())
    return f"{newest.service.name}: {reasons.task_error(newest.error)}"


def stack(item: Stack, neighbours: tuple[Resource, ...]) -> Three:
    """How many services are well, whether they are as declared, what is in the way (stacks.md 6.3)."""
    if item.unreadable:
        return (
            f"Not everything of it could be read: {item.unreadable.rstrip('.')}.",
            "What is shown may be incomplete, and it is called neither well nor missing.",
            "It is judged again with the next answer of its swarm.",
        )
    services = f"{item.services_ok} of {formats.counted(item.services, 'service')} are well"
    well = f"{services}, {item.tasks_running} of {item.tasks_wanted} tasks run."
    if not item.services:
        return (
            formats.sentence(item.reason) or "Nothing runs under its label.",
            "There may still be networks, configs, secrets or volumes of it.",
            "Deploying it again, or removing what is left, is the way on.",
        )
    drift = f"It differs from what was declared: {item.drift.rstrip('.')}." if item.drift else ""
    last = item.revision and f"{item.revision} is in force."
    match item.health:
        case Health.OK:
            return (
                well,
                drift or last or "Nobody compared it with a declaration.",
                "It stays so until somebody corrects it." if drift else "Nothing is to be done.",
            )
        case Health.BUSY:
            told = formats.sentence(item.reason) or reasons.UPDATES.get(item.update, "It is changing.")
            return (told, well, "It is well once every task runs and stays up.")
        case Health.UNKNOWN:
            unknown = formats.sentence(item.reason) or "How it does is not known."
            return (unknown, well, "It is judged again with the next answer of its swarm.")
        case _:
            told = formats.sentence(task_trouble(neighbours) or item.reason) or "One of its services does not get on."
            return (told, drift or well, "The errors of its tasks say more.")


def swarm_service(item: SwarmService, neighbours: tuple[Resource, ...]) -> Three:
    """How many tasks run, what the update says, and whether there is a way back (stacks.md 6.2 and 6.5)."""
    job = item.mode.endswith("-job")
    one = item.wanted == 1
    verb = ("is complete" if one else "are complete") if job else ("runs" if one else "run")
    tally = f"{words.tally(item).replace('/', ' of ')} {'task' if one else 'tasks'} {verb}."
    update = reasons.UPDATES.get(item.update, "No update has changed its tasks.")
    back = "The version before can be put back." if item.previous else "There is no earlier version to go back to."
    match item.health:
        case Health.OK:
            return (tally, update, "Nothing is to be done.")
        case Health.BUSY:
            return (formats.sentence(item.reason) or update, tally, "It is well once every task runs and stays up.")
        case Health.UNKNOWN:
            unknown = formats.sentence(item.reason) or "How it does is not known."
            return (unknown, tally, "It is judged again with the next answer of its swarm.")
        case _:
            trouble = formats.sentence(task_trouble(neighbours) or item.reason) or update
            return (trouble, tally if item.update in ("", "completed") or trouble == update else f"{update}", back)


def task(item: Task) -> Three:
    """What became of one task, and who replaces it."""
    what = reasons.TASKS.get(item.state, f"is {item.state or 'in no known state'}")
    place = f"on {item.node}" if item.node else "on no node yet"
    first = f"{item.service.name} {what} {place}."
    if item.error:
        second = formats.sentence(reasons.task_error(item.error))
    elif item.exit_code:
        second = f"Its process ended with exit code {item.exit_code}."
    else:
        second = formats.sentence(item.reason) or "It has reported no error."
    wanted = {"running": "Its swarm wants it to run.", "complete": "Its swarm wants it to run to its end."}
    return (first, second, wanted.get(item.desired, "Its swarm no longer wants it; a newer task may stand in its place."))


def node(item: Node) -> Three:
    """Whether a node takes work, and what the swarm would lose with it."""
    name = item.hostname or item.ref.name
    state = {"ready": "answers", "down": "does not answer", "disconnected": "lost its manager"}.get(
        item.state, "is in no known state"
    )
    takes = {
        "active": "It takes new tasks",
        "pause": "It keeps its tasks but takes no new ones",
        "drain": "Its tasks are moved elsewhere and it takes no new ones",
    }.get(item.availability, "Whether it takes tasks is not known")
    holds = f", and has {formats.counted(item.tasks, 'task')}." if item.tasks else "."
    if item.role == "manager":
        third = "It leads the swarm." if item.leader else f"It is a manager, {item.reachability or 'of unknown reachability'}."
    else:
        third = "It is a worker: the swarm can be steered without it."
    return (f"{name} {state}.", takes + holds, third)


_PROBES = {
    "healthy": "Its health check says that it is ready.",
    "unhealthy": "Its health check fails.",
    "starting": "Its health check has not passed yet.",
    "": "It has no health check, so only its process is known.",
    "none": "It has no health check, so only its process is known.",
}


def container(item: Container, context: Context) -> Three:
    """What the process does, what its health check says, what comes next."""
    name, version = service_name(item), formats.image_leaf(item.image)
    runs = f"{name} ({version})" if version else name
    if item.state == "running":
        since = formats.age(item.started, context.now)
        first = f"{runs} runs." if since in ("", "now") else f"{runs} has run for {since}."
        probe = _PROBES.get(item.probe, f"Its health check says: {item.probe}.")
        told = formats.sentence(item.reason)
        return (first, told if told and item.health is not Health.OK else probe, _container_next(item))
    ended = f" {formats.ago(item.finished, context.now)}" if item.finished else ""
    how = {
        "exited": f"ended with exit code {item.exit_code}{ended}",
        "dead": f"is dead{ended} and can only be removed",
        "created": "was created but never started",
        "paused": "is paused",
        "restarting": f"ended with exit code {item.exit_code} and is being restarted",
        "removing": "is being removed",
    }.get(item.state, f"is {item.state or 'in no known state'}")
    memory = "The kernel ended it because it used more memory than it may." if item.oom_killed else ""
    told = "Its processes stand still and keep their memory." if item.state == "paused" else formats.sentence(item.reason)
    return (f"{runs} {how}.", memory or told or "It serves nothing now.", _container_next(item))


def _container_next(item: Container) -> str:
    if item.drift:
        return f"It differs from what was declared: {item.drift.rstrip('.')}."
    if item.restarts and "restart" not in item.reason:
        return f"It has been restarted {formats.counted(item.restarts, 'time')} since it was made."
    if item.state == "running":
        return "Nothing is to be done." if item.health is Health.OK else "Its logs say more."
    return (
        "Its logs say how it ended."
        if item.state in ("exited", "dead", "restarting")
        else "It waits for somebody to let it go on."
        if item.state == "paused"
        else "It waits for somebody to start it."
    )


def swarm_object(item: SwarmObject) -> Three:
    """A network, config, secret or volume."""
    belongs = f"It belongs to the stack {item.stack}." if item.stack else "It belongs to no stack."
    driver, _, scope = item.detail.partition(" ")
    if item.ref.kind == "SwarmNetwork" and driver:
        detail = f"Its driver is {driver}, its scope {scope}." if scope else f"Its driver is {driver}."
    elif item.ref.kind == "Volume" and driver:
        detail = f"Its driver is {driver}."
    else:
        detail = formats.sentence(item.detail)
    return (
        f"{item.ref.name} is there.",
        detail or belongs,
        belongs if detail else "Its content is not read by this console.",
    )
