"""A temporary home for one run's servers, which leaves no trace however the run ends."""

import itertools
import os
import secrets
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.real import leftovers
from tests.real.processes import HarnessError, Identity, Process


class Place:
    """One run's folder with everything it started: processes, network namespaces, cgroups, mounts.

    Use as a context manager. On entry it first clears away what dead runs left behind; on exit it clears its own. A watchman
    process does the latter when the run is killed. Every name given out (namespaces, cgroups) carries the run's own `tag`, so
    two runs never meet.
    """

    def __init__(self) -> None:
        self.tag = secrets.token_hex(3)
        me = Identity.of(os.getpid())
        assert me, "a process can read its own start time"
        self.root = leftovers.base() / f"{me.pid}-{me.started}-{self.tag}"
        self._watchman: subprocess.Popen[bytes] | None = None
        self._processes: list[Process] = []
        self._serial = itertools.count(1)

    def __enter__(self) -> Self:
        for place in leftovers.abandoned():
            leftovers.clear(place)
        for kind in (leftovers.PIDS, leftovers.NETWORKS, leftovers.CGROUPS):
            (self.root / kind).mkdir(parents=True, exist_ok=True)
        self.root.chmod(0o700)
        here = Path(__file__).resolve().parents[2]
        self._watchman = subprocess.Popen(
            [sys.executable, "-m", "tests.real.leftovers", str(self.root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd=here,
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        remains = leftovers.clear(self.root)
        for process in self._processes:
            process.kill()
        if self._watchman and self._watchman.stdin:
            self._watchman.stdin.close()
            self._watchman.wait(60)
        remains = [thing for thing in remains if self.root.exists()]
        if remains and error is None:
            raise HarnessError(f"left behind: {', '.join(remains)}")

    def folder(self, name: str) -> Path:
        """A folder of the place, made when missing. Keep names short: unix socket paths end at 107 bytes."""
        path = self.root / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def unique(self, name: str) -> str:
        """A name no other server in this place has; each server takes one when it is made."""
        return f"{name}{next(self._serial)}"

    def spawn(self, name: str, *argv: str, environment: Mapping[str, str] | None = None) -> Process:
        """Start a server; it is recorded under `name` and ended with the place at the latest.

        `environment` is added to this process's own.
        """
        record = self.root / leftovers.PIDS / name
        process = Process(name, argv, self.folder("log") / f"{name}.log", record, environment or {})
        self._processes.append(process)
        return process

    def network(self, name: str) -> str:
        """Record and return the full name of a network namespace, so that it goes with the place. Make it afterwards."""
        return self._record(leftovers.NETWORKS, name)

    def cgroup(self, name: str) -> str:
        """Record and return the full name of a top-level cgroup, so that it goes with the place."""
        return self._record(leftovers.CGROUPS, name)

    def _record(self, kind: str, name: str) -> str:
        full = f"qd{self.tag}{name}"
        (self.root / kind / full).touch()
        return full
