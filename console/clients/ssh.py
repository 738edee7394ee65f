"""Docker engines behind ssh: each connection is an ``ssh`` child that speaks ``docker system dial-stdio``.

The user's own ``ssh`` does the work, so that configuration, agent, jump hosts and known hosts are honoured. It never asks
(``BatchMode``) and never sees our terminal; what it says on standard error becomes the connection's error. The connections
share one authenticated session (ssh's own multiplexing) on a socket in a folder that only we can enter, unless the
configuration names a ``ControlPath`` of its own: then that is used, and with it a login that a person already made.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import httpcore

from console.clients.children import capture, run_child, written
from console.clients.ssh_address import parse_destination

# Idle multiplexed sessions end by themselves after so many seconds, also when we could not tidy up.
_PERSIST = 60
# Any answer to this proves that ssh, dial-stdio and the engine are there, before a byte of a real request has left.
_KNOCK = b"HEAD /_ping HTTP/1.1\r\nHost: localhost\r\n\r\n"
_NOISE = ("Warning: Permanently added", "@@@", "Connection closed by", "mux_client_", "ControlSocket ")


class SshBackend(httpcore.AsyncNetworkBackend):
    """Opens streams to one destination; host and port that httpcore asks for are only names.

    :param url: see :class:`Destination`.
    """

    def __init__(self, url: str) -> None:
        self.destination = parse_destination(url)
        self._options: list[str] | None = None
        self._folder = ""
        # The first connection goes alone: the others then find its session and need no handshake of their own.
        self._door = asyncio.Lock()
        self._warm = False
        self._streams: set[SshStream] = set()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A stream to the remote engine that has already answered once. Raises ``ConnectError`` with ssh's own words."""
        async with self._door:
            if not self._warm:
                stream = await self._open(timeout)
                self._warm = True
                return stream
        return await self._open(timeout)

    async def sleep(self, seconds: float) -> None:
        """Only here because the interface has it."""
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        """End all children and the shared session."""
        for stream in list(self._streams):
            await stream.aclose()
        await self._hang_up()
        folder, self._folder = self._folder, ""
        self._options = None
        if folder:
            shutil.rmtree(folder, ignore_errors=True)

    async def _open(self, timeout: float | None) -> SshStream:
        argv = ["ssh", *await self._arguments(), *self.destination.arguments(), self.destination.command()]
        stream = await SshStream.start(argv, self._streams.discard)
        self._streams.add(stream)
        try:
            async with asyncio.timeout(timeout):
                await stream.knock()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            self._warm = False
            late = isinstance(error, TimeoutError)
            words = await stream.last_words(wait=not late)
            if late:
                # A session over a dead route would hold up every later attempt.
                await self._hang_up()
            problem = "nothing came back in time" if late else "ssh ended without a word"
            raise httpcore.ConnectError(words or problem) from error
        except asyncio.CancelledError:
            await stream.aclose()
            raise
        return stream

    async def _arguments(self) -> list[str]:
        if self._options is None:
            config = await self._user_config()
            options = [
                "BatchMode=yes",
                "RequestTTY=no",
                "RemoteCommand=none",
                "ClearAllForwardings=yes",
                "PermitLocalCommand=no",
            ]
            if config.get("serveraliveinterval", "0") == "0":
                options += ["ServerAliveInterval=15", "ServerAliveCountMax=2"]
            if config.get("connecttimeout", "none") in {"none", "0"}:
                options.append("ConnectTimeout=10")
            if config.get("controlpath", "none") == "none":
                self._folder = self._folder or tempfile.mkdtemp(prefix="qd-ssh-")
                options += ["ControlMaster=auto", f"ControlPath={self._folder}/s", f"ControlPersist={_PERSIST}"]
            self._options = ["-T", "-a", "-x", *(part for option in options for part in ("-o", option))]
        return self._options

    async def _user_config(self) -> dict[str, str]:
        """What the user's configuration says about this host, as ``ssh -G`` prints it; nothing if that can't be had."""
        try:
            finished = await run_child(["ssh", "-G", *self.destination.arguments()], env=_environment(), timeout=5)
        except FileNotFoundError as error:
            raise httpcore.ConnectError("there is no ssh program on the PATH") from error
        except (OSError, TimeoutError):
            return {}
        lines = finished.stdout.decode("utf-8", "replace").splitlines()
        return {key: value for key, _, value in (line.partition(" ") for line in lines)}

    async def _hang_up(self) -> None:
        """End the shared session, if it is ours."""
        self._warm = False
        path = Path(self._folder, "s")
        if not self._folder or not path.exists():
            return
        argv = ["ssh", "-O", "exit", "-o", f"ControlPath={path}", *self.destination.arguments()]
        with contextlib.suppress(OSError, TimeoutError):
            await run_child(argv, env=_environment(), timeout=3)
        with contextlib.suppress(OSError):
            path.unlink()


class SshStream(httpcore.AsyncNetworkStream):
    """One child and the socket that is its standard input and output."""

    def __init__(
        self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, said: IO[bytes]
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._said = said
        self._forget: Any = None

    @classmethod
    async def start(cls, argv: list[str], forget: Any) -> SshStream:
        """Start the child; ``forget`` is called with the stream once it is closed."""
        said = capture()
        ours, theirs = socket.socketpair()
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=said, env=_environment(), start_new_session=True
            )
        except OSError as error:
            ours.close()
            said.close()
            raise httpcore.ConnectError(f"ssh can't be started: {error.strerror}") from error
        finally:
            theirs.close()
        ours.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=ours)
        stream = cls(process, reader, writer, said)
        stream._forget = forget
        return stream

    async def knock(self) -> None:
        """Ask the engine for a sign of life and wait for it."""
        self._writer.write(_KNOCK)
        await self._writer.drain()
        await self._reader.readuntil(b"\r\n\r\n")

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """The next bytes; ``b""`` once the remote side has closed."""
        try:
            async with asyncio.timeout(timeout):
                data = await self._reader.read(max_bytes)
        except TimeoutError as error:
            raise httpcore.ReadTimeout("no answer over ssh in time") from error
        except OSError as error:
            raise httpcore.ReadError(await self.last_words(wait=True) or "the ssh connection broke") from error
        if not data and (words := await self.last_words(wait=True)) and self._process.returncode:
            raise httpcore.ReadError(words)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of it."""
        try:
            async with asyncio.timeout(timeout):
                self._writer.write(buffer)
                await self._writer.drain()
        except TimeoutError as error:
            raise httpcore.WriteTimeout("ssh takes no more") from error
        except OSError as error:
            raise httpcore.WriteError("the ssh connection broke") from error

    async def aclose(self) -> None:
        """End the child and wait for it."""
        if self._said.closed:
            return
        self._said.close()
        self._forget(self)
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()
        await self._end()

    async def last_words(self, *, wait: bool) -> str:
        """What ssh said on standard error, its last three lines as one; closes the stream.

        :param wait: give the child a moment to end by itself and finish its sentence.
        """
        if self._said.closed:
            return ""
        if wait:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(2):
                    await self._process.wait()
        lines = written(self._said).decode("utf-8", "replace").splitlines()
        await self.aclose()
        telling = [line.strip() for line in lines if line.strip() and not line.startswith(_NOISE)]
        return "; ".join((telling or [line.strip() for line in lines])[-3:])

    def get_extra_info(self, info: str) -> Any:
        """``is_readable`` of an idle stream: whether the other side has closed it."""
        if info == "is_readable":
            return self._reader.at_eof() or self._process.returncode is not None
        return None

    async def _end(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._process.returncode is not None:
                return
            # Not by the process object: that reaps a child that has just ended, behind the back of the loop's own watcher.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, number)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(2):
                    await self._process.wait()


def ssh_hint(words: str) -> str:
    """What to do about ssh's words."""
    for pattern, hint in _HINTS:
        if pattern in words:
            return hint
    return "The same has to work in a shell, without a question: `ssh HOST docker system dial-stdio`."


_HINTS = (
    (
        "ermission denied (",
        "ssh got no key that this host accepts: add it to the agent with ssh-add, or name it in the ssh configuration.",
    ),
    ("ost key verification failed", "Connect once in a shell, compare the host's key and accept it, or correct known_hosts."),
    ("ocker: not found", "The docker command is not on the PATH of that host's login."),
    ("command not found", "The docker command is not on the PATH of that host's login."),
    ("ocker daemon socket", "That host's login may not use the engine's socket: add it to the docker group there."),
    ("ould not resolve hostname", "Check the name, DNS and the VPN, or the alias in the ssh configuration."),
    ("onnection refused", "No ssh server answers there: check the address and the port."),
    ("timed out", "That host doesn't answer: check the address, the route and the VPN."),
    ("no ssh program", "Install an OpenSSH client."),
)


def _environment() -> dict[str, str]:
    """Ours, except that ssh must not open a window to ask either."""
    return {**os.environ, "SSH_ASKPASS_REQUIRE": "never"}
