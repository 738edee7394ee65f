"""Re-reading what a server tells nothing exact about: at once, when something happened, and now and then for safety."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from console.errors import ApiError, Forbidden, LoginExpired, Overloaded, ProtocolError, TimedOut, Unreachable
from console.kit.timing import backoff

COALESCE = 0.25
"""Seconds that are waited after the first sign of a change: one command makes a handful of events."""
QUICK, REFILL = 10, 6.0
"""Readings that events may cause in quick succession, and the seconds after which one more may: a container that ends and
starts for ever makes events for ever."""
DENIED_FIRST, DENIED_MOST = 30.0, 900.0
FAILED_FIRST, FAILED_MOST = 5.0, 60.0


class Reading:
    """Keeps one group of topics read. Each group runs by itself, so that one that hangs holds up no other.

    :param read: reads these topics and shows what they say.
    :param due: asked after each reading: in how many seconds which topics are to be read again.
    :param failed: shows why the group can't be read: state ("restricted", "failed") and detail.
    :param may_hang: a time-out is the group's own failure, not the connection's.
    """

    def __init__(
        self,
        name: str,
        topics: Iterable[str],
        read: Callable[[frozenset[str]], Awaitable[None]],
        due: Callable[[], tuple[float, frozenset[str]]],
        failed: Callable[[str, str], None],
        *,
        may_hang: bool = False,
    ) -> None:
        self.name = name
        self.topics = frozenset(topics)
        self._read = read
        self._due = due
        self._failed = failed
        self._may_hang = may_hang
        self._dirty: frozenset[str] = frozenset()
        self._touched = asyncio.Event()
        self._credit, self._counted = float(QUICK), 0.0

    def touch(self, topics: Iterable[str]) -> None:
        """Something happened that makes these topics old."""
        mine = self.topics.intersection(topics)
        if mine:
            self._dirty |= mine
            self._touched.set()

    async def run(self) -> None:
        """Read until cancelled; raises when the connection as a whole is lost."""
        denied, broken = backoff(DENIED_FIRST, 2, DENIED_MOST), backoff(FAILED_FIRST, 2, FAILED_MOST)
        wanted = self.topics
        while True:
            self._dirty -= wanted
            try:
                await self._read(wanted)
            except (LoginExpired, Unreachable):
                raise
            except Forbidden as error:
                self._failed("restricted", error.message)
                wanted = await self._next(next(denied), self.topics, patient=True)
            except (ApiError, Overloaded, ProtocolError, TimedOut) as error:
                if isinstance(error, TimedOut) and not self._may_hang:
                    raise
                self._failed("failed", error.message)
                wanted = await self._next(next(broken), self.topics)
            else:
                denied, broken = backoff(DENIED_FIRST, 2, DENIED_MOST), backoff(FAILED_FIRST, 2, FAILED_MOST)
                wanted = await self._next(*self._due())

    async def _next(self, seconds: float, then: frozenset[str], *, patient: bool = False) -> frozenset[str]:
        """Wait until something happened or the time is over; returns what is to be read.

        After a failure everything is read, whatever happened; what is forbidden (``patient``) isn't asked for because of an
        event.
        """
        if not self._dirty or patient:
            self._touched.clear()
            try:
                async with asyncio.timeout(seconds):
                    while patient or not self._dirty:
                        await self._touched.wait()
                        self._touched.clear()
            except TimeoutError:
                return then
        await asyncio.sleep(max(COALESCE, self._spend()))
        self._touched.clear()
        return then if then == self.topics else self._dirty

    def _spend(self) -> float:
        """Pay for one reading that an event causes; returns how long to save for it, in seconds."""
        now = asyncio.get_running_loop().time()
        self._credit = min(float(QUICK), self._credit + (now - self._counted) / REFILL) - 1
        self._counted = now
        return max(0.0, -self._credit) * REFILL


def all_of(topics: Iterable[str], seconds: float) -> Callable[[], tuple[float, frozenset[str]]]:
    """The plainest answer to "when again": everything, after so many seconds."""
    whole = frozenset(topics)
    return lambda: (seconds, whole)
