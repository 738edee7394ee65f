"""A real terminal (pty) around a real process. What comes is kept with its time and painted when nothing is measured."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pyte

WIDTH, HEIGHT = 120, 40
_OTHERS = ("QUARTERDECK", "DOCKER", "KUBE", "TEXTUAL")
"""Beginnings of variables that would lead the console elsewhere."""
CONSOLE = (sys.executable, "-m", "tests.bench.probe")
"""The console as its command starts it, with a watch on its event loop (see :mod:`tests.bench.probe`)."""


class Chunk(NamedTuple):
    """What one read gave, and when (``time.monotonic``)."""

    at: float
    data: bytes


class Terminal:
    """The master's side of a pty, whose other side a process has as its terminal."""

    def __init__(self, process: subprocess.Popen[bytes], descriptor: int, started: float) -> None:
        self.process = process
        self.info = psutil.Process(process.pid)
        self.started = started
        self.chunks: list[Chunk] = []
        self._descriptor = descriptor
        self._screen: Any = pyte.Screen(WIDTH, HEIGHT)
        self._stream: Any = pyte.ByteStream(self._screen)
        self._painted = 0

    def read(self, seconds: float) -> int:
        """Take what comes within so many seconds; returns how many bytes that were."""
        end, taken = time.monotonic() + seconds, 0
        while (left := end - time.monotonic()) > 0:
            taken += self._take(left)
        return taken

    def quiet(self, silence: float = 0.25, most: float = 20) -> float:
        """Read until nothing came for ``silence`` seconds; returns when the last bytes came (0 if none did)."""
        last, end = 0.0, time.monotonic() + most
        while time.monotonic() < end and self._take(silence):
            last = self.chunks[-1].at
        return last

    def send(self, keys: str) -> float:
        """Press keys; returns when."""
        now = time.monotonic()
        os.write(self._descriptor, keys.encode())
        return now

    def until(self, seen: Callable[[Sequence[str]], bool], seconds: float = 30, step: float = 0.05) -> float:
        """Read until the screen's lines satisfy ``seen``; returns the time of the chunk that made them so."""
        end = time.monotonic() + seconds
        while True:
            found = self.replay(seen)
            if found:
                return found
            if time.monotonic() > end:
                raise TimeoutError("the screen never came to that:\n" + "\n".join(self.lines()))
            self.read(step)

    def replay(self, seen: Callable[[Sequence[str]], bool], end: float = float("inf")) -> float:
        """Paint what came since (before ``end``); returns the time of the first chunk after which ``seen`` holds, 0 if none."""
        while self._painted < len(self.chunks):
            chunk = self.chunks[self._painted]
            if chunk.at >= end:
                break
            self._painted += 1
            self._stream.feed(chunk.data.replace(b"\x1b[>", b"\x1b[?"))
            if seen(self.lines()):
                return chunk.at
        return 0.0

    def lines(self) -> list[str]:
        """The screen as painted so far."""
        buffer = self._screen.buffer
        return ["".join(buffer[y][x].data for x in range(WIDTH)) for y in range(HEIGHT)]

    def background(self, row: int, column: int = 4) -> str:
        """The background colour of one painted cell."""
        return str(self._screen.buffer[row][column].bg)

    def _take(self, seconds: float) -> int:
        if not select.select([self._descriptor], [], [], seconds)[0]:
            return 0
        try:
            data = os.read(self._descriptor, 1 << 16)
        except OSError as error:
            raise RuntimeError("the console ended:\n" + "\n".join(self.lines())) from error
        self.chunks.append(Chunk(time.monotonic(), data))
        return len(data)


@contextmanager
def terminal(env: Mapping[str, str], folder: Path, command: Sequence[str] = CONSOLE) -> Iterator[Terminal]:
    """A process in a 120x40 terminal with true colour, with empty configuration and state in ``folder``."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
    full = {
        **{name: value for name, value in os.environ.items() if not name.startswith(_OTHERS)},
        **env,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "QUARTERDECK_CONFIG_DIR": str(folder / "config"),
        "QUARTERDECK_STATE_DIR": str(folder / "state"),
    }
    started = time.monotonic()
    process = subprocess.Popen(
        list(command), stdin=slave, stdout=slave, stderr=slave, env=full, start_new_session=True, close_fds=True
    )
    os.close(slave)
    shown = Terminal(process, master, started)
    try:
        yield shown
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            _drain(shown, process)
        finally:
            os.close(master)


def _drain(shown: Terminal, process: subprocess.Popen[bytes]) -> None:
    """Read on until the process has gone, since it restores the terminal before; kill it if it stays."""
    end = time.monotonic() + 10
    while process.poll() is None:
        if time.monotonic() > end:
            process.kill()
            process.wait(10)
            return
        try:
            shown.read(0.05)
        except RuntimeError:
            process.wait(10)
            return


def go(shown: Terminal, words: str) -> float:
    """Type a command (``:pods``) or a filter (``/web``) and confirm it; returns when the last key was pressed."""
    shown.send(words[0])
    shown.quiet(0.2, 2)
    shown.send(words[1:])
    shown.quiet(0.2, 2)
    return shown.send("\r")
