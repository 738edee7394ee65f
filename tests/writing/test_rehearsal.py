"""A whole plan run by the graph engine behind the write path: recorded before it is made, retried, cancelled, found again."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from console.demo.rehearsal import DISMANTLE, KIND, REHEARSE, Rehearsal
from console.errors import JournalError, Refused
from console.journal import database
from console.journal.journal import Journal
from console.journal.records import Who
from console.kit.timing import LoopClock
from console.model.assembly import Assembly
from console.model.connections import Connection, Phase
from console.model.health import Health
from console.model.operations import Operation, State, StepView
from console.model.plan import Intent, Plan, PlanStep, Strength
from console.model.refs import Ref
from console.model.resource import Change, Upserted
from console.runtime.arming import Arming
from console.runtime.commands import Commands
from console.runtime.recovery import recover, unfinished
from tests.writing.inline import InlineExecutor

PLACE = "harbour"


@pytest.fixture(autouse=True)
def _no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "ThreadPoolExecutor", InlineExecutor)


class Stage:
    """A rehearsal on a live connection, with the write path over it; ``shown`` are all pictures of operations."""

    def __init__(self, folder: Path) -> None:
        self.clock = LoopClock(datetime(2026, 3, 1, 12, tzinfo=UTC))
        self.rehearsal = Rehearsal(PLACE, clock=self.clock)
        self.rows: list[Change] = []
        self.rehearsal.show(self.rows.append)
        self.shown: list[Operation] = []
        self.path = folder / "journal.db"
        self.journal: Journal
        self.commands: Commands

    def connection(self, name: str) -> Connection | None:
        return Connection(ref=Ref(name, "Connection", "", name), phase=Phase.LIVE) if name == PLACE else None

    def writers(self, ref: Ref) -> tuple[object, ...]:
        return tuple(writer for writer in (self.rehearsal.writer(ref),) if writer is not None)

    async def plan(self, verb: str) -> Plan:
        return await self.commands.plan(Intent(verb=verb, targets=(self.rehearsal.ref,)))

    async def begin(self, verb: str) -> str:
        plan = await self.plan(verb)
        return await self.commands.run(plan, plan.confirmation)

    async def run(self, verb: str) -> State:
        return await self.commands.wait(await self.begin(verb))

    async def until(self, key: str, state: State) -> StepView:
        async with asyncio.timeout(600):
            while self.step(key).state is not state:
                await asyncio.sleep(0.05)
        return self.step(key)

    def step(self, key: str) -> StepView:
        return next(step for step in self.shown[-1].steps if step.key == key)

    @property
    def parts(self) -> set[str]:
        return set(self.rehearsal.shop.parts.values())


@asynccontextmanager
async def stage(folder: Path) -> AsyncIterator[Stage]:
    at = Stage(folder)
    at.journal = await Journal.open(at.path, at.clock, Who(user="ops", host="bastion"))
    arming = Arming(at.clock)
    at.commands = Commands(at, at.journal, arming, at.clock, at.shown.append, observe_seconds=60)
    arming.arm(PLACE)
    try:
        yield at
    finally:
        await at.commands.close()
        await at.journal.close()


@pytest.mark.looptime
async def test_the_plan_is_a_tree_whose_steps_wait_for_those_they_are_made_from(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        plan = await at.plan(REHEARSE)
        after = {step.key: step.after for step in plan.steps}
        assert after["network/shop"] == after["config/pages"] == ()
        assert after["service/checkout"] == ("config/prices", "database/ledger", "job/tables")
        assert after["service/web"] == ("config/pages", "service/catalogue", "service/checkout")
        assert (plan.strength, plan.confirmation) == (Strength.COUNT, "8")
        assert plan.undo is not None and plan.undo.verb == DISMANTLE
        assert at.rehearsal.shop.calls == [], "a plan makes nothing"
        assert (await at.plan(REHEARSE)).hash == plan.hash
        assert (await at.plan(DISMANTLE)).nothing == "shop has nothing"


@pytest.mark.looptime
async def test_a_node_that_fails_is_tried_again_while_others_go_on_and_the_run_succeeds(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        assert await at.run(REHEARSE) is State.SUCCEEDED
        assert len(at.parts) == 8
        assert at.step("service/checkout").attempts == 3
        waits = [step for shown in at.shown for step in shown.steps if step.state is State.WAITING and step.detail]
        assert {step.key for step in waits} == {"service/checkout"}
        assert {(step.detail, step.waiting_for) for step in waits} == {
            ("503: the registry is busy.", "the next try in 1.0 s"),
            ("503: the registry is busy.", "the next try in 2.0 s"),
        }
        busy = [{step.key for step in shown.steps if not step.state.ended and step.started} for shown in at.shown]
        assert {"service/catalogue", "service/checkout"} in busy, "they run side by side"
        (record,) = await at.journal.operations()
        assert {step.state for step in record.steps} == {State.SUCCEEDED}
        tries = [call.result for call in record.calls if call.step == "service/checkout"]
        assert tries == ["503: the registry is busy."] * 2 + ["created"]
        assert record.view().steps[0].after == record.plan.steps[0].after
        assert (await at.plan(REHEARSE)).nothing == "all of shop is as it should be"


@pytest.mark.looptime
async def test_every_call_is_on_the_disk_before_it_leaves(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        seen: list[tuple[str, str]] = []
        make = at.rehearsal.shop.make

        async def watched(req: object, manner: object) -> object:
            with contextlib.closing(sqlite3.connect(at.path)) as database:
                key = str(req.identity)  # type: ignore[attr-defined]
                (state,) = database.execute("SELECT state FROM steps WHERE key = ?", (key,)).fetchone()
            seen.append((key, state))
            return await make(req, manner)  # type: ignore[arg-type]

        at.rehearsal.shop.make = watched  # type: ignore[method-assign, assignment]
        assert await at.run(REHEARSE) is State.SUCCEEDED
        assert len(seen) == 10
        assert {state for _, state in seen} == {"running"}


@pytest.mark.looptime
async def test_dismantling_goes_backwards_and_must_be_confirmed_by_name(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        await at.run(REHEARSE)
        plan = await at.plan(DISMANTLE)
        assert (plan.strength, plan.confirmation, plan.deletes_state) == (Strength.NAME, "shop", True)
        at.rehearsal.shop.calls.clear()
        assert await at.run(DISMANTLE) is State.SUCCEEDED
        calls = at.rehearsal.shop.calls
        assert (calls[0], calls[-1]) == ("delete service/web", "delete network/shop")
        assert calls.index("delete job/tables") < calls.index("delete database/ledger")
        assert at.parts == set()
        assert at.shown[-1].message == "nothing of shop is left"


@pytest.mark.looptime
async def test_cancelled_the_call_at_hand_ends_nothing_new_begins_and_what_is_left_is_said(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        identity = await at.begin(REHEARSE)
        await at.until("job/tables", State.WAITING)
        at.commands.cancel(identity)
        assert await at.commands.wait(identity) is State.CANCELLED
        assert at.shown[-1].message == "Cancelled by the operator. 3 of 8 steps were not begun."
        assert at.step("job/tables").state is State.SUCCEEDED, "it was under way, and ended"
        assert "job/tables" in at.parts and "service/web" not in at.parts
        assert at.step("service/web").state is State.SKIPPED
        assert len((await at.plan(REHEARSE)).steps) == 3


@pytest.mark.looptime
async def test_cancelled_between_two_tries_the_step_is_given_up_and_was_not_made(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        identity = await at.begin(REHEARSE)
        await at.until("service/checkout", State.WAITING)
        at.commands.cancel(identity)
        assert await at.commands.wait(identity) is State.CANCELLED
        assert at.step("service/checkout").state is State.CANCELLED
        assert "1 of 8 steps were not begun. Given up: Create service/checkout." in at.shown[-1].message
        assert at.step("service/catalogue").state is State.SUCCEEDED
        assert await at.run(REHEARSE) is State.SUCCEEDED


@pytest.mark.looptime
async def test_a_step_that_fails_for_good_skips_what_needs_it_and_fails_the_run(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        make = at.rehearsal.shop.make

        async def failing(req: object, manner: object) -> object:
            if req.identity.name == "ledger":  # type: ignore[attr-defined]
                raise Refused("403: no more volumes.")
            return await make(req, manner)  # type: ignore[arg-type]

        at.rehearsal.shop.make = failing  # type: ignore[method-assign, assignment]
        assert await at.run(REHEARSE) is State.FAILED
        assert "Create database/ledger: 403: no more volumes." in at.shown[-1].message
        assert "4 of 8 steps were not begun" in at.shown[-1].message
        assert at.step("job/tables").state is State.SKIPPED
        assert at.parts == {"network/shop", "config/prices", "config/pages"}


def left_on_disk(path: Path, copy: Path) -> None:
    """What a kill at this moment would leave of the journal."""
    with contextlib.closing(sqlite3.connect(path)) as source, contextlib.closing(sqlite3.connect(copy)) as target:
        source.backup(target)


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("when", "table", "made"),
    [
        ("before the call came through", State.FAILED, 4),
        ("after the call came through", State.SUCCEEDED, 5),
    ],
)
async def test_after_a_crash_the_truth_is_read_and_the_next_run_makes_only_the_rest(
    tmp_path: Path, when: str, table: State, made: int
) -> None:
    async with stage(tmp_path) as at:
        shop, hangs, entered = at.rehearsal.shop, asyncio.Event(), asyncio.Event()
        make = shop.make

        async def hanging(req: object, manner: object) -> object:
            if req.identity.name != "tables":  # type: ignore[attr-defined]
                return await make(req, manner)  # type: ignore[arg-type]
            answer = await make(req, manner) if when.startswith("after") else None  # type: ignore[arg-type]
            entered.set()
            await hangs.wait()
            return answer

        shop.make = hanging  # type: ignore[method-assign, assignment]
        await at.begin(REHEARSE)
        await entered.wait()
        left_on_disk(at.path, tmp_path / "left.db")
        parts = dict(shop.parts)
        killed = await Journal.open(tmp_path / "left.db", at.clock, Who(user="ops", host="bastion"))
        try:
            (record,) = await unfinished(killed, PLACE)
            assert [step.key for step in record.steps if step.state is State.RUNNING] == ["job/tables"]
            (writer,) = at.writers(at.rehearsal.ref)
            ended = await recover(killed, record, writer)  # type: ignore[arg-type]
            assert ended.state is State.INTERRUPTED
            assert f"{made} of 8 steps were made, the rest was not" in ended.message
            assert next(step for step in ended.steps if step.key == "job/tables").state is table
            assert shop.parts == parts, "looking makes nothing"
        finally:
            await killed.close()
        assert len((await at.plan(REHEARSE)).steps) == 8 - made


@pytest.mark.looptime
async def test_without_a_journal_nothing_more_is_sent_in_mid_run(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        identity = await at.begin(REHEARSE)
        await at.until("database/ledger", State.WAITING)

        async def broken(operation: str, step: str, request: str) -> None:
            raise JournalError("The disk is full.")

        at.journal.step_started = broken  # type: ignore[method-assign]
        assert await at.commands.wait(identity) is State.INTERRUPTED
        assert "create job/tables" not in at.rehearsal.shop.calls
        assert "The disk is full" in at.shown[-1].message


@pytest.mark.looptime
async def test_a_plan_for_an_older_state_of_the_graph_is_refused(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        old = await at.plan(REHEARSE)
        await at.run(REHEARSE)
        with pytest.raises(Refused):
            await at.commands.run(old, old.confirmation)
        steps = tuple(_renewed(step) for step in old.steps)
        (writer,) = at.writers(at.rehearsal.ref)
        with pytest.raises(Refused, match="no longer what the plan was made for"):
            await writer.run(msgspec.structs.replace(old, steps=steps), None)  # type: ignore[attr-defined]


def _renewed(step: PlanStep) -> PlanStep:
    return msgspec.structs.replace(step, request={**step.request, "digest": "another"})


@pytest.mark.looptime
async def test_what_the_engine_has_on_record_can_be_read(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        await at.run(REHEARSE)
        (writer,) = at.writers(at.rehearsal.ref)
        raw = await writer.raw(at.rehearsal.ref)  # type: ignore[attr-defined]
        web = next(item for item in raw["resources"] if item["name"] == "web")
        assert web["input"]["text"] == "catalogue at catalogue.shop, checkout at checkout.shop"
        assert web["deps"] == ["config/pages", "service/catalogue", "service/checkout"]


@pytest.mark.looptime
async def test_the_row_counts_the_parts_that_are_there(tmp_path: Path) -> None:
    async with stage(tmp_path) as at:
        await at.run(REHEARSE)
        rows = [change.resource for change in at.rows if isinstance(change, Upserted)]
        counts = [(row.made, row.wanted, row.health) for row in rows if isinstance(row, Assembly)]
        assert (counts[0], counts[-1]) == ((0, 8, Health.UNKNOWN), (8, 8, Health.OK))
        assert at.commands.verbs(Ref(PLACE, KIND, "", "shop")) == (REHEARSE, DISMANTLE)
        assert at.commands.verbs(Ref(PLACE, "Stack", "", "shop")) == ()
