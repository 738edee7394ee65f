"""What only a process of its own can show: what it loads, and how it ends."""

from __future__ import annotations

import io
import json
import logging
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from console import __version__
from console.cli.command import Outside
from console.cli.logs import said
from tests.cli.running import ROOT, isolated, process

# httpx brings a command line of its own, which loads rich where click is installed; here click comes with the test tools only.
_LOADED = """
import sys
sys.modules["click"] = None
from console.cli.entry import run
code = run(sys.argv[1:])
print(code, *[name for name in ("textual", "rich", "kubernetes", "docker", "requests", "pydantic") if name in sys.modules])
"""


def started(*arguments: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "console", *arguments],
        cwd=ROOT,
        env={**isolated(folder), "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("line", ["get bridge --demo -o json", "doctor --demo -o json"])
def test_headless_commands_never_load_the_screen_or_the_heavy_packages(line: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _LOADED, *line.split()],
        cwd=ROOT,
        env={**isolated(tmp_path), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=True,
    )
    assert ended.stdout.splitlines()[-1] in ("0", "1")


def test_the_module_is_the_command(tmp_path: Path) -> None:
    ran = process("--version", env=isolated(tmp_path))
    assert (ran.code, ran.out, ran.err) == (0, f"quarterdeck {__version__}\n", "")


def test_a_reader_that_goes_away_ends_it_quietly(tmp_path: Path) -> None:
    running = started("get", "bridge", "--demo", "-o", "json", "--watch", folder=tmp_path)
    assert running.stdout is not None and running.stderr is not None
    running.stdout.readline()
    running.stdout.close()
    said = running.stderr.read()
    running.stderr.close()
    assert running.wait(60) == 141
    assert "Traceback" not in said and "BrokenPipe" not in said


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_being_stopped_closes_everything_and_leaves_nothing_behind(number: signal.Signals, code: int, tmp_path: Path) -> None:
    running = started("get", "bridge", "--demo", "-o", "json", "--watch", folder=tmp_path)
    assert running.stdout is not None
    assert json.loads(running.stdout.readline())["table"] == "bridge"
    running.send_signal(number)
    _, said = running.communicate(timeout=60)
    assert running.returncode == code
    assert "Traceback" not in said and "never awaited" not in said
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(("quarterdeck-", "qd-"))]
    assert tempfile.gettempdir() != str(tmp_path)


def test_a_state_folder_that_cannot_be_written_is_told_once_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    ran = process("get", "stacks", "--demo", env=isolated(tmp_path, QUARTERDECK_STATE_DIR=str(tmp_path / "file" / "state")))
    assert ran.code == 0 and "market" in ran.out
    assert ran.err.count("can't be written, identities are not remembered: Not a directory.") == 1
    assert all(line.startswith("quarterdeck: ") for line in ran.err.splitlines()), ran.err


def test_warnings_while_a_screen_is_drawn_are_kept_until_it_is_gone_and_said_once() -> None:
    err = io.StringIO()
    log = logging.getLogger("console.anything")
    with said(Outside(env={}, out=io.StringIO(), err=err), later=True):
        log.info("not said")
        log.warning("the disk is \x1b[31mfull")
        log.warning("the disk is \x1b[31mfull")
        try:
            raise ValueError("password=hunter2hunter2")
        except ValueError as error:
            log.error("a task failed", exc_info=error)
        assert not err.getvalue()
    first, second, *traceback = err.getvalue().splitlines()
    assert first.startswith("quarterdeck: the disk is ") and second == "quarterdeck: a task failed"
    assert traceback[0].startswith("Traceback") and "\x1b" not in first and "hunter2" not in err.getvalue()


def test_what_an_error_quotes_steers_no_terminal() -> None:
    err = io.StringIO()
    Outside(env={}, out=io.StringIO(), err=err).say("it failed: \x1b]0;owned\x07\x1b[2Jno such file\nTry again.")
    assert err.getvalue() == "quarterdeck: it failed: ␛]0;owned␇␛[2Jno such file\nTry again.\n"
