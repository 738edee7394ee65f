"""k9s beside us on the same server with 10,000 pods, in the same kind of terminal; only where it is installed."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench.figures import Figure
from tests.bench.fleet_process import fleet
from tests.bench.starting import settled
from tests.bench.terminal import CONSOLE, Terminal, go, terminal
from tests.real import binaries

PODS = 10_000
RUNS = 3


def peers() -> Sequence[Figure]:
    """Start to all pods, memory, CPU and bytes at rest."""
    k9s = shutil.which("k9s") or next(map(str, (binaries.cache() / "peers").glob("k9s")), "")
    if not k9s:
        return [Figure("k9s on the same server", [], "it is not installed (PATH, or peers in the cache)")]
    return [*_figures("quarterdeck", CONSOLE, ours=True), *_figures("k9s", (k9s, "--context", "atlas", "-c", "pods", "-A"))]


def _figures(name: str, command: Sequence[str], *, ours: bool = False) -> list[Figure]:
    times, memory, used, sent = [], [], [], []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, fleet(Path(folder), pods=PODS) as servers:
        for number in range(RUNS):
            home = Path(folder) / str(number)
            with terminal({**servers.env, "HOME": folder}, home, command) as shown:
                if ours:
                    settled(shown)
                    go(shown, ":pods")
                seen = shown.until(lambda lines: any("worker-" in text for text in lines), 120)
                times.append(seen - shown.started)
                shown.read(5)
                memory.append(shown.info.memory_info().rss / 2**20)
                cpu, output = _rest(shown)
                used.append(cpu)
                sent.append(output)
    return [
        Figure(f"{name}: process start to the first of 10,000 pods", times, "s"),
        Figure(f"{name}: resident memory", memory, "MiB"),
        Figure(f"{name}: CPU at rest", used, "% of a core"),
        Figure(f"{name}: output at rest", sent, "bytes/s"),
    ]


def _rest(shown: Terminal, seconds: float = 10.0) -> tuple[float, float]:
    before = shown.info.cpu_times()
    sent = shown.read(seconds)
    after = shown.info.cpu_times()
    return 100 * (after.user + after.system - before.user - before.system) / seconds, sent / seconds
