"""Opening the screen as people do: from a shell, in a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyte
import pytest

from tests.cli.running import ROOT, isolated

_PATIENCE = 90.0


class Shown:
    """A process in a terminal of 120 x 30, and what its screen shows."""

    def __init__(self, process: subprocess.Popen[bytes], side: int) -> None:
        self.process = process
        self.said = b""
        self._side = side
        self._screen = pyte.Screen(120, 30)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def text(self) -> str:
        return "\n".join(self._screen.display)

    def press(self, keys: bytes) -> None:
        os.write(self._side, keys)

    def until(self, seen: Callable[[str], bool]) -> None:
        """Read what the process writes until the screen shows it; fails after a generous time."""
        deadline = time.monotonic() + _PATIENCE
        while not seen(self.text):
            assert self._pump(deadline - time.monotonic()), f"never seen:\n{self.text}"

    def ended(self) -> int:
        """Read on to the end; the exit code."""
        deadline = time.monotonic() + _PATIENCE
        while self._pump(deadline - time.monotonic()):
            pass
        return self.process.wait(_PATIENCE)

    def _pump(self, seconds: float) -> bool:
        if not select.select([self._side], [], [], max(seconds, 0))[0]:
            return False
        try:
            data = os.read(self._side, 65536)
        except OSError:
            return False
        self.said += data
        self._stream.feed(data)
        return bool(data)


@contextmanager
def shown(*arguments: str, env: dict[str, str], **streams: int) -> Iterator[Shown]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 120, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "console", *arguments],
        cwd=ROOT,
        env={"TERM": "xterm-256color", **env, "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"},
        start_new_session=True,
        stdin=streams.get("stdin", theirs),
        stdout=streams.get("stdout", theirs),
        stderr=streams.get("stderr", theirs),
    )
    os.close(theirs)
    try:
        yield Shown(process, ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def test_with_nothing_found_the_demo_fleet_is_shown_and_said_so(tmp_path: Path) -> None:
    with shown(env=isolated(tmp_path, DOCKER_HOST="")) as console:
        console.until(lambda text: "quarterdeck" in text and "atlas" in text and "harbour" in text)
        console.press(b"\x03")
        assert console.ended() == 0
        assert b"this was the demo fleet" in console.said
        # The terminal is given back: the other screen is left, the cursor is there.
        assert b"\x1b[?1049l" in console.said and b"\x1b[?25h" in console.said


def test_the_view_and_theme_of_the_settings_are_used(tmp_path: Path) -> None:
    env = isolated(tmp_path)
    folder = Path(env["QUARTERDECK_CONFIG_DIR"])
    folder.mkdir()
    (folder / "config.toml").write_text('[start]\nview = "stacks"\n', encoding="utf-8")
    with shown("demo", env=env) as console:
        console.until(lambda text: "market" in text and "SERVICES" in text)
        console.press(b"\x03")
        assert console.ended() == 0


@pytest.mark.parametrize(("stream", "name"), [("stdin", "input"), ("stdout", "output"), ("stderr", "error")])
def test_without_a_whole_terminal_the_screen_says_so_and_draws_nothing(tmp_path: Path, stream: str, name: str) -> None:
    said = tmp_path / "said"
    with said.open("wb") as file, shown("demo", env=isolated(tmp_path), **{stream: file.fileno()}) as console:
        assert console.ended() == 2
    told = console.said + said.read_bytes()
    assert f"standard {name} goes elsewhere".encode() in told and b"\x1b[" not in told


def test_a_terminal_that_can_do_nothing_gets_a_sentence_instead_of_escapes(tmp_path: Path) -> None:
    with shown("demo", env={**isolated(tmp_path), "TERM": "dumb"}) as console:
        assert console.ended() == 2
    assert b"of the kind dumb" in console.said and b"\x1b" not in console.said


def test_files_that_are_wrong_do_not_hide_that_this_is_the_demo_fleet(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text("\x00 garbage: [}", encoding="utf-8")
    with shown(env=isolated(tmp_path, DOCKER_HOST="", KUBECONFIG=str(kubeconfig))) as console:
        console.until(lambda text: "this is the demo fleet" in text)


def test_a_console_whose_terminal_is_taken_away_without_a_signal_leaves(tmp_path: Path) -> None:
    """As under ``su -c`` or a container runtime: no leader of a session, so no SIGHUP."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "console", "demo"],
        cwd=ROOT,
        env={"TERM": "xterm-256color", **isolated(tmp_path), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        terminal = Shown(process, ours)
        terminal.until(lambda text: "Bridge" in text)
        os.close(ours)
        assert process.wait(_PATIENCE) == 129
    finally:
        process.kill()
        process.wait()
