"""From the start of the process to the first paint, the first screen and the first live rows, in a real terminal."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.figures import Figure
from tests.bench.fleet_process import fleet
from tests.bench.terminal import HEIGHT, Terminal, go, terminal

RUNS = 5
PODS = 10_000
LONG_ENOUGH = 5.0
TICK = 500
"""Bytes: more than the clock in the title sends."""


def painted(lines: Sequence[str]) -> bool:
    """The title bar is there."""
    return "quarterdeck" in lines[0]


def complete(lines: Sequence[str]) -> bool:
    """The frame is whole: title, views, footer."""
    return painted(lines) and "Triggers" in lines[1] and "help" in lines[HEIGHT - 1]


def first_rows(lines: Sequence[str]) -> bool:
    """Something of a cluster is in the list."""
    return any("team-a/" in text or "team-b/" in text for text in lines)


def live(lines: Sequence[str]) -> bool:
    """Every target that can be reached is live."""
    return "6 live" in lines[0]


def settled(shown: Terminal) -> None:
    """Wait until the first screen with all targets stands still."""
    shown.until(live)
    shown.quiet(0.5, 5)


def starting() -> Sequence[Figure]:
    """Five starts against a fleet in another process, and what bare imports cost beside them."""
    paints: list[float] = []
    frames: list[float] = []
    rows: list[float] = []
    lives: list[float] = []
    used: list[float] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as name, fleet(Path(name)) as servers:
        for number in range(RUNS):
            with terminal(servers.env, Path(name) / str(number)) as shown:
                seen = [shown.until(painted)]
                used.append(1000 * sum(shown.info.cpu_times()[:2]))
                seen += [shown.until(what) for what in (complete, first_rows, live)]
                for values, at in zip((paints, frames, rows, lives), seen, strict=True):
                    values.append((at - shown.started) * 1000)
    return [
        Figure("process start to first paint", paints, "ms", "<= 350"),
        Figure("the same, CPU time of the console", used, "ms", "<= 350"),
        Figure("process start to a complete frame", frames, "ms", "<= 600"),
        Figure("process start to first live rows", rows, "ms", "<= 700"),
        Figure("process start to all six targets live", lives, "ms"),
        Figure("beside it: python -c pass", _python("pass"), "ms"),
        Figure("beside it: import textual.app", _python("import textual.app"), "ms"),
        Figure("beside it: import console.ui.app", _python("import console.ui.app"), "ms"),
        Figure("beside it: import console.cli.compose", _python("import console.cli.compose"), "ms"),
    ]


def listing() -> Sequence[Figure]:
    """From asking for 10,000 pods to the last page in the list."""
    whole, first = [], []
    with tempfile.TemporaryDirectory(prefix="bench-") as name, fleet(Path(name), pods=PODS) as servers:
        for number in range(RUNS):
            with terminal(servers.env, Path(name) / str(number)) as shown:
                settled(shown)
                asked = go(shown, ":pods")
                first.append((shown.until(lambda lines: any("worker-" in text for text in lines)) - asked) * 1000)
                # Every page widens the scrollbar's range; the clock's own tick is much shorter than that.
                shown.read(LONG_ENOUGH)
                last = max(chunk.at for chunk in shown.chunks if len(chunk.data) > TICK)
                whole.append((last - asked) * 1000)
    return [
        Figure("asking for 10,000 pods to the first of them", first, "ms", ""),
        Figure("asking for 10,000 pods to the last page painted", whole, "ms", "<= 1,500"),
    ]


def _python(code: str) -> list[float]:
    values = []
    for _ in range(RUNS):
        began = time.monotonic()
        subprocess.run([sys.executable, "-c", code], check=True)
        values.append((time.monotonic() - began) * 1000)
    return values
