"""An operation of an Application from its setting to its end, also when nobody saw it."""

from __future__ import annotations

import asyncio

import pytest

from console.engines.dispatch.argo_reading import build_operation
from console.engines.dispatch.constants import Outcome, RequestOutcome
from console.engines.dispatch.faults import RetryableError
from console.engines.dispatch.types import Progress, Started
from console.engines.ports.applier import APPLICATIONS
from console.errors import Conflict, Forbidden, TimedOut, UnclearAnswer
from tests.engines.dispatch.argo_steps import after_restart, asked, step, to_the_end
from tests.engines.dispatch.argo_world import ArgoWorld, argo
from tests.engines.dispatch.world import C, D, eventually

pytestmark = pytest.mark.looptime


@pytest.mark.scenario("dispatch:AC16", "dispatch:AC17", "dispatch:AC21")
async def test_an_operation_goes_from_requested_over_running_to_its_end() -> None:
    async with argo(running=False) as world:
        started = await asked(world)
        assert (await step(world, started)).outcome is Outcome.REQUESTED
        world.controller.sync_seconds = 10
        world.controller.start()
        await eventually(lambda: world.state.get("phase") == "Running")
        assert (await step(world, started)).outcome is Outcome.RUNNING
        assert await to_the_end(world, started) == Progress(Outcome.SUCCEEDED, "", C)


@pytest.mark.scenario("dispatch:AC18")
async def test_a_failed_try_that_waits_for_its_retry_still_runs() -> None:
    async with argo() as world:
        world.controller.outcomes = [("Failed", "one object was refused")]
        world.controller.retry_seconds = 20
        started = await asked(world)
        await eventually(lambda: world.state.get("retryCount") == 1)
        assert world.state["finishedAt"]
        running = await step(world, started)
        assert running.outcome is Outcome.RUNNING
        assert "Retrying" in running.message
        assert (await to_the_end(world, started)).outcome is Outcome.SUCCEEDED


@pytest.mark.scenario("dispatch:AC19", "dispatch:AC20")
async def test_a_terminated_operation_runs_until_the_controller_says_that_it_failed() -> None:
    async with argo() as world:
        world.controller.sync_seconds = 30
        started = await asked(world)
        await eventually(lambda: world.state.get("phase") == "Running")
        world.patch({"status": {"operationState": {"phase": "Terminating"}}})
        assert (await step(world, started)).outcome is Outcome.RUNNING
        ended = await to_the_end(world, started)
        assert (ended.outcome, ended.message) == (Outcome.FAILED, "Operation terminated")


@pytest.mark.scenario("dispatch:AC22")
async def test_another_revision_that_was_synced_is_named() -> None:
    async with argo() as world:
        world.controller.revision_override = D
        ended = await to_the_end(world, await asked(world))
        assert ended.outcome is Outcome.SUCCEEDED
        assert ended.message == f"{D} was synced instead of {C}"


@pytest.mark.scenario("dispatch:AC23")
async def test_an_error_of_the_operation_is_a_failure_with_its_message() -> None:
    async with argo() as world:
        world.controller.outcomes = [("Error", "project not found")]
        ended = await to_the_end(world, await asked(world))
        assert (ended.outcome, ended.message) == (Outcome.FAILED, "project not found")


@pytest.mark.scenario("dispatch:AC25")
async def test_an_operation_removed_while_it_ran_is_given_up_when_overdue() -> None:
    async with argo() as world:
        world.controller.sync_seconds = 10
        started = await asked(world)
        await eventually(lambda: world.state.get("phase") == "Running")
        await world.controller.stop()
        world.patch({"operation": None})
        assert (await step(world, started)).outcome is Outcome.RUNNING
        started.overdue = True
        ended = await step(world, started)
        assert (ended.outcome, ended.message) == (Outcome.FAILED, "the operation was removed while it ran")


@pytest.mark.scenario("dispatch:AC26")
async def test_an_operation_removed_before_it_began_failed_at_once() -> None:
    async with argo(running=False) as world:
        started = await asked(world)
        world.patch({"operation": None})
        ended = await step(world, started)
        assert ended.outcome is Outcome.FAILED
        assert "removed or replaced" in ended.message


@pytest.mark.scenario("dispatch:AC27")
async def test_an_operation_whose_state_was_replaced_failed() -> None:
    async with argo() as world:
        started = await asked(world)
        await eventually(lambda: world.controller.synced == [C])
        world.user_syncs()
        ended = await step(world, started)
        assert ended.outcome is Outcome.FAILED
        assert "replaced" in ended.message


@pytest.mark.scenario("dispatch:AC28")
async def test_a_deleted_or_replaced_application_ends_it() -> None:
    async with argo(running=False) as world:
        started = await asked(world)
        world.recreate()
        world.api.calls.clear()
        assert (await step(world, started)).outcome is Outcome.FAILED
        world.vanish()
        assert (await step(world, started)).outcome is Outcome.FAILED
        assert not world.api.writes()


async def test_an_unknown_phase_counts_as_running() -> None:
    async with argo(running=False) as world:
        started = await asked(world)
        world.patch({"status": {"operationState": {"phase": "Pondering", "operation": world.app["operation"]}}})
        assert (await step(world, started)).outcome is Outcome.RUNNING


async def test_a_failed_read_says_so() -> None:
    async with argo(running=False) as world:
        started = await asked(world)
        world.api.fail("get", APPLICATIONS, TimedOut("no answer"))
        with pytest.raises(RetryableError):
            await step(world, started)


# Settling what nobody has seen


async def unconfirmed(world: ArgoWorld, *, done: bool) -> Started:
    world.api.fail("replace", APPLICATIONS, UnclearAnswer("connection lost"), done=done)
    return await asked(world)


@pytest.mark.scenario("dispatch:AC13")
async def test_an_update_whose_answer_was_lost_but_landed_is_followed() -> None:
    async with argo() as world:
        started = await unconfirmed(world, done=True)
        assert started.unconfirmed is not None
        assert (await to_the_end(world, started)).outcome is Outcome.SUCCEEDED


@pytest.mark.scenario("dispatch:AC14")
async def test_an_update_that_can_land_no_more_failed_after_a_second_look() -> None:
    async with argo(running=False) as world:
        started = await unconfirmed(world, done=False)
        late = world.api.writes()[0].body
        world.patch({"metadata": {"labels": {"a": "b"}}})
        world.api.reads.clear()
        ended = await step(world, started)
        assert ended.outcome is Outcome.FAILED
        assert ended.message.startswith("the operation was not set, or was removed or replaced before it was seen")
        assert world.api.reads["Application"] == 2
        with pytest.raises(Conflict):
            await world.api.replace(APPLICATIONS, late, manager="late")


async def test_a_second_look_that_finds_the_operation_goes_on() -> None:
    async with argo(running=False) as world:
        started = await unconfirmed(world, done=False)
        world.patch({"metadata": {"labels": {"a": "b"}}})
        operation = build_operation(world.app, C, "T")
        # Between our two reads, the write of somebody who saw our update lands.
        world.api.before("get", APPLICATIONS, lambda: world.api.before("get", APPLICATIONS, set_it))

        def set_it() -> None:
            world.patch({"operation": operation})

        assert (await step(world, started)).outcome is Outcome.REQUESTED


@pytest.mark.scenario("dispatch:AC15")
@pytest.mark.parametrize("overdue", [True, False])
async def test_an_update_that_may_still_land_is_waited_for(overdue: bool) -> None:
    async with argo(running=False) as world:
        started = await unconfirmed(world, done=False)
        assert (await step(world, started)).outcome is Outcome.REQUESTED
        if overdue:
            started.overdue = True
        else:
            await asyncio.sleep(70)
            assert (await step(world, started)).outcome is Outcome.REQUESTED
            await asyncio.sleep(6)
        assert (await step(world, started)).outcome is Outcome.FAILED


@pytest.mark.scenario("dispatch:AC34")
@pytest.mark.parametrize("guard", [True, False])
async def test_a_record_without_an_update_is_settled_after_a_restart(guard: bool) -> None:
    async with argo(running=False) as world:
        before = Started(
            outcome=RequestOutcome.SYNC_REQUESTED,
            token="T",
            commit=C,
            requested_at=world.clock.now(),
            applier_uid=world.app["metadata"]["uid"],
            guard_resource_version=world.app["metadata"]["resourceVersion"],
        )
        started = after_restart(before, guard=guard)
        assert (await step(world, started)).outcome is Outcome.REQUESTED
        if guard:
            world.patch({"metadata": {"labels": {"a": "b"}}})
        else:
            await asyncio.sleep(76)
        assert (await step(world, started)).outcome is Outcome.FAILED
        assert "operation" not in world.app


@pytest.mark.scenario("dispatch:AC34")
async def test_an_update_on_its_way_when_its_process_died_can_not_land_once_the_operation_is_given_up() -> None:
    async with argo(running=False) as world:
        started = after_restart(await unconfirmed(world, done=False))
        late = world.api.writes()[0].body
        # The record was made over an older version than the update goes by.
        started.guard_resource_version = "0"
        world.api.fail("replace", APPLICATIONS, TimedOut("no answer"))
        with pytest.raises(RetryableError, match="not certain"):
            await step(world, started)
        ended = await step(world, started)
        assert (ended.outcome, ended.message.startswith("the operation was not set")) == (Outcome.FAILED, True)
        with pytest.raises(Conflict):
            await world.api.replace(APPLICATIONS, late, manager="late")
        before = world.app
        assert (await step(world, started)).outcome is Outcome.FAILED
        assert world.app == before, "one fence is enough"


@pytest.mark.scenario("dispatch:AC35")
async def test_an_update_that_lands_before_the_fence_is_followed() -> None:
    async with argo(running=False) as world:
        started = after_restart(await unconfirmed(world, done=False))
        started.guard_resource_version = "0"
        operation = build_operation(world.app, C, "T")
        world.api.before("replace", APPLICATIONS, lambda: world.patch({"operation": operation}))
        with pytest.raises(RetryableError, match="not certain"):
            await step(world, started)
        assert (await step(world, started)).outcome is Outcome.REQUESTED


async def test_a_fence_that_may_not_be_written_is_done_without_when_nothing_can_land_any_more() -> None:
    async with argo(running=False) as world:
        started = after_restart(await unconfirmed(world, done=False))
        started.guard_resource_version = "0"
        world.api.fail("replace", APPLICATIONS, Forbidden("may not"), times=2)
        with pytest.raises(RetryableError):
            await step(world, started)
        await asyncio.sleep(76)
        assert (await step(world, started)).outcome is Outcome.FAILED


@pytest.mark.scenario("dispatch:AC35")
async def test_an_operation_is_found_again_after_a_restart() -> None:
    async with argo() as world:
        started = after_restart(await asked(world))
        assert (await to_the_end(world, started)).outcome is Outcome.SUCCEEDED


async def test_a_sync_of_ours_in_the_history_is_mentioned() -> None:
    async with argo() as world:
        started = await unconfirmed(world, done=True)
        await eventually(lambda: world.controller.synced == [C])
        world.user_syncs()
        ended = await step(world, started)
        assert ended.outcome is Outcome.FAILED
        assert "it probably ran" in ended.message
