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


def sync_of(made: Plan) -> dict[str, Any]:
    patch: Any = made.steps[0].request["patch"]
    found: dict[str, Any] = patch["operation"]["sync"]
    return found


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, {"prune": False}),
        ({"dry-run": "true"}, {"prune": False, "dryRun": True}),
        ({"force": "yes"}, {"prune": False, "syncStrategy": {"hook": {"force": True}}}),
        ({"strategy": "apply"}, {"prune": False, "syncStrategy": {"apply": {}}}),
        ({"strategy": "apply", "force": "true"}, {"prune": False, "syncStrategy": {"apply": {"force": True}}}),
        ({"replace": "true"}, {"prune": False, "syncOptions": ["Replace=true"]}),
        (
            {"server-side": "true", "out-of-sync-only": "true"},
            {"prune": False, "syncOptions": ["ServerSideApply=true", "ApplyOutOfSyncOnly=true"]},
        ),
        (
            {"resources": ":ConfigMap:shop/map,apps:Deployment:web"},
            {
                "prune": False,
                "resources": [
                    {"group": "", "kind": "ConfigMap", "name": "map", "namespace": "shop"},
                    {"group": "apps", "kind": "Deployment", "name": "web"},
                ],
            },
        ),
    ],
)
def test_each_option_of_a_sync_stands_where_argo_cd_reads_it(arguments: dict[str, str], expected: dict[str, Any]) -> None:
    assert sync_of(plan("sync", application(), **arguments)) == expected


def test_an_option_takes_the_place_of_the_applications_own_of_that_name() -> None:
    raw = application({"syncPolicy": {"syncOptions": ["CreateNamespace=true", "Replace=false"]}})
    assert sync_of(plan("sync", raw, replace="true"))["syncOptions"] == ["CreateNamespace=true", "Replace=true"]
    assert sync_of(plan("sync", raw))["syncOptions"] == ["CreateNamespace=true", "Replace=false"]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"prun": "true"}, "sync knows no prun"),
        ({"prune": "maybe"}, "neither yes nor no"),
        ({"strategy": "wish"}, "no strategy wish"),
        ({"resources": "web"}, "names no resource"),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused(arguments: dict[str, str], match: str) -> None:
    with pytest.raises(Refused, match=match):
        plan("sync", application(), **arguments)


def test_one_revision_is_not_meant_for_several_sources() -> None:
    with pytest.raises(Refused, match="several sources"):
        plan("sync", application({"sources": [{}, {}]}), revision="abc")


def test_a_dry_run_of_another_revision_is_allowed_beside_automated_sync() -> None:
    made = plan("sync", application(AUTO), revision="abc", **{"dry-run": "true"})
    assert sync_of(made)["dryRun"] is True
    assert made.effects[0].endswith(": nothing changes.")


def test_what_prune_deletes_is_named_and_a_large_share_is_confirmed_by_name() -> None:
    resources = [
        {"kind": "Deployment", "name": "web"},
        {"kind": "Service", "name": "old", "requiresPruning": True},
        {"kind": "Ingress", "name": "old", "requiresPruning": True},
    ]
    raw = application(status={"resources": resources})
    made = plan("sync", raw, prune="true")
    assert "Objects that the source no longer has are deleted: 2 now (Service old, Ingress old)." in made.effects
    assert made.confirmation == "shop"
    kept = plan("sync", raw)
    assert any("2 objects that the source no longer has stay" in said for said in kept.effects)
    assert kept.confirmation == ""


def test_a_rollback_applies_without_hooks_as_argo_cd_itself_does() -> None:
    history = [
        {"id": 1, "revision": "aaa", "source": {"repoURL": "r"}},
        {"id": 2, "revision": "bbb", "source": {"repoURL": "r"}},
    ]
    sync = sync_of(plan("rollback", application(status={"history": history}), id="1", prune="true"))
    assert sync == {"revision": "aaa", "syncStrategy": {"apply": {}}, "source": {"repoURL": "r"}, "prune": True}


@pytest.mark.parametrize(
    "policy",
    [
        None,
        {},
        {"enabled": False},
        {"enabled": False, "prune": True, "allowEmpty": True},
        {"prune": True, "selfHeal": True, "allowEmpty": True},
        {"enabled": True, "prune": False},
    ],
)
def test_undo_of_automated_sync_restores_every_form_exactly(policy: dict[str, Any] | None) -> None:
    before = application({"syncPolicy": {} if policy is None else {"automated": policy}})
    turned = plan("automated-off" if automated(before) else "automated-on", before)
    after = application({"syncPolicy": merged(before["spec"]["syncPolicy"], turned)})
    assert automated(after) is not automated(before)
    assert turned.undo is not None
    back = plan_argocd(turned.undo, {SHOP: after}, "ops")
    assert merged(after["spec"]["syncPolicy"], back) == before["spec"]["syncPolicy"]


def merged(policy: dict[str, Any], made: Plan) -> dict[str, Any]:
    """The sync policy after the plan's merge patch."""
    patch: Any = made.steps[0].request["patch"]
    wanted = patch["spec"]["syncPolicy"]["automated"]
    kept = {key: value for key, value in policy.items() if key != "automated"}
    if wanted is None:
        return kept
    value = {**(policy.get("automated") or {}), **wanted}
    return {**kept, "automated": {key: item for key, item in value.items() if item is not None}}


def test_automated_sync_goes_off_with_its_settings_kept_and_on_with_those_asked_for() -> None:
    off = plan("automated-off", application(AUTO), keep="true")
    assert off.steps[0].request["patch"] == {
        "spec": {"syncPolicy": {"automated": {"prune": True, "selfHeal": True, "enabled": False}}}
    }
    on = plan("automated-on", application(), prune="true", **{"self-heal": "true"})
    assert on.steps[0].request["patch"] == {
        "spec": {"syncPolicy": {"automated": {"prune": True, "selfHeal": True, "enabled": True}}}
    }
