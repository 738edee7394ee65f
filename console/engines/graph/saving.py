"""Writing records so that neither a cancelled run nor a passing fault of storage loses them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

from console.engines.graph.errors import StateNotSaved
from console.engines.ports.storage import KeepsHistory, KeepsIntents, ResourceStorage
from console.model.graph import Deployed, Identity, Intent, RunReport

SAVE_SECONDS: Final = 5.0
"""Limit of one write with its repetitions."""
SAVE_ATTEMPTS: Final = 3
SAVE_PAUSE: Final = 0.1

Write = Callable[[], Coroutine[Any, Any, None]]


class Saver:
    """Shielded, bounded, repeated writes to storage.

    ``under_way`` has a future for each write in progress; a run that gives everything else up still waits for them.
    """

    def __init__(self, storage: ResourceStorage, project: str) -> None:
        self._storage = storage
        self._intents = storage if isinstance(storage, KeepsIntents) else None
        self._history = storage if isinstance(storage, KeepsHistory) else None
        self._project = project
        self.under_way: set[asyncio.Future[None]] = set()
        self._closed = False

    def close(self) -> None:
        """Take no more records: an operation that was given up and ends later may not write into another run's time."""
        self._closed = True

    async def put(self, record: Deployed) -> None:
        """Store a record. A cancellation meanwhile changes nothing: what was made is stored, and that is how it ends."""
        await self._record(lambda: self._storage.put_resource(self._project, record), record.identity, absorb=True)

    async def remove(self, record: Deployed, *, absorb: bool = True) -> None:
        """Remove a record; with ``absorb=False`` a cancellation is raised once that is done, as more was to follow."""
        await self._record(lambda: self._storage.delete_resource(self._project, record), record.identity, absorb=absorb)

    async def begin(self, intent: Intent) -> None:
        """Remember that a create begins. A cancellation is raised once that is done, before anything is made."""
        if (keeper := self._intents) is not None:
            await self._record(lambda: keeper.put_intent(self._project, intent), intent.identity, absorb=False)

    async def end_run(self, report: RunReport) -> None:
        """Keep the report of the run."""
        if (keeper := self._history) is not None:
            await self._shielded(lambda: keeper.put_run(self._project, report), "The report of the run")

    async def _record(self, write: Write, identity: Identity, *, absorb: bool) -> None:
        if self._closed:
            raise asyncio.CancelledError
        interrupted = await self._shielded(write, f"The record of {identity}")
        if interrupted and not absorb:
            raise asyncio.CancelledError

    async def _shielded(self, write: Write, subject: str) -> bool:
        """Write, again if it fails, whatever cancellations come; True if one came. Raises :class:`StateNotSaved`."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + SAVE_SECONDS
        interrupted = False
        in_progress: asyncio.Future[None] = loop.create_future()
        self.under_way.add(in_progress)
        try:
            for attempt in range(SAVE_ATTEMPTS):
                if attempt:
                    interrupted |= await _settled(loop.create_task(asyncio.sleep(SAVE_PAUSE)), deadline)
                task = loop.create_task(write())
                interrupted |= await _settled(task, deadline)
                if not task.done():
                    task.cancel()
                    task.add_done_callback(_look_away)
                    raise StateNotSaved(f"{subject} was not saved within {SAVE_SECONDS:g} s.", "See to the storage.")
                if task.cancelled():
                    raise asyncio.CancelledError
                cause = task.exception()
                if cause is None:
                    return interrupted
            raise StateNotSaved(
                f"{subject} could not be saved: {cause}", "See to the storage; the next run repairs it."
            ) from cause
        finally:
            self.under_way.discard(in_progress)
            in_progress.set_result(None)


async def _settled(task: asyncio.Task[None], deadline: float) -> bool:
    """Wait for the task, at most until the deadline, through cancellations of ours; True if there was one."""
    loop = asyncio.get_running_loop()
    interrupted = False
    while not task.done() and (left := deadline - loop.time()) > 0:
        try:
            await asyncio.wait([task], timeout=left)
        except asyncio.CancelledError:
            interrupted = True
    return interrupted


def _look_away(task: asyncio.Task[None]) -> None:
    """How a write that was given up ends is no longer of interest."""
    if not task.cancelled():
        task.exception()
