"""What an engine tells as it happens: an event as a model object, and which readings it makes old."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from console.model.health import Health
from console.model.kubernetes import Event
from console.model.refs import Ref

KEPT = 500
"""Events that are kept of one engine; it remembers only the last few hundred itself."""

_KINDS = {
    "container": "Container",
    "service": "SwarmService",
    "node": "SwarmNode",
    "network": "SwarmNetwork",
    "config": "SwarmConfig",
    "secret": "SwarmSecret",
    "volume": "Volume",
}
# What becomes old when something of this type happens. Tasks have no events: they move when services and containers do.
_TOPICS = {
    "container": ("containers", "tasks"),
    "service": ("services", "tasks"),
    "node": ("nodes", "tasks"),
    "network": ("networks",),
    "config": ("configs",),
    "secret": ("secrets",),
    "volume": ("volumes",),
}
# Each run of a health check makes three of these; they say nothing that the check's result doesn't.
_NOISE = ("exec_", "top", "resize", "attach", "detach", "export", "archive-path", "extract-to-dir", "copy")


def topics(raw: Mapping[str, Any]) -> tuple[str, ...]:
    """The readings that this event makes old."""
    return () if is_noise(raw) else _TOPICS.get(str(raw.get("Type", "")), ())


def is_noise(raw: Mapping[str, Any]) -> bool:
    """Whether nobody wants to know."""
    return str(raw.get("Action", "")).startswith(_NOISE)


def event(connection: str, raw: Mapping[str, Any]) -> Event:
    """An event of the engine (Engine API, "Monitor events")."""
    actor = raw.get("Actor") or {}
    attributes = actor.get("Attributes") or {}
    kind = str(raw.get("Type", ""))
    action = str(raw.get("Action", ""))
    identity = str(actor.get("ID", ""))
    nanos = int(raw.get("timeNano") or int(raw.get("time") or 0) * 10**9)
    at = datetime.fromtimestamp(nanos / 1e9, UTC)
    about = Ref(connection, _KINDS.get(kind, kind.capitalize()), "", str(attributes.get("name", "") or identity), identity)
    health, message = _meaning(action, attributes)
    return Event(
        ref=Ref(connection, "Event", "", f"{kind}-{action.partition(':')[0]}-{nanos}", f"{nanos}-{identity[:12]}"),
        health=health,
        reason=message if health is not Health.OK else "",
        created=at,
        changed=at,
        related=(about,),
        at=at,
        about=about,
        what=action.partition(":")[0],
        message=message,
        source="Docker" if raw.get("scope") != "swarm" else "Swarm",
    )


def _meaning(action: str, attributes: Mapping[str, Any]) -> tuple[Health, str]:
    code = str(attributes.get("exitCode", ""))
    if action == "die" and code not in ("", "0"):
        return Health.WARN, f"Ended with exit code {code}."
    if action == "oom":
        return Health.WARN, "Ran out of memory."
    if action.startswith("health_status"):
        word = action.partition(":")[2].strip()
        return (Health.WARN if word == "unhealthy" else Health.OK), f"Health check: {word}."
    changes = [
        f"{name.removesuffix('.new')}: {attributes.get(name.removesuffix('new') + 'old', '')} to {value}"
        for name, value in sorted(attributes.items())
        if name.endswith(".new")
    ]
    if changes:
        down = attributes.get("state.new") == "down" or attributes.get("updatestate.new") in ("paused", "rollback_started")
        return (Health.WARN if down else Health.OK), f"{', '.join(changes)}."
    words = [str(attributes[key]) for key in ("image", "signal") if attributes.get(key)]
    if container := str(attributes.get("container", "")):
        # Of a network or volume that a container is put to; as short as the docker command line shows an id.
        words.append(f"container {container[:12]}")
    return Health.OK, f"{action} {' '.join(words)}".strip()


class RecentEvents:
    """The last events of one engine, each once; the oldest go when there are too many."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._events: OrderedDict[Ref, Event] = OrderedDict()

    @property
    def events(self) -> tuple[Event, ...]:
        """All that are kept, the oldest first."""
        return tuple(self._events.values())

    def add(self, found: Event) -> tuple[bool, tuple[Ref, ...]]:
        """Whether it is new, and which ones it pushes out."""
        if found.ref in self._events:
            return False, ()
        self._events[found.ref] = found
        gone = []
        while len(self._events) > self._kept:
            gone.append(self._events.popitem(last=False)[0])
        return True, tuple(gone)
