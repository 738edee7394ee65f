"""Small real servers that say exactly what a test wants them to say: whole answers, half ones, or nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import stat
import struct
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import trustme


@dataclass
class Seen:
    """A request as it arrived."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes
    peer_certificate: dict[str, Any] | None = None

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return {key: values[-1] for key, values in parse_qs(urlsplit(self.target).query).items()}

    def header(self, name: str) -> str:
        return ", ".join(value for key, value in self.headers if key.lower() == name)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Reply:
    """What a handler answers with."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def raw(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def head(self, status: int, headers: dict[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} Something", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        await self.raw("\r\n".join(lines).encode())

    async def body(self, status: int, content: bytes, kind: str = "application/json", **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        await self.head(status, {"Content-Type": kind, "Content-Length": str(len(content)), **named})
        await self.raw(content)

    async def json(self, value: Any, status: int = 200, **headers: str) -> None:
        await self.body(status, json.dumps(value).encode(), **headers)

    async def stream(self, kind: str = "application/json", **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        await self.head(200, {"Content-Type": kind, "Transfer-Encoding": "chunked", **named})

    async def chunk(self, data: bytes) -> None:
        await self.raw(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def line(self, value: Any) -> None:
        await self.chunk(json.dumps(value).encode() + b"\n")

    async def end(self) -> None:
        await self.raw(b"0\r\n\r\n")

    def close(self) -> None:
        """An orderly end of the connection."""
        self._writer.close()

    def cut(self) -> None:
        """A reset."""
        peer = self._writer.get_extra_info("socket")
        if peer is not None and peer.family == socket.AF_INET:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def never(self) -> None:
        """Say nothing more, until the test is over."""
        await asyncio.Event().wait()


Handler = Callable[[Seen, Reply], Awaitable[None]]


@dataclass
class Server:
    """A running server: where it is, what it was asked, how many connections were made."""

    url: str = ""
    port: int = 0
    seen: list[Seen] = field(default_factory=list)
    connections: int = 0

    def asked(self) -> list[str]:
        return [f"{seen.method} {seen.target}" for seen in self.seen]


@contextlib.asynccontextmanager
async def serve(handler: Handler, *, tls: ssl.SSLContext | None = None, unix: Path | None = None) -> AsyncIterator[Server]:
    """Answer every request with the handler, on 127.0.0.1 or a unix socket."""
    server = Server()

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                seen = await read_request(reader, writer)
                server.seen.append(seen)
                await handler(seen, Reply(writer))
                if writer.is_closing():
                    return

    async with listening(connection, tls=tls, unix=unix) as port:
        server.port = port
        server.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
        yield server


Connection = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def listening(serving: Connection, *, tls: ssl.SSLContext | None = None, unix: Path | None = None) -> AsyncIterator[int]:
    """A listener whose connections all end with the block; yields its port."""
    tasks: set[asyncio.Task[Any]] = set()
    writers: set[asyncio.StreamWriter] = set()

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        writers.add(writer)
        try:
            with contextlib.suppress(asyncio.CancelledError):
                await serving(reader, writer)
        finally:
            tasks.discard(task)
            writer.close()

    if unix is not None:
        server = await asyncio.start_unix_server(connection, unix)
    else:
        server = await asyncio.start_server(connection, "127.0.0.1", 0, ssl=tls)
    try:
        yield 0 if unix is not None else int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for writer in writers:
            writer.transport.abort()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        await server.wait_closed()


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Seen:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *rest = head.strip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in rest)]
    length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    body = await reader.readexactly(length) if length else b""
    return Seen(method, target, headers, body, writer.get_extra_info("peercert"))


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()


async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int) -> None:
    there_reader, there_writer = await asyncio.open_connection(host, port)
    try:
        await asyncio.gather(pump(reader, there_writer), pump(there_reader, writer))
    finally:
        there_writer.close()
        with contextlib.suppress(OSError):
            await there_writer.wait_closed()


@dataclass
class Proxy:
    url: str = ""
    targets: list[str] = field(default_factory=list)


@contextlib.asynccontextmanager
async def connect_proxy(*, authorization: str = "", where: int = 0) -> AsyncIterator[Proxy]:
    """An HTTP proxy that tunnels (CONNECT) to ``where`` on this machine, whatever host is asked for."""
    proxy = Proxy()

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen = await read_request(reader, writer)
        proxy.targets.append(seen.target)
        if seen.header("proxy-authorization") != authorization:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await tunnel(reader, writer, "127.0.0.1", where)

    async with listening(connection) as port:
        proxy.url = f"http://127.0.0.1:{port}"
        yield proxy


@contextlib.asynccontextmanager
async def socks_proxy(where: int) -> AsyncIterator[Proxy]:
    """A SOCKS5 proxy (RFC 1928, no authentication) that leads to ``where`` on this machine."""
    proxy = Proxy()

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, methods = await reader.readexactly(2)
        await reader.readexactly(methods)
        writer.write(b"\x05\x00")
        _, _, _, kind = await reader.readexactly(4)
        size = 4 if kind == 1 else (await reader.readexactly(1))[0]
        host = await reader.readexactly(size)
        await reader.readexactly(2)
        proxy.targets.append(socket.inet_ntoa(host) if kind == 1 else host.decode())
        writer.write(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
        await tunnel(reader, writer, "127.0.0.1", where)

    async with listening(connection) as port:
        proxy.url = f"socks5://127.0.0.1:{port}"
        yield proxy


class Authority:
    """A certificate authority of the test's own."""

    def __init__(self) -> None:
        self._ca = trustme.CA()
        self.pem = self._ca.cert_pem.bytes()

    def server(self, *names: str, clients: bool = False) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._ca.issue_cert(*names).configure_cert(context)
        if clients:
            context.verify_mode = ssl.CERT_REQUIRED
            self._ca.configure_trust(context)
        return context

    def client(self, name: str) -> tuple[bytes, bytes]:
        """Certificate and key in PEM."""
        issued = self._ca.issue_cert(name, common_name=name)
        return b"".join(blob.bytes() for blob in issued.cert_chain_pems), issued.private_key_pem.bytes()


@contextlib.asynccontextmanager
async def strict_tls(context: ssl.SSLContext) -> AsyncIterator[int]:
    """A TLS server that tells a client what it has against its certificate, as real ones do (asyncio's just hangs up)."""
    listener = socket.create_server(("127.0.0.1", 0))

    def refuse() -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = listener.accept()
                with context.wrap_socket(peer, server_side=True, do_handshake_on_connect=False) as secured:
                    try:
                        secured.do_handshake()
                    except ssl.SSLError:
                        # The client has to read the alert before the connection goes.
                        secured.shutdown(socket.SHUT_WR)
                        while secured.recv(65536):
                            pass

    serving = asyncio.create_task(asyncio.to_thread(refuse))
    try:
        yield int(listener.getsockname()[1])
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        await serving


_FAKE_SSH = """#!{python} -IS
import os, socket, sys, threading, time
log, mode, target = {log!r}, {mode!r}, {target!r}
with open(log, "a") as file:
    file.write(" ".join(sys.argv[1:]) + "\\n")
if "-G" in sys.argv:
    print({config!r})
    sys.exit(0)
if "-O" in sys.argv:
    sys.exit(0)
if mode == "hang":
    time.sleep(600)
if mode != "work":
    sys.stderr.write(mode + "\\n")
    sys.exit(255)
here = socket.socket(fileno=os.dup(0))
there = socket.socket(socket.AF_UNIX)
there.connect(target)
def pump(source, sink):
    while data := source.recv(65536):
        sink.sendall(data)
    sink.shutdown(socket.SHUT_WR)
threading.Thread(target=pump, args=(here, there), daemon=True).start()
pump(there, here)
"""


class FakeSsh:
    """A program called ``ssh`` that leads to a unix socket, or fails as told.

    :param mode: "work", "hang", or the words it says on standard error in failing.
    :param config: what ``ssh -G`` prints.
    """

    def __init__(self, folder: Path, target: Path, *, mode: str = "work", config: str = "") -> None:
        self.folder = folder / "bin"
        self.folder.mkdir(exist_ok=True)
        self.log = folder / "ssh.log"
        self._target = target
        self._config = config
        self.set(mode)

    def set(self, mode: str) -> None:
        program = self.folder / "ssh"
        program.write_text(
            _FAKE_SSH.format(python=sys.executable, log=str(self.log), mode=mode, target=str(self._target), config=self._config)
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def calls(self) -> list[str]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line for line in lines if "-G " not in line and "-O " not in line]
