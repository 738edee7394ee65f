"""Writing records so that neither a cancelled run nor a passing fault of storage loses them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from tenacity import RetryError, retry_if_exception_type, stop_after_attempt, wait_fixed
from tenacity.asyncio import AsyncRetrying

from console.engines.graph.errors import StateNotSaved
from console.engines.ports.storage import KeepsHistory, KeepsIntents, ResourceStorage
from console.model.graph import Deployed, Identity, Intent, RunReport

SAVE_SECONDS: Final = 5.0
"""Limit of one write with its retries."""
SAVE_ATTEMPTS: Final = 3
SAVE_PAUSE: Final = 0.1


class Saver:
    """Shielded, bounded, repeated writes to storage.

    ``under_way`` are the writes in progress; a run that gives everything else up still waits for them.
    """

    def __init__(self, storage: ResourceStorage, project: str) -> None:
        self._storage = storage
        self._project = project
        self.under_way: set[asyncio.Task[None]] = set()
        self._closed = False

    def close(self) -> None:
        """Take no more records: an operation that was given up and ends later may not write into another run's time."""
        self._closed = True

    async def put(self, record: Deployed) -> None:
        """Store a record. A cancellation meanwhile changes nothing: what was made is stored, and that is how it ends."""
        await self._shielded(lambda: self._storage.put_resource(self._project, record), record.identity, absorb=True)

    async def remove(self, record: Deployed, *, absorb: bool = True) -> None:
        """Remove a record; with ``absorb=False`` a cancellation is raised once that is done, as more was to follow."""
        await self._shielded(lambda: self._storage.delete_resource(self._project, record), record.identity, absorb=absorb)

    async def begin(self, intent: Intent) -> None:
        """Remember that a create begins. A cancellation is raised once that is done, before anything is made."""
        storage = self._storage
        if isinstance(storage, KeepsIntents):
            keeper: KeepsIntents = storage
            await self._shielded(lambda: keeper.put_intent(self._project, intent), intent.identity, absorb=False)

    async def end_run(self, report: RunReport) -> None:
        """Keep the report of the run."""
        storage = self._storage
        if isinstance(storage, KeepsHistory):
            keeper: KeepsHistory = storage
            await self._shielded(lambda: keeper.put_run(self._project, report), None, absorb=True)

    async def _shielded(self, write: Callable[[], Awaitable[None]], identity: Identity | None, *, absorb: bool) -> None:
        if self._closed and identity is not None:
            raise asyncio.CancelledError
        task = asyncio.get_running_loop().create_task(_bounded(write, identity))
        self.under_way.add(task)
        task.add_done_callback(self.under_way.discard)
        interrupted = False
        while not task.done():
            try:
                await asyncio.shield(task)
            except asyncio.CancelledError:
                interrupted = True
            except StateNotSaved:
                break
        task.result()
        if interrupted and not absorb:
            raise asyncio.CancelledError


async def _bounded(write: Callable[[], Awaitable[None]], identity: Identity | None) -> None:
    async def once() -> None:
        await write()

    retrying = AsyncRetrying(
        retry=retry_if_exception_type(Exception),
        stop=stop_after_attempt(SAVE_ATTEMPTS),
        wait=wait_fixed(SAVE_PAUSE),
        sleep=asyncio.sleep,
    )
    subject = f"The record of {identity}" if identity else "The report of the run"
    try:
        async with asyncio.timeout(SAVE_SECONDS):
            await retrying(once)
    except RetryError as error:
        cause = error.last_attempt.exception()
        raise StateNotSaved(f"{subject} could not be saved: {cause}", "See to the storage; the next run repairs it.") from cause
    except TimeoutError as error:
        raise StateNotSaved(f"{subject} was not saved within {SAVE_SECONDS:g} s.", "See to the storage.") from error
