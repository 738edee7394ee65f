"""The write path: nothing leaves unplanned, unconfirmed, unarmed or unrecorded, and every end is told truthfully."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from console.errors import Forbidden, JournalError, Refused
from console.model.connections import Phase
from console.model.operations import State
from console.model.plan import Plan
from console.runtime.recovery import recover, unfinished
from console.runtime.refusals import Busy, MovedOn
from tests.writing.world import NAME, Desk, World, desk, scale


async def run(at: Desk, plan: Plan, typed: str = "") -> State:
    return await at.commands.wait(await at.commands.run(plan, typed))


async def test_a_confirmed_plan_is_written_once_observed_and_recorded(tmp_path: Path) -> None:
    async with desk(tmp_path, World()) as at:
        plan = await at.commands.plan(scale(at.world, "web"))
        assert await run(at, plan) is State.SUCCEEDED
        assert at.world.calls == [("web", 4)]
        (record,) = await at.journal.operations()
        assert (record.state, record.message) == (State.SUCCEEDED, "all replicas run")
        assert [operation.state for operation in at.shown][-1] is State.SUCCEEDED


async def test_nothing_is_written_to_a_target_that_is_not_armed(tmp_path: Path) -> None:
    async with desk(tmp_path, World(), arm=False) as at:
        plan = await at.commands.plan(scale(at.world, "web"))
        with pytest.raises(Refused, match="read-only"):
            await at.commands.run(plan)
        assert at.world.calls == []
        (record,) = await at.journal.operations()
        assert record.state is State.REFUSED, "refusals are journaled too"


async def test_several_objects_need_their_count_typed(tmp_path: Path) -> None:
    async with desk(tmp_path, World()) as at:
        plan = await at.commands.plan(scale(at.world, "web", "db"))
        with pytest.raises(Refused, match="'2'"):
            await at.commands.run(plan, "")
        assert await run(at, plan, "2") is State.SUCCEEDED


async def test_a_protected_target_needs_the_name_typed(tmp_path: Path) -> None:
    world = World()
    world.connected = msgspec.structs.replace(world.connected, protected=True)
    async with desk(tmp_path, world) as at:
        plan = await at.commands.plan(scale(world, "web"))
        with pytest.raises(Refused, match="'web'"):
            await at.commands.run(plan, "")
        assert await run(at, plan, "web") is State.SUCCEEDED


async def test_a_plan_is_refused_when_the_world_moved_and_a_fresh_one_is_offered(tmp_path: Path) -> None:
    async with desk(tmp_path, World()) as at:
        plan = await at.commands.plan(scale(at.world, "web"))
        at.world.values["web"], at.world.versions["web"] = 3, 8
        with pytest.raises(MovedOn, match="web: replicas is 3 now, it was 2") as caught:
            await at.commands.run(plan)
        assert caught.value.fresh.steps[0].changes[0].before == "3"
        assert at.world.calls == []


async def test_an_object_made_again_under_its_name_is_not_written(tmp_path: Path) -> None:
    async with desk(tmp_path, World()) as at:
        plan = await at.commands.plan(scale(at.world, "web"))
        at.world.uids["web"] = "another"
        with pytest.raises(Exception, match="gone"):
            await at.commands.run(plan)
        assert at.world.calls == []


async def test_stale_data_is_no_ground_for_a_plan(tmp_path: Path) -> None:
    world = World()
    world.connected = msgspec.structs.replace(world.connected, phase=Phase.STALE)
    async with desk(tmp_path, world) as at:
        with pytest.raises(Refused, match="stale"):
            await at.commands.plan(scale(world, "web"))


async def test_an_empty_plan_says_why_and_cannot_be_run(tmp_path: Path) -> None:
    async with desk(tmp_path, World()) as at:
        plan = await at.commands.plan(scale(at.world, "web", to=2))
        with pytest.raises(Refused, match="all have 2 replicas"):
            await at.commands.run(plan)


async def test_one_write_per_object_at_a_time(tmp_path: Path) -> None:
    async with desk(tmp_path, World()) as at:
        at.world.gate = asyncio.Event()
        plan = await at.commands.plan(scale(at.world, "web"))
        first = await at.commands.run(plan)
        with pytest.raises(Busy) as caught:
            await at.commands.run(plan)
        assert caught.value.operation == first
        at.world.gate.set()
        assert await at.commands.wait(first) is State.SUCCEEDED
        assert at.world.calls == [("web", 4)]


async def test_an_operation_of_ours_can_be_terminated_while_it_runs(tmp_path: Path) -> None:
    class Terminable(World):
        def verbs(self, kind: str) -> tuple[str, ...]:
            return ("scale", "terminate")

    async with desk(tmp_path, Terminable()) as at:
        at.world.gate = asyncio.Event()
        first = await at.commands.run(await at.commands.plan(scale(at.world, "web")))
        ending = msgspec.structs.replace(scale(at.world, "web", to=0), verb="terminate")
        second = await at.commands.run(await at.commands.plan(ending))
        at.world.gate.set()
        await at.commands.wait(first)
        await at.commands.wait(second)
        assert sorted(record.plan.intent.verb for record in await at.journal.operations()) == ["scale", "terminate"]


async def test_two_confirmations_in_the_same_moment_write_once(tmp_path: Path) -> None:
    async with desk(tmp_path, World()) as at:
        plan = await at.commands.plan(scale(at.world, "web"))
        results = await asyncio.gather(at.commands.run(plan), at.commands.run(plan), return_exceptions=True)
        begun = [result for result in results if isinstance(result, str)]
        assert len(begun) == 1
        await at.commands.wait(begun[0])
        assert at.world.calls == [("web", 4)]


@pytest.mark.looptime
async def test_a_lost_answer_is_resolved_by_reading_never_by_writing_again(tmp_path: Path) -> None:
    async with desk(tmp_path, World()) as at:
        at.world.lose_answers, at.world.blind = 1, 2
        assert await run(at, await at.commands.plan(scale(at.world, "web"))) is State.SUCCEEDED
        assert at.world.calls == [("web", 4)]
        (record,) = await at.journal.operations()
        assert "the write arrived" in record.steps[0].detail


@pytest.mark.looptime
async def test_a_write_that_never_arrived_is_a_failure_not_a_second_try(tmp_path: Path) -> None:
    async with desk(tmp_path, World()) as at:
        at.world.drop_writes = 1
        assert await run(at, await at.commands.plan(scale(at.world, "web"))) is State.FAILED
        assert at.world.calls == []


@pytest.mark.looptime
async def test_what_cannot_be_read_stays_unknown_and_says_so(tmp_path: Path) -> None:
    async with desk(tmp_path, World()) as at:
        at.world.lose_answers, at.world.blind = 1, 99
        assert await run(at, await at.commands.plan(scale(at.world, "web"))) is State.UNKNOWN
        (record,) = await at.journal.operations()
        assert "can't be read whether the write arrived" in record.message


async def test_a_failed_step_stops_what_was_not_begun_and_says_what_is_left(tmp_path: Path) -> None:
    async with desk(tmp_path, World()) as at:
        plan = await at.commands.plan(scale(at.world, "web", "db"))
        first, second = plan.steps
        plan_in_order = msgspec.structs.replace(plan, steps=(first, msgspec.structs.replace(second, after=(first.key,))))
        at.world.faults.append(Forbidden("403: may not update services.", status=403))

        async def ordered(intent: object) -> Plan:
            return plan_in_order

        at.world.plan = ordered  # type: ignore[method-assign]
        assert await run(at, plan_in_order, "2") is State.FAILED
        (record,) = await at.journal.operations()
        assert "403" in record.message
        assert "1 of 2 steps were not begun" in record.message
        assert [step.state for step in record.steps] == [State.FAILED, State.SKIPPED]


async def test_cancelling_lets_the_call_at_hand_end_and_says_what_it_waits_for(tmp_path: Path) -> None:
    async with desk(tmp_path, World()) as at:
        at.world.gate, at.world.healthy = asyncio.Event(), False
        identity = await at.commands.run(await at.commands.plan(scale(at.world, "web")))
        await at.world.entered.wait()
        at.commands.cancel(identity)
        at.world.gate.set()
        assert await at.commands.wait(identity) is State.CANCELLED
        (record,) = await at.journal.operations()
        assert record.steps[0].state is State.SUCCEEDED
        assert "still waits for 1 of 4 tasks" in record.message


@pytest.mark.looptime
async def test_an_effect_that_never_shows_is_unknown_after_its_time(tmp_path: Path) -> None:
    world = World()
    world.healthy = False
    async with desk(tmp_path, world) as at:
        assert await run(at, await at.commands.plan(scale(world, "web"))) is State.UNKNOWN


async def test_undo_plans_the_recorded_before_state_and_is_offered_once(tmp_path: Path) -> None:
    async with desk(tmp_path, World()) as at:
        await run(at, await at.commands.plan(scale(at.world, "web")))
        undo = await at.commands.plan_undo(at.world.ref("web"))
        assert undo.steps[0].changes[0].after == "2"
        assert await run(at, undo) is State.SUCCEEDED
        assert at.world.values["web"] == 2
        newest, first = await at.journal.operations()
        assert newest.undo_of == first.id
        assert first.undone


async def test_without_a_journal_nothing_is_written(tmp_path: Path) -> None:
    async with desk(tmp_path, World()) as at:
        plan = await at.commands.plan(scale(at.world, "web"))
        at.journal.lease.release()
        with pytest.raises(JournalError, match="Another console"):
            await at.commands.run(plan)
        assert at.world.calls == []
        at.journal.lease.acquire("again")


@pytest.mark.looptime
async def test_arming_ends_by_itself(tmp_path: Path) -> None:
    async with desk(tmp_path, World()) as at:
        plan = await at.commands.plan(scale(at.world, "web"))
        await asyncio.sleep(15 * 60 + 1)
        with pytest.raises(Refused, match="read-only"):
            await at.commands.run(plan)


@pytest.mark.parametrize(
    ("reached", "state", "words"),
    [
        ("begun", State.INTERRUPTED, "0 of 1 steps were made"),
        ("call left, write arrived", State.SUCCEEDED, "the effect is there"),
        ("call left, write lost", State.INTERRUPTED, "0 of 1 steps were made"),
        ("step ended", State.SUCCEEDED, "the effect is there"),
    ],
)
async def test_after_a_crash_the_truth_is_read_and_nothing_is_written_again(
    tmp_path: Path, reached: str, state: State, words: str
) -> None:
    world = World()
    async with desk(tmp_path, world) as at:
        plan = await at.commands.plan(scale(world, "web"))
        identity = await at.journal.begin(plan, "")
        if reached != "begun":
            await at.journal.step_started(identity, "web", "call")
        if reached in ("call left, write arrived", "step ended"):
            await world.execute(plan.steps[0])
        if reached == "step ended":
            await at.journal.step_ended(identity, "web", State.SUCCEEDED, "accepted", 0.1)
        before = list(world.calls)
        (record,) = await unfinished(at.journal, NAME)
        ended = await recover(at.journal, record, world)
        assert ended.state is state
        assert words in ended.message
        assert world.calls == before
        assert await unfinished(at.journal, NAME) == ()
