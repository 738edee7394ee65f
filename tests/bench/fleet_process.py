"""The demo fleet in a process of its own, so that its work is not measured as the console's.

Commands come on standard input, one a line: ``rate N`` (so many changes of the additional pods a second), ``burst N``
(so many at once).
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from console.demo.fleet import DemoFleet

_PULSE = 0.02


class Fleet:
    """A running demo fleet: the environment that leads to it, and the ways to stir it up."""

    def __init__(self, process: subprocess.Popen[str], env: dict[str, str]) -> None:
        self._process = process
        self.env = env

    def rate(self, changes: int) -> None:
        """So many changes a second from now on."""
        self._tell(f"rate {changes}")

    def burst(self, changes: int) -> None:
        """So many changes at once."""
        self._tell(f"burst {changes}")

    def _tell(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()


@contextmanager
def fleet(folder: Path, *, pods: int = 0, services: int = 0) -> Iterator[Fleet]:
    """A fleet of this size in which nothing moves by itself, with its configuration written to ``folder``."""
    command = [sys.executable, "-m", "tests.bench.fleet_process", str(folder), str(pods), str(services)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield Fleet(process, json.loads(process.stdout.readline()))
        finally:
            process.stdin.close()
            process.wait(30)


async def _serve(folder: Path, pods: int, services: int) -> None:
    async with DemoFleet(pods=pods, services=services, speed=0) as running:
        print(json.dumps(running.write_config(folder)), flush=True)
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        stirring: asyncio.Task[None] | None = None
        while command := (await reader.readline()).decode().split():
            if command[0] == "burst":
                running.world.disturb(int(command[1]))
                continue
            if stirring is not None:
                stirring.cancel()
            stirring = asyncio.create_task(_stir(running, int(command[1])))
        if stirring is not None:
            stirring.cancel()


async def _stir(running: DemoFleet, rate: int) -> None:
    loop = asyncio.get_running_loop()
    done, began = 0, loop.time()
    while rate:
        await asyncio.sleep(_PULSE)
        due = int((loop.time() - began) * rate) - done
        running.world.disturb(due)
        done += due


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    asyncio.run(_serve(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
