"""Clears away everything a run has recorded in its place, also for a run that was killed.

A place's folder is named after the process that owns it, so any later run can tell a dead run's place from a live one's.
Run as a module it is the place's *watchman*: it waits for its standard input to close, which happens however its owner ends.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.real.processes import Identity, children

PIDS = ".pids"
NETWORKS = ".netns"
CGROUPS = ".cgroups"


def base() -> Path:
    """The folder of all places of this user on this machine; short, since unix socket paths end at 107 bytes."""
    chosen = Path(tempfile.gettempdir())
    return (chosen if len(str(chosen)) <= 24 else Path("/tmp")) / f"quarterdeck-{os.getuid()}"


def owner(place: Path) -> Identity | None:
    """Who made a place, from its folder's name `PID-STARTED-TAG`; None when the name is not one of ours."""
    return Identity.parse(" ".join(place.name.split("-")[:2]))


def abandoned() -> Iterator[Path]:
    """The places whose owner no longer runs."""
    for place in sorted(base().glob("*-*-*")):
        made_by = owner(place)
        if made_by and not made_by.alive:
            yield place


def clear(place: Path, patience: float = 20.0) -> list[str]:
    """End the recorded processes, drop network namespaces, cgroups and mounts, and remove the folder.

    Safe to run twice and by two at once. Returns a line for each thing that would not go within `patience` seconds.
    """
    end = time.monotonic() + patience
    _end_processes(place, end)
    for record in _records(place, NETWORKS):
        if Path("/run/netns", record.name).exists():
            subprocess.run(["ip", "netns", "del", record.name], capture_output=True, check=False)
    for record in _records(place, CGROUPS):
        _drop_cgroups(record.name, end)
    for mount in sorted(_mounts(place), reverse=True):
        subprocess.run(["umount", "-l", mount], capture_output=True, check=False)
    remains = _remains(place)
    if not remains:
        _remove(place, end)
    return remains + ([str(place)] if place.exists() else [])


def _records(place: Path, kind: str) -> list[Path]:
    folder = place / kind
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _end_processes(place: Path, end: float) -> None:
    doomed = []
    for record in _records(place, PIDS):
        identity = Identity.parse(record.read_text()) if record.exists() else None
        if identity and identity.alive:
            # A server may have daemonised helpers that only its own end would take along: end them by the tree.
            doomed += [identity, *descendants(identity.pid)]
    for identity in doomed:
        identity.send(signal.SIGKILL)
    while any(identity.alive for identity in doomed) and time.monotonic() < end:
        time.sleep(0.02)


def descendants(pid: int) -> list[Identity]:
    """Every process below one, to any depth."""
    found = children(pid)
    return found + [deeper for child in found for deeper in descendants(child.pid)]


def _cgroups(name: str) -> list[Path]:
    """The folders of one cgroup: one a controller with cgroup v1, one in all with v2."""
    root = Path("/sys/fs/cgroup")
    return [path for path in (root / name, *(folder / name for folder in root.glob("*"))) if path.is_dir()]


def _drop_cgroups(name: str, end: float) -> None:
    while (left := _cgroups(name)) and time.monotonic() < end:
        for top in left:
            for folder, _, _ in os.walk(top, topdown=False):
                try:
                    Path(folder).rmdir()
                except OSError:
                    continue
        time.sleep(0.02)


def _mounts(place: Path) -> list[str]:
    points = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    return [point for point in points if point.startswith(f"{place}/")]


def _remains(place: Path) -> list[str]:
    processes = [record.name for record in _records(place, PIDS) if record.exists()]
    running = [name for name in processes if (it := Identity.parse((place / PIDS / name).read_text())) and it.alive]
    spaces = [record.name for record in _records(place, NETWORKS) if Path("/run/netns", record.name).exists()]
    groups = [str(path) for record in _records(place, CGROUPS) for path in _cgroups(record.name)]
    return running + spaces + groups + _mounts(place)


def _remove(place: Path, end: float) -> None:
    while True:
        shutil.rmtree(place, ignore_errors=True)
        if not place.exists() or time.monotonic() > end:
            break
        time.sleep(0.05)
    try:
        base().rmdir()
    except OSError:
        return  # another run has a place of its own in there


def main() -> None:
    """Wait for the owner's end, whatever it is, then clear its place away."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    clear(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
