"""The dispatch engine against a real Argo CD, and what Argo CD does when others than the engine interfere."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from typing import Any

import pytest

from console.engines.dispatch.argo import ArgoClient
from console.engines.dispatch.argo_reading import build_operation, carries, with_operation
from console.engines.dispatch.constants import ARGOCD_INITIATOR, ConditionReason, Outcome, Reason, RequestOutcome, Timing
from console.engines.dispatch.faults import PermanentError, RetryableError
from console.engines.dispatch.local import LocalTrigger, read_local
from console.engines.dispatch.tokens import written
from console.engines.dispatch.types import Operation, Started
from console.engines.ports.applier import APPLICATIONS
from console.errors import Conflict
from tests.engines.dispatch.argo_steps import after_restart
from tests.engines.dispatch.local_console import LocalConsole
from tests.engines.dispatch.world import eventually
from tests.real import fleet
from tests.real.argocd import NAMESPACE, ArgoLab
from tests.real.argocd_world import SOON, RealArgo, real_argo
from tests.real.git import GitServer

COMPLETE = ("Succeeded", "Failed", "Error")


@pytest.fixture
async def argo(argocd: ArgoLab, git: GitServer) -> AsyncIterator[RealArgo]:
    """An Application to be on a live Argo CD."""
    async with real_argo(argocd, git) as world:
        yield world


@pytest.mark.scenario("dispatch:A1", "dispatch:A2", "dispatch:A10", "dispatch:A12")
@pytest.mark.scenario("dispatch:AC1", "dispatch:AC21")
async def test_a_commit_is_applied_and_no_moment_has_neither_the_operation_nor_its_end(argo: RealArgo) -> None:
    commit = await argo.begin()
    assert (await argo.client.validate(argo.name)).ok
    async with argo.versions() as versions:
        started = await argo.ask(commit)
        assert started.outcome is RequestOutcome.SYNC_REQUESTED
        ended = await argo.end(started)
        assert (ended.outcome, ended.message, ended.applied_revision) == (Outcome.SUCCEEDED, "", commit)
        last = (await argo.app())["metadata"]["resourceVersion"]
        await eventually(lambda: any(int(app["metadata"]["resourceVersion"]) >= int(last) for app in versions))
    assert await argo.applied()
    states = [app.get("status", {}).get("operationState", {}) for app in versions]
    ours = [carries(state.get("operation"), started.token) for state in states]
    assert any("operation" in app and not mine for app, mine in zip(versions, ours, strict=True)), "set, not begun"
    begun = [(app, state) for app, state, mine in zip(versions, states, ours, strict=True) if mine]
    for app, state in begun:
        assert (state["phase"] in COMPLETE) == ("operation" not in app), "it ends and goes in one write"
        assert state["operation"] == _spoken(begun[0][0]["operation"]), "it is copied whole, but for what is false"
    assert begun[0][1]["phase"] == "Running"
    entry = versions[-1]["status"]["history"][-1]
    assert (entry["revision"], entry["initiatedBy"]["username"]) == (commit, ARGOCD_INITIATOR)
    assert entry["deployStartedAt"]


async def test_the_dispatcher_applies_a_commit_and_its_record_is_on_the_application(argo: RealArgo) -> None:
    commit = await argo.begin()
    console = LocalConsole(argo, local_trigger(argo))
    console.start()
    try:
        console.request(commit, Reason.FOREIGN_COMMIT)
        await console.done()

        async def recorded() -> bool:
            record = read_local(await argo.app()).operation
            return record is not None and record.outcome is Outcome.SUCCEEDED

        await eventually(recorded)
    finally:
        await console.stop()
    assert (console.outcomes[0], console.outcomes[-1]) == ("Requested", "Succeeded")
    assert console.events.reasons() == ["ApplyRequested"]
    assert (await argo.state())["syncResult"]["revision"] == commit
    assert await argo.applied()


@pytest.mark.scenario("dispatch:AC18", "dispatch:AC30", "dispatch:A5")
async def test_a_commit_that_fails_is_tried_again_as_the_same_commit(argo: RealArgo) -> None:
    await argo.begin(syncPolicy={"retry": {**SOON, "refresh": True}})
    broken = await argo.push(broken=True)
    started = await argo.ask(broken)
    app = await argo.until(lambda app: app.get("status", {}).get("operationState", {}).get("retryCount"))
    state = app["status"]["operationState"]
    assert (state["phase"], state["retryCount"], "operation" in app) == ("Running", 1, True)
    assert state["finishedAt"]
    assert (await argo.look(started)).outcome is Outcome.RUNNING
    newer = await argo.push()
    ended = await argo.end(started)
    assert ended.outcome is Outcome.FAILED
    assert "No_Such_Name" in ended.message or "objects failed to apply" in ended.message
    assert (await argo.state())["syncResult"]["revision"] == broken
    # What a person asks for with refresh is the newest commit from the second try on.
    await argo.user_syncs(broken, retry={**SOON, "refresh": True})
    state = await argo.until_phase("Succeeded")
    assert state["syncResult"]["revision"] == newer


@pytest.mark.scenario("dispatch:AC6", "dispatch:AC8", "dispatch:A12")
async def test_a_sync_of_somebody_else_is_waited_for(argo: RealArgo) -> None:
    await argo.begin()
    slow, commit = await argo.push(slow=True), await argo.push()
    await argo.user_syncs(slow)
    await argo.until_phase("Running")
    with pytest.raises(RetryableError, match="jane"):
        await argo.ask(commit, ArgoClient(argo.api, argo.clock, Timing(operation_wait=0)))
    asking = argo.asking(commit)
    request = asyncio.create_task(argo.client.request(argo.name, asking.ask(argo.binding)))
    await eventually(lambda: asking.asked_current >= 2)
    assert not request.done()
    assert not asking.recorded
    await argo.let_go()
    started = await request
    assert len(asking.recorded) == 1
    assert (await argo.end(started)).outcome is Outcome.SUCCEEDED
    history = (await argo.app())["status"]["history"]
    who = [(entry["initiatedBy"]["username"], entry["revision"]) for entry in history]
    assert who == [("jane", slow), (ARGOCD_INITIATOR, commit)]


@pytest.mark.scenario("dispatch:AC19", "dispatch:AC20", "dispatch:A11")
async def test_a_terminated_operation_ends_as_failed_without_another_try(argo: RealArgo) -> None:
    await argo.begin()
    started = await argo.ask(await argo.push(slow=True))
    await eventually(argo.gate)
    assert (await argo.look(started)).outcome is Outcome.RUNNING
    await argo.patch({"status": {"operationState": {"phase": "Terminating"}}})
    ended = await argo.end(started)
    assert (ended.outcome, ended.message) == (Outcome.FAILED, "Operation terminated")
    assert not await argo.gate(), "its hook is taken away"
    assert not await argo.applied()
    state = await argo.state()
    assert (state["phase"], state.get("retryCount", 0)) == ("Failed", 0)


@pytest.mark.scenario("dispatch:AC3", "dispatch:A7", "dispatch:A8")
async def test_an_application_that_syncs_by_itself_is_not_driven(argo: RealArgo) -> None:
    commit = await argo.begin(syncPolicy={"automated": {"enabled": False, "prune": True}, "syncOptions": ["Validate=false"]})
    assert "operationState" not in (await argo.app())["status"], "compared, and not synced"
    assert (await argo.client.validate(argo.name)).ok
    asked = build_operation(await argo.app(), commit, "T")
    await argo.patch({"spec": {"syncPolicy": {"automated": {"enabled": None}}}}, manager="git")
    verdict = await argo.client.validate(argo.name)
    assert verdict.reason is ConditionReason.AUTOMATED_SYNC_ENABLED
    with pytest.raises(PermanentError):
        await argo.ask(commit)
    state = await argo.until_phase("Succeeded")
    operation = state["operation"]
    assert operation["initiatedBy"] == {"automated": True}
    assert operation["retry"]["limit"] == asked["retry"]["limit"]
    for field in ("revision", "prune", "syncOptions"):
        assert operation["sync"][field] == asked["sync"][field], field


@pytest.mark.scenario("dispatch:AC24", "dispatch:A6")
async def test_a_sync_window_holds_an_operation_until_it_opens(argo: RealArgo) -> None:
    kube = argo.lab.kube.client
    project = fleet.project(NAMESPACE, f"closed-{secrets.token_hex(4)}")
    window = {"kind": "deny", "schedule": "* * * * *", "duration": "24h", "applications": ["*"], "manualSync": True}
    await asyncio.to_thread(kube.put, {**project, "spec": {**project["spec"], "syncWindows": [window]}})
    commit = await argo.begin(project=project["metadata"]["name"])
    started = await argo.ask(commit)
    await argo.until(lambda app: "window" in app.get("status", {}).get("operationState", {}).get("message", ""))
    held = await argo.look(started)
    assert held.outcome is Outcome.RUNNING
    assert "window" in held.message
    assert not await argo.applied()
    await asyncio.to_thread(kube.merge, project, {"spec": {"syncWindows": None}})

    async def opened() -> bool:
        # A waiting operation is looked at again when its Application changes, not when the project does.
        await argo.patch({"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}})
        return (await argo.look(started)).outcome is Outcome.SUCCEEDED

    await eventually(opened, every=1)
    assert await argo.applied()


@pytest.mark.scenario("dispatch:AC23", "dispatch:A13")
async def test_what_can_not_be_compared_ends_in_an_error_with_nothing_applied(argo: RealArgo) -> None:
    commit = await argo.begin(syncPolicy={"retry": {"limit": 0}})
    await argo.patch({"spec": {"project": "nowhere"}}, manager="git")
    ended = await argo.end(await argo.ask(commit))
    assert ended.outcome is Outcome.FAILED
    assert "project" in ended.message
    assert (await argo.state())["phase"] == "Error"
    await argo.patch({"spec": {"project": "default", "source": {"path": "missing"}}}, manager="git")
    ended = await argo.end(await argo.ask(commit))
    assert ended.outcome is Outcome.FAILED
    assert "missing" in ended.message
    assert (await argo.state())["phase"] == "Error"
    assert not await argo.applied()


@pytest.mark.scenario("dispatch:A4")
async def test_an_unfinished_state_goes_on_with_the_operation_in_it_not_with_the_one_that_is_set(argo: RealArgo) -> None:
    await argo.begin()
    slow, commit = await argo.push(slow=True), await argo.push()
    await argo.user_syncs(slow)
    await eventually(argo.gate)
    token = argo.tokens.new()
    await argo.patch({"operation": build_operation(await argo.app(), commit, token)})
    await argo.let_go()
    app = await argo.until(lambda app: "operation" not in app)
    state = app["status"]["operationState"]
    assert (state["phase"], state["syncResult"]["revision"]) == ("Succeeded", slow)
    assert not carries(state["operation"], token), "the one that was set is gone and never ran"


@pytest.mark.scenario("dispatch:A2", "dispatch:AC26")
async def test_a_pass_that_is_still_on_its_way_clears_an_operation_set_meanwhile(argo: RealArgo) -> None:
    await argo.begin()
    first, second = await argo.push(), await argo.push()
    argo.lab.hang_repository()
    try:
        before = await argo.ask(first)
        await argo.until_phase("Running")
        await argo.patch({"operation": None, "status": {"operationState": None}})
        ended = await argo.look(before)
        assert (ended.outcome, "removed or replaced" in ended.message) == (Outcome.FAILED, True)
        started = await argo.ask(second)
        assert (await argo.look(started)).outcome is Outcome.REQUESTED
    finally:
        argo.lab.unhang_repository()
    await argo.until(lambda app: "operation" not in app)
    ended = await argo.look(started)
    assert (ended.outcome, "removed or replaced" in ended.message) == (Outcome.FAILED, True)
    assert carries((await argo.state())["operation"], before.token)


@pytest.mark.scenario("dispatch:AC25", "dispatch:AC29", "dispatch:A4")
async def test_an_operation_removed_while_it_ran_stands_still_until_another_takes_its_place(argo: RealArgo) -> None:
    await argo.begin()
    slow, commit = await argo.push(slow=True), await argo.push()
    started = await argo.ask(slow)
    await eventually(argo.gate)
    await argo.patch({"operation": None})
    assert (await argo.look(started)).outcome is Outcome.RUNNING
    started.overdue = True
    ended = await argo.look(started)
    assert (ended.outcome, ended.message) == (Outcome.FAILED, "the operation was removed while it ran")
    await argo.let_go()
    again = await argo.ask(commit, ArgoClient(argo.api, argo.clock, Timing(operation_wait=3, poll_interval=0.5)))
    assert (await argo.end(again)).applied_revision == commit


@pytest.mark.scenario("dispatch:AC16", "dispatch:AC33", "dispatch:AC35")
async def test_without_its_controller_an_operation_waits_and_is_found_again_after_a_restart(argo: RealArgo) -> None:
    commit = await argo.begin()
    await asyncio.to_thread(argo.lab.stop)
    removed = await argo.ask(commit)
    assert (await argo.look(removed)).outcome is Outcome.REQUESTED
    await argo.patch({"operation": None})
    assert (await argo.look(removed)).outcome is Outcome.FAILED
    started: Started = after_restart(await argo.ask(commit))
    assert (await argo.look(started)).outcome is Outcome.REQUESTED
    await asyncio.to_thread(argo.lab.start)
    ended: Any = await argo.end(started)
    assert (ended.outcome, ended.applied_revision) == (Outcome.SUCCEEDED, commit)


@pytest.mark.scenario("dispatch:AC34")
async def test_what_a_dead_process_still_sends_can_not_start_an_operation_that_was_given_up(argo: RealArgo) -> None:
    commit = await argo.begin()
    console = LocalConsole(argo, local_trigger(argo))
    read = await argo.app()
    guards = {"applier_uid": read["metadata"]["uid"], "guard_resource_version": read["metadata"]["resourceVersion"]}
    record = Operation(
        token=argo.tokens.new(),
        commit=commit,
        reason=Reason.REPAIR,
        outcome=Outcome.REQUESTED,
        requested_at=written(argo.clock.now()),
        **guards,
    )
    console.start()
    try:
        recorded = (await console.writer.record(console.trigger.ref, record)).applier
        assert recorded is not None
        late = with_operation(recorded, commit, record.token)
        console.request(commit, recovered=record)
        await console.done()
    finally:
        await console.stop()
    assert console.outcomes == ["Failed"]
    with pytest.raises(Conflict):
        await argo.api.replace(APPLICATIONS, late, manager=ARGOCD_INITIATOR)
    assert "operationState" not in (await argo.app())["status"]


def local_trigger(argo: RealArgo) -> LocalTrigger:
    """The Application as a trigger of this console."""
    return LocalTrigger(
        cluster="east",
        cluster_uid="uid-of-kube-system",
        kind="Application",
        namespace=NAMESPACE,
        name=argo.name.name,
        binding=argo.binding,
        hold=False,
    )


def _spoken(value: Any) -> Any:
    """As Argo CD writes it again: false is not written."""
    if isinstance(value, dict):
        return {key: _spoken(item) for key, item in value.items() if item is not False}
    return value
