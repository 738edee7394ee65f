"""Argo CD driven by keys on its real controller, and what others do in the middle of it."""

from __future__ import annotations

import secrets
import signal
from pathlib import Path

import pytest

from tests.e2e.dispatch_fleet import LONG, App
from tests.e2e.dispatch_keys import ENDED, apply_by_keys, close, open_on, run_plan, see_plan
from tests.e2e.terminal import Screen
from tests.real import fleet
from tests.real.argocd import NAMESPACE
from tests.real.processes import wait_until

TOKEN = "gitops-reverser/request"


@pytest.mark.scenario("dispatch:V13", "dispatch:AC1", "dispatch:AC21", "dispatch:AC31", "dispatch:AC32")
def test_exactly_one_commit_is_synced_as_automated_sync_would_have_done(wallet: App, tmp_path: Path) -> None:
    commit = wallet.begin(syncPolicy={"automated": {"enabled": False, "prune": True}})
    with Screen(wallet.account(tmp_path)) as screen:
        open_on(screen, wallet)
        apply_by_keys(screen, f"Apply {commit[:7]}", "a sync of somebody else is waited for, never replaced")
        screen.wait_for(f"{commit[:7]} is applied", "Sync the commit", "Record the end")
        close(screen, "apply", "succeeded")
        screen.wait_for(lambda now: now.line(wallet.name, "synced", "healthy"))
    state = wallet.state
    asked = state["operation"]
    assert (state["phase"], state["syncResult"]["revision"]) == ("Succeeded", commit)
    assert (asked["sync"]["revision"], asked["sync"]["prune"], asked["retry"]["limit"]) == (commit, True, 5)
    assert (asked["initiatedBy"]["automated"], [entry["name"] for entry in asked["info"]]) == (True, [TOKEN])
    assert wallet.painted


@pytest.mark.scenario("dispatch:AC6")
def test_a_sync_of_somebody_else_is_waited_for(wallet: App, tmp_path: Path) -> None:
    wallet.begin()
    slow = wallet.push(slow=True)
    commit = wallet.compare(wallet.push())
    wallet.user_syncs(slow)
    with Screen(wallet.account(tmp_path)) as screen:
        open_on(screen, wallet)
        apply_by_keys(screen)
        screen.wait_for("waits for a sync of somebody else to end")
        assert wallet.state["operation"]["initiatedBy"]["username"] == "jane"
        wallet.let_go()
        screen.wait_for(f"{commit[:7]} is applied")
        close(screen, "apply", "succeeded")
    assert [entry["revision"] for entry in wallet.read()["status"]["history"]] == [slow, commit]


@pytest.mark.scenario("dispatch:AC17", "dispatch:AC20")
def test_an_operation_is_terminated_by_a_key(wallet: App, tmp_path: Path) -> None:
    wallet.begin()
    wallet.compare(wallet.push(slow=True))
    with Screen(wallet.account(tmp_path)) as screen:
        open_on(screen, wallet)
        apply_by_keys(screen)
        screen.wait_for("Sync the commit", "waits for completion of hook /Pod/gate")
        screen.press("escape").wait_for(absent=ENDED)
        screen.press("T")
        see_plan(screen, "Terminate the operation")
        run_plan(screen)
        screen.wait_for(ENDED, lambda now: now.line("terminate", "succeeded"))
        screen.press("escape").wait_for(absent=ENDED)
        screen.press("3").wait_for("operations ›", lambda now: now.line(wallet.name, "apply", "failed"))
        screen.wait_for("Operation terminated")
    assert wallet.state["phase"] == "Failed"
    assert not wallet.painted


@pytest.mark.scenario("dispatch:AC18")
def test_a_failing_sync_is_seen_to_be_tried_again(wallet: App, tmp_path: Path) -> None:
    wallet.begin(syncPolicy={"retry": {"limit": 1, "backoff": {"duration": "5s", "factor": 1, "maxDuration": "5s"}}})
    commit = wallet.compare(wallet.push(broken=True))
    with Screen(wallet.account(tmp_path)) as screen:
        open_on(screen, wallet)
        apply_by_keys(screen)
        screen.wait_for("Sync the commit", "Retrying attempt #1")
        screen.wait_for(f"{commit[:7]} was not applied", "No_Such_Name")
        close(screen, "apply", "failed")
    assert wallet.state["retryCount"] == 1


@pytest.mark.scenario("dispatch:AC24")
def test_a_closed_sync_window_is_told_and_the_sync_runs_when_it_opens(wallet: App, tmp_path: Path) -> None:
    project = fleet.project(NAMESPACE, f"closed-{secrets.token_hex(4)}")
    window = {"kind": "deny", "schedule": "* * * * *", "duration": "24h", "applications": ["*"], "manualSync": True}
    wallet.kube.put({**project, "spec": {**project["spec"], "syncWindows": [window]}})
    commit = wallet.begin(project=project["metadata"]["name"])
    with Screen(wallet.account(tmp_path)) as screen:
        open_on(screen, wallet)
        apply_by_keys(screen)
        screen.wait_for("Sync the commit", "waits for Sync operation blocked by sync window")
        assert not wallet.painted
        wallet.kube.merge(project, {"spec": {"syncWindows": None}})

        def opened(now: Screen) -> bool:
            # A waiting operation is looked at again when its Application changes, not when the project does.
            wallet.patch({"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}})
            return f"{commit[:7]} is applied" in now.flat

        screen.wait_for(opened)
        close(screen, "apply", "succeeded")
    assert wallet.painted


@pytest.mark.scenario("dispatch:AC16", "dispatch:AC26")
def test_an_operation_that_somebody_takes_away_before_it_began_failed(wallet: App, tmp_path: Path) -> None:
    wallet.begin()
    wallet.lab.stop()
    with Screen(wallet.account(tmp_path)) as screen:
        open_on(screen, wallet)
        apply_by_keys(screen)
        screen.wait_for("Set the operation", "waits for Argo CD to take the operation into its status")
        wallet.patch({"operation": None})
        screen.wait_for("was not applied:", "removed or replaced")
        close(screen, "apply", "failed")
    assert not wallet.painted


@pytest.mark.scenario("dispatch:AC28")
def test_one_that_is_made_anew_in_mid_flight_is_left_alone(wallet: App, tmp_path: Path) -> None:
    wallet.begin()
    wallet.compare(wallet.push(slow=True))
    with Screen(wallet.account(tmp_path)) as screen:
        open_on(screen, wallet)
        apply_by_keys(screen)
        screen.wait_for("Sync the commit", "waits for completion of hook /Pod/gate")
        # Nobody looks for a moment: the console finds the new one, not the gap between the two.
        screen.process.send_signal(signal.SIGSTOP)
        try:
            wallet.delete()
            wallet.begin()
        finally:
            screen.process.send_signal(signal.SIGCONT)
        screen.wait_for("was not applied:", "replaced")
        close(screen, "apply", "failed")
    found = wallet.read()
    assert "operation" not in found
    assert "operationState" not in found["status"]
    assert "quarterdeck/dispatch" not in found["metadata"].get("annotations", {})


@pytest.mark.scenario("dispatch:AC35")
def test_a_console_that_is_killed_in_mid_sync_follows_it_to_its_end_when_it_is_back(wallet: App, tmp_path: Path) -> None:
    wallet.begin()
    commit = wallet.compare(wallet.push(slow=True))
    with Screen(wallet.account(tmp_path)) as screen:
        open_on(screen, wallet)
        apply_by_keys(screen)
        screen.wait_for("Sync the commit", "waits for completion of hook /Pod/gate")
        screen.process.send_signal(signal.SIGKILL)
        screen.ended()
    token = wallet.state["operation"]["info"]
    with Screen(wallet.account(tmp_path)) as screen:
        screen.press("3").wait_for("● 1 live", "operations ›", lambda now: now.line(wallet.name, "apply", "waits for"))
        wallet.let_go()
        screen.wait_for(lambda now: now.line(wallet.name, "apply", "succeeded"))
    state = wallet.state
    assert (state["phase"], state["syncResult"]["revision"], state["operation"]["info"]) == ("Succeeded", commit, token)
    wait_until(lambda: len(wallet.read()["status"]["history"]) == 1, "one sync", LONG)
