"""Walking a dependency order with a bound on what runs at once.

:class:`Slots` hands out places in the order of priority, not of asking. :class:`Driver` follows a ``graphlib`` order: it visits
a key as soon as all its predecessors are settled, and starts its work when a place is free. A key that waits holds no place and
has no task, so ten thousand waiting resources cost a heap entry each.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Mapping
from functools import partial
from graphlib import TopologicalSorter
from typing import Any, Generic, TypeVar

K = TypeVar("K")

CANCEL_GRACE = 10.0
"""Seconds that running operations have to finish cleanly once the run is cancelled."""

LAST_WORDS = 0.1
"""Seconds for what was given up to end, before it is left to itself."""


class Slots:
    """At most ``limit`` places; the waiting one that sorts first gets the next."""

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._queue: list[tuple[Any, int, Callable[[], None]]] = []
        self._asked = 0
        self._closed = False
        self._handing_out = False

    def request(self, priority: Any, granted: Callable[[], None]) -> None:
        """Call ``granted`` when a place is free; it then owns the place until :meth:`release`."""
        self._asked += 1
        heapq.heappush(self._queue, (priority, self._asked, granted))

    def hand_out(self) -> None:
        """Give free places to those who wait. Called after a batch of requests, so that the batch is served in order."""
        if self._handing_out:
            return
        self._handing_out = True
        try:
            while self._free and self._queue and not self._closed:
                self._free -= 1
                heapq.heappop(self._queue)[2]()
        finally:
            self._handing_out = False

    def release(self, *, hand_out: bool = True) -> None:
        """Give a place back."""
        self._free += 1
        if hand_out:
            self.hand_out()

    @property
    def closed(self) -> bool:
        """Whether nothing more is given out."""
        return self._closed

    def close(self) -> None:
        """Give out nothing more."""
        self._closed = True
        self._queue.clear()


class Lease:
    """One holder's place: given back during waits, taken again for the next try."""

    def __init__(self, slots: Slots, priority: Any, held: bool) -> None:
        self._slots = slots
        self._priority = priority
        self._held = held

    async def acquire(self) -> None:
        """Wait for a place, unless one is held. Once nothing more is given out, this raises ``CancelledError``."""
        if self._held:
            return
        if self._slots.closed:
            raise asyncio.CancelledError
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def granted() -> None:
            if turn.done():
                self._slots.release()
            else:
                self._held = True
                turn.set_result(None)

        self._slots.request(self._priority, granted)
        self._slots.hand_out()
        await turn

    def release(self, *, hand_out: bool = True) -> None:
        """Give the place back, if one is held; ``hand_out=False`` if the caller is about to ask for more places first."""
        if self._held:
            self._held = False
            self._slots.release(hand_out=hand_out)

    async def sleep(self, seconds: float) -> None:
        """Wait without holding the place, so that a resource in trouble does not slow the rest."""
        self.release()
        if not self._slots.closed:
            await asyncio.sleep(seconds)
        await self.acquire()


Work = Callable[[Lease], Coroutine[Any, Any, None]]


class Driver(Generic[K]):
    """One walk over an order.

    :param before: for each key, what has to be settled first.
    :param visit: called once for each key when its turn comes; returns its work, or None if it is settled with that.
    :param settled: called when the work of a key has ended, with its finished task.
    :param protected: tasks of the caller that are waited for even when everything else is given up (storing).
    """

    def __init__(
        self,
        before: Mapping[K, Collection[K]],
        slots: Slots,
        visit: Callable[[K], Work | None],
        settled: Callable[[K, asyncio.Task[None]], None],
        protected: Collection[asyncio.Future[Any]] = (),
    ) -> None:
        self._sorter: TopologicalSorter[K] = TopologicalSorter(before)
        self._slots = slots
        self._visit = visit
        self._settled = settled
        self._protected = protected
        self._running: dict[asyncio.Task[None], tuple[K, Lease]] = {}
        self._ended: deque[asyncio.Task[None]] = deque()
        self._wake = asyncio.Event()
        self._stopping = False

    @property
    def stopping(self) -> bool:
        """Whether nothing new is started any more."""
        return self._stopping

    async def run(self) -> None:
        """Visit everything; returns when all is settled, or after :meth:`stop` when what was running has ended.

        Cancelled, it stops, gives running work its grace, and raises ``CancelledError``; a second cancellation ends the grace.
        Raises :class:`graphlib.CycleError` for an order that has none.
        """
        self._sorter.prepare()
        interrupted = False
        try:
            self._visit_ready()
            while self._sorter.is_active() and not self._stopping:
                await self._wake.wait()
                self._wake.clear()
                self._settle_ended()
                self._visit_ready()
        finally:
            if self._running:
                self.stop()
                interrupted = await self._wind_down()
        if interrupted:
            raise asyncio.CancelledError

    def stop(self) -> None:
        """Start nothing more and cancel what runs."""
        if self._stopping:
            return
        self._stopping = True
        self._slots.close()
        for task in self._running:
            task.cancel()
        self._wake.set()

    def _visit_ready(self) -> None:
        """Visit what has become ready, in order; what settles at once may make more ready, without recursion."""
        while not self._stopping and (ready := self._sorter.get_ready()):
            for key in sorted(ready):  # type: ignore[type-var]  # keys are tuples of text
                if self.stopping:
                    return
                work = self._visit(key)
                if work is None:
                    self._sorter.done(key)
                else:
                    self._slots.request(key, partial(self._start, key, work))
        self._slots.hand_out()

    def _start(self, key: K, work: Work) -> None:
        lease = Lease(self._slots, key, held=True)
        task = asyncio.get_running_loop().create_task(work(lease))
        self._running[task] = (key, lease)
        task.add_done_callback(self._note_end)

    def _note_end(self, task: asyncio.Task[None]) -> None:
        self._ended.append(task)
        self._wake.set()

    def _settle_ended(self) -> None:
        while self._ended:
            task = self._ended.popleft()
            if task in self._running:
                key, lease = self._running.pop(task)
                self._settled(key, task)
                self._sorter.done(key)
                lease.release(hand_out=False)

    async def _wind_down(self) -> bool:
        """Give running work its grace, then give it up; storing is always waited for. True if cancelled meanwhile."""
        interrupted = await _wait(self._running, CANCEL_GRACE)
        for task in self._running:
            task.cancel()
        while self._protected:
            interrupted |= await _wait(self._protected, None)
        interrupted |= await _wait(self._running, LAST_WORDS)
        self._settle_ended()
        # What still runs ignores cancellation. It is left to itself, and how it ends is no longer of interest.
        for task in self._running:
            task.add_done_callback(_look_away)
        self._running.clear()
        return interrupted


async def _wait(tasks: Collection[asyncio.Future[Any]], seconds: float | None) -> bool:
    """Wait for all of them, at most so long; True if we were cancelled while waiting."""
    try:
        if tasks:
            await asyncio.wait(list(tasks), timeout=seconds)
    except asyncio.CancelledError:
        return True
    return False


def _look_away(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        task.exception()
