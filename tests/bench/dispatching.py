"""The dispatch engine on a simulated API server: round trips are virtual (10 ms each), the engine's own work is real.

Each part runs in a process of its own (``python -m tests.bench.dispatching PART`` prints its figures as JSON), so that one that
gets stuck is ended and named, and the others are measured all the same.
"""

from __future__ import annotations

import asyncio
import json
import logging
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import TypeVar

import looptime

from tests.bench.figures import Figure, percentile
from tests.engines.dispatch.world import B, eventually
from tests.runtime.held_fleet import PATIENCE, SPACE, held_fleet

T = TypeVar("T")
ROUNDS = 100
UNFINISHED = 100
QUIET_MINUTES = 3
PART_SECONDS = 120.0


async def _latency(triggers: int) -> tuple[list[float], list[float], float]:
    """From the decision to the write that lets go: real milliseconds of work, and virtual ones with round trips.

    The third figure is how many calls a minute are made when nothing happens.
    """
    work, trips = [], []
    async with held_fleet(triggers) as (world, engine):
        before = world.timed.count
        await asyncio.sleep(60 * QUIET_MINUTES)
        calls = (world.timed.count - before) / QUIET_MINUTES
        for number in range(ROUNDS):
            name = world.names[number % triggers]
            commit = await world.push()
            # The commit is there already: what is measured is the console, not the fetching.
            # It is held again by then, too: a console asks only what it holds.
            world.source.enqueue(SPACE, "shop")
            await asyncio.sleep(120)
            world.timed.went.clear()
            real, virtual = time.perf_counter(), asyncio.get_running_loop().time()
            world.ask(engine, name, commit)
            async with asyncio.timeout(PATIENCE):
                await world.timed.went.wait()
            at = world.timed.let_go[name]
            work.append((at[0] - real) * 1000)
            trips.append((at[1] - virtual) * 1000)
            await eventually(lambda name=name, commit=commit: world.ended(engine, name, commit), PATIENCE)  # type: ignore[misc]
    return work, trips, calls


async def _polls() -> float:
    """Reads of the applier from the request to the known end, less what a minute at rest reads."""
    async with held_fleet(1) as (world, engine):
        await world.push(B)
        world.new_writes()
        began = asyncio.get_running_loop().time()
        world.ask(engine, world.names[0])
        await eventually(lambda: world.ended(engine, world.names[0]), PATIENCE)
        reads, took = sum(world.api.reads.values()), asyncio.get_running_loop().time() - began
        world.new_writes()
        await asyncio.sleep(600)
        return reads - took * sum(world.api.reads.values()) / 600


async def _recovery() -> tuple[float, float]:
    """Real and virtual seconds until a new process knows the end of a hundred operations that ended while none ran."""
    async with held_fleet(UNFINISHED) as (world, engine):
        await world.push(B)
        await world.kustomize.stop()
        for name in world.names:
            world.ask(engine, name)
        await eventually(lambda: len(world.timed.let_go) == UNFINISHED, PATIENCE)
        await asyncio.sleep(5)
        await engine.stop()
        world.kustomize.start()
        await asyncio.sleep(900)
        again = world.engine()
        real, virtual = time.perf_counter(), asyncio.get_running_loop().time()
        again.start()
        try:
            await eventually(lambda: all(world.ended(again, name) for name in world.names), PATIENCE, every=0.05)
            return time.perf_counter() - real, asyncio.get_running_loop().time() - virtual
        finally:
            await again.stop()


def _by_triggers(triggers: int) -> list[Figure]:
    work, trips, calls = _virtually(lambda: _latency(triggers))
    what = f"decision to request, {triggers:,} triggers"
    return [
        Figure(f"{what}: own work, median of {ROUNDS}", [statistics.median(work)], "ms"),
        Figure(f"{what}: own work, 99th percentile", [percentile(work, 0.99)], "ms"),
        Figure(f"{what}: with 10 ms a round trip, median", [statistics.median(trips)], "ms"),
        Figure(f"{what}: with 10 ms a round trip, 99th percentile", [percentile(trips, 0.99)], "ms"),
        Figure(f"requests at rest, {triggers:,} triggers", [calls], "a minute"),
    ]


def _recovered() -> list[Figure]:
    seconds, virtual = _virtually(_recovery)
    return [
        Figure(f"recovery of {UNFINISHED} unfinished operations: own work", [seconds], "s"),
        Figure(f"recovery of {UNFINISHED} unfinished operations: with 10 ms a round trip", [virtual], "s"),
    ]


def _polled() -> list[Figure]:
    return [Figure("reads for one operation, from request to known end", [_virtually(_polls)], "reads")]


PARTS: dict[str, Callable[[], list[Figure]]] = {
    "1 trigger": lambda: _by_triggers(1),
    "100 triggers": lambda: _by_triggers(100),
    "1,000 triggers": lambda: _by_triggers(1_000),
    "polls": _polled,
    "recovery": _recovered,
}


def dispatching() -> Sequence[Figure]:
    """Latency by the number of triggers, requests at rest, polls, recovery."""
    return [figure for part in PARTS for figure in _apart(part)]


def _apart(part: str) -> list[Figure]:
    command = [sys.executable, "-m", "tests.bench.dispatching", part]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PART_SECONDS, check=True)
    except subprocess.TimeoutExpired:
        return [Figure(part, [], f"longer than {PART_SECONDS:.0f} s")]
    except subprocess.CalledProcessError as error:
        return [Figure(part, [], error.stderr.strip().splitlines()[-1] if error.stderr.strip() else "it failed")]
    return [Figure(*fields) for fields in json.loads(done.stdout)]


def _virtually(body: Callable[[], Coroutine[object, object, T]]) -> T:
    """Run with virtual time: waiting costs nothing."""
    with asyncio.Runner(loop_factory=looptime.new_event_loop) as runner:
        return runner.run(body())


if __name__ == "__main__":
    # Operations that end long after their time are what recovery is about; their warnings are no figures.
    logging.getLogger("console").setLevel(logging.ERROR)
    print(json.dumps(PARTS[sys.argv[1]]()))
