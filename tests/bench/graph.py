"""What the graph engine costs: resources a second and memory, wide and deep, beside bare asyncio tasks.

Run as ``python -m tests.bench.graph [resources]``. Each measurement has a process of its own, so that memory is its own. The
cost of one resource must not grow with their number: the last column compares it with a tenth of them.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import resource as process
import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any

from console.engines.graph import EMPTY, Desired, DesiredGraph, InMemoryStorage, Kind, Kinds, Reconciler, Request, ref, resource

RESOURCES = 10_000
WIDTH = 10
ROUNDS = 3


class Step(Kind[dict[str, Any], dict[str, Any]]):
    """Does nothing, as quickly as it can."""

    async def create(self, req: Request[Any, Any]) -> dict[str, Any]:
        """Made."""
        return {"n": req.input["n"]}

    async def delete(self, req: Request[Any, Any]) -> None:
        """Gone."""


def flat(number: int) -> DesiredGraph:
    """As many resources without any edge."""
    return DesiredGraph(resource("step", f"{n:06}", {"n": n}) for n in range(number))


def chains(number: int, width: int) -> DesiredGraph:
    """As many resources in ``width`` chains, each referring to the one before it."""
    items: list[Desired] = []
    for n in range(number):
        values: dict[str, Any] = {"n": n} if n < width else {"n": ref("step", f"{n - width:06}", "n")}
        items.append(resource("step", f"{n:06}", values))
    return DesiredGraph(items)


async def engine(graph: DesiredGraph) -> list[tuple[str, float]]:
    """Seconds of a first run, a second that changes nothing, and one that deletes everything."""
    reconciler = Reconciler(InMemoryStorage(), Kinds({"step": Step()}))
    results = []
    for name, wanted in (("create", graph), ("unchanged", graph), ("delete", EMPTY)):
        began = time.perf_counter()
        await reconciler.reconcile(name, "bench", wanted)
        results.append((name, time.perf_counter() - began))
    return results


async def bare_tasks(number: int) -> list[tuple[str, float]]:
    """Seconds of as many tasks that do nothing, in one TaskGroup."""

    async def nothing() -> None:
        await asyncio.sleep(0)

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _number in range(number):
            group.create_task(nothing())
    return [("tasks", time.perf_counter() - began)]


SHAPES: dict[str, Callable[[int], Coroutine[Any, Any, list[tuple[str, float]]]]] = {
    "no edges": lambda number: engine(flat(number)),
    f"{WIDTH} chains": lambda number: engine(chains(number, WIDTH)),
    "1 chain": lambda number: engine(chains(number, 1)),
    "TaskGroup": bare_tasks,
}


def measure(shape: str, number: int) -> tuple[dict[str, float], float]:
    """Best seconds of several rounds, and MiB that this process grew by."""
    before = _peak()
    best: dict[str, float] = {}
    for _round in range(ROUNDS):
        for name, seconds in asyncio.run(SHAPES[shape](number)):
            best[name] = min(best.get(name, seconds), seconds)
    return best, _peak() - before


def _peak() -> float:
    return process.getrusage(process.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print the table."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else RESOURCES
    fewer = max(number // 10, WIDTH)
    print(f"{'shape':<12}{'run':<12}{'resources':>10}{'seconds':>10}{'per second':>12}{'MiB':>8}{'cost vs ' + str(fewer):>16}")
    for shape in SHAPES:
        with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
            small, _memory = pool.apply(measure, (shape, fewer))
            large, memory = pool.apply(measure, (shape, number))
        for run, seconds in large.items():
            growth = (seconds / number) / (small[run] / fewer)
            print(f"{shape:<12}{run:<12}{number:>10}{seconds:>10.3f}{number / seconds:>12.0f}{memory:>8.0f}{growth:>15.2f}x")


if __name__ == "__main__":
    main()
