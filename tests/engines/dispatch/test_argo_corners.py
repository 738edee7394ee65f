"""Whose operation it is that an Application shows, and what is done about one that is not where it should be."""

from __future__ import annotations

import asyncio

import pytest

from console.engines.dispatch.argo_reading import carries, initiator
from console.engines.dispatch.constants import ARGO_REQUEST_INFO, ConditionReason, Outcome
from console.engines.dispatch.faults import PermanentError, RetryableError
from console.engines.ports.applier import APPLICATIONS, JsonObject
from console.errors import ApiError, NotFound, QuarterdeckError, TimedOut, UnclearAnswer
from tests.engines.dispatch.argo_steps import after_restart, asked, step, to_the_end
from tests.engines.dispatch.argo_world import argo
from tests.engines.dispatch.local_console import APP, LocalConsole
from tests.engines.dispatch.world import C, eventually


@pytest.mark.scenario("dispatch:AC27")
@pytest.mark.parametrize(
    ("info", "ours"),
    [
        ([{"name": ARGO_REQUEST_INFO, "value": "T"}], True),
        ([{"name": "reason", "value": "x"}, {"name": ARGO_REQUEST_INFO, "value": "T"}], True),
        ([{"name": ARGO_REQUEST_INFO, "value": "U"}], False),
        ([{"name": "reason", "value": "T"}], False),
        ([{"name": "reason", "value": "T"}, {"name": ARGO_REQUEST_INFO, "value": "U"}], False),
        ([], False),
        (None, False),
    ],
)
def test_an_operation_is_ours_only_by_our_own_entry_with_its_own_token(info: list[JsonObject] | None, ours: bool) -> None:
    assert carries({"info": info}, "T") is ours
    assert not carries(None, "T")


@pytest.mark.scenario("dispatch:AC7")
@pytest.mark.parametrize(
    ("app", "who"),
    [
        ({"operation": {"initiatedBy": {"username": "jane"}}}, "jane"),
        ({"operation": {"initiatedBy": {"automated": True}}}, "automated sync"),
        ({"status": {"operationState": {"operation": {"initiatedBy": {"username": "kim"}}}}}, "kim"),
        (
            {
                "operation": {"initiatedBy": {"username": "jane"}},
                "status": {"operationState": {"operation": {"initiatedBy": {"username": "kim"}}}},
            },
            "jane",
        ),
        ({"operation": {}}, "somebody unknown"),
        ({}, "somebody unknown"),
    ],
)
def test_who_started_what_runs_is_named(app: JsonObject, who: str) -> None:
    assert initiator(app) == who


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:AC27")
@pytest.mark.parametrize("how", ["recovered", "unconfirmed"])
async def test_an_operation_that_was_seen_and_is_gone_is_over_at_once_whoever_follows_it(how: str) -> None:
    async with argo(running=False) as world:
        if how == "unconfirmed":
            world.api.fail("replace", APPLICATIONS, UnclearAnswer("connection lost"), done=True)
        started = await asked(world)
        if how == "recovered":
            started = after_restart(started, guard=False)
        assert (await step(world, started)).outcome is Outcome.REQUESTED
        world.patch({"operation": None})
        ended = await step(world, started)
        assert ended.outcome is Outcome.FAILED
        assert "removed or replaced before its result was read" in ended.message


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:AC35")
async def test_a_state_that_was_seen_and_is_gone_is_over_at_once() -> None:
    async with argo() as world:
        world.controller.sync_seconds = 30
        started = after_restart(await asked(world), guard=False)
        await eventually(lambda: world.state.get("phase") == "Running")
        assert (await step(world, started)).outcome is Outcome.RUNNING
        await world.controller.stop()
        world.patch({"operation": None, "status": {"operationState": None}})
        assert "removed or replaced" in (await step(world, started)).message


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:AC21")
async def test_without_a_result_the_revision_of_the_operation_itself_counts() -> None:
    async with argo() as world:
        started = await asked(world)
        await to_the_end(world, started)
        world.patch({"status": {"operationState": {"syncResult": None}}})
        ended = await step(world, started)
        assert (ended.outcome, ended.applied_revision, ended.message) == (Outcome.SUCCEEDED, C, "")


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:AC10")
async def test_an_application_that_moves_while_it_is_recorded_is_read_again_before_it_is_asked() -> None:
    async with argo() as world:
        world.api.unserved = {"FluxTrigger", "ArgoCDTrigger"}
        console = LocalConsole(world, APP)
        console.start()
        world.api.before("merge", APPLICATIONS, lambda: world.patch({"status": {"sync": {"status": "OutOfSync"}}}))
        console.request(C)
        await console.done()
        assert console.outcomes[-1] == "Succeeded"
        assert [call.verb for call in world.api.writes(APPLICATIONS)[:3]] == ["merge", "merge", "replace"]
        assert len({line.token for line in console.log.lines}) == 1, "recorded once"
        await console.stop()


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:AC6")
async def test_a_sync_that_starts_while_ours_is_recorded_is_waited_for() -> None:
    async with argo() as world:
        world.api.unserved = {"FluxTrigger", "ArgoCDTrigger"}
        world.controller.sync_seconds = 20
        console = LocalConsole(world, APP)
        console.start()
        world.api.before("merge", APPLICATIONS, world.user_syncs)
        console.request(C)
        await asyncio.sleep(10)
        assert not [call for call in world.api.writes(APPLICATIONS) if call.verb == "replace"]
        await console.done()
        assert console.outcomes[-1] == "Succeeded"
        await console.stop()


@pytest.mark.looptime
@pytest.mark.parametrize("error", [TimedOut("late"), ApiError("internal", status=500)])
async def test_a_read_that_fails_is_nobodys_configuration(error: QuarterdeckError) -> None:
    async with argo() as world:
        world.api.fail("get", APPLICATIONS, error)
        with pytest.raises(RetryableError, match="Application argocd/shop could not be read"):
            await asked(world)


@pytest.mark.looptime
async def test_an_application_that_vanishes_before_the_write_is_said_to_be_missing() -> None:
    async with argo() as world:
        world.api.fail("replace", APPLICATIONS, NotFound("gone", status=404))
        with pytest.raises(PermanentError, match="does not exist"):
            await asked(world)


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:AC7")
@pytest.mark.parametrize("phase", ["Running", "Terminating"])
async def test_a_sync_that_was_under_way_before_and_is_still_set_is_no_orphan(phase: str) -> None:
    async with argo(running=False) as world:
        world.user_syncs()
        state = {"phase": phase, "startedAt": "2026-01-01T00:00:00Z", "operation": {"initiatedBy": {"username": "jane"}}}
        world.patch({"status": {"operationState": state}})
        with pytest.raises(RetryableError, match="of jane is running"):
            await asked(world)
        assert not world.api.writes()


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:AC26")
async def test_a_confirmed_operation_that_is_nowhere_is_over_by_one_read() -> None:
    async with argo(running=False) as world:
        started = await asked(world)
        world.patch({"operation": None})
        world.api.reads.clear()
        ended = await step(world, started)
        assert (ended.outcome, ended.message) == (
            Outcome.FAILED,
            "the operation was removed or replaced before its result was read",
        )
        assert world.api.reads["Application"] == 1


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:AC28")
async def test_an_application_that_is_being_deleted_is_asked_nothing() -> None:
    async with argo(running=False) as world:
        world.api._objects["Application", "argocd", "shop"]["metadata"]["finalizers"] = [
            "resources-finalizer.argocd.argoproj.io"
        ]
        world.api.delete(APPLICATIONS, "argocd", "shop")
        with pytest.raises(PermanentError, match="is being deleted") as caught:
            await asked(world)
        assert caught.value.reason is ConditionReason.APPLIER_NOT_FOUND
        assert not world.api.writes()
