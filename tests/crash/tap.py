"""A proxy that knows HTTP well enough to count writes and to break exactly one of them."""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Literal, Self

_STARTS_REQUEST = re.compile(rb"(GET|POST|PATCH|PUT|DELETE) /")

Mode = Literal["pass", "cut before", "cut after", "hold"]


class Tap:
    """Listens with plain HTTP on a port of 127.0.0.1 and passes on to `unix:/path`, `http://host:port` or `https://host:port`.

    `mode` is what becomes of the next writes: `cut before` resets the connection and passes nothing on, `cut after` resets it
    when the server has answered, `hold` keeps that answer back. `writes` counts those that the server got, `answered` is set
    when it answered one. `before_request` runs before any request is passed on, with its first line, `before_write` before a
    write.
    """

    def __init__(self, target: str, authority: str = "") -> None:
        self.mode: Mode = "pass"
        self.writes = 0
        self.answered = asyncio.Event()
        self.before_write: Callable[[], Awaitable[None]] | None = None
        self.before_request: Callable[[str], Awaitable[None]] | None = None
        self.port = 0
        self._target = target
        self._trust = ssl.create_default_context(cafile=authority) if target.startswith("https:") else None
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            up_reader, up_writer = await self._connect()
            try:
                await self._pass(reader, writer, up_reader, up_writer)
            finally:
                up_writer.transport.abort()
        except (OSError, asyncio.CancelledError):
            # A task of a stream server that ends as cancelled is reported as an error by Python 3.11.
            pass
        finally:
            writer.transport.abort()
            self._tasks.discard(task)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._target.startswith("unix:"):
            return await asyncio.open_unix_connection(self._target.removeprefix("unix:"))
        host, _, port = self._target.partition("://")[2].rpartition(":")
        return await asyncio.open_connection(host, int(port), ssl=self._trust)

    async def _pass(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        up_reader: asyncio.StreamReader,
        up_writer: asyncio.StreamWriter,
    ) -> None:
        state = {"writing": False}

        async def ask() -> None:
            while data := await reader.read(65536):
                if self.before_request is not None and _STARTS_REQUEST.match(data):
                    await self.before_request(data.partition(b"\r\n")[0].decode())
                if _starts_write(data):
                    if self.mode == "cut before":
                        return
                    if self.before_write is not None:
                        await self.before_write()
                    state["writing"] = True
                    self.writes += 1
                elif data.startswith(b"GET "):
                    state["writing"] = False
                up_writer.write(data)
                await up_writer.drain()

        async def answer() -> None:
            while data := await up_reader.read(65536):
                if state["writing"]:
                    self.answered.set()
                    if self.mode == "cut after":
                        return
                    if self.mode == "hold":
                        continue
                writer.write(data)
                await writer.drain()

        pumps = (asyncio.create_task(ask()), asyncio.create_task(answer()))
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            with contextlib.suppress(OSError):
                await asyncio.gather(*pumps, return_exceptions=True)


def _starts_write(data: bytes) -> bool:
    """Each request starts a chunk of its own: nothing is pipelined. Reviews of access change nothing."""
    line = data.partition(b"\r\n")[0]
    return line.startswith((b"POST ", b"PATCH ", b"PUT ", b"DELETE ")) and b"selfsubjectaccessreviews" not in line
