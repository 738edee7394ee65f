"""httpcore's network backend for unix sockets, over asyncio's own streams.

anyio's reader for unix sockets sets a future's result without asking whether the wait was cancelled in the same turn of the
loop, and asyncio then reports an ``InvalidStateError`` that nobody can catch: it would be printed over the screen whenever a
connection is closed while its server is speaking.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Iterable
from typing import Any

import httpcore


class UnixBackend(httpcore.AsyncNetworkBackend):
    """Opens streams to unix sockets; nothing else."""

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None
    ) -> httpcore.AsyncNetworkStream:
        """A stream to the socket at ``path``. Raises ``ConnectError`` or ``ConnectTimeout``."""
        try:
            async with asyncio.timeout(timeout):
                reader, writer = await asyncio.open_unix_connection(path)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout("the socket did not answer in time") from error
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        return UnixStream(reader, writer)

    async def sleep(self, seconds: float) -> None:
        """Only here because the interface has it."""
        await asyncio.sleep(seconds)


class UnixStream(httpcore.AsyncNetworkStream):
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """The next bytes; ``b""`` once the other side has closed."""
        try:
            async with asyncio.timeout(timeout):
                return await self._reader.read(max_bytes)
        except TimeoutError as error:
            raise httpcore.ReadTimeout("no answer in time") from error
        except OSError as error:
            raise httpcore.ReadError(str(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of it."""
        try:
            async with asyncio.timeout(timeout):
                self._writer.write(buffer)
                await self._writer.drain()
        except TimeoutError as error:
            raise httpcore.WriteTimeout("the socket takes no more") from error
        except OSError as error:
            raise httpcore.WriteError(str(error)) from error

    async def aclose(self) -> None:
        """Close at once; what was not sent is lost."""
        self._writer.transport.abort()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Not offered: who can open the socket is who may speak."""
        raise httpcore.ConnectError("TLS is not spoken over unix sockets")

    def get_extra_info(self, info: str) -> Any:
        """``is_readable`` of an idle stream: whether the other side has closed it, or speaks unasked."""
        return self._reader.at_eof() if info == "is_readable" else None
