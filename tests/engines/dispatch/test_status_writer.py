"""What is written about a trigger, when, and over what."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.engines.dispatch.constants import Outcome, Reason, point
from console.engines.dispatch.custom_triggers import StatusStore
from console.engines.dispatch.faults import RetryableError
from console.engines.dispatch.records import further, may_replace, merged, read_operation, write_operation
from console.engines.dispatch.status_writer import StatusWriter
from console.engines.dispatch.types import Operation, TriggerRecord, TriggerRef, TriggerStatus
from console.engines.ports.applier import FLUX_TRIGGERS, JsonObject
from console.errors import ProtocolError, TimedOut, UnclearAnswer, Unreachable
from console.kit.timing import LoopClock
from tests.engines.dispatch.apiserver import ApiServer
from tests.engines.dispatch.reverser import TEAM, flux_trigger
from tests.engines.dispatch.world import START, eventually

TRIGGER = TriggerRef("FluxTrigger", TEAM, "shop")


def op(token: str = "T", outcome: Outcome = Outcome.REQUESTED, **fields: Any) -> Operation:
    return Operation(token=token, commit="c", reason=Reason.FOREIGN_COMMIT, outcome=outcome, **fields)


class Stand:
    def __init__(self, stored: Operation | None = None) -> None:
        clock = LoopClock(START)
        clock.now()
        self.api = ApiServer(clock)
        kind, trigger = flux_trigger(conditions=[{"type": "Ready", "status": "True"}])
        if stored is not None:
            trigger["status"]["operation"] = write_operation(stored)
        self.api.create(kind, trigger)
        self.writer = StatusWriter(StatusStore(self.api))

    @property
    def status(self) -> JsonObject:
        found: JsonObject = self.api.peek(FLUX_TRIGGERS, TEAM, "shop")["status"]
        return found

    @property
    def stored(self) -> Operation | None:
        return read_operation(self.status.get("operation"), "shop")

    def publish(self, operation: Operation | None = None, **fields: Any) -> None:
        self.writer.publish(TRIGGER, TriggerStatus(operation=operation, **fields))

    async def settled(self) -> None:
        await asyncio.sleep(0.5)


@asynccontextmanager
async def stand(stored: Operation | None = None) -> AsyncIterator[Stand]:
    found = Stand(stored)
    found.writer.start()
    try:
        yield found
    finally:
        await found.writer.stop()


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:W1")
async def test_only_the_last_of_several_unwritten_publications_is_written() -> None:
    async with stand() as s:
        for repair in (True, False, True):
            s.publish(op(message=str(repair)), repair_pending=repair)
        await s.settled()
        assert len(s.api.writes()) == 1
        assert s.status["operation"]["message"] == "True"
        assert s.status["repairPending"] is True


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:W2")
async def test_a_withdrawal_survives_the_publication_that_replaces_it() -> None:
    before = op("old", Outcome.SUCCEEDED)
    async with stand(before) as s:
        await s.writer.record(TRIGGER, op("X"))
        s.publish(withdrawn=("X",))
        s.publish(repair_pending=True)
        await s.settled()
        assert s.stored == before
        assert s.status["repairPending"] is True


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:W3")
async def test_a_failed_write_is_tried_again_after_a_pause_unless_there_is_news() -> None:
    async with stand() as s:
        s.api.fail("replace", FLUX_TRIGGERS, TimedOut("no answer"), times=2)
        s.publish(op(message="one"))
        await asyncio.sleep(4.5)
        assert len(s.api.writes()) == 1
        await asyncio.sleep(1)
        assert len(s.api.writes()) == 2
        s.publish(op(message="two"))
        await s.settled()
        assert s.status["operation"]["message"] == "two"


@pytest.mark.looptime
async def test_one_trigger_that_cannot_be_written_does_not_stop_the_others() -> None:
    async with stand() as s:
        s.api.create(*flux_trigger("other"))
        s.api.fail("get", FLUX_TRIGGERS, Unreachable("refused"))
        s.publish(op())
        s.writer.publish(TriggerRef("FluxTrigger", TEAM, "other"), TriggerStatus(repair_pending=True))
        await s.settled()
        assert s.api.peek(FLUX_TRIGGERS, TEAM, "other")["status"]["repairPending"] is True


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:W4")
async def test_conditions_written_meanwhile_survive() -> None:
    async with stand() as s:
        conditions = [{"type": "Ready", "status": "False"}]
        edit = lambda: s.api.edit(  # noqa: E731
            FLUX_TRIGGERS, TEAM, "shop", lambda trigger: trigger["status"].update(conditions=conditions), "gotk-reconciler"
        )
        s.api.before("replace", FLUX_TRIGGERS, edit)
        s.publish(op())
        await s.settled()
        assert s.status["conditions"] == conditions
        assert s.status["operation"]["token"] == "T"
        assert len(s.api.writes()) == 2


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:W5")
async def test_an_operation_in_flight_of_an_earlier_process_is_not_replaced() -> None:
    async with stand(op("earlier", Outcome.RUNNING)) as s:
        s.publish(op("T"), repair_pending=True)
        await s.settled()
        assert s.stored == op("earlier", Outcome.RUNNING)
        assert s.status["repairPending"] is True


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:W6", "dispatch:W7")
@pytest.mark.parametrize(
    ("stored", "published", "written"),
    [
        (Outcome.SETTLING, Outcome.RUNNING, False),
        (Outcome.REQUESTED, Outcome.RUNNING, True),
        (Outcome.UNRESOLVED, Outcome.SETTLING, False),
        (Outcome.UNRESOLVED, Outcome.SUCCEEDED, True),
        (Outcome.UNRESOLVED, Outcome.FAILED, True),
        (Outcome.SUCCEEDED, Outcome.FAILED, False),
    ],
)
async def test_an_operation_only_moves_on(stored: Outcome, published: Outcome, written: bool) -> None:
    async with stand(op(outcome=stored)) as s:
        s.publish(op(outcome=published))
        await s.settled()
        assert s.stored is not None
        assert s.stored.outcome is (published if written else stored)


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:W8")
async def test_a_publication_without_an_operation_clears_none() -> None:
    async with stand(op(outcome=Outcome.SUCCEEDED)) as s:
        s.publish(repair_pending=True)
        await s.settled()
        assert s.stored == op(outcome=Outcome.SUCCEEDED)


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:W9")
async def test_a_trigger_that_is_gone_takes_no_record() -> None:
    async with stand() as s:
        del s.api._objects["FluxTrigger", TEAM, "shop"]
        s.publish(op())
        await s.settled()
        assert not s.api.writes()
        with pytest.raises(RetryableError):
            await s.writer.record(TRIGGER, op())


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:W10")
@pytest.mark.parametrize("landed", [True, False])
async def test_a_record_of_unknown_fate_is_read_back(landed: bool) -> None:
    async with stand() as s:
        s.api.fail("replace", FLUX_TRIGGERS, UnclearAnswer("connection lost"), done=landed)
        if landed:
            await s.writer.record(TRIGGER, op())
            assert s.stored == op()
        else:
            with pytest.raises(RetryableError):
                await s.writer.record(TRIGGER, op())


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:W11")
async def test_what_is_held_is_written_before_a_record_and_restored_by_its_withdrawal() -> None:
    async with stand(op("old", Outcome.SETTLING)) as s:
        done = op("old", Outcome.SUCCEEDED, completed_at="2026-01-02T03:04:05Z")
        s.publish(done)
        await s.writer.record(TRIGGER, op("new"))
        assert [call.body["status"]["operation"]["token"] for call in s.api.writes()] == ["old", "new"]
        s.publish(withdrawn=("new",))
        await s.settled()
        assert s.stored == done


@pytest.mark.looptime
async def test_a_record_is_refused_when_what_is_held_cannot_be_written() -> None:
    async with stand() as s:
        s.api.fail("replace", FLUX_TRIGGERS, TimedOut("no answer"), times=2)
        s.publish(repair_pending=True)
        await s.settled()
        with pytest.raises(RetryableError):
            await s.writer.record(TRIGGER, op())
        assert s.stored is None


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:W12")
async def test_what_is_written_already_is_not_written_again() -> None:
    async with stand(op()) as s:
        s.publish(op(), repair_pending=False)
        await s.settled()
        assert not s.api.writes()
        for _ in range(2):
            s.publish(repair_pending=True)
            await s.settled()
        assert len(s.api.writes()) == 1


@pytest.mark.looptime
async def test_a_withdrawal_touches_nothing_else_that_stands_there() -> None:
    async with stand() as s:
        await s.writer.record(TRIGGER, op("X"))
        s.publish(op("X", Outcome.FAILED))
        await s.settled()
        await s.writer.record(TRIGGER, op("Y"))
        s.publish(withdrawn=("X",))
        await s.settled()
        assert s.stored == op("Y")


@pytest.mark.looptime
async def test_a_withdrawal_of_another_process_is_left_to_recovery() -> None:
    async with stand(op("X")) as s:
        s.publish(withdrawn=("X",))
        await s.settled()
        assert s.stored == op("X")


@pytest.mark.looptime
async def test_a_trigger_that_is_being_deleted_or_was_replaced_takes_no_record() -> None:
    async with stand() as s:
        with pytest.raises(RetryableError, match="replaced"):
            await s.writer.record(TriggerRef("FluxTrigger", TEAM, "shop", "another-uid"), op())
        s.api.delete(FLUX_TRIGGERS, TEAM, "shop")
        with pytest.raises(RetryableError, match="being deleted"):
            await s.writer.record(TRIGGER, op())
        assert s.stored is None


@pytest.mark.looptime
async def test_whoever_waits_for_a_record_is_told_when_the_writer_stops() -> None:
    async with stand() as s:
        s.api.hang("get", FLUX_TRIGGERS)
        task = asyncio.create_task(s.writer.record(TRIGGER, op()))
        second = asyncio.create_task(s.writer.record(TRIGGER, op("second")))
        await asyncio.sleep(1)
        await s.writer.stop()
        for waiting in (task, second):
            with pytest.raises(RetryableError):
                await waiting
        with pytest.raises(RetryableError):
            await s.writer.record(TRIGGER, op())


@pytest.mark.looptime
async def test_fields_of_the_record_that_we_do_not_know_are_kept() -> None:
    async with stand(op()) as s:
        edit = {"status": {"operation": {"future": 1}}}
        s.api.edit(
            FLUX_TRIGGERS, TEAM, "shop", lambda t: t["status"]["operation"].update(edit["status"]["operation"]), "gotk-x"
        )
        s.publish(op(outcome=Outcome.RUNNING))
        await eventually(lambda: s.status["operation"]["outcome"] == "Running")
        assert s.status["operation"]["future"] == 1


def test_a_record_that_cannot_be_understood_is_an_error() -> None:
    with pytest.raises(ProtocolError):
        read_operation({"token": "T", "reason": "Whim", "outcome": "Requested"}, "shop")
    assert read_operation({}, "shop") is None


def test_a_stored_suspend_token_is_not_lost() -> None:
    stored = TriggerRecord(operation=op(suspend_token="S", outcome=Outcome.RUNNING))
    after = merged(stored, TriggerStatus(operation=op(outcome=Outcome.SETTLING)), {})
    assert after.operation == op(suspend_token="S", outcome=Outcome.SETTLING)


@settings(deadline=None, derandomize=True, max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(Outcome), st.sampled_from(Outcome), st.booleans())
def test_a_publication_never_moves_an_operation_back_or_over_another(old: Outcome, new: Outcome, same: bool) -> None:
    replaced = may_replace(op("T", old), op("T" if same else "U", new, message="other"))
    if replaced:
        assert same
        assert not old.complete
        assert point(new) >= point(old)


def test_the_later_word_on_an_operation_counts_whoever_has_it() -> None:
    running, done = op(outcome=Outcome.RUNNING), op(outcome=Outcome.SUCCEEDED)
    assert further(None, None) is None
    assert further(None, running) is running
    assert further(running, None) is running
    assert further(running, done) is done, "another engine followed it to its end"
    assert further(done, running) is done, "its end is known here before it is written"
    assert further(running, op("other", Outcome.SUCCEEDED)) is running
