"""An Application: checks, requests, and the operation from its setting to its end."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from console.engines.dispatch.argo_reading import automated, build_operation
from console.engines.dispatch.constants import ConditionReason, Outcome, Reason, RequestOutcome, Timing
from console.engines.dispatch.faults import PermanentError, RetryableError, StaleError
from console.engines.dispatch.types import Binding, Progress, Source, Started
from console.engines.ports.applier import APPLICATIONS
from console.errors import ApiError, Conflict, Forbidden, TimedOut, UnclearAnswer
from tests.engines.dispatch.argo_world import APP, MAIN, ArgoWorld, application, argo
from tests.engines.dispatch.world import URL, WANT, Asking, C, D, eventually

pytestmark = pytest.mark.looptime


async def asked(world: ArgoWorld, asking: Asking | None = None) -> Started:
    return await world.client.request(APP, (asking or decision()).ask())


def decision(commit: str = C, reason: Reason = Reason.FOREIGN_COMMIT) -> Asking:
    return Asking(commit=commit, reason=reason)


async def step(world: ArgoWorld, started: Started) -> Progress:
    return await world.client.progress(APP, started)


async def to_the_end(world: ArgoWorld, started: Started, seconds: float = 120) -> Progress:
    async def look() -> Progress | None:
        progress = await step(world, started)
        return progress if progress.outcome.complete else None

    found: Progress = await eventually(look, seconds, every=1.0)
    return found


def after_restart(started: Started, *, guard: bool = True) -> Started:
    return Started(
        outcome=started.outcome,
        token=started.token,
        commit=started.commit,
        requested_at=started.requested_at,
        recovered=True,
        applier_uid=started.applier_uid,
        guard_resource_version=started.guard_resource_version if guard else "",
    )


# Validate


@pytest.mark.scenario("dispatch:V12", "dispatch:V13")
@pytest.mark.parametrize(
    ("block", "on"),
    [({}, True), ({"prune": True}, True), ({"enabled": True}, True), ({"enabled": False, "prune": True}, False), (None, False)],
)
async def test_automated_sync_is_on_unless_it_says_otherwise(block: dict[str, Any] | None, on: bool) -> None:
    policy = {} if block is None else {"automated": block}
    async with argo({"syncPolicy": policy}) as world:
        verdict = await world.client.validate(APP)
        assert verdict.reason is (ConditionReason.AUTOMATED_SYNC_ENABLED if on else ConditionReason.SUCCEEDED)
        assert verdict.source == Source(URL, "main")
        assert automated(world.app) is on


@pytest.mark.scenario("dispatch:V14", "dispatch:V15")
@pytest.mark.parametrize(
    "spec",
    [
        {"sources": [MAIN, MAIN], "source": None},
        {"sources": [MAIN], "source": None},
        {"sourceHydrator": {"drySource": MAIN}},
        {"source": {"repoURL": "https://charts.example.test", "chart": "shop", "targetRevision": "1.0"}},
        {"source": None},
    ],
)
async def test_what_has_no_single_git_source_is_unsupported(spec: dict[str, Any]) -> None:
    async with argo(spec) as world:
        verdict = await world.client.validate(APP)
        assert verdict.reason is ConditionReason.UNSUPPORTED_SOURCE


@pytest.mark.scenario("dispatch:V16")
async def test_an_application_that_may_not_be_updated_is_forbidden() -> None:
    async with argo() as world:
        world.api.denied = {("update", "Application")}
        assert (await world.client.validate(APP)).reason is ConditionReason.FORBIDDEN


async def test_a_check_that_could_not_complete_decides_nothing() -> None:
    async with argo() as world:
        world.api.fail("get", APPLICATIONS, TimedOut("no answer"))
        assert (await world.client.validate(APP)).reason is ConditionReason.FAILED
        world.api.unserved = {"Application"}
        assert (await world.client.validate(APP)).reason is ConditionReason.APPLIER_NOT_FOUND


# Request


@pytest.mark.scenario("dispatch:AC1")
async def test_the_operation_is_set_with_a_guarded_update_that_drops_the_old_state() -> None:
    async with argo({"syncPolicy": {"syncOptions": ["CreateNamespace=true"]}}, running=False) as world:
        world.patch({"status": {"operationState": {"phase": "Succeeded"}, "health": {"status": "Healthy"}}})
        before = world.app
        started = await asked(world)
        assert started.outcome is RequestOutcome.SYNC_REQUESTED
        (call,) = world.api.writes()
        assert call.verb == "replace"
        assert call.body["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
        assert call.body["status"] == {"health": {"status": "Healthy"}}
        assert call.body["operation"] == {
            "sync": {"revision": C, "source": MAIN, "prune": False, "syncOptions": ["CreateNamespace=true"]},
            "initiatedBy": {"username": "gitops-reverser", "automated": True},
            "info": [{"name": "gitops-reverser/request", "value": "T"}],
            "retry": {"limit": 5, "refresh": False},
        }
        assert call.body["spec"] == before["spec"]


@pytest.mark.scenario("dispatch:AC2")
async def test_an_empty_commit_is_left_to_argo_cd() -> None:
    async with argo() as world:
        started = await asked(world, decision(commit=""))
        assert started.outcome is RequestOutcome.CURRENT
        assert not world.api.reads
        assert (await step(world, started)).outcome is Outcome.SUCCEEDED


async def test_a_commit_is_never_taken_as_applied() -> None:
    async with argo() as world:
        await to_the_end(world, await asked(world))
        again = decision(reason=Reason.CATCH_UP)
        again.token = "T2"
        assert (await asked(world, again)).outcome is RequestOutcome.SYNC_REQUESTED


@pytest.mark.scenario("dispatch:AC3", "dispatch:AC4", "dispatch:AC5")
@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"syncPolicy": {"automated": {}}}, ConditionReason.AUTOMATED_SYNC_ENABLED),
        ({"sources": [MAIN, MAIN]}, ConditionReason.UNSUPPORTED_SOURCE),
        ({"source": {"targetRevision": "HEAD"}}, ConditionReason.SOURCE_MISMATCH),
        ({"source": {"targetRevision": None}}, ConditionReason.SOURCE_MISMATCH),
    ],
)
async def test_what_changed_since_the_check_is_seen_on_every_read(spec: dict[str, Any], reason: ConditionReason) -> None:
    async with argo(running=False) as world:
        world.user_syncs()

        async def change() -> None:
            await asyncio.sleep(5)
            world.patch({"spec": spec})

        task = asyncio.create_task(change())
        asking = decision()
        with pytest.raises(PermanentError) as caught:
            await asked(world, asking)
        await task
        assert caught.value.reason is reason
        assert not asking.recorded
        assert not world.api.writes()


@pytest.mark.scenario("dispatch:AC6")
async def test_a_sync_of_somebody_else_is_waited_for() -> None:
    async with argo() as world:
        world.controller.sync_seconds = 40
        world.user_syncs()
        began = world.clock.now()
        await asked(world)
        assert timedelta(seconds=40) <= world.clock.now() - began < timedelta(seconds=45)
        assert world.controller.synced == ["users"]
        assert world.app["operation"]["sync"]["revision"] == C


@pytest.mark.scenario("dispatch:AC7")
async def test_a_sync_that_never_ends_is_not_replaced() -> None:
    async with argo() as world:
        world.controller.sync_seconds = 600
        world.user_syncs()
        asking = decision()
        began = world.clock.now()
        with pytest.raises(RetryableError, match="another operation of jane is running"):
            await asked(world, asking)
        assert timedelta(seconds=300) <= world.clock.now() - began < timedelta(seconds=305)
        assert not asking.recorded
        assert not world.api.writes()


@pytest.mark.scenario("dispatch:AC8")
async def test_without_a_wait_a_running_sync_fails_the_request_at_once() -> None:
    async with argo(timing=Timing(operation_wait=0)) as world:
        world.user_syncs()
        began = world.clock.now()
        with pytest.raises(RetryableError):
            await asked(world)
        assert world.clock.now() - began < timedelta(seconds=1)


@pytest.mark.scenario("dispatch:AC9")
async def test_a_sync_set_just_before_ours_is_waited_for_with_the_same_record() -> None:
    async with argo() as world:
        asking = decision()
        world.api.before("replace", APPLICATIONS, world.user_syncs)
        started = await asked(world, asking)
        assert len(asking.recorded) == 1
        assert started.token == "T"
        assert world.controller.synced == ["users"]
        assert (await to_the_end(world, started)).outcome is Outcome.SUCCEEDED


@pytest.mark.scenario("dispatch:AC10")
async def test_a_status_refresh_before_our_write_only_makes_us_read_again() -> None:
    async with argo(running=False) as world:
        asking = decision()
        world.api.before("replace", APPLICATIONS, lambda: world.patch({"status": {"sync": {"status": "OutOfSync"}}}))
        await asked(world, asking)
        assert [call.verb for call in world.api.writes()] == ["replace", "replace"]
        assert len(asking.recorded) == 1
        assert world.app["status"]["sync"] == {"status": "OutOfSync"}


@pytest.mark.scenario("dispatch:AC11")
async def test_a_decision_that_ends_during_the_wait_asks_nothing() -> None:
    async with argo() as world:
        world.controller.sync_seconds = 40
        world.user_syncs()
        asking = decision()
        asyncio.get_running_loop().call_later(10, lambda: setattr(asking, "stands", False))
        with pytest.raises(StaleError):
            await asked(world, asking)
        assert not asking.recorded


@pytest.mark.scenario("dispatch:AC12")
async def test_a_decision_that_ends_while_recording_sets_nothing() -> None:
    async with argo() as world:
        asking = decision()
        asking.while_recording = lambda: setattr(asking, "stands", False)
        with pytest.raises(StaleError):
            await asked(world, asking)
        assert asking.recorded
        assert not world.api.writes()


@pytest.mark.scenario("dispatch:AC29")
async def test_an_orphan_that_stands_still_for_the_whole_wait_is_overwritten() -> None:
    async with argo() as world:
        orphan = {"phase": "Running", "startedAt": "2026-01-01T00:00:00Z", "operation": {"sync": {"revision": "old"}}}
        world.patch({"status": {"operationState": orphan}})
        began = world.clock.now()
        started = await asked(world)
        assert world.clock.now() - began >= timedelta(seconds=300)
        assert (await to_the_end(world, started)).outcome is Outcome.SUCCEEDED
        assert world.controller.synced == [C], "the stale state must not be resumed"


async def test_an_orphan_that_changes_during_the_wait_is_not_overwritten() -> None:
    async with argo(running=False) as world:
        world.patch({"status": {"operationState": {"phase": "Running", "startedAt": "1"}}})
        change = {"status": {"operationState": {"phase": "Terminating"}}}
        asyncio.get_running_loop().call_later(100, lambda: world.patch(change))
        with pytest.raises(RetryableError):
            await asked(world)
        assert not world.api.writes()


@pytest.mark.scenario("dispatch:AC30", "dispatch:AC31", "dispatch:AC32")
def test_an_operation_does_what_automated_sync_would_have_done() -> None:
    retry = {"limit": 3, "refresh": True, "backoff": {"duration": "5s"}}
    assert build_operation(application(syncPolicy={"retry": retry}), C, "T")["retry"] == {**retry, "refresh": False}
    assert build_operation(application(), C, "T")["retry"] == {"limit": 5, "refresh": False}
    assert build_operation(application(), C, "T")["sync"]["prune"] is False
    off = application(syncPolicy={"automated": {"enabled": False, "prune": True}})
    assert build_operation(off, C, "T")["sync"]["prune"] is True


@pytest.mark.scenario("dispatch:AC37")
async def test_a_forbidden_update_is_permanent() -> None:
    async with argo() as world:
        world.api.fail("replace", APPLICATIONS, Forbidden("no", status=403))
        with pytest.raises(PermanentError) as caught:
            await asked(world)
        assert caught.value.reason is ConditionReason.FORBIDDEN


@pytest.mark.scenario("dispatch:AC38")
async def test_a_server_error_on_the_update_leaves_it_unconfirmed() -> None:
    async with argo(running=False) as world:
        world.api.fail("replace", APPLICATIONS, ApiError("internal error", status=500))
        started = await asked(world)
        assert started.outcome is RequestOutcome.SYNC_REQUESTED
        assert started.unconfirmed is not None
        assert len(world.api.writes()) == 1


async def test_an_application_replaced_during_the_wait_is_stale() -> None:
    async with argo(running=False) as world:
        world.user_syncs()
        asyncio.get_running_loop().call_later(5, world.recreate)
        with pytest.raises(StaleError):
            await asked(world)


async def test_a_branch_may_be_written_as_a_full_reference_only_with_its_own_name() -> None:
    async with argo({"source": {**MAIN, "targetRevision": "refs/heads/main"}}) as world:
        assert (await asked(world)).outcome is RequestOutcome.SYNC_REQUESTED
        with pytest.raises(PermanentError):
            await world.client.request(APP, decision().ask(Binding(WANT.url, "dev")))


# Progress


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
