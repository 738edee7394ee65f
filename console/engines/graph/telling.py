"""Telling a listener what happens, without ever being slowed or failed by it.

Events go through a backlog of bounded length. When it is full the oldest ``Progress`` goes first; others are never dropped.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec

from console.kit.masking import MASK, mask_text
from console.kit.sanitize import sanitize
from console.kit.timing import Clock
from console.model.graph import Identity
from console.model.graph_events import GraphEvent, Progress, RunStarted

Listener = Callable[[GraphEvent], Awaitable[None] | None]
"""Called with each event; may be a coroutine function. What it raises is logged and otherwise ignored."""

BACKLOG = 1_000
DRAIN_SECONDS = 1.0
"""How long the end of a run waits for a listener to take the last events."""


class Backlog:
    """A queue of events that drops old progress when it is full, and numbers what it gives out from 1 for each run."""

    def __init__(self, limit: int = BACKLOG) -> None:
        self._limit = limit
        self._events: OrderedDict[int, GraphEvent] = OrderedDict()
        self._progress: deque[int] = deque()
        self._added = 0
        self._number = 0

    def __len__(self) -> int:
        return len(self._events)

    def add(self, event: GraphEvent) -> None:
        """Append, and drop the oldest progress if that makes it too long."""
        self._added += 1
        self._events[self._added] = event
        if isinstance(event, Progress):
            self._progress.append(self._added)
        if len(self._events) > self._limit and self._progress:
            del self._events[self._progress.popleft()]

    def pop(self) -> GraphEvent:
        """Take the oldest. Raises ``KeyError`` when empty."""
        key, event = self._events.popitem(last=False)
        if self._progress and self._progress[0] == key:
            self._progress.popleft()
        self._number = 1 if isinstance(event, RunStarted) else self._number + 1
        return msgspec.structs.replace(event, number=self._number)


class EventStream:
    """A listener to be read with ``async for``. It ends when it is closed, not when a run does: look for ``RunFinished``."""

    def __init__(self, limit: int = BACKLOG) -> None:
        self._backlog = Backlog(limit)
        self._wake = asyncio.Event()
        self._closed = False

    def __call__(self, event: GraphEvent) -> None:
        """Take an event, without waiting."""
        self._backlog.add(event)
        self._wake.set()

    def close(self) -> None:
        """End the iteration once what is queued has been read."""
        self._closed = True
        self._wake.set()

    async def __aiter__(self) -> AsyncIterator[GraphEvent]:
        while True:
            while self._backlog:
                yield self._backlog.pop()
            if self._closed:
                return
            self._wake.clear()
            await self._wake.wait()


class Masker:
    """Takes secrets out of text: values that the run has seen marked as secret, and what looks like a credential."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def learn(self, value: Any) -> None:
        """Remember a secret value, or the text inside a secret structure."""
        if isinstance(value, str):
            if value:
                self._known.add(value)
        elif isinstance(value, dict):
            for item in value.values():
                self.learn(item)
        elif isinstance(value, list | tuple):
            for item in value:
                self.learn(item)
        elif value is not None and not isinstance(value, bool):
            self._known.add(str(value))

    def knows(self, text: str) -> bool:
        """Whether a secret of this run stands in the text."""
        return any(secret in text for secret in self._known)

    def __call__(self, text: str) -> str:
        """The text, fit to be shown, logged and kept."""
        for secret in sorted(self._known, key=len, reverse=True):
            text = text.replace(secret, MASK)
        return sanitize(mask_text(text))


class Teller:
    """Builds the events of one run and has them delivered in the background."""

    def __init__(
        self, run_id: str, listener: Listener | None, clock: Clock, logger: logging.Logger | None, mask: Masker
    ) -> None:
        self.mask = mask
        self._run_id = run_id
        self._listener = listener
        self._clock = clock
        self._logger = logger
        self._backlog = Backlog()
        self._pump: asyncio.Task[None] | None = None
        self._closed = False

    def tell(self, kind: type[GraphEvent], identity: Identity | None = None, **fields: Any) -> None:
        """Queue an event. Texts among the fields must have been masked."""
        if self._listener is not None and not self._closed:
            self._backlog.add(kind(run_id=self._run_id, at=self._clock.now(), identity=identity, **fields))
            if self._pump is None:
                self._start_pump()

    def log(self, message: str, *args: object, warning: bool = False) -> None:
        """A masked line for the log, if there is one."""
        if self._logger is not None:
            text = self.mask(message % args)
            self._logger.log(logging.WARNING if warning else logging.INFO, "%s: %s", self._run_id, text)

    async def close(self) -> None:
        """Give the listener a moment to take what is left, then stop."""
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                while self._pump is not None:
                    await asyncio.wait([self._pump])
        except TimeoutError:
            self.log("the listener did not take its last %d events", len(self._backlog), warning=True)
        finally:
            self._closed = True
            if self._pump is not None:
                self._pump.cancel()
                await asyncio.wait([self._pump])

    def _start_pump(self) -> None:
        self._pump = asyncio.get_running_loop().create_task(self._deliver(), name=f"graph events {self._run_id}")
        self._pump.add_done_callback(self._pump_ended)

    async def _deliver(self) -> None:
        assert self._listener is not None
        while self._backlog:
            waiting = self._listener(self._backlog.pop())
            if waiting is not None:
                await waiting

    def _pump_ended(self, pump: asyncio.Task[None]) -> None:
        """The backlog is empty, or the listener failed on one event and gets the next in a new task."""
        self._pump = None
        if not pump.cancelled() and (error := pump.exception()) is not None:
            self.log("the listener failed: %s: %s", type(error).__name__, error, warning=True)
        if self._backlog and not self._closed:
            self._start_pump()
