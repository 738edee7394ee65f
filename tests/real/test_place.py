"""A run leaves nothing behind, however it ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.real import leftovers
from tests.real.place import Place
from tests.real.processes import Identity, children, wait_until

_KILLED_RUN = """
import os, signal, sys
from tests.real.place import Place
with Place() as place:
    process = place.spawn("sleeper", "sh", "-c", "sleep 600 & wait")
    print(place.root, process.identity, flush=True)
    sys.stdin.read()
"""


def test_a_place_ends_its_processes_and_removes_its_folder() -> None:
    with Place() as place:
        process = place.spawn("sleeper", "sleep", "600")
        pid = process.identity.pid
        assert Identity.of(pid) == process.identity
    assert Identity.of(pid) != process.identity
    assert not place.root.exists()


def test_a_killed_run_is_cleared_away_by_its_watchman() -> None:
    run = subprocess.Popen(
        [sys.executable, "-c", _KILLED_RUN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parents[2],
    )
    with run:
        assert run.stdout
        root, pid, started = run.stdout.readline().split()
        sleeper = Identity(int(pid), int(started))
        wait_until(lambda: children(sleeper.pid), "the sleeper has a child")
        child = children(sleeper.pid)[0]
        run.kill()
    wait_until(lambda: not Path(root).exists(), "the place is gone")
    assert not sleeper.alive
    assert not child.alive


def test_a_dead_runs_place_is_told_from_a_live_ones() -> None:
    with Place() as place:
        dead = leftovers.base() / "1-1-abandoned"
        dead.mkdir()
        assert dead in list(leftovers.abandoned())
        assert place.root not in list(leftovers.abandoned())
        leftovers.clear(dead)
        assert not dead.exists()


def test_an_identity_is_more_than_a_process_id() -> None:
    me = Identity.of(os.getpid())
    assert me
    assert me.alive
    assert not Identity(me.pid, me.started + 1).alive
    assert Identity.parse(str(me)) == me


@pytest.mark.parametrize("text", ["", "12", "12 x", "1 2 3"])
def test_a_record_cut_short_names_nobody(text: str) -> None:
    assert Identity.parse(text) is None
