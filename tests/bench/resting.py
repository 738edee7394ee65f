"""What the console costs while nobody looks and while much happens: CPU, memory, bytes to the terminal, gaps of its loop."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.bench.figures import Figure
from tests.bench.fleet_process import Fleet, fleet
from tests.bench.probe import VARIABLE, gaps
from tests.bench.starting import settled
from tests.bench.terminal import Terminal, go, terminal

PODS = 10_000
LISTED = 20_000
CHANGES = 500
SECONDS = 10.0
UNREAD = 6.0


def idle() -> Sequence[Figure]:
    """Six live targets and one that is down, where nothing happens."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as name,
        fleet(Path(name)) as servers,
        terminal(servers.env, Path(name)) as shown,
    ):
        settled(shown)
        go(shown, ":workloads")
        shown.read(3)
        used, sent = _cost(shown, SECONDS)
        memory = _mib(shown)
    return [
        Figure("CPU, six live targets, nothing happens", [used], "% of a core", "<= 1"),
        Figure("output, nothing happens", [sent], "bytes/s", "0 (a clock)"),
        Figure("resident memory, the demo fleet", [memory], "MiB"),
    ]


def output() -> Sequence[Figure]:
    """Bytes for one row, ten rows, a move of the cursor, and under a storm of changes; memory with 10,000 pods."""
    with _pods(PODS) as (servers, shown, _path):
        memory = _mib(shown)
        moves = [_bytes(shown, key) for key in "jkjkjkjk"]
        pages = [_bytes(shown, "\x1b[6~") for _ in range(4)]
        go(shown, "/worker-0000")
        shown.quiet(0.5, 3)
        ones, tens = [], []
        for _ in range(10):
            ones.append(_bytes(shown, "", lambda: servers.burst(1)))
        go(shown, "/worker-")
        shown.quiet(0.5, 3)
        servers.rate(CHANGES)
        shown.read(2)
        used, sent = _cost(shown, SECONDS)
    with _pods(10) as (servers, shown, _path):
        go(shown, "/worker-")
        shown.quiet(0.5, 3)
        for _ in range(5):
            tens.append(_bytes(shown, "", lambda: servers.burst(10)))
        servers.rate(CHANGES)
        shown.read(2)
        busy, much = _cost(shown, SECONDS)
    return [
        Figure("resident memory with 10,000 pods", [memory], "MiB", "<= 100"),
        Figure("bytes for one changed row", ones, "bytes", "<= 300"),
        Figure("bytes for ten changed rows", tens, "bytes", "<= 2,200"),
        Figure("bytes for a move of the cursor", moves, "bytes", "<= 500"),
        Figure("bytes for a page down", pages, "bytes"),
        Figure("output at 500 changes/s over 10,000 rows", [sent / 1024], "KiB/s"),
        Figure("CPU at 500 changes/s over 10,000 rows", [used], "% of a core", "<= 25"),
        Figure("output at 500 changes/s of ten visible rows", [much / 1024], "KiB/s", "<= 80"),
        Figure("CPU at 500 changes/s of ten visible rows", [busy], "% of a core", "<= 25"),
    ]


def loop() -> Sequence[Figure]:
    """The longest gap of the event loop: listing 20,000 pods, and with a terminal that nobody reads for six seconds."""
    with _pods(LISTED, watched=True) as (servers, shown, path):
        began, ended = shown.started, shown.chunks[-1].at
        asked = next(chunk.at for chunk in shown.chunks if b"worker-" in chunk.data)
        while_listing = gaps(path, asked, ended)
        peak = _peak(shown)
        servers.rate(CHANGES)
        shown.read(2)
        began = shown.chunks[-1].at
        # Keys keep the screen changing much; nobody reads what it paints.
        for _ in range(int(UNREAD * 4)):
            shown.send("\x1b[6~")
            _wait(0.25)
        ended = began + UNREAD
        unread = gaps(path, began, ended)
        shown.read(3)
    return [
        Figure("longest gap of the loop, listing 20,000 pods", [while_listing[0]], "ms", "<= 30"),
        Figure("the same, the loop's own CPU time", [while_listing[1]], "ms", "<= 30"),
        Figure("greatest memory, listing 20,000 pods", [peak], "MiB", "<= 160"),
        Figure("longest gap of the loop, terminal unread for 6 s", [unread[0]], "ms", "<= 100"),
        Figure("the same, the loop's own CPU time", [unread[1]], "ms", "<= 100"),
    ]


@contextmanager
def _pods(count: int, *, watched: bool = False) -> Iterator[tuple[Fleet, Terminal, Path]]:
    """A console that shows so many pods and has come to rest; ``watched``: its loop's gaps are written to the path."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name, fleet(Path(name), pods=count) as servers:
        path = Path(name) / "gaps"
        with terminal({**servers.env, **({VARIABLE: str(path)} if watched else {})}, Path(name)) as shown:
            settled(shown)
            go(shown, ":pods")
            shown.until(lambda lines: any("worker-" in text or "atlas" in text for text in lines))
            shown.quiet(1.2, 20)
            yield servers, shown, path


def _wait(seconds: float) -> None:
    """Real time passes without anything being read."""
    time.sleep(seconds)


def _cost(shown: Terminal, seconds: float) -> tuple[float, float]:
    """Percent of a core and bytes a second, over so many seconds."""
    before = shown.info.cpu_times()
    sent = shown.read(seconds)
    after = shown.info.cpu_times()
    used = after.user + after.system - before.user - before.system
    return 100 * used / seconds, sent / seconds


def _bytes(shown: Terminal, key: str, do: object = None) -> float:
    """What a key (or a change) sends to the terminal, just after the title's clock ticked."""
    shown.quiet(0.05, 0.2)
    while not shown.read(0.02):
        pass
    shown.quiet(0.03, 0.3)
    if key:
        shown.send(key)
    elif callable(do):
        do()
    return float(shown.read(0.4))


def _mib(shown: Terminal) -> float:
    return float(shown.info.memory_info().rss) / 2**20


def _peak(shown: Terminal) -> float:
    """The kernel's high-water mark of resident memory."""
    status = Path(f"/proc/{shown.process.pid}/status").read_text()
    return float(next(text for text in status.splitlines() if text.startswith("VmHWM")).split()[1]) / 1024
