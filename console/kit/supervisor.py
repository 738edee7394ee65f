"""Keeps background tasks: by name, never unawaited, never silently gone.

One of the few places that may catch every exception: what a task raises is reported with the task's name, and a task that
should never end is started again after a growing pause.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

from console.kit.timing import backoff

T = TypeVar("T")

Report = Callable[[str, BaseException], None]

_log = logging.getLogger(__name__)


def log_failure(name: str, error: BaseException) -> None:
    """The default report: one line in the log with the task's name, and the traceback."""
    _log.error("%s failed: %s", name, error, exc_info=error)


class Supervisor:
    """Owner of a set of tasks; :meth:`stop` cancels them all and waits until they are done.

    :param report: called with a task's name and what it raised.
    """

    def __init__(self, report: Report = log_failure) -> None:
        self._report = report
        self._tasks: set[asyncio.Task[None]] = set()

    def keep(self, name: str, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Run what must never end; when it does end, or raises, say so and run it again after 1 s, 2 s, ... 60 s."""
        return self._start(name, self._forever(name, work))

    def spawn(self, name: str, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Run something once; what it raises is reported, not lost."""
        return self._start(name, self._once(name, work))

    async def stop(self) -> None:
        """Cancel everything and wait for it. May be called more than once."""
        while self._tasks:
            await cancel(self._tasks)

    def _start(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _once(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - the boundary where nobody else is left to hear it
            self._report(name, error)

    async def _forever(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        pauses = backoff(first=1, most=60)
        while True:
            try:
                await work()
            except Exception as error:  # noqa: BLE001 - see _once
                self._report(name, error)
            else:
                self._report(name, RuntimeError("it ended, although it never should"))
            await asyncio.sleep(next(pauses))


async def cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel these tasks and wait until each has run its ``finally``; what they raise on the way is dropped.

    When the caller itself is cancelled meanwhile, the tasks stay cancelled and the caller's cancellation goes on.
    """
    everything = list(tasks)
    waiting = [task for task in everything if not task.done()]
    for task in waiting:
        task.cancel()
    if waiting:
        await asyncio.wait(waiting)
    for task in everything:
        if not task.cancelled():
            task.exception()


async def together(*works: Coroutine[Any, Any, T]) -> list[T]:
    """Results of all of them, in order, run side by side; the first error cancels the others and is raised as it is."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        await cancel(tasks)
