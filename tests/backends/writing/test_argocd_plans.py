"""Plans for Argo CD Applications."""

from __future__ import annotations

from typing import Any

import pytest

from console.backends.argocd_writes import automated, plan_argocd
from console.errors import Refused
from console.model.plan import Intent, Plan
from console.model.refs import Ref

SHOP = Ref("borealis", "Application", "argocd", "shop", "u1")


def application(spec: dict[str, Any] | None = None, status: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"metadata": {"name": "shop", "uid": "u1", "generation": 5}, "spec": spec or {}, "status": status or {}}


def plan(verb: str, raw: dict[str, Any], **arguments: str) -> Plan:
    return plan_argocd(Intent(verb=verb, targets=(SHOP,), arguments=arguments), {SHOP: raw}, "ops@bastion")


AUTO = {"syncPolicy": {"automated": {"prune": True, "selfHeal": True}}}


@pytest.mark.parametrize(
    ("policy", "expected"),
    [(None, False), ({}, True), ({"prune": True}, True), ({"enabled": False}, False), ({"enabled": True}, True)],
)
def test_automated_is_read_right_in_all_forms(policy: dict[str, Any] | None, expected: bool) -> None:
    assert automated(application({"syncPolicy": {"automated": policy}})) is expected


def test_turning_automated_sync_off_and_undoing_it_restores_the_exact_old_value() -> None:
    off = plan("automated-off", application(AUTO))
    assert off.steps[0].request["patch"] == {"spec": {"syncPolicy": {"automated": None}}}
    assert off.undo is not None
    on = plan_argocd(off.undo, {SHOP: application({"syncPolicy": {}})}, "ops")
    assert on.steps[0].request["patch"] == {"spec": {"syncPolicy": AUTO["syncPolicy"]}}


def test_a_running_operation_is_not_overwritten() -> None:
    with pytest.raises(Refused, match="under way"):
        plan("sync", application(status={"operationState": {"phase": "Running"}}))


def test_a_sync_carries_its_options_its_reason_and_who_asked() -> None:
    made = plan("sync", application(), prune="true", revision="abc", resources="apps:Deployment:web")
    operation = made.steps[0].request["patch"]["operation"]  # type: ignore[index]
    assert operation["sync"] == {
        "revision": "abc",
        "resources": [{"group": "apps", "kind": "Deployment", "name": "web"}],
        "prune": True,
    }
    assert operation["initiatedBy"] == {"username": "ops@bastion"}


@pytest.mark.parametrize(("verb", "arguments"), [("sync", {"revision": "abc"}), ("rollback", {})])
def test_what_automated_sync_would_undo_at_once_is_refused(verb: str, arguments: dict[str, str]) -> None:
    with pytest.raises(Refused, match="syncs by itself"):
        plan(verb, application(AUTO), **arguments)


def test_rollback_takes_the_entry_before_the_last() -> None:
    history = [
        {"id": 1, "revision": "aaa", "source": {"repoURL": "r"}, "deployedAt": "2026-01-01T00:00:00Z"},
        {"id": 2, "revision": "bbb", "source": {"repoURL": "r"}, "deployedAt": "2026-01-02T00:00:00Z"},
    ]
    made = plan("rollback", application(status={"history": history}))
    assert made.steps[0].request["patch"]["operation"]["sync"]["revision"] == "aaa"  # type: ignore[index]
    with pytest.raises(Refused, match="no such entry"):
        plan("rollback", application(status={"history": history}), id="9")


def test_terminate_needs_a_running_operation() -> None:
    with pytest.raises(Refused, match="the last one: Succeeded"):
        plan("terminate", application(status={"operationState": {"phase": "Succeeded"}}))
    made = plan("terminate", application(status={"operationState": {"phase": "Running", "startedAt": "t"}}))
    assert made.steps[0].request["patch"] == {"status": {"operationState": {"phase": "Terminating"}}}
