"""The console as people have it: a process in a terminal, keys that go in, a screen to be read."""

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
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import pyte

ROOT = Path(__file__).parents[2]
PATIENCE = 90.0
"""Seconds in which anything must have appeared on a busy machine."""

KEYS = {
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
    "space": " ",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "backspace": "\x7f",
    "ctrl+c": "\x03",
    "ctrl+d": "\x04",
    "ctrl+r": "\x12",
}


class Screen:
    """``with Screen(env) as screen``: a console that was started in a terminal of this size, and what it shows.

    ``said`` is every byte that reached the terminal. Keys are written as in :data:`KEYS`, or as the characters themselves.
    """

    def __init__(self, env: Mapping[str, str], *arguments: str, columns: int = 120, lines: int = 40) -> None:
        self._env = {**env, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "LANG": "C.UTF-8", "COLORTERM": "truecolor"}
        self._arguments = arguments
        self._size = columns, lines
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self.said = b""

    def __enter__(self) -> Self:
        self._side, theirs = pty.openpty()
        self._resize()
        self.before = termios.tcgetattr(theirs)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "console", *self._arguments],
            cwd=ROOT,
            env=self._env,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        # Kept open: the settings of a terminal can be read only while somebody has it.
        self._theirs = theirs
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.ended()
            except (AssertionError, subprocess.TimeoutExpired):
                self.process.kill()
                self.process.wait()
        os.close(self._theirs)
        os.close(self._side)

    @property
    def text(self) -> str:
        """What is on the screen, line by line."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    @property
    def flat(self) -> str:
        """The same as one line without frames: what is wrapped on the screen can be looked for as it is read."""
        return " ".join(self.text.replace("│", " ").split())

    def line(self, *words: str) -> str:
        """The first line that has all these words, empty when there is none."""
        return next((line for line in self._screen.display if all(word in line for word in words)), "")

    def colours(self, *words: str) -> set[str]:
        """The colours of the letters of the first line with all these words."""
        for number, line in enumerate(self._screen.display):
            if all(word in line for word in words):
                row = self._screen.buffer[number]
                return {row[column].fg for column, letter in enumerate(line) if letter.isalnum()}
        return set()

    def press(self, *keys: str) -> Self:
        """Press keys one after the other."""
        for key in keys:
            os.write(self._side, KEYS.get(key, key).encode())
            # What is shown goes on being read, or a full terminal would stop the console.
            self._pump(0.05)
        return self

    def type(self, text: str) -> Self:
        """Type a text into the field that has the focus, see it there, and press Enter."""
        return self.press(*text).wait_for(text).press("enter")

    def prompt(self, sign: str, text: str) -> Self:
        """Open the line at the bottom with ``:`` or ``/``, type into it, and wait until it is closed again."""
        self.press(sign).wait_for(lambda now: not now.line("? help"))
        return self.type(text).wait_for("? help")

    def wait_for(self, *seen: str | Callable[[Screen], object], absent: str = "", timeout: float = PATIENCE) -> Self:
        """Read until the screen shows all of these (and not ``absent``); fails with what it shows instead."""
        deadline = time.monotonic() + timeout
        while not (all(self._holds(what) for what in seen) and not (absent and absent in self.text)):
            assert self._pump(deadline - time.monotonic()), f"never seen: {seen} (without {absent!r})\n{self.text}"
        return self

    def press_until(self, key: str, *seen: str) -> Self:
        """Press a key, and again every few seconds, until the screen shows this: for keys that do no harm twice."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            self.press(key)
            again = time.monotonic() + 3
            while time.monotonic() < again and self._pump(again - time.monotonic()):
                if all(self._holds(what) for what in seen):
                    return self
        return self.wait_for(*seen, timeout=1)

    def let_pass(self, seconds: float) -> Self:
        """Look on for so long: for what the console itself does only after a while."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._pump(left)
        return self

    def resize(self, columns: int, lines: int) -> Self:
        """Pull the window to another size."""
        self._size = columns, lines
        self._screen.resize(lines, columns)
        self._resize()
        self.process.send_signal(signal.SIGWINCH)
        return self

    def ended(self) -> int:
        """Read on until the process has ended; its exit code."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"the console does not end\n{self.text}"
            self._pump(0.1)
        while self._pump(0.1):
            pass
        return self.process.wait()

    def restored(self) -> bool:
        """True when the terminal is as it was: the other screen left, cursor there, mouse and paste quiet, lines cooked."""
        ends = {b"\x1b[?1049l": b"\x1b[?1049h", b"\x1b[?25h": b"\x1b[?25l"}
        ends |= {b"\x1b[?%dl" % mode: b"\x1b[?%dh" % mode for mode in (1000, 1003, 1006, 2004)}
        quiet = all(self.said.rfind(off) >= self.said.rfind(on) for off, on in ends.items())
        return quiet and termios.tcgetattr(self._theirs)[:4] == self.before[:4]

    def _holds(self, what: str | Callable[[Screen], object]) -> bool:
        return what in self.text or what in self.flat if isinstance(what, str) else bool(what(self))

    def _resize(self) -> None:
        columns, lines = self._size
        fcntl.ioctl(self._side, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def _pump(self, seconds: float) -> bool:
        if not select.select([self._side], [], [], max(seconds, 0))[0]:
            return False
        data = os.read(self._side, 65536)
        self.said += data
        self._stream.feed(data)
        return True
