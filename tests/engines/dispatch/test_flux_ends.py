"""Operations on a Kustomization that end badly, late, or in another process."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from console.engines.dispatch.constants import Outcome, Reason, RequestOutcome
from console.engines.dispatch.faults import RetryableError
from console.engines.dispatch.types import Started
from console.engines.ports.applier import KUSTOMIZATIONS
from console.errors import Conflict, TimedOut, UnclearAnswer
from tests.engines.dispatch.flux_steps import asked, handled, restarted, step
from tests.engines.dispatch.world import (
    MANAGER,
    SHOP,
    A,
    Asking,
    C,
    eventually,
    simulated,
    to_the_end,
)

pytestmark = pytest.mark.looptime


@pytest.mark.scenario("dispatch:P24")
async def test_it_is_suspended_by_force_even_over_a_new_owner() -> None:
    async with simulated() as world:
        started = await asked(world)
        world.parent_sets(False)
        ended = await to_the_end(world, started)
        assert ended.outcome is Outcome.SUCCEEDED
        assert world.k["spec"]["suspend"] is True
        world.parent_sets(False)
        verdict = await world.client.validate(SHOP)
        assert verdict.reason == "SuspendOwnedElsewhere"


@pytest.mark.scenario("dispatch:P25")
async def test_a_controller_killed_in_mid_apply_leaves_it_interrupted() -> None:
    async with simulated() as world:
        world.kustomize.apply_seconds = 60
        started = await asked(world)
        await eventually(lambda: world.k["status"]["conditions"][0]["status"] == "Unknown", every=0.05)
        await world.kustomize.stop()
        started.overdue = True
        await step(world, started)
        world.kustomize.start()
        ended = await to_the_end(world, started)
        assert ended.outcome is Outcome.FAILED
        assert "interrupted" in ended.message


@pytest.mark.scenario("dispatch:P26")
async def test_what_is_being_deleted_is_never_suspended() -> None:
    async with simulated() as world:
        await world.kustomize.stop()
        started = await asked(world)
        world.api.delete(KUSTOMIZATIONS, SHOP.namespace, SHOP.name)
        started.overdue = True
        assert (await step(world, started)).outcome is Outcome.RUNNING
        world.kustomize.start()
        ended = await to_the_end(world, started)
        assert ended.outcome is Outcome.FAILED
        assert "deleted" in ended.message
        assert not world.api.writes()
        assert world.kustomize.collected == ["shop"]


@pytest.mark.scenario("dispatch:P27")
async def test_a_resume_and_suspend_in_quick_succession_is_noticed_by_the_generation() -> None:
    async with simulated() as world:
        started = await asked(world)
        await handled(world, "T")
        first = (await step(world, started)).suspend_token
        await handled(world, first)
        await world.kustomize.stop()
        await world.flux("resume")
        await world.flux("reconcile")
        await world.flux("suspend")
        world.kustomize.start()
        await asyncio.sleep(5)
        again = await step(world, started)
        assert again.outcome is Outcome.SETTLING
        assert again.suspend_token != first
        ended = await to_the_end(world, started)
        assert ended.suspend_token == again.suspend_token


@pytest.mark.scenario("dispatch:R29")
async def test_a_resume_whose_answer_was_lost_but_landed_goes_on_as_usual() -> None:
    async with simulated() as world:
        world.api.fail("apply", KUSTOMIZATIONS, UnclearAnswer("connection lost"), done=True)
        started = await world.client.request(SHOP, Asking(commit=A, reason=Reason.REPAIR).ask())
        world.new_writes()
        assert (await step(world, started)).outcome is Outcome.RUNNING
        assert not world.api.writes()
        assert (await to_the_end(world, started)).outcome is Outcome.SUCCEEDED


@pytest.mark.scenario("dispatch:R30")
async def test_a_resume_that_never_landed_is_fenced_by_a_suspend() -> None:
    async with simulated() as world:
        world.api.fail("apply", KUSTOMIZATIONS, UnclearAnswer("connection lost"))
        started = await world.client.request(SHOP, Asking(commit=A, reason=Reason.REPAIR).ask())
        assert (await step(world, started)).outcome is Outcome.SETTLING
        ended = await to_the_end(world, started)
        assert (ended.outcome, ended.message) == (Outcome.FAILED, "nothing ran since the apply was asked")


@pytest.mark.scenario("dispatch:R30")
async def test_the_fence_does_not_wait_for_a_request_that_is_not_handled() -> None:
    async with simulated() as world:
        await world.kustomize.stop()
        await world.flux("reconcile")
        world.api.fail("apply", KUSTOMIZATIONS, UnclearAnswer("connection lost"))
        started = await world.client.request(SHOP, Asking(commit=A, reason=Reason.REPAIR).ask())
        assert (await step(world, started)).outcome is Outcome.SETTLING
        assert world.suspends == 1


@pytest.mark.scenario("dispatch:P28")
async def test_a_resume_that_arrives_after_the_fence_is_refused() -> None:
    async with simulated() as world:
        world.api.fail("apply", KUSTOMIZATIONS, UnclearAnswer("connection lost"))
        started = await world.client.request(SHOP, Asking(commit=A, reason=Reason.REPAIR).ask())
        late = world.resumes[0]
        await step(world, started)
        with pytest.raises(Conflict):
            await world.api.apply(KUSTOMIZATIONS, late, manager=MANAGER, force=True)
        assert (await to_the_end(world, started)).outcome is Outcome.FAILED
        assert world.k["spec"]["suspend"] is True


@pytest.mark.scenario("dispatch:X1")
async def test_a_record_without_a_resume_is_settled_after_a_restart() -> None:
    async with simulated() as world:
        k = world.k
        before = Started(
            outcome=RequestOutcome.RESUMED,
            token="T",
            commit=C,
            requested_at=world.clock.now(),
            applier_uid=k["metadata"]["uid"],
            guard_generation=k["metadata"]["generation"],
        )
        started = restarted(world, before)
        assert (await step(world, started)).outcome is Outcome.SETTLING
        ended = await to_the_end(world, started)
        assert (ended.outcome, ended.message) == (Outcome.FAILED, "nothing ran since the apply was asked")


@pytest.mark.scenario("dispatch:X2")
async def test_a_resumed_operation_is_taken_up_after_a_restart() -> None:
    async with simulated() as world:
        started = restarted(world, await asked(world))
        assert (await step(world, started)).outcome is Outcome.RUNNING
        ended = await to_the_end(world, started)
        assert ended.outcome is Outcome.SUCCEEDED
        assert world.suspends == 1


@pytest.mark.scenario("dispatch:X3")
@pytest.mark.parametrize("guards", [True, False])
async def test_a_suspend_that_was_not_recorded_is_written_again(guards: bool) -> None:
    async with simulated() as world:
        before = await asked(world)
        await handled(world, "T")
        lost = (await step(world, before)).suspend_token
        await handled(world, lost)
        before.suspend_token = ""
        started = restarted(world, before, guards=guards)
        again = await step(world, started)
        assert again.outcome is Outcome.SETTLING
        assert again.suspend_token != lost
        assert (await to_the_end(world, started)).outcome is Outcome.SUCCEEDED


@pytest.mark.scenario("dispatch:X4")
async def test_a_recorded_suspend_is_not_written_twice() -> None:
    async with simulated() as world:
        before = await asked(world)
        await handled(world, "T")
        await step(world, before)
        started = restarted(world, before)
        ended = await to_the_end(world, started)
        assert ended.outcome is Outcome.SUCCEEDED
        assert world.suspends == 1


@pytest.mark.scenario("dispatch:X6")
@pytest.mark.parametrize(("age", "outcome"), [(0.5, Outcome.SUCCEEDED), (30, Outcome.FAILED)])
async def test_an_old_record_is_judged_by_times_with_a_second_of_slack(age: float, outcome: Outcome) -> None:
    async with simulated() as world:
        before = await asked(world)
        await handled(world, "T")
        await step(world, before)
        started = restarted(world, before, guards=False)
        ended_at = world.clock.now() - timedelta(seconds=2)
        # As if it had been asked so long after the apply had ended.
        started.requested_at = ended_at + timedelta(seconds=age)
        assert (await to_the_end(world, started)).outcome is outcome


async def test_a_read_that_fails_says_so_and_changes_nothing() -> None:
    async with simulated() as world:
        started = await asked(world)
        world.api.fail("get", KUSTOMIZATIONS, TimedOut("no answer"), times=3)
        for _ in range(3):
            with pytest.raises(RetryableError):
                await step(world, started)
        assert (await to_the_end(world, started)).outcome is Outcome.SUCCEEDED
