"""How many operations a second the journal records, each durable before its call: begin, a step's start and end, the end."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from console.journal.journal import Journal
from console.journal.records import Who
from console.kit.timing import SystemClock
from console.model.operations import State
from console.model.plan import Intent, Plan, PlanStep
from console.model.refs import Ref
from tests.bench.figures import Figure

OPERATIONS = 200
AT_ONCE = 20
RUNS = 5


def journaling() -> Sequence[Figure]:
    """One after the other, twenty at once, and reading them back."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        alone, together, reading = asyncio.run(_rates(Path(name)))
    return [
        Figure("journal, one operation after the other (4 durable writes each)", alone, "a second"),
        Figure(f"journal, {AT_ONCE} operations at once", together, "a second"),
        Figure("journal, reading operations back", reading, "a second"),
    ]


async def _rates(folder: Path) -> tuple[list[float], list[float], list[float]]:
    journal = await Journal.open(folder / "journal.sqlite3", SystemClock(), Who(user="ops", host="bastion"))
    alone, together, reading = [], [], []
    try:
        for _ in range(RUNS):
            began = time.perf_counter()
            for number in range(OPERATIONS):
                await _operation(journal, number)
            alone.append(OPERATIONS / (time.perf_counter() - began))
            began = time.perf_counter()
            await asyncio.gather(*(_several(journal, OPERATIONS // AT_ONCE) for _ in range(AT_ONCE)))
            together.append(OPERATIONS / (time.perf_counter() - began))
            began = time.perf_counter()
            reading.append(len(await journal.operations()) / (time.perf_counter() - began))
    finally:
        await journal.close()
    return alone, together, reading


async def _several(journal: Journal, count: int) -> None:
    for number in range(count):
        await _operation(journal, number)


async def _operation(journal: Journal, number: int) -> None:
    ref = Ref("harbour", "SwarmService", "", f"web-{number}", str(number))
    plan = Plan(
        intent=Intent(verb="scale", targets=(ref,), arguments={"replicas": "4"}),
        steps=(PlanStep(key="web", title="Scale web", ref=ref),),
    )
    identity = await journal.begin(plan, "measuring")
    await journal.step_started(identity, "web", "POST /services/web/update")
    await journal.step_ended(identity, "web", State.SUCCEEDED, "", 0.01)
    await journal.end(identity, State.SUCCEEDED, "done")
