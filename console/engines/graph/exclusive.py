"""One run per project at a time: inside this process by a table, between processes by the storage's lock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from console.engines.graph.errors import Busy, LockLost
from console.engines.graph.ids import uuid7
from console.engines.ports.storage import LocksRuns, ResourceStorage

HEARTBEAT_SECONDS: Final = 15.0
"""How often a run renews its lock; storage takes one for abandoned after a minute."""


@asynccontextmanager
async def exclusive(
    storage: ResourceStorage,
    running: dict[str, str],
    project: str,
    run_id: str,
    lost: Callable[[LockLost], None],
) -> AsyncIterator[None]:
    """Hold the project for one run. ``running`` is the process's table of project -> run id.

    Raises :class:`Busy` naming the holder. ``lost`` is called if another process takes the lock over meanwhile.
    """
    if project in running:
        raise Busy(project, running[project])
    running[project] = run_id
    heartbeat: asyncio.Task[None] | None = None
    # Run ids come from callers, and two processes may well use the same; who holds the lock must be beyond doubt.
    owner = uuid7()
    locked = False
    try:
        if isinstance(storage, LocksRuns):
            holder = await storage.lock_run(project, run_id, owner)
            if holder:
                raise Busy(project, holder)
            locked = True
            heartbeat = asyncio.get_running_loop().create_task(_renew(storage, project, run_id, owner, lost))
        yield
    finally:
        try:
            if heartbeat is not None:
                heartbeat.cancel()
                await asyncio.wait([heartbeat])
            if locked and isinstance(storage, LocksRuns):
                await finished_anyway(storage.unlock_run(project, owner))
        finally:
            del running[project]


async def _renew(storage: LocksRuns, project: str, run_id: str, owner: str, lost: Callable[[LockLost], None]) -> None:
    while True:
        await asyncio.sleep(HEARTBEAT_SECONDS)
        # A renewal that fails is no loss yet: the next one may succeed, and the run's own writes show a broken storage anyway.
        (holder,) = await asyncio.gather(storage.lock_run(project, run_id, owner), return_exceptions=True)
        if isinstance(holder, str) and holder:
            lost(LockLost(project, holder))
            return


async def finished_anyway(work: Awaitable[None]) -> None:
    """See something short through to its end even if we are cancelled meanwhile; the cancellation is raised after it."""
    task = asyncio.ensure_future(work)
    interrupted = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            interrupted = True
    if interrupted:
        raise asyncio.CancelledError
    task.result()
