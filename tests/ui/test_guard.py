"""A terminal that isn't read costs frames, never the loop; and every way out leaves it clean."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.ui.guard import MOST_WAITING, OutputGuard

ROOT = Path(__file__).parents[2]
_PATIENCE = 30.0


class Pipe:
    """A pipe that is read only when asked to."""

    def __init__(self) -> None:
        self.read_end, self.write_end = os.pipe()

    def read_all_until(self, wanted: bytes) -> bytes:
        seen = b""
        while wanted not in seen:
            seen += os.read(self.read_end, 1 << 20)
        return seen

    def close(self) -> None:
        os.close(self.read_end)
        os.close(self.write_end)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    made.close()


def test_what_is_written_arrives_in_order(pipe: Pipe) -> None:
    guard = OutputGuard(pipe.write_end)
    for number in range(100):
        assert guard.frame(f"frame {number} ")
    guard.control("end")
    seen = pipe.read_all_until(b"end")
    guard.stop()
    assert seen.startswith(b"frame 0 frame 1 ")
    assert seen.endswith(b"frame 99 end")


def test_frames_for_a_terminal_that_is_not_read_are_dropped_without_waiting(pipe: Pipe) -> None:
    recovered = threading.Event()
    guard = OutputGuard(pipe.write_end, recovered.set)
    big = "x" * 65536
    for _ in range(200):
        guard.frame(big)
    assert guard.dropped > 150
    guard.control("the mode switch")
    reader = threading.Thread(target=pipe.read_all_until, args=(b"the mode switch",))
    reader.start()
    assert recovered.wait(_PATIENCE), "the app is told when the line moves again"
    reader.join(_PATIENCE)
    assert not guard.behind
    assert guard.frame("newest")
    assert pipe.read_all_until(b"newest")
    guard.stop()


def test_only_so_much_waits(pipe: Pipe) -> None:
    guard = OutputGuard(pipe.write_end)
    while guard.frame("y" * 8192):
        pass
    assert guard.dropped == 1
    drained = threading.Thread(target=_drain, args=(pipe.read_end,), daemon=True)
    drained.start()
    assert guard.drain(_PATIENCE)
    assert guard.written <= MOST_WAITING + 2 * 65536 + 16384
    guard.stop()
    os.write(pipe.write_end, b"\x04")
    drained.join(_PATIENCE)


def test_a_terminal_that_is_gone_is_no_error() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    guard = OutputGuard(write_end)
    guard.frame("x")
    assert guard.drain(_PATIENCE)
    guard.frame("y")
    guard.stop()
    os.close(write_end)


def _drain(descriptor: int) -> None:
    while b"\x04" not in os.read(descriptor, 1 << 16):
        pass


_PROGRAM = textwrap.dedent(
    """
    import asyncio, sys
    from console.ui.app import ConsoleApp
    from tests.ui.fleet import fill
    from tests.ui.stand_in import StandIn

    class Breaking(ConsoleApp):
        def on_ready(self):
            if "break" in sys.argv:
                raise RuntimeError("as planned")

    async def main():
        runtime = StandIn()
        fill(runtime)
        app = Breaking(runtime)
        await app.run_async()
        runtime.commands.arming.close()
        print("loop ended", app.return_code, flush=True)

    asyncio.run(main())
    """
)


class Terminal:
    """A program in a pseudo-terminal, whose output is collected all the time (unless paused)."""

    def __init__(self, *arguments: str) -> None:
        self.master, slave = pty.openpty()
        environment = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT), "COLUMNS": "100", "LINES": "30"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            cwd=ROOT,
            start_new_session=True,
        )
        os.close(slave)
        self.seen = b""

    async def until(self, wanted: bytes) -> None:
        """Read until this was seen."""
        async with asyncio.timeout(_PATIENCE * 2):
            while wanted not in self.seen:
                chunk = await asyncio.to_thread(self._read)
                assert chunk, f"it ended early and said: {self.seen.decode(errors='replace')[-2000:]}"
                self.seen += chunk

    async def end(self) -> int:
        """Read to the end and wait for the program."""
        async with asyncio.timeout(_PATIENCE * 2):
            while chunk := await asyncio.to_thread(self._read):
                self.seen += chunk
            return await asyncio.to_thread(self.process.wait)

    def _read(self) -> bytes:
        try:
            return os.read(self.master, 65536)
        except OSError:
            return b""

    def close(self) -> None:
        """Leave nothing behind."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)


@pytest.mark.parametrize("way", ["SIGTERM", "SIGHUP", "break", "q"])
async def test_the_terminal_is_clean_on_every_way_out(way: str) -> None:
    terminal = Terminal("break" if way == "break" else "")
    try:
        await terminal.until(b"\x1b[?1049h")
        if way != "break":
            await terminal.until(b"shop/web")
        if way.startswith("SIG"):
            terminal.process.send_signal(getattr(signal, way))
        elif way == "q":
            os.write(terminal.master, b"\x11")
        code = await terminal.end()
    finally:
        terminal.close()
    after = terminal.seen.rpartition(b"\x1b[?1049h")[2]
    assert b"\x1b[?1049l" in after, "the alternate screen is left"
    assert after.rindex(b"\x1b[?25h") > 0, "the cursor is shown again"
    assert b"\x1b[?1000l" in after, "the mouse is given back"
    assert b"\x1b[?2004l" in after, "bracketed paste is off"
    if way == "break":
        assert b"as planned" in after
    else:
        assert b"loop ended" in after
        assert code == 0
