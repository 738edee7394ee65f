"""The console with a watch on its event loop: gaps are written to the file that ``QUARTERDECK_GAPS`` names, one a line."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

from console.cli.command import Outside
from console.cli.entry import carry_out
from console.cli.parser import build_parser, parse
from console.cli.registry import COMMANDS

VARIABLE = "QUARTERDECK_GAPS"
_PULSE = 0.002
_WORTH = 0.004


def gaps(path: Path, began: float, ended: float) -> tuple[float, float]:
    """The longest gap of the loop between two moments of ``time.monotonic``, in ms: by the clock, and the loop's own CPU time.

    On a busy machine the first also holds what other processes took.
    """
    found = [tuple(map(float, entry.split())) for entry in path.read_text().splitlines()]
    within = [(late, own) for at, late, own in found if began <= at <= ended]
    return 1000 * max((late for late, _ in within), default=0.0), 1000 * max((own for _, own in within), default=0.0)


async def _watched() -> int:
    path = os.environ.get(VARIABLE)
    if path:
        watching = asyncio.create_task(_watch(Path(path)))
    try:
        return await carry_out(parse(build_parser(COMMANDS), sys.argv[1:]), Outside.real())
    finally:
        if path:
            watching.cancel()


async def _watch(path: Path) -> None:
    with path.open("w", buffering=1) as file:
        before, spent = time.monotonic(), time.thread_time()
        while True:
            await asyncio.sleep(_PULSE)
            now, used = time.monotonic(), time.thread_time()
            if now - before - _PULSE > _WORTH:
                file.write(f"{now} {now - before - _PULSE} {used - spent}\n")
            before, spent = now, used


if __name__ == "__main__":
    sys.exit(asyncio.run(_watched()))
