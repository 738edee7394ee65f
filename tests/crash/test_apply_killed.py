"""A console killed (-9) in mid-apply: the next one holds the Kustomization again, applies nothing twice, and says what ran."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from console.config.fleet import load_fleet
from console.config.settings import Settings
from console.demo.fleet import DemoFleet
from console.engines.dispatch.constants import Outcome
from console.engines.dispatch.flux_reading import annotation, last_handled, suspended
from console.journal.records import OperationRecord
from console.model.operations import State
from console.runtime.discovery import discover
from console.runtime.runtime import Runtime
from tests.cli.running import ROOT, awaited
from tests.crash.held import NAME, DemoStage, Held, RealStage, Stage, at_rest, in_flight, recorded, until
from tests.crash.tap import Tap
from tests.real.flux import FluxLab

PATIENCE = 90


class Case(msgspec.Struct, frozen=True):
    """Killed at the first write at which the object is as ``when`` says; ``answered``: once the server has carried it out.

    ``resumed``: whether the apply was begun by then. ``demo``: tried on the simulated controller too.
    """

    point: str
    when: Callable[[dict[str, Any]], bool]
    resumed: bool
    answered: bool = False
    demo: bool = False


def _decided(raw: dict[str, Any]) -> bool:
    return in_flight(raw) is None


def _recorded(raw: dict[str, Any]) -> bool:
    return in_flight(raw) is not None and suspended(raw)


def _resumed(raw: dict[str, Any]) -> bool:
    return in_flight(raw) is not None and not suspended(raw)


def _applied(raw: dict[str, Any]) -> bool:
    operation = in_flight(raw)
    return operation is not None and not suspended(raw) and last_handled(raw) == operation.token


def _held_again(raw: dict[str, Any]) -> bool:
    # The record need not tell of the suspend yet: a fast controller handles it before the console has written a word of it.
    operation = in_flight(raw)
    if operation is None or raw["metadata"]["generation"] <= operation.guard_generation + 1:
        return False
    return suspended(raw) and annotation(raw) not in ("", operation.token) and last_handled(raw) == annotation(raw)


CASES = (
    Case("before the record", _decided, False),
    Case("the record is written, its answer never came", _decided, False, answered=True),
    Case("before the resume", _recorded, False, demo=True),
    Case("the resume is written, its answer never came", _recorded, True, answered=True, demo=True),
    Case("resumed, before a word about it", _resumed, True),
    Case("applied, before the suspend", _applied, True),
    Case("held again, before the end is recorded", _held_again, True, demo=True),
)


class Killer:
    """Kills a process at its case's point; the write at hand is passed on or lost, as the case says."""

    def __init__(self, case: Case, held: Held, tap: Tap) -> None:
        self._case = case
        self._held = held
        self._tap = tap
        self.child: asyncio.subprocess.Process | None = None
        self.struck = False

    async def before_write(self) -> None:
        if self.child is None or self.struck or not self._case.when(await self._held.read()):
            return
        self.struck = True
        if self._case.answered:
            self._tap.answered.clear()
            self._tap.mode = "hold"
            return
        self.child.kill()
        raise ConnectionResetError("the console was killed before its write left")

    async def wait(self) -> tuple[str, str]:
        """Until the process has ended; what it said."""
        assert self.child is not None
        talk = asyncio.create_task(self.child.communicate())
        try:
            async with asyncio.timeout(PATIENCE):
                while not self.struck and not talk.done():
                    await asyncio.sleep(0.02)
                if self._case.answered and not talk.done():
                    await self._tap.answered.wait()
                    self.child.kill()
                out, err = await talk
        finally:
            if self.child.returncode is None:
                self.child.kill()
            await asyncio.gather(talk, return_exceptions=True)
        return out.decode(), err.decode()


async def apply_and_die(case: Case, held: Held, env: Mapping[str, str], tap: Tap, commit: str) -> None:
    killer = Killer(case, held, tap)
    tap.before_write = killer.before_write
    arguments = ("apply", "it", "--because", "Repair", "--yes", *(("--commit", commit) if commit else ()))
    killer.child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "console", *arguments),
        cwd=ROOT,
        env={**env, "PYTHONPATH": str(ROOT)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said = await killer.wait()
    tap.before_write, tap.mode = None, "pass"
    assert (killer.struck, killer.child.returncode) == (True, -signal.SIGKILL), f"{case.point}: {said}"


async def start_again(held: Held, folder: Path, env: Mapping[str, str]) -> tuple[OperationRecord, ...]:
    """What the next console does until everything is at rest; all its records then."""
    declared = load_fleet(folder / "config" / "fleet.yaml", required=True)
    targets = discover(env, declared).targets
    async with Runtime(Settings(), declared, targets, connect=(NAME,), state=folder / "state") as console:
        journal = console.journal
        assert journal is not None and journal.lease.held, "the lease of a killed process is free"

        async def over() -> bool:
            return at_rest(await held.read()) and not await journal.unfinished()

        await until(over)
        return await journal.operations()


async def one(stage: Stage, case: Case, folder: Path, room: asyncio.Semaphore) -> None:
    async with room:
        held = await stage.make()
        async with held.tap() as tap:
            env = held.account(folder, tap.port)
            ran = await awaited("hold", "it", "--why", "a crash is coming", "--yes", env=env)
            assert ran.code == 0, ran.err
            before = await held.read()
            assert at_rest(before)
            commit = await stage.commit(held)
            await apply_and_die(case, held, env, tap, commit)
            records = await start_again(held, folder, env)
            writes = tap.writes
            again = await start_again(held, folder, env)
        after = await held.read()
    assert at_rest(after), f"{case.point}: it is held"
    # Each change of spec.suspend is a generation: one resume and one suspend, or nothing.
    changed = after["metadata"]["generation"] - before["metadata"]["generation"]
    assert changed == (2 if case.resumed else 0), f"{case.point}: {changed} changes of the spec"
    assert (again, tap.writes) == (records, writes), f"{case.point}: the second start has nothing left to do"
    _check_record(case, after, commit)
    apply = next(record for record in records if record.plan.intent.verb == "apply")
    assert apply.state in (State.SUCCEEDED, State.INTERRUPTED, State.FAILED), f"{case.point}: {apply.state} {apply.message}"
    assert case.resumed or apply.state is not State.SUCCEEDED, f"{case.point}: {apply.message}"


def _check_record(case: Case, after: dict[str, Any], commit: str) -> None:
    operation = recorded(after)
    if operation is None:
        assert (case.when, case.answered) == (_decided, False), f"{case.point}: there must be a record"
        return
    applied = str(after["status"]["lastAppliedRevision"])
    if case.resumed:
        # Whether the pass came before the suspend of the next console is up to the controller; the record must say which.
        done = operation.outcome is Outcome.SUCCEEDED
        assert not commit or applied.endswith(commit) is done, f"{case.point}: {operation.message}, {applied}"
    else:
        assert operation.outcome is Outcome.FAILED and "nothing ran" in operation.message, f"{case.point}: {operation}"
        assert not commit or not applied.endswith(commit), case.point


@pytest_asyncio.fixture
async def demo() -> AsyncIterator[Stage]:
    async with DemoFleet(speed=10) as fleet:
        yield DemoStage(fleet.endpoint("atlas"))


async def run(stage: Stage, cases: tuple[Case, ...], folder: Path) -> None:
    room = asyncio.Semaphore(7)
    async with asyncio.TaskGroup() as group:
        for index, case in enumerate(cases):
            group.create_task(one(stage, case, folder / str(index), room))


@pytest.mark.scenario("dispatch:X1", "dispatch:X2")
async def test_killed_at_some_points_over_the_simulated_controller(demo: Stage, tmp_path: Path) -> None:
    await run(demo, tuple(case for case in CASES if case.demo), tmp_path)


@pytest.mark.scenario("dispatch:X1", "dispatch:X2", "dispatch:X4")
async def test_killed_at_any_point_over_the_real_controller(flux: FluxLab, tmp_path: Path) -> None:
    await run(RealStage(flux), CASES, tmp_path)
