"""Several endless streams read as one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TypeVar

from console.errors import QuarterdeckError
from console.kit.supervisor import cancel

T = TypeVar("T")


async def merged(sources: Sequence[AsyncGenerator[T, None]], depth: int = 100) -> AsyncGenerator[T, None]:
    """Items of all sources as they come; ends when all have ended.

    A slow reader makes the sources wait (``depth`` items). The first source that fails ends all, with its error.
    """
    queue: asyncio.Queue[tuple[T] | QuarterdeckError | None] = asyncio.Queue(depth)

    async def pump(source: AsyncGenerator[T, None]) -> None:
        try:
            async with aclosing(source):
                async for item in source:
                    await queue.put((item,))
        except QuarterdeckError as error:
            await queue.put(error)
        else:
            await queue.put(None)

    pumps = [asyncio.create_task(pump(source)) for source in sources]
    try:
        open_sources = len(pumps)
        while open_sources:
            got = await queue.get()
            if got is None:
                open_sources -= 1
            elif isinstance(got, QuarterdeckError):
                raise got
            else:
                yield got[0]
    finally:
        await cancel(pumps)
