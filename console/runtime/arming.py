"""Read-only at start; one target at a time is armed for writing, for a while, visibly.

Time runs on the loop (monotonic): turning the machine's clock back never arms longer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from datetime import datetime, timedelta

from console.errors import Refused
from console.kit.timing import Clock

# Long enough for one incident's steps, short enough not to be forgotten.
DEFAULT_MINUTES = 15
# A protected target is where a forgotten armed console does most harm.
PROTECTED_MINUTES = 5
LONGEST_MINUTES = 24 * 60
LONGEST_PROTECTED_MINUTES = 60


class Arming:
    """Which targets may be written to, and until when.

    :param read_only: nothing can ever be armed (``--read-only``).
    :param locked: names of targets that the fleet file calls read-only: they can't be armed either.
    :param minutes: how long when nothing else is asked for; ``protected_minutes`` for protected targets.
    :param changed: called with a target's name whenever its state changes.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        read_only: bool = False,
        locked: Collection[str] = (),
        minutes: float = DEFAULT_MINUTES,
        protected_minutes: float = PROTECTED_MINUTES,
        changed: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._clock = clock
        self._minutes = minutes
        self._protected_minutes = protected_minutes
        self._forbidden: tuple[str, str] | None = None
        if read_only:
            self.forbid("This console was started with --read-only.", "Start another one without it to make changes.")
        self._locked = frozenset(locked)
        self._changed = changed
        self._until: dict[str, float] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}

    @property
    def read_only(self) -> bool:
        """Whether nothing can ever be armed."""
        return self._forbidden is not None

    def forbid(self, why: str, hint: str) -> None:
        """Let nothing be armed from here, for this reason."""
        self._forbidden = (why, hint)

    def arm(self, name: str, minutes: float = 0, *, protected: bool = False) -> datetime:
        """Arm ``name`` (0: the default time) and return until when.

        :raises Refused: read-only for good, or longer than a protected target allows.
        """
        if self._forbidden:
            raise Refused(*self._forbidden)
        if name in self._locked:
            raise Refused(f"{name} is read-only for good.", "The fleet file says so (read_only).")
        longest = LONGEST_PROTECTED_MINUTES if protected else LONGEST_MINUTES
        minutes = minutes or (self._protected_minutes if protected else self._minutes)
        if not 0 < minutes <= longest:
            raise Refused(f"{name} can be armed for at most {longest} minutes.", f"Say :write {name} {longest}m.")
        loop = asyncio.get_running_loop()
        self._stop_timer(name)
        self._until[name] = loop.time() + minutes * 60
        self._timers[name] = loop.call_later(minutes * 60, self.disarm, name)
        self._changed(name)
        return self._clock.now() + timedelta(minutes=minutes)

    def disarm(self, name: str) -> None:
        """Back to read-only; harmless if not armed."""
        self._stop_timer(name)
        if self._until.pop(name, None) is not None:
            self._changed(name)

    def armed(self, name: str) -> bool:
        """Whether writes to ``name`` may leave now."""
        return self.left(name) > 0

    def left(self, name: str) -> float:
        """Seconds until ``name`` is read-only again; 0 if it is."""
        until = self._until.get(name)
        return max(0.0, until - asyncio.get_running_loop().time()) if until is not None else 0.0

    def check(self, name: str) -> None:
        """Raise unless ``name`` is armed."""
        if self._forbidden:
            raise Refused(*self._forbidden)
        if not self.armed(name):
            raise Refused(f"{name} is read-only here.", f"Arm it first: :write {name}")

    def close(self) -> None:
        """Disarm everything."""
        for name in tuple(self._until):
            self.disarm(name)

    def _stop_timer(self, name: str) -> None:
        if timer := self._timers.pop(name, None):
            timer.cancel()
