"""Processes of the servers under test: known by process id *and* start time, ended by nothing else.

A process id alone may belong to a stranger by the time a leftover is cleared away; the kernel's start time beside it makes
the pair unique until the next boot.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

STARTED = 60.0
"""Seconds a server may take from its start until it answers; the machine is small and busy."""

HAPPENED = 30.0
"""Seconds a condition on a running server may take."""


class HarnessError(AssertionError):
    """A server of the harness did not do what it was asked; the message says which and shows its last output."""


@dataclass(frozen=True)
class Identity:
    """One process for as long as the machine is up: its id and its start time in clock ticks since boot."""

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> "Identity | None":
        """The identity of a running process, or None when there is none of that id (a zombie is none)."""
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return None
        # The command name in brackets may hold spaces and brackets of its own, so fields are counted after the last one.
        fields = stat.rpartition(")")[2].split()
        return None if fields[0] in "ZX" else cls(pid, int(fields[19]))

    @classmethod
    def parse(cls, text: str) -> "Identity | None":
        """The identity written by `str`, or None when the text is not one (a file cut short by a crash)."""
        parts = text.split()
        if len(parts) != 2 or not all(part.isdecimal() for part in parts):
            return None
        return cls(int(parts[0]), int(parts[1]))

    def __str__(self) -> str:
        return f"{self.pid} {self.started}"

    @property
    def alive(self) -> bool:
        """True while this very process runs."""
        return Identity.of(self.pid) == self

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if the process still runs."""
        if self.alive:
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return


def children(pid: int, name: str = "") -> list[Identity]:
    """The direct children of a process, optionally only those whose command is called `name`."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            ids = task.read_text().split()
        except OSError:
            continue
        for text in ids:
            identity = Identity.of(int(text))
            if identity and (not name or command_name(identity.pid) == name):
                found.append(identity)
    return found


def command_name(pid: int) -> str:
    """The kernel's short name of a process, or an empty string when it is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def wait_until(condition: Callable[[], object], what: str, timeout: float = HAPPENED, pause: float = 0.05) -> None:
    """Poll until the condition holds.

    Raises `HarnessError` naming `what` when it does not within `timeout` seconds. This blocks its thread: async tests call
    it, and the servers' slow methods, through `asyncio.to_thread`.
    """
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            raise HarnessError(f"{what}: not within {timeout:g} s")
        time.sleep(pause)


def run(*argv: str, check: bool = True, timeout: float = STARTED, environment: Mapping[str, str] | None = None) -> str:
    """Run a short command and return its standard output.

    Raises `HarnessError` with both streams when it fails (unless `check` is off) or takes longer than `timeout` seconds.
    """
    try:
        done = subprocess.run(
            argv,
            text=True,
            capture_output=True,
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})},
        )
    except subprocess.TimeoutExpired as late:
        raise HarnessError(f"{' '.join(argv)}: not done within {timeout:g} s") from late
    if check and done.returncode:
        raise HarnessError(f"{' '.join(argv)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Process:
    """A long-running server process in a session of its own, its output in a log file."""

    def __init__(self, name: str, argv: Sequence[str], log: Path, record: Path, environment: Mapping[str, str]) -> None:
        self.name = name
        self.log = log
        self._record = record
        with log.open("ab") as output:
            self._popen = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env={**os.environ, **environment},
            )
        self.identity = Identity.of(self._popen.pid) or Identity(self._popen.pid, 0)
        record.write_text(str(self.identity))

    @property
    def running(self) -> bool:
        """True until the process ends."""
        return self._popen.poll() is None

    def tail(self, lines: int = 25) -> str:
        """The last lines of its log, for messages."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

    def wait_ready(self, ready: Callable[[], bool], timeout: float = STARTED) -> None:
        """Wait until `ready` says so; raises `HarnessError` with the end of the log when the process ends or is late."""

        def settled() -> bool:
            return not self.running or ready()

        try:
            wait_until(settled, f"{self.name} answers", timeout)
        except HarnessError as late:
            raise HarnessError(f"{late}\n{self.tail()}") from late
        if not self.running:
            raise HarnessError(f"{self.name} ended with {self._popen.returncode}\n{self.tail()}")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to this process only."""
        if self.running:
            self._popen.send_signal(number)

    def kill(self) -> None:
        """End it at once (SIGKILL) and reap it; does nothing when it has ended."""
        self.signal(signal.SIGKILL)
        self._reap(HAPPENED)

    def terminate(self, timeout: float = HAPPENED) -> None:
        """Ask it to end (SIGTERM), and kill it when it does not within `timeout` seconds."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        try:
            self._reap(timeout)
        except HarnessError:
            self.kill()

    def wait(self, timeout: float = HAPPENED) -> int:
        """Wait for its own end and return its exit code; raises `HarnessError` when it is late."""
        self._reap(timeout)
        return int(self._popen.returncode)

    def _reap(self, timeout: float) -> None:
        try:
            self._popen.wait(timeout)
        except subprocess.TimeoutExpired as late:
            raise HarnessError(f"{self.name} did not end within {timeout:g} s\n{self.tail()}") from late
        self._record.unlink(missing_ok=True)
