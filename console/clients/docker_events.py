"""Which events of an engine have been told already, so that one stream can take over from another."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from datetime import datetime
from typing import Any

_SECOND = 1_000_000_000
# An engine remembers its last 256 events and tells no more of the past than that.
_REMEMBERED = 512


class Told:
    """The place in an engine's events.

    :param since: where to begin, in Unix seconds with fraction; "" for now.
    """

    def __init__(self, since: str = "") -> None:
        self.since = since
        self._last = 0
        self._recent: deque[tuple[Any, ...]] = deque(maxlen=_REMEMBERED)

    def began(self, at: datetime | None) -> None:
        """A stream has begun, by the engine's own clock: without any event, the next one has to begin there again."""
        if not self.since and at is not None:
            self.since = str(int(at.timestamp()))

    def new(self, event: Mapping[str, Any]) -> bool:
        """Whether this event has not been told yet; it then counts as told.

        Events of the same moment may overtake each other, so the next stream begins a second before the last one told, and
        what was told is known by its content.
        """
        at = int(event.get("timeNano") or 0)
        actor = event.get("Actor")
        key = (at, event.get("Type"), event.get("Action"), actor.get("ID") if isinstance(actor, Mapping) else event.get("id"))
        if at and key in self._recent:
            return False
        self._recent.append(key)
        if at > self._last:
            self._last = at
            begin = at - _SECOND
            self.since = f"{begin // _SECOND}.{begin % _SECOND:09d}"
        return True
