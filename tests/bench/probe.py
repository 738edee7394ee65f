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


def gaps(path: Path, began: float, ended: float) -> list[float]:
    """Milliseconds that the loop was late between two moments of ``time.monotonic``."""
    found = [tuple(map(float, entry.split())) for entry in path.read_text().splitlines()]
    return [late * 1000 for at, late in found if began <= at <= ended]


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
        before = time.monotonic()
        while True:
            await asyncio.sleep(_PULSE)
            now = time.monotonic()
            if now - before - _PULSE > _WORTH:
                file.write(f"{now} {now - before - _PULSE}\n")
            before = now


if __name__ == "__main__":
    sys.exit(asyncio.run(_watched()))
