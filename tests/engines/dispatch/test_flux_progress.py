"""An operation on a Kustomization from the resume to the handled suspend, whatever others do meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from console.engines.dispatch.constants import REQUESTED_AT, Outcome, Reason
from console.engines.dispatch.faults import RetryableError
from console.engines.dispatch.flux_reading import suspend_owners
from console.engines.dispatch.types import Progress
from console.engines.ports.applier import KUSTOMIZATIONS
from console.errors import TimedOut
from tests.engines.dispatch.flux_steps import asked, handled, step
from tests.engines.dispatch.world import (
    MANAGER,
    SHOP,
    A,
    Asking,
    C,
    D,
    eventually,
    kustomization,
    simulated,
    to_the_end,
)

pytestmark = pytest.mark.looptime


async def test_what_was_current_is_done_without_a_read() -> None:
    async with simulated() as world:
        started = await world.client.request(SHOP, Asking(commit=A).ask())
        world.new_writes()
        assert (await step(world, started)).outcome is Outcome.SUCCEEDED
        assert not world.api.reads


@pytest.mark.scenario("dispatch:P1")
async def test_it_runs_until_its_token_is_handled() -> None:
    async with simulated() as world:
        started = await asked(world)
        assert (await step(world, started)).outcome is Outcome.RUNNING
        assert not world.api.writes()


@pytest.mark.scenario("dispatch:P2", "dispatch:P3")
async def test_it_is_suspended_after_the_apply_and_ends_when_that_is_handled() -> None:
    async with simulated() as world:
        started = await asked(world)
        await handled(world, "T")
        settling = await step(world, started)
        assert settling.outcome is Outcome.SETTLING
        assert settling.suspend_token == world.k["metadata"]["annotations"][REQUESTED_AT]
        (call,) = world.api.writes()
        assert call.body["spec"] == {"suspend": True}
        assert "resourceVersion" not in call.body["metadata"]
        assert call.body["metadata"]["uid"] == world.k["metadata"]["uid"]
        await handled(world, settling.suspend_token)
        ended = await step(world, started)
        assert ended == Progress(Outcome.SUCCEEDED, "", f"main@sha1:{C}", settling.suspend_token)
        assert len(world.api.writes()) == 1


@pytest.mark.scenario("dispatch:P4", "dispatch:P5", "dispatch:P6")
@pytest.mark.parametrize(
    "reason",
    ["DependencyNotReady", "HealthCheckFailed", "BuildFailed", "ArtifactFailed", "PruneFailed", "ReconciliationFailed"],
)
async def test_a_failed_apply_is_suspended_and_told_with_its_reason(reason: str) -> None:
    async with simulated() as world:
        world.kustomize.fails = (reason, "because of the test")
        started = await asked(world)
        ended = await to_the_end(world, started)
        assert ended.outcome is Outcome.FAILED
        assert ended.message == f"{reason}: because of the test"
        assert ended.applied_revision == f"main@sha1:{A}", "the last commit that was applied whole"
        assert world.suspends == 1
        assert world.k["spec"]["suspend"] is True


@pytest.mark.scenario("dispatch:P7")
async def test_another_commit_that_was_applied_is_named() -> None:
    async with simulated() as world:
        await world.kustomize.stop()
        started = await asked(world)
        await world.push(D)
        await world.client._flux.stamp(world.g)
        await eventually(lambda: D in world.g["status"]["artifact"]["revision"])
        world.kustomize.start()
        ended = await to_the_end(world, started)
        assert ended.outcome is Outcome.SUCCEEDED
        assert ended.message == f"main@sha1:{D} was applied instead of {C}"


@pytest.mark.scenario("dispatch:P7")
@pytest.mark.parametrize(
    ("status", "told"),
    [({"lastAppliedRevision": f"main@sha1:{D}"}, "applied"), ({}, "attempted")],
    ids=["applied", "attempted"],
)
async def test_what_a_pass_did_between_the_verdict_and_the_suspend_is_told(status: dict[str, str], told: str) -> None:
    async with simulated() as world:
        started = await asked(world)
        await handled(world, "T")
        revision = f"main@sha1:{D}"

        def next_pass() -> None:
            world.kustomization_status(lastAttemptedRevision=revision, **status)

        world.api.before("apply", KUSTOMIZATIONS, next_pass)
        ended = await to_the_end(world, started)
        assert (ended.outcome, ended.message) == (
            Outcome.SUCCEEDED,
            f"{revision} was {told} after it, before it was suspended again",
        )


@pytest.mark.scenario("dispatch:P8")
async def test_a_reconcile_that_follows_at_once_is_judged_after_the_suspend() -> None:
    async with simulated() as world:
        started = await asked(world)
        world.kustomize.enqueue(SHOP.namespace, SHOP.name)
        world.kustomize.fails = None
        await handled(world, "T")
        await eventually(lambda: world.k["status"]["conditions"][0]["status"] == "Unknown", every=0.05)
        world.kustomize.fails = ("HealthCheckFailed", "the second pass")
        assert (await step(world, started)).outcome is Outcome.SETTLING
        assert started.verdict is None
        assert (await to_the_end(world, started)).outcome is Outcome.SUCCEEDED


@pytest.mark.scenario("dispatch:P9")
async def test_a_request_that_replaces_ours_is_waited_for() -> None:
    async with simulated() as world:
        world.kustomize.apply_seconds = 10
        started = await asked(world)
        assert (await step(world, started)).outcome is Outcome.RUNNING
        await world.kustomize.stop()
        await world.flux("reconcile")
        assert (await step(world, started)).outcome is Outcome.RUNNING
        world.kustomize.start()
        assert not world.suspends
        await handled(world, world.k["metadata"]["annotations"][REQUESTED_AT])
        assert (await step(world, started)).outcome is Outcome.SETTLING
        assert (await to_the_end(world, started)).outcome is Outcome.SUCCEEDED


@pytest.mark.scenario("dispatch:P10")
async def test_a_receiver_that_stamps_over_the_suspend_ends_it_as_well() -> None:
    async with simulated() as world:
        started = await asked(world)
        await handled(world, "T")
        await world.kustomize.stop()
        await step(world, started)
        world.patch(KUSTOMIZATIONS, {"metadata": {"annotations": {REQUESTED_AT: "X"}}}, "notification-controller")
        assert (await step(world, started)).outcome is Outcome.SETTLING
        world.kustomize.start()
        await handled(world, "X")
        assert (await step(world, started)).outcome is Outcome.SUCCEEDED
        assert world.suspends == 1


@pytest.mark.scenario("dispatch:P11")
async def test_what_was_resumed_after_the_suspend_is_suspended_again() -> None:
    async with simulated() as world:
        started = await asked(world)
        await handled(world, "T")
        first = (await step(world, started)).suspend_token
        await world.flux("resume")
        second = await step(world, started)
        assert second.outcome is Outcome.SETTLING
        assert second.suspend_token not in ("", first)
        assert (await to_the_end(world, started)).suspend_token == second.suspend_token
        assert world.k["spec"]["suspend"] is True


@pytest.mark.scenario("dispatch:P12")
async def test_a_flux_resume_of_what_is_resumed_changes_nothing() -> None:
    async with simulated() as world:
        started = await asked(world)
        await world.flux("resume")
        assert (await to_the_end(world, started)).outcome is Outcome.SUCCEEDED


@pytest.mark.scenario("dispatch:P13")
async def test_a_flux_suspend_before_the_pass_means_that_nothing_ran() -> None:
    async with simulated() as world:
        await world.kustomize.stop()
        started = await asked(world)
        await world.flux("suspend")
        world.kustomize.start()
        ended = await to_the_end(world, started)
        assert (ended.outcome, ended.message) == (Outcome.FAILED, "nothing ran since the apply was asked")


@pytest.mark.scenario("dispatch:P14")
async def test_a_flux_suspend_during_the_apply_does_not_stop_it() -> None:
    async with simulated() as world:
        world.kustomize.apply_seconds = 5
        started = await asked(world)
        await eventually(lambda: world.k["status"]["conditions"][0]["status"] == "Unknown", every=0.05)
        await world.flux("suspend")
        ended = await to_the_end(world, started)
        assert ended.outcome is Outcome.SUCCEEDED
        owners = suspend_owners(world.k, MANAGER)
        assert (owners.ours, owners.updaters) == (True, ("flux",))


@pytest.mark.scenario("dispatch:P16")
async def test_a_controller_that_comes_back_late_only_handles_the_suspend() -> None:
    async with simulated() as world:
        await world.kustomize.stop()
        started = await asked(world)
        started.overdue = True
        assert (await step(world, started)).outcome is Outcome.SETTLING
        assert world.k["spec"]["suspend"] is True
        await asyncio.sleep(1200)
        assert (await step(world, started)).outcome is Outcome.SETTLING
        world.kustomize.start()
        ended = await to_the_end(world, started)
        assert (ended.outcome, ended.message) == (Outcome.FAILED, "nothing ran since the apply was asked")


@pytest.mark.scenario("dispatch:P17")
async def test_an_overdue_apply_is_suspended_and_judged_when_it_ends() -> None:
    async with simulated() as world:
        world.kustomize.health_seconds = 900
        started = await asked(world)
        await asyncio.sleep(300)
        assert (await step(world, started)).outcome is Outcome.RUNNING
        started.overdue = True
        assert (await step(world, started)).outcome is Outcome.SETTLING
        ended = await to_the_end(world, started, seconds=900)
        assert ended.outcome is Outcome.SUCCEEDED
        assert ended.applied_revision == f"main@sha1:{C}"


@pytest.mark.scenario("dispatch:P18")
async def test_our_suspend_cancels_the_health_check_of_a_controller_that_does_so() -> None:
    async with simulated() as world:
        world.kustomize.health_seconds = 900
        world.kustomize.cancels_health_checks = True
        started = await asked(world)
        await asyncio.sleep(300)
        started.overdue = True
        ended = await to_the_end(world, started)
        assert ended.outcome is Outcome.FAILED
        assert ended.message.startswith("HealthCheckCanceled")


@pytest.mark.scenario("dispatch:P20")
async def test_a_suspend_that_fails_is_tried_again_and_the_verdict_kept() -> None:
    async with simulated() as world:
        started = await asked(world)
        await handled(world, "T")
        world.api.fail("apply", KUSTOMIZATIONS, TimedOut("no answer"))
        with pytest.raises(RetryableError):
            await step(world, started)
        assert started.suspend_token == ""
        kept = started.verdict
        assert kept is not None
        assert (await step(world, started)).outcome is Outcome.SETTLING
        assert started.verdict == kept


@pytest.mark.scenario("dispatch:P21")
async def test_a_deleted_kustomization_ends_it_and_is_not_made_anew() -> None:
    async with simulated() as world:
        started = await asked(world)
        world.api._objects.pop(("Kustomization", SHOP.namespace, SHOP.name))
        ended = await step(world, started)
        assert ended.outcome is Outcome.FAILED
        assert "deleted" in ended.message
        assert not world.api.exists(KUSTOMIZATIONS, SHOP.namespace, SHOP.name)


@pytest.mark.scenario("dispatch:P22")
async def test_a_replaced_kustomization_ends_it_and_is_left_alone() -> None:
    async with simulated() as world:
        started = await asked(world)
        world.recreate(KUSTOMIZATIONS, kustomization())
        ended = await step(world, started)
        assert ended.outcome is Outcome.FAILED
        assert "replaced" in ended.message
        assert not world.api.writes()


@pytest.mark.scenario("dispatch:P23")
@pytest.mark.parametrize("applies", [True, False])
async def test_a_pass_that_only_adds_the_finalizer_is_no_apply(applies: bool) -> None:
    async with simulated() as world:
        await world.kustomize.stop()
        started = await asked(world, A, Reason.REPAIR)
        world.patch(KUSTOMIZATIONS, {"metadata": {"finalizers": None}})
        # The real controller comes back to the object by itself; here it does so before or after our suspend.
        world.kustomize.apply_seconds = 1 if applies else 0
        enqueue = world.kustomize.enqueue
        if not applies:
            world.kustomize.enqueue = lambda namespace, name: None  # type: ignore[method-assign]
        world.kustomize.start()
        if not applies:
            enqueue(SHOP.namespace, SHOP.name)
        await handled(world, "T")
        assert (await step(world, started)).outcome is Outcome.SETTLING
        assert started.verdict is None
        world.kustomize.enqueue = enqueue  # type: ignore[method-assign]
        enqueue(SHOP.namespace, SHOP.name)
        ended = await to_the_end(world, started)
        assert ended.outcome is (Outcome.SUCCEEDED if applies else Outcome.FAILED)
