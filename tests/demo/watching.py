"""Reading a few lines of an endless answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

PATIENCE = 20


class Lines:
    """The JSON lines of a stream, one at a time."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self._lines = answer.aiter_lines()

    async def next(self) -> Any:
        """The next line, decoded. Raises `TimeoutError` when none comes, `StopAsyncIteration` at the end."""
        async with asyncio.timeout(PATIENCE):
            return json.loads(await anext(self._lines))

    async def text(self) -> str:
        """The next line as it is."""
        async with asyncio.timeout(PATIENCE):
            return await anext(self._lines)


@asynccontextmanager
async def streaming(client: httpx.AsyncClient, path: str, **params: str) -> AsyncIterator[Lines]:
    """An open GET."""
    async with client.stream("GET", path, params=params) as answer:
        yield Lines(answer)
