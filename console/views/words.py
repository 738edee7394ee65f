"""The few words that every view needs about an object, whatever its kind: what it is called, its sync, its operation, its
revision, and what there is to say about it. Each is a pure function that dispatches on the type of the model object.
"""

from __future__ import annotations

import re
from datetime import datetime

from console.model.connections import Connection, Phase
from console.model.docker import Container, Stack, SwarmService
from console.model.health import Condition, Health
from console.model.kubernetes import KubeObject, Pod, Trigger, Workload
from console.model.operations import Operation
from console.model.resource import Resource
from console.views import formats
from console.views.cells import ABSENT, EMPTY, Cell, Context, Tone, cell, prose
from console.views.glyphs import attention, word

_REPLICA = re.compile(r"-r(\d{1,4})\Z")
KIND_WORDS = {
    "SwarmService": "Swarm service",
    "SwarmNode": "Node",
    "SwarmNetwork": "Network",
    "SwarmConfig": "Config",
    "SwarmSecret": "Secret",
    "Connection": "Target",
}


def kind_word(kind: str) -> str:
    """A kind as people say it."""
    return KIND_WORDS.get(kind, kind)


def short_kind(resource: Resource) -> str:
    """A kind in at most thirteen letters, for a list over all platforms."""
    if isinstance(resource, Connection):
        return "Host" if "host" in resource.platforms else "Swarm" if "swarm" in resource.platforms else "Cluster"
    if isinstance(resource, Container):
        return "Service" if resource.service else "Container"
    return "Service" if resource.ref.kind == "SwarmService" else kind_word(resource.ref.kind)


def title(resource: Resource) -> str:
    """The name of an object as it heads a pane and stands in a list: ``shop/web``; app and service for a container."""
    if isinstance(resource, Container) and resource.service:
        name = f"{resource.service}{replica(resource)}"
        return f"{resource.app}/{name}" if resource.app else name
    if isinstance(resource, Operation):
        return f"{resource.verb} {resource.target.path}"
    return resource.ref.path


def replica(container: Container) -> str:
    """`` #2`` for a container that isn't the first of its service: its number is a label of compose, or ends its name."""
    number = container.labels.get("com.docker.compose.container-number", "")
    if not number.isdecimal():
        found = _REPLICA.search(container.ref.name)
        number = str(int(found[1]) + 1) if found else ""
    return f" #{number}" if number not in ("", "1") else ""


def failed(condition: Condition | None) -> bool:
    """Whether a condition says no (an absent one says nothing)."""
    return condition is not None and condition.status == "False"


def current(condition: Condition | None, generation: int) -> bool:
    """Whether a condition speaks of the present generation; a condition without one is believed."""
    return condition is None or not condition.observed_generation or condition.observed_generation >= generation


def synced_word(trigger: Trigger) -> str:
    """What a trigger's sync is in one word. The platform's own word wins; else wanted and applied commit are compared."""
    if trigger.sync:
        return {"outofsync": "out of sync"}.get(trigger.sync.lower().replace("-", ""), trigger.sync.lower())
    if failed(trigger.ready) and trigger.health is Health.BAD:
        return "failed"
    if not trigger.applied:
        return "unknown" if not trigger.wanted else "never applied"
    if not trigger.wanted or formats.revision(trigger.wanted) == formats.revision(trigger.applied):
        return "synced"
    return "behind"


_SYNC_TONES: dict[str, Tone] = {
    "synced": "muted",
    "running": "muted",
    "unknown": "muted",
    "behind": "warn",
    "never applied": "warn",
    "out of sync": "warn",
    "drifted": "warn",
    "failed": "bad",
}

_OPERATION_TONES: dict[str, Tone] = {
    "succeeded": "muted",
    "completed": "muted",
    "requested": "busy",
    "reconciling": "busy",
    "running": "busy",
    "settling": "busy",
    "terminating": "busy",
    "updating": "busy",
    "failed": "bad",
    "error": "bad",
    "paused": "bad",
    "unresolved": "warn",
}


def sync(resource: Resource) -> Cell:
    """Whether the object is as it was declared; never how well it does, never what is being done to it."""
    match resource:
        case Trigger():
            text = synced_word(resource)
        case Stack():
            text = resource.sync or "unknown"
        case Container():
            text = "drifted" if resource.drift else resource.state
        case KubeObject():
            text = "suspended" if resource.suspended else ""
        case _:
            text = ""
    if not text:
        return EMPTY
    return cell(text, _SYNC_TONES.get(text, attention(resource.health)))


def health(resource: Resource) -> Cell:
    """The health as a word; a connection speaks its phase."""
    if isinstance(resource, Connection):
        return cell(resource.phase.value, attention(resource.phase.health))
    return word(resource.health)


def operation(resource: Resource) -> Cell:
    """What is being done to the object now, or was done last."""
    match resource:
        case Trigger():
            text = resource.operation
        case Stack() | SwarmService():
            text = resource.update.replace("_", " ")
        case Operation():
            text = resource.step or resource.state.value
        case Workload():
            text = f"{resource.updated}/{resource.wanted} updated" if resource.updated < resource.wanted else ""
        case _:
            text = ""
    if not text:
        return EMPTY
    told = text.lower() if text.isalpha() else text
    tone = _OPERATION_TONES.get(told) or ("busy" if resource.health is Health.BUSY else attention(resource.health))
    return prose(told, tone)


def revision(resource: Resource) -> Cell:
    """The version that is in force: a commit, a stack revision, an image tag."""
    match resource:
        case Trigger():
            text = formats.short_sha(formats.revision(resource.applied).rpartition("@")[2])
        case KubeObject():
            text = formats.revision(resource.revision)
        case Stack():
            text = resource.revision
        case Container() | SwarmService():
            text = formats.image_tag(resource.image)
        case Operation():
            text = formats.short_sha(resource.commit)
        case _:
            text = ""
    return cell(text, "muted") if text else ABSENT


def what(resource: Resource, context: Context | None = None) -> Cell:
    """The one thing to say about an object: why it isn't well, or a quiet fact when it is."""
    return prose(_reason(resource, context) or _fact(resource), "muted" if resource.health is Health.OK else "plain")


def _reason(resource: Resource, context: Context | None) -> str:
    if isinstance(resource, Connection) and resource.phase is Phase.LOGIN_EXPIRED and resource.hint:
        return resource.hint
    if isinstance(resource, Connection) and context and not resource.phase.fresh and resource.heard:
        spoken = f"last heard {formats.ago(resource.heard, context.now)}"
        return f"{resource.reason.rstrip('.')}; {spoken}" if resource.reason else spoken
    if isinstance(resource, Trigger) and context and (late := overdue(resource, context.now)):
        return f"{late}. {resource.reason}".rstrip()
    if isinstance(resource, Operation) and not resource.state.ended:
        return f"waits for {formats.awaited(resource.waiting_for)}" if resource.waiting_for else resource.message
    return resource.reason


def holder(trigger: Trigger) -> str:
    """Who holds what, in a few words. The trigger of a cluster is itself the holder, of the Kustomization that it names."""
    if trigger.applier not in (None, trigger.ref) and trigger.held_by in ("", trigger.ref.name):
        return f"holds {trigger.applier.name}"
    return f"held by {trigger.held_by}" if trigger.held_by else "held"


def overdue(resource: Trigger, now: datetime) -> str:
    """That a hold has outlived its time, in words; "" if it has not. Nothing is released by itself."""
    if not resource.held or resource.held_until is None or now < resource.held_until:
        return ""
    return f"Hold overdue since {formats.clock_time(resource.held_until, now)}"


def _fact(resource: Resource) -> str:
    match resource:
        case Trigger(held=True):
            return holder(resource)
        case Trigger(applied=""):
            return "nothing applied yet"
        case Trigger():
            commit = formats.short_sha(formats.revision(resource.applied).rpartition("@")[2])
            return f"applied {resource.branch}@{commit}" if resource.branch else f"applied {commit}"
        case Stack(drift=drift) | Container(drift=drift) if drift:
            return drift
        case Stack():
            return f"{formats.counted(resource.services, 'service')}, {resource.tasks_running}/{resource.tasks_wanted} tasks"
        case SwarmService():
            return resource.update_message or f"{tally(resource)} tasks"
        case Container():
            return f"probe {resource.probe}" if resource.probe else resource.status or "no probe"
        case KubeObject():
            return resource.summary
        case Workload():
            return f"{resource.ready}/{resource.wanted} pods ready"
        case Pod():
            return resource.phase
        case Operation():
            return resource.message or resource.state.value
        case Connection():
            return resource.server
        case _:
            return ""


def tally(service: SwarmService) -> str:
    """``3/4``: running of wanted; completed of wanted for jobs, which run to an end (stacks.md 6.1)."""
    return f"{service.completed if service.mode.endswith('-job') else service.running}/{service.wanted}"


def when(resource: Resource) -> datetime | None:
    """The instant that an age in a list speaks of: the last change where it is known, else the creation."""
    match resource:
        case Operation():
            return resource.ended or resource.started or resource.changed or resource.created
        case Connection():
            return resource.since or resource.heard
        case Container():
            return (
                resource.changed or (resource.started if resource.state == "running" else resource.finished) or resource.created
            )
        case _:
            return resource.changed or resource.created
