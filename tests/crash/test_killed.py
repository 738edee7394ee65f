"""A console killed (-9) at any point of an operation: nothing happens twice, nothing is lost, and doubt is told."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import msgspec

from console.journal.records import OperationRecord
from console.model.operations import State
from console.model.plan import Intent
from console.runtime.recovery import recover, unfinished
from tests.crash.child import Order, journal_at, reached
from tests.crash.conftest import Stage
from tests.crash.tap import Mode, Tap

PATIENCE = 90


class Case(msgspec.Struct, frozen=True):
    """Where it dies, how many writes the server then has, and what the record says after the next start ("": no record)."""

    point: str
    writes: int
    state: State | None
    step: State | None = None
    words: str = ""
    mode: Mode = "pass"


NOTHING, DONE = "0 of 1 steps were made", "the effect is there"
CASES = (
    Case("before begin", 0, None),
    Case("after begin", 0, State.INTERRUPTED, State.SKIPPED, NOTHING),
    Case("before step_started", 0, State.INTERRUPTED, State.SKIPPED, NOTHING),
    Case("after step_started", 0, State.INTERRUPTED, State.FAILED, NOTHING),
    Case("the call reached the server", 1, State.SUCCEEDED, State.SUCCEEDED, DONE, "hold"),
    Case("before step_ended", 1, State.SUCCEEDED, State.SUCCEEDED, DONE),
    Case("after step_ended", 1, State.SUCCEEDED, State.SUCCEEDED, DONE),
    Case("before end", 1, State.SUCCEEDED, State.SUCCEEDED, DONE),
    Case("after end", 1, State.SUCCEEDED, State.SUCCEEDED),
)


async def die(stage: Stage, case: Case, intent: Intent, folder: Path, tap: Tap) -> None:
    """Run a process that ends at the point, by its own hand or by ours."""
    tap.mode = case.mode
    env, entry = stage.target(tap, folder)
    order = Order(env=env, entry=entry, state=str(folder), intent=intent, point=case.point)
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.crash.child",
        msgspec.json.encode(order).decode(),
        cwd=Path(__file__).parents[2],
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            if case.mode == "hold":
                await tap.answered.wait()
                child.kill()
            out, err = await child.communicate()
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    assert child.returncode == -signal.SIGKILL, f"{case.point}: {out!r} {err.decode()}"
    tap.mode = "pass"


async def start_again(stage: Stage, intent: Intent, folder: Path, tap: Tap) -> tuple[OperationRecord, ...]:
    """What the next start does about the journal; all records afterwards."""
    env, entry = stage.target(tap, folder)
    journal = await journal_at(str(folder))
    try:
        assert journal.lease.held, "the lease of a killed process is free"
        async with reached(env, entry, intent.targets[0]) as reach:
            for record in await unfinished(journal, stage.name):
                await recover(journal, record, reach.backend)
            assert await unfinished(journal, stage.name) == ()
        return await journal.operations()
    finally:
        await journal.close()


async def one(stage: Stage, case: Case, folder: Path, room: asyncio.Semaphore) -> None:
    intent = await stage.intent()
    (ref,) = intent.targets
    async with stage.tap() as tap:
        async with room:
            await die(stage, case, intent, folder, tap)
        assert (tap.writes, await stage.changes(ref)) == (case.writes, case.writes), f"{case.point}: writes"
        await stage.settled(ref)
        records = await start_again(stage, intent, folder, tap)
        again = await start_again(stage, intent, folder, tap)
        assert records == again, f"{case.point}: the second start has nothing left to do"
        assert (tap.writes, await stage.changes(ref)) == (case.writes, case.writes), f"{case.point}: nothing is written again"
    if case.state is None:
        assert records == (), case.point
        return
    (record,) = records
    assert (case.point, record.state, record.steps[0].state) == (case.point, case.state, case.step), record.message
    assert case.words in record.message
    assert (record.undo is not None) and record.view().undoable is (case.state is State.SUCCEEDED)


async def test_killed_at_any_point_it_writes_once_or_never_and_the_journal_tells_the_truth(
    stage: Stage, tmp_path: Path
) -> None:
    room = asyncio.Semaphore(3)
    async with asyncio.TaskGroup() as group:
        for case in CASES:
            group.create_task(one(stage, case, tmp_path / case.point.replace(" ", "-"), room))


async def test_what_somebody_else_changed_after_the_crash_is_called_unknown(stage: Stage, tmp_path: Path) -> None:
    intent = await stage.intent()
    async with stage.tap() as tap:
        await die(stage, Case("after step_started", 0, None), intent, tmp_path, tap)
        await stage.meddle(intent.targets[0])
        (record,) = await start_again(stage, intent, tmp_path, tap)
        assert tap.writes == 0
    assert record.state is State.UNKNOWN
    assert "can't be told whether a write arrived: look at the object" in record.message
