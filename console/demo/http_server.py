"""A small HTTP/1.1 server for the demo fleet: keep-alive, JSON bodies, endless chunked answers, and faults on demand.

Parsing is h11's. One handler serves every request of a server; what it returns is either a whole :class:`Answer` or a
:class:`Stream` whose chunks are sent as they come. A stream ends when its iterator ends or the client hangs up.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import h11
import msgspec

from console.demo.clockwork import Bell

_CHUNK = 65536
_JSON = "application/json"


class Request(msgspec.Struct, kw_only=True):
    """One request. ``path`` is decoded, ``query`` keeps repeated parameters, header names are lower case."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes = b""

    def first(self, name: str, default: str = "") -> str:
        """The first value of a query parameter."""
        return self.query.get(name, [default])[0]

    def flag(self, name: str) -> bool:
        """Whether a query parameter says yes ("1" or "true", as both APIs accept)."""
        return self.first(name).lower() in ("1", "true")

    def json(self) -> Any:
        """The decoded body; None when it is empty. Raises ``msgspec.DecodeError`` when it is not JSON."""
        return msgspec.json.decode(self.body) if self.body else None


class Answer(msgspec.Struct, kw_only=True):
    """A complete answer."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = {}

    @classmethod
    def of_json(cls, value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
        """An answer with a JSON body."""
        return cls(status=status, body=msgspec.json.encode(value), headers={"Content-Type": _JSON, **(headers or {})})


class Stream(msgspec.Struct, kw_only=True):
    """A chunked answer; the server closes ``chunks`` in every case."""

    chunks: AsyncGenerator[bytes, None]
    status: int = 200
    headers: dict[str, str] = {}


Handler = Callable[[Request], Awaitable[Answer | Stream]]


class HttpServer:
    """Serves one handler on a loopback port or on a unix socket.

    The port stays reserved by a second, never listening socket, so that a server taken down refuses connections (as a dead
    host does) and comes back on the same port.
    """

    def __init__(self, handler: Handler, path: Path | None = None) -> None:
        self._handler = handler
        self._path = path
        self._port = 0
        self._placeholder: socket.socket | None = None
        self._server: asyncio.Server | None = None
        self._accepting = False
        self._connections: set[asyncio.Task[None]] = set()
        self._moving = Bell()
        self.hanging = False
        self.delay = 0.0

    @property
    def url(self) -> str:
        """Where it serves: ``http://127.0.0.1:port`` or ``unix:///path``."""
        return f"unix://{self._path}" if self._path else f"http://127.0.0.1:{self._port}"

    async def reserve(self) -> None:
        """Take a port without listening on it: connecting is refused until :meth:`listen`."""
        if self._path is None and self._placeholder is None:
            self._placeholder = _loopback_socket(0)
            self._port = self._placeholder.getsockname()[1]

    async def listen(self) -> None:
        """Accept connections (again)."""
        await self.reserve()
        if self._server is not None:
            return
        self._accepting = True
        if self._path:
            self._path.unlink(missing_ok=True)
            self._server = await asyncio.start_unix_server(self._accept, path=str(self._path))
        else:
            self._server = await asyncio.start_server(self._accept, sock=_loopback_socket(self._port))

    async def refuse(self) -> None:
        """Stop accepting and cut every connection, as a host does that goes down."""
        server, self._server = self._server, None
        self._accepting = False
        if server is not None:
            server.close()
        if self._path:
            self._path.unlink(missing_ok=True)
        await self.cut()
        if server is not None:
            await server.wait_closed()

    async def cut(self) -> None:
        """Cut every connection in mid-answer; new ones are accepted as before."""
        tasks = tuple(self._connections)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def hang(self, hanging: bool) -> None:
        """Accept, read and never answer (or go on answering); streams freeze too."""
        self.hanging = hanging
        self._moving.ring()

    async def close(self) -> None:
        """Stop for good and give the port back."""
        await self.refuse()
        if self._placeholder is not None:
            self._placeholder.close()
            self._placeholder = None

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._accepting:
            # It had reached the loop before the listening socket was closed; nobody would end its task.
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer), name="demo connection")
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wire = _Wire(reader, writer)
        try:
            while (request := await wire.receive()) is not None:
                await self._pass_faults()
                if self.delay:
                    await asyncio.sleep(self.delay)
                answer = await self._handler(request)
                if isinstance(answer, Stream):
                    await self._send_stream(wire, answer)
                else:
                    await wire.send_whole(answer, head=request.method == "HEAD")
                if not wire.next_request():
                    break
        except (ConnectionError, h11.ProtocolError):
            pass  # the client is gone or does not speak HTTP: there is nobody to tell
        except asyncio.CancelledError:
            writer.transport.abort()
            raise
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, TimeoutError):
                await writer.wait_closed()

    async def _pass_faults(self) -> None:
        while self.hanging:
            await self._moving.wait()

    async def _send_stream(self, wire: _Wire, stream: Stream) -> None:
        sender = asyncio.ensure_future(self._send_chunks(wire, stream))
        hung_up = asyncio.ensure_future(wire.wait_for_hang_up())
        try:
            await asyncio.wait((sender, hung_up), return_when=asyncio.FIRST_COMPLETED)
            if sender.done():
                await sender
            else:
                raise ConnectionResetError("the client hung up")
        finally:
            for task in (sender, hung_up):
                task.cancel()
            await asyncio.gather(sender, hung_up, return_exceptions=True)

    async def _send_chunks(self, wire: _Wire, stream: Stream) -> None:
        async with contextlib.aclosing(stream.chunks) as chunks:
            await wire.send_head(stream.status, {**stream.headers, "Transfer-Encoding": "chunked"})
            async for chunk in chunks:
                await self._pass_faults()
                await wire.send_chunk(chunk)
        await wire.send_end()


class _Wire:
    """One connection: bytes to requests and answers to bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=256 * 1024)

    async def receive(self) -> Request | None:
        head: h11.Request | None = None
        body = bytearray()
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                if self._http.they_are_waiting_for_100_continue:
                    self._write(h11.InformationalResponse(status_code=100, headers=[]))
                self._http.receive_data(await self._reader.read(_CHUNK))
            elif isinstance(event, h11.Request):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                return _request(head, bytes(body))
            else:
                return None

    def next_request(self) -> bool:
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    async def wait_for_hang_up(self) -> None:
        while data := await self._reader.read(_CHUNK):
            self._http.receive_data(data)

    async def send_whole(self, answer: Answer, *, head: bool) -> None:
        headers = {"Content-Length": str(len(answer.body)), **answer.headers}
        if answer.status in (204, 304):
            headers.pop("Content-Length")
        self._write(h11.Response(status_code=answer.status, headers=list(headers.items())))
        if answer.body and not head:
            self._write(h11.Data(data=answer.body))
        await self.send_end()

    async def send_head(self, status: int, headers: dict[str, str]) -> None:
        self._write(h11.Response(status_code=status, headers=list(headers.items())))
        await self._writer.drain()

    async def send_chunk(self, chunk: bytes) -> None:
        if chunk:
            self._write(h11.Data(data=chunk))
            await self._writer.drain()

    async def send_end(self) -> None:
        self._write(h11.EndOfMessage())
        await self._writer.drain()

    def _write(self, event: h11.Event) -> None:
        self._writer.write(self._http.send(event) or b"")


def _request(head: h11.Request, body: bytes) -> Request:
    target = urlsplit(head.target.decode("ascii"))
    return Request(
        method=head.method.decode("ascii"),
        path=unquote(target.path),
        query=parse_qs(target.query, keep_blank_values=True),
        headers={name.decode("ascii").lower(): value.decode("latin-1") for name, value in head.headers},
        body=body,
    )


def _loopback_socket(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.bind(("127.0.0.1", port))
    made.setblocking(False)
    return made
