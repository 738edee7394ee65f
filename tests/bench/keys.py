"""From a key to the frame that answers it, in a real terminal, while the fleet is quiet and while it is not."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench.figures import Figure, spread
from tests.bench.fleet_process import fleet
from tests.bench.starting import settled
from tests.bench.terminal import Terminal, go, terminal

PODS = 10_000
MANY = 50_000
CHANGES = 500
PRESSES = 120
FIRST_ROW = 4
PAGES = 30
TITLE_ONLY = 700
"""Bytes: the clock in the title ticks by itself and is no answer to a key."""


def typing() -> Sequence[Figure]:
    """The cursor goes down one while 500 pods change each second."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as name,
        fleet(Path(name), pods=PODS) as servers,
        terminal(servers.env, Path(name)) as shown,
    ):
        _pods(shown)
        calm = _cursor_moves(shown)
        servers.rate(CHANGES)
        shown.read(2)
        stirred = _cursor_moves(shown)
        servers.rate(0)
        shown.quiet(0.5, 5)
        before = _cpu(shown)
        letters = _filter_keys(shown)
        filtered = [_answer(shown, key) for key in letters]
        used = (_cpu(shown) - before) * 1000 / len(letters)
    return [
        *spread("key to frame, 10,000 rows, quiet", calm, "ms", "", "", ""),
        *spread("key to frame, 10,000 rows, 500 changes/s", stirred, "ms", "<= 10", "<= 33", "<= 100"),
        Figure("one letter of a filter over 10,000 rows, painted", filtered, "ms", "<= 50"),
        Figure("the same, CPU time of the console (with 0.4 s of everything else)", [used], "ms"),
    ]


def paging() -> Sequence[Figure]:
    """Pages down through 50,000 pods."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as name,
        fleet(Path(name), pods=MANY) as servers,
        terminal(servers.env, Path(name)) as shown,
    ):
        _pods(shown)
        pages = [_answer(shown, "\x1b[6~") for _ in range(PAGES)]
        memory = shown.info.memory_info().rss / 2**20
    return [
        *spread("page down at 50,000 rows", pages, "ms", "", "<= 30", ""),
        Figure("resident memory with 50,000 pods", [memory], "MiB", "<= 180"),
    ]


def _cpu(shown: Terminal) -> float:
    """Seconds of CPU that the console used so far: unlike times, they don't grow with what else runs on the machine."""
    used = shown.info.cpu_times()
    return float(used.user + used.system)


def _pods(shown: Terminal) -> None:
    settled(shown)
    go(shown, ":pods")
    shown.until(lambda lines: any("worker-" in text for text in lines))
    shown.quiet(1.2, 20)
    shown.replay(lambda _: False)


def _cursor_moves(shown: Terminal) -> list[float]:
    """Milliseconds from each press to the chunk after which the right line is under the cursor, replayed afterwards."""
    shown.send("gg")
    shown.read(0.5)
    shown.replay(lambda _: False)
    pressed = []
    for number in range(PRESSES):
        # Down and up by turns, so that the list itself never scrolls.
        pressed.append(shown.send("j" if number % 2 == 0 else "k"))
        # Not in step with the flushes of the screen, twenty a second.
        shown.read(0.07 + 0.0013 * (number % 17))
    top, found = _under(shown), []
    for number, press in enumerate(pressed):
        wanted = top + 1 - number % 2
        later = pressed[number + 2] if number + 2 < len(pressed) else shown.chunks[-1].at
        shown.replay(lambda _: False, end=press)
        at = shown.replay(lambda _lines, wanted=wanted: _under(shown) == wanted, end=later)  # type: ignore[misc]
        # A move whose frame never came before the opposite one took at least so long.
        found.append(((at or later) - press) * 1000)
    return found


def _under(shown: Terminal) -> int:
    """The line that looks different from the lines around it."""
    grounds = [shown.background(row) for row in range(FIRST_ROW, 30)]
    usual = max(set(grounds), key=grounds.count)
    return next((row for row, ground in enumerate(grounds) if ground != usual), -1)


def _filter_keys(shown: Terminal) -> Sequence[str]:
    shown.send("/")
    shown.quiet(0.3, 3)
    return tuple("worker-0777") + ("\x7f",) * 6


def _answer(shown: Terminal, key: str) -> float:
    """Milliseconds from a key to the last bytes of the frames that it caused; the clock's own tick is left out."""
    pressed, count = shown.send(key), len(shown.chunks)
    shown.read(0.4)
    frames = shown.chunks[count:]
    last = pressed
    for number, chunk in enumerate(frames):
        if number and len(chunk.data) < TITLE_ONLY and chunk.at - last > 0.02:
            continue
        last = chunk.at
    return (last - pressed) * 1000
