"""The one write that may start an apply: sent once, never lost sight of, and classified when it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import msgspec

from console.engines.dispatch.faults import WriteFate, classify_write
from console.engines.ports.applier import JsonObject
from console.errors import QuarterdeckError, UnclearAnswer


class Written(msgspec.Struct, frozen=True):
    """What came of a starting write: the stored object, or the error with its fate."""

    obj: JsonObject | None
    error: QuarterdeckError | None = None
    fate: WriteFate | None = None


async def starting_write(write: Coroutine[Any, Any, JsonObject], timeout: float) -> Written:
    """Send a starting write and say what became of it within ``timeout`` seconds.

    A cancellation (a timeout of the attempt, a stop) does not interrupt it: whether an apply was started must be known. The
    cancellation is taken as delivered; the callers ask ``current()`` or look at the clock afterwards.
    """
    loop = asyncio.get_running_loop()
    task = loop.create_task(write)
    end = loop.time() + timeout
    while not task.done() and (left := end - loop.time()) > 0:
        try:
            await asyncio.wait({task}, timeout=left)
        except asyncio.CancelledError:
            continue
    if not task.done():
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    if task.cancelled():
        error = UnclearAnswer(f"the write was not answered within {timeout:g} s")
        return Written(None, error, WriteFate.UNCONFIRMED)
    failure = task.exception()
    if failure is None:
        return Written(task.result())
    if isinstance(failure, QuarterdeckError):
        return Written(None, failure, classify_write(failure))
    raise failure
