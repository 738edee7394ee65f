"""Any object's state in three plain sentences: what is, what that means, and what would change it.

For a person at night: no dumps of conditions, no platform words where a plain one exists, and nothing claimed that the console
has not read. ``neighbours`` are objects around it that are known (pods of a trigger, tasks of a service); they only make the
first sentence more exact.
"""

from __future__ import annotations

from collections.abc import Iterable

from console.kit.masking import mask_text
from console.kit.sanitize import sanitize
from console.model.assembly import Assembly
from console.model.connections import Connection, Phase
from console.model.docker import Container, Node, Stack, SwarmObject, SwarmService, Task
from console.model.health import Health
from console.model.kubernetes import Event, KubeObject, Namespace, Pod, Trigger, Workload
from console.model.operations import Operation, State
from console.model.resource import Resource
from console.views import explain_cluster, explain_docker, formats, words
from console.views.cells import Context

Three = tuple[str, str, str]


def explain(resource: Resource, context: Context, neighbours: Iterable[Resource] = ()) -> Three:
    """Three sentences, sanitized and masked. Rows of a target that isn't fresh say so in the last one."""
    first, second, third = _explain(resource, context, tuple(neighbours))
    if not isinstance(resource, Connection) and not context.fresh(resource.ref.connection):
        known = context.connections[resource.ref.connection]
        third = f"This was so {formats.ago(known.heard, context.now)}: {known.ref.name} is {known.phase.value} since."
    return (_safe(first), _safe(second), _safe(third))


def _safe(text: str) -> str:
    return sanitize(mask_text(" ".join(text.split())))


def _explain(resource: Resource, context: Context, neighbours: tuple[Resource, ...]) -> Three:
    match resource:
        case Trigger():
            return explain_cluster.trigger(resource, neighbours)
        case KubeObject():
            return explain_cluster.kube_object(resource)
        case Workload():
            return explain_cluster.workload(resource, neighbours)
        case Pod():
            return explain_cluster.pod(resource)
        case Namespace():
            return explain_cluster.namespace(resource)
        case Stack():
            return explain_docker.stack(resource, neighbours)
        case SwarmService():
            return explain_docker.swarm_service(resource, neighbours)
        case Task():
            return explain_docker.task(resource)
        case Node():
            return explain_docker.node(resource)
        case Container():
            return explain_docker.container(resource, context)
        case SwarmObject():
            return explain_docker.swarm_object(resource)
        case Connection():
            return connection(resource, context)
        case Operation():
            return operation(resource, context)
        case Event():
            return event(resource, context)
        case Assembly():
            return assembly(resource)
        case _:
            return anything(resource)


def anything(resource: Resource) -> Three:
    """An object of a kind that nobody wrote sentences for."""
    state = {
        Health.OK: "is well",
        Health.BUSY: "is changing",
        Health.WARN: "needs a look",
        Health.BAD: "is not well",
        Health.HELD: "is held still",
        Health.UNKNOWN: "can't be judged",
    }[resource.health]
    return (
        f"{words.title(resource)} {state}.",
        formats.sentence(resource.reason) or "The platform gives no reason.",
        "Its YAML and its events say more.",
    )


def assembly(resource: Assembly) -> Three:
    """A graph as a whole: how much of it is there, and that both ways lead through a plan."""
    name, parts = words.title(resource), formats.counted(resource.wanted, "part")
    if resource.made == 0:
        return f"Nothing of {name} is there.", f"It would have {parts}.", "A plan shows the order in which they would be made."
    if resource.made < resource.wanted:
        missing = resource.wanted - resource.made
        return (
            f"{resource.made} of {parts} of {name} are there.",
            f"{missing} {'is' if missing == 1 else 'are'} still to be made, or gone already.",
            "Making it again makes only what is missing.",
        )
    return f"All {parts} of {name} are there.", "It is as it should be.", "A plan shows the order in which they would go."


def connection(resource: Connection, context: Context) -> Three:
    """How a target is reached, what its rows are worth, and what happens next."""
    name, why = resource.ref.name, formats.sentence(resource.reason)
    heard = (
        f"Its rows are as they were {formats.ago(resource.heard, context.now)}"
        if resource.heard
        else "Nothing was read of it yet"
    )
    blocked = f"{heard}, and nothing can be written to it."
    hint = formats.sentence(resource.hint)
    match resource.phase:
        case Phase.LIVE:
            return (
                f"{name} is connected and tells every change as it happens.",
                f"It was last heard {formats.ago(resource.heard, context.now)}.",
                "Nothing is to be done.",
            )
        case Phase.POLLING:
            return (
                f"{name} is connected, but can't tell changes by itself and is asked again and again.",
                f"It was last heard {formats.ago(resource.heard, context.now)}.",
                "Rows may be a few seconds behind.",
            )
        case Phase.RESTRICTED:
            return (
                f"{name} is connected, but these credentials may not read everything.",
                why or "Some kinds are missing from its rows.",
                hint or "Other credentials, or a namespace in the fleet file, would show more.",
            )
        case Phase.IDLE:
            return (f"{name} is not connected, since nobody asked for it.", f"{heard}.", "Opening it connects it.")
        case Phase.CONNECTING:
            tries = f" (try {resource.attempts})" if resource.attempts > 1 else ""
            return (f"{name} is being connected{tries}.", f"{heard}.", why or "It shows as live once it has answered.")
        case Phase.STALE:
            return (
                f"{name} has said nothing for {formats.age(resource.heard, context.now) or 'a while'}.",
                blocked,
                hint or "If it stays silent it will be called unreachable; if it speaks, all is as before.",
            )
        case Phase.LOGIN_EXPIRED:
            return (why or f"{name} wants other credentials.", blocked, hint or "Log in again, then reconnect.")
        case Phase.UNREACHABLE:
            return (why or f"{name} can't be reached.", blocked, hint or "It is tried again by itself, with growing pauses.")
        case Phase.IDENTITY_CHANGED:
            return (
                f"Another cluster, swarm or engine answers under the name {name}.",
                why or "Its rows would be those of a stranger, so they are not shown as the same.",
                hint or "Accept it only if you know why; until then nothing can be written.",
            )


_ENDED = {
    State.SUCCEEDED: "succeeded",
    State.FAILED: "failed",
    State.REFUSED: "was refused",
    State.CANCELLED: "was cancelled",
    State.UNKNOWN: "ended without a clear answer",
    State.INTERRUPTED: "was interrupted",
    State.SKIPPED: "was skipped",
}
_ENDS = {
    State.SUCCEEDED: "It did what was asked.",
    State.FAILED: "What it had done until then stands.",
    State.REFUSED: "Nothing was written.",
    State.CANCELLED: "What it had done until then stands.",
    State.UNKNOWN: "Whether its last write was made can't be told.",
    State.INTERRUPTED: "The console ended while it ran.",
    State.SKIPPED: "There was nothing to do.",
}


def operation(resource: Operation, context: Context) -> Three:
    """What was asked, where it stands, what would end it."""
    asked = f"{resource.verb.capitalize()} of {resource.target.path} on {resource.target.connection}"
    by = f" by {resource.who}" if resource.who else ""
    if not resource.state.ended:
        step = f"It is at “{resource.step}”." if resource.step else "It has not told a step yet."
        ending = (
            f"It waits for {formats.lowered(resource.waiting_for)}."
            if resource.waiting_for
            else "It waits for nothing that is known."
        )
        return (f"{asked}, begun {formats.ago(resource.started, context.now)}{by}, is under way.", step, ending)
    undo = "It can be undone." if resource.undoable else "It can't be undone from here."
    return (
        f"{asked}{by} {_ENDED.get(resource.state, resource.state.value)} {formats.ago(resource.ended, context.now)}.",
        formats.sentence(resource.message or resource.reason) or _ENDS.get(resource.state, "It is over."),
        "Read the object again to know." if resource.state in (State.UNKNOWN, State.INTERRUPTED) else undo,
    )


def event(resource: Event, context: Context) -> Three:
    """What was seen, when, by whom."""
    times = formats.ago(resource.at, context.now)
    if resource.count > 1:
        times = f"{resource.count} times, last {times}"
    return (
        f"{resource.what or 'Something'} on {words.kind_word(resource.about.kind)} {resource.about.path}, {times}.",
        formats.sentence(resource.message) or "It came without a message.",
        f"{resource.source or 'The platform'} said so.",
    )
