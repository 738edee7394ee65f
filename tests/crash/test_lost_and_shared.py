"""Connections that break around a write, two consoles on one object, and what the next start makes of a journal."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from console.config.fleet import Fleet
from console.config.settings import Settings
from console.errors import JournalError, Refused
from console.journal.journal import Journal
from console.model.connections import Connection, Phase
from console.model.operations import Operation, State
from console.model.plan import Intent
from console.runtime.commands import Commands
from console.runtime.discovery import discover
from console.runtime.refusals import MovedOn
from console.runtime.runtime import Runtime
from tests.crash.child import Reach, commands_on, journal_at, reached
from tests.crash.conftest import Stage
from tests.crash.tap import Mode, Tap
from tests.crash.test_killed import Case, die

PATIENCE = 60
HASTE = 4.0


class Faults(msgspec.Struct, frozen=True):
    mode: Mode
    writes: int
    state: State
    words: str


FAULTS = (
    Faults("cut before", 0, State.FAILED, "the write did not arrive"),
    Faults("cut after", 1, State.SUCCEEDED, "the write arrived"),
    Faults("hold", 1, State.SUCCEEDED, "the write arrived"),
)


async def console(stack: AsyncExitStack, stage: Stage, intent: Intent, folder: Path) -> tuple[Commands, Journal, Tap, Reach]:
    """A console of its own: way to the server, journal, write path."""
    tap = await stack.enter_async_context(stage.tap())
    env, entry = stage.target(tap, folder)
    folder.mkdir(parents=True, exist_ok=True)
    journal = await journal_at(str(folder))
    stack.push_async_callback(journal.close)
    reach = await stack.enter_async_context(reached(env, entry, intent.targets[0]))
    commands = commands_on(reach, journal)
    stack.push_async_callback(commands.close)
    return commands, journal, tap, reach


def hurry(reach: Reach) -> None:
    """Let the client wait seconds, not half a minute, for the answer to a write."""
    http = reach.backend._client.http
    patient = http.request

    async def request(method: str, path: str, **options: Any) -> Any:
        if method in ("PATCH", "POST") and not options.get("safe"):
            options["timeout"] = HASTE
        return await patient(method, path, **options)

    http.request = request  # type: ignore[method-assign]


async def broken(stage: Stage, fault: Faults, folder: Path) -> None:
    intent = await stage.intent()
    async with AsyncExitStack() as stack:
        commands, journal, tap, reach = await console(stack, stage, intent, folder)
        plan = await commands.plan(intent)
        tap.mode = fault.mode
        hurry(reach)
        async with asyncio.timeout(PATIENCE):
            assert await commands.wait(await commands.run(plan)) is fault.state
        found = (tap.writes, await stage.changes(intent.targets[0]))
        assert found == (fault.writes, fault.writes), fault.mode
        (record,) = await journal.operations()
        assert fault.words in record.steps[0].detail


async def test_an_answer_that_is_cut_off_or_never_comes_is_resolved_by_reading(stage: Stage, tmp_path: Path) -> None:
    async with asyncio.TaskGroup() as group:
        for fault in FAULTS:
            group.create_task(broken(stage, fault, tmp_path / fault.mode.replace(" ", "-")))


async def test_two_consoles_that_confirm_the_same_plan_write_once(stage: Stage, tmp_path: Path) -> None:
    intent = await stage.intent()
    async with AsyncExitStack() as stack:
        one, one_journal, one_tap, _ = await console(stack, stage, intent, tmp_path / "one")
        other, other_journal, other_tap, _ = await console(stack, stage, intent, tmp_path / "other")
        mine, theirs = await one.plan(intent), await other.plan(intent)
        assert mine.hash == theirs.hash
        begun = await asyncio.gather(one.run(mine), other.run(theirs), return_exceptions=True)
        states = []
        for commands, result in zip((one, other), begun, strict=True):
            if isinstance(result, str):
                async with asyncio.timeout(PATIENCE):
                    states.append(await commands.wait(result))
            else:
                assert isinstance(result, MovedOn), result
                states.append(State.REFUSED)
        assert states.count(State.SUCCEEDED) == 1, states
        assert await stage.changes(intent.targets[0]) == 1
        assert 1 <= one_tap.writes + other_tap.writes <= 2, "the server refused the second one, if it came so far"
        for journal, state in zip((one_journal, other_journal), states, strict=True):
            assert [record.state for record in await journal.operations()] == [state]
        loser = (one, other)[states.index(State.SUCCEEDED) - 1]
        with pytest.raises(MovedOn):
            await loser.run(mine)


def runtime_at(stage: Stage, tap: Tap, folder: Path) -> Runtime:
    """The whole console on the stage's target, with the journal in a folder."""
    env, entry = stage.target(tap, folder)
    found = discover({"HOME": "/nonexistent", **env}, Fleet(discover="listed", connections=(entry,)))
    return Runtime(Settings(), Fleet(), found.targets, state=folder)


async def until(runtime: Runtime, what: str, kind: str, holds: object) -> None:
    assert callable(holds)
    changed = asyncio.Event()
    unsubscribe = runtime.store.subscribe({kind}, lambda _: changed.set())
    try:
        async with asyncio.timeout(PATIENCE):
            while not any(holds(row) for row in runtime.store.of(kind).values()):
                await changed.wait()
                changed.clear()
    except TimeoutError as error:
        raise AssertionError(f"{what}: {list(runtime.store.of(kind).values())}") from error
    finally:
        unsubscribe()


def is_live(row: object) -> bool:
    return isinstance(row, Connection) and row.phase is Phase.LIVE


@pytest.mark.parametrize("stage", ["demo swarm", "real swarm", "real cluster"], indirect=True)
async def test_the_next_start_reads_what_the_crash_left_and_can_undo_it(stage: Stage, tmp_path: Path) -> None:
    intent = await stage.intent()
    (ref,) = intent.targets
    async with stage.tap() as tap:
        await die(stage, Case("before step_ended", 1, None), intent, tmp_path, tap)
        await stage.settled(ref)
        async with runtime_at(stage, tap, tmp_path) as runtime:

            def recovered(row: object) -> bool:
                return isinstance(row, Operation) and row.origin == "journal" and row.state is State.SUCCEEDED and row.undoable

            await until(runtime, "the crash is resolved", "Operation", recovered)
            assert tap.writes == 1
            runtime.arming.arm(stage.name)
            undo = await runtime.commands.plan_undo(ref)
            tap.answered.clear()
            identity = await runtime.commands.run(undo)
            async with asyncio.timeout(PATIENCE):
                await tap.answered.wait()
                # Nobody plays the controller that a resumed object waits for.
                runtime.commands.cancel(identity)
                await runtime.commands.wait(identity)
            assert tap.writes == 2
            assert runtime.journal is not None
            newest, oldest = await runtime.journal.operations()
            assert (newest.undo_of, oldest.id) == (oldest.id, newest.undo_of)


@pytest.mark.parametrize("stage", ["demo cluster", "real cluster"], indirect=True)
async def test_with_a_journal_of_a_newer_version_everything_is_read_and_nothing_is_written(
    stage: Stage, tmp_path: Path
) -> None:
    intent = await stage.intent()
    file = tmp_path / "journal.sqlite3"
    database = sqlite3.connect(file)
    database.execute("PRAGMA user_version = 99")
    database.close()
    before = file.read_bytes()
    async with stage.tap() as tap:
        async with runtime_at(stage, tap, tmp_path) as runtime:
            await until(runtime, "the connection is live", "Connection", is_live)
            await runtime.settled(("Kustomization",), PATIENCE)
            with pytest.raises(Refused, match="has format 99"):
                runtime.arming.arm(stage.name)
            plan = await runtime.commands.plan(intent)
            with pytest.raises(JournalError, match="has format 99") as caught:
                await runtime.commands.run(plan)
            assert "A newer Quarterdeck wrote it" in caught.value.sentence()
        assert tap.writes == 0
    assert await stage.changes(intent.targets[0]) == 0
    assert file.read_bytes() == before, "a file that we don't know is left as it is"
