"""Wall-clock time, growing pauses and sleeps that can be cut short.

Durations are seconds (float), instants are aware UTC datetimes. Waiting is always done on the running event loop, so that
tests under a virtual-time loop take no real time.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Where "now" comes from; engines are given one, they never ask the machine."""

    def now(self) -> datetime:
        """The present instant, aware, in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The present instant, aware, in UTC."""
        return datetime.now(UTC)


class LoopClock:
    """A clock that moves with the running loop's own time: exact in virtual time, immune to steps of the machine's clock.

    :param start: the instant that the first call returns.
    """

    def __init__(self, start: datetime | None = None) -> None:
        self._start = start or datetime.now(UTC)
        self._origin: float | None = None

    def now(self) -> datetime:
        """The start plus what the loop has measured since the first call."""
        loop_time = asyncio.get_running_loop().time()
        if self._origin is None:
            self._origin = loop_time
        return self._start + timedelta(seconds=loop_time - self._origin)


def backoff(
    first: float = 0.5, factor: float = 2.0, most: float = 30.0, jitter: float = 0.2, rng: random.Random | None = None
) -> Iterator[float]:
    """Endless pauses in seconds: ``first``, growing by ``factor`` up to ``most``, each moved by up to ±``jitter`` (a share).

    The jitter keeps a hundred connections that were cut at once from coming back at once.
    """
    rng = rng or random.Random()
    pause = first
    while True:
        yield pause * (1 + rng.uniform(-jitter, jitter))
        pause = min(pause * factor, most)


class Wakeable:
    """A sleep that somebody else can end early.

    ``wake()`` before ``sleep()`` is remembered: the next sleep returns at once. One sleeper at a time.
    """

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def wake(self) -> None:
        """End the present sleep, or the next one if none is under way."""
        self._event.set()

    async def sleep(self, seconds: float) -> bool:
        """Sleep; returns whether somebody woke us (False: the time was up)."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return False
        self._event.clear()
        return True
