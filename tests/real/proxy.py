"""A proxy that breaks connections on demand, in front of a TCP port or a unix socket. TLS passes through untouched."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

Mode = Literal["pass", "refuse", "hang", "freeze"]


@dataclass(frozen=True)
class Faults:
    """What happens to bytes.

    - `mode`: `pass`; `refuse` (connections are reset at once); `hang` (new connections are accepted and nothing ever answers);
      `freeze` (no byte moves on any connection until the mode changes: a route that fails silently).
    - `delay`: seconds each chunk waits, each way. `rate`: bytes a second, each way (0 is no limit).
    - `cut_after`: bytes of the server's answer on each connection after which it is reset (0 is never).
    """

    mode: Mode = "pass"
    delay: float = 0.0
    rate: int = 0
    cut_after: int = 0


class FaultProxy:
    """Listens on a free port of 127.0.0.1 (or on a unix socket) and passes bytes on, as well as `faults` let it.

    `target` is `host:port` or `unix:/path`. It lives on the running event loop: `async with FaultProxy(target) as proxy`.
    """

    def __init__(self, target: str, *, listen: str = "") -> None:
        self.target = target
        self.accepted = 0
        self.port = 0
        self._listen = listen
        self._faults = Faults()
        self._changed = asyncio.Condition()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        if self._listen:
            self._server = await asyncio.start_unix_server(self._serve, self._listen)
        else:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
            self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server:
            self._server.close()
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._server:
            await self._server.wait_closed()

    @property
    def address(self) -> str:
        """`127.0.0.1:PORT`, or `unix:/path` as it was asked for."""
        return f"unix:{self._listen}" if self._listen else f"127.0.0.1:{self.port}"

    @property
    def open(self) -> int:
        """How many client connections are open."""
        return len(self._tasks)

    async def set(self, mode: Mode = "pass", *, delay: float = 0.0, rate: int = 0, cut_after: int = 0) -> None:
        """Change the faults for all connections, open and new. `await proxy.set()` heals."""
        self._faults = Faults(mode, delay, rate, cut_after)
        async with self._changed:
            self._changed.notify_all()

    def cut(self) -> int:
        """Reset every open connection now; returns how many."""
        count = len(self._tasks)
        for writer in list(self._writers):
            _reset(writer)
        return count

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task, "a connection is served by a task"
        self._tasks.add(task)
        self.accepted += 1
        try:
            with contextlib.suppress(OSError):
                await self._connection(reader, writer)
        except asyncio.CancelledError:
            _reset(writer)
        finally:
            self._tasks.discard(task)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with self._held(writer):
            if self._faults.mode == "refuse":
                _reset(writer)
                return
            await self._while_mode("hang")
            upstream_reader, upstream_writer = await self._connect()
            async with self._held(upstream_writer):
                await asyncio.gather(
                    self._pump(reader, upstream_writer, answer=False), self._pump(upstream_reader, writer, answer=True)
                )

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self.target.startswith("unix:"):
            return await asyncio.open_unix_connection(self.target.removeprefix("unix:"))
        host, _, port = self.target.rpartition(":")
        return await asyncio.open_connection(host, int(port))

    @contextlib.asynccontextmanager
    async def _held(self, writer: asyncio.StreamWriter) -> AsyncIterator[None]:
        self._writers.add(writer)
        try:
            yield
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _while_mode(self, mode: Mode) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._faults.mode != mode)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answer: bool) -> None:
        passed = 0
        try:
            while data := await reader.read(65536):
                faults = self._faults
                await asyncio.sleep(faults.delay + (len(data) / faults.rate if faults.rate else 0))
                await self._while_mode("freeze")
                limit = self._faults.cut_after
                if answer and limit and passed + len(data) > limit:
                    writer.write(data[: max(0, limit - passed)])
                    await writer.drain()
                    _reset(writer)
                    return
                writer.write(data)
                passed += len(data)
                await writer.drain()
            await self._while_mode("freeze")
            # Half-close is kept: attach and exec streams need the answer after the end of the question.
            if writer.can_write_eof():
                writer.write_eof()
        except OSError:
            _reset(writer)


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close at once; over TCP with a reset, which a plain close would only send when bytes were left unread."""
    peer = writer.get_extra_info("socket")
    if peer is not None and peer.family == socket.AF_INET:
        with contextlib.suppress(OSError):
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
