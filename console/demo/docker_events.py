"""The event log of one simulated engine, in the shape of ``GET /events``."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from console.demo.clockwork import Bell, WorldClock

_KEPT = 1000


class EventLog:
    """Events oldest first; the last thousand are kept."""

    def __init__(self, clock: WorldClock) -> None:
        self._clock = clock
        self.bell = Bell()
        self.count = 0
        self._last = 0
        self._events: list[dict[str, Any]] = []

    def add(
        self, type_: str, action: str, id_: str, attributes: dict[str, str], scope: str = "local", age: float = 0.0
    ) -> None:
        """Record something that happened to an object (``age`` seconds ago, for the beginning of the world)."""
        nano = _nano(self._clock.ago(age))
        if not age:
            # As on a real engine no two events are of the same instant: clients know by it which ones they have seen.
            self._last = nano = max(nano, self._last + 1)
        event: dict[str, Any] = {
            "Type": type_,
            "Action": action,
            "Actor": {"ID": id_, "Attributes": attributes},
            "scope": scope,
            "time": nano // 1_000_000_000,
            "timeNano": nano,
        }
        if type_ == "container":
            event |= {"status": action, "id": id_, "from": attributes.get("image", "")}
        self._events.append(event)
        self.count += 1
        if len(self._events) > 2 * _KEPT:
            del self._events[:-_KEPT]
        self.bell.ring()

    def after(self, count: int) -> list[dict[str, Any]]:
        """The events recorded since the log held ``count``."""
        new = self.count - count
        return self._events[-new:] if new > 0 else []

    def between(self, since: float, until: float | None = None) -> list[dict[str, Any]]:
        """The events of a span of time (seconds of the epoch), by time."""
        found = [event for event in self._events if event["timeNano"] >= since * 1e9]
        found = [event for event in found if until is None or event["timeNano"] <= until * 1e9]
        return sorted(found, key=lambda event: event["timeNano"])


def _nano(at: datetime) -> int:
    return int(at.timestamp()) * 1_000_000_000 + at.microsecond * 1000
