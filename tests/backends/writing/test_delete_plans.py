"""Plans to delete: what goes, what stays, what is better done first, and how hard it is confirmed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from console.backends.kube_deletes import ARGO_FINALIZER, FLUX_FINALIZER, plan_delete
from console.errors import Refused
from console.model.plan import Intent, Plan, Strength
from console.model.refs import Ref

SHOP = Ref("atlas", "Kustomization", "flux-system", "shop", "u1")
RELEASE = Ref("atlas", "HelmRelease", "apps", "redis", "u1")
APP = Ref("borealis", "Application", "argocd", "shop", "u1")
IDS = ("shop_web_apps_Deployment", "shop_cart_apps_Deployment", "shop_web__Service")


def kustomization(ids: tuple[str, ...] = IDS, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "shop", "namespace": "flux-system", "uid": "u1", "generation": 3, "finalizers": [FLUX_FINALIZER]},
        "spec": {"prune": True, **spec},
        "status": {"inventory": {"entries": [{"id": each, "v": "v1"} for each in ids]}},
    }


def owned(raw: dict[str, Any], manager: str, **annotations: str) -> dict[str, Any]:
    raw["metadata"]["managedFields"] = [{"manager": manager, "operation": "Apply", "fieldsV1": {"f:spec": {"f:suspend": {}}}}]
    raw["metadata"]["annotations"] = annotations
    return raw


def record(**fields: Any) -> str:
    return json.dumps(fields)


def plan(ref: Ref, raw: dict[str, Any]) -> Plan:
    return plan_delete(Intent(verb="delete", targets=(ref,)), {ref: raw})


def test_what_goes_along_is_counted_by_kind_and_confirmed_by_name() -> None:
    made = plan(SHOP, kustomization())
    assert made.effects == ("3 objects that flux-system/shop applied are deleted with it: Deployment 2, Service 1.",)
    assert (made.strength, made.confirmation, made.undo, made.instead) == (Strength.NAME, "shop", None, None)
    assert "apply its manifest again" in made.no_undo
    (step,) = made.steps
    expected = {"uid": "u1", "generation": "3", "objects behind it": "3", "finalizers": FLUX_FINALIZER}
    assert (step.kind, step.precondition) == ("delete", expected)


@pytest.mark.scenario("dispatch:W23")
def test_a_held_kustomization_warns_how_much_stays_and_offers_to_release_first() -> None:
    note = json.dumps({"by": "ana@bastion", "why": "incident 12"})
    raw = owned(
        kustomization(suspend=True),
        "quarterdeck-dispatch",
        **{"quarterdeck/dispatch": record(holding=True), "quarterdeck/hold": note},
    )
    made = plan(SHOP, raw)
    assert made.effects[0].startswith("WARNING: flux-system/shop is held by ana@bastion, incident 12.")
    assert "3 objects stay behind (Deployment 2, Service 1)" in made.effects[0]
    assert made.effects[1].startswith("Release it first")
    assert made.instead == Intent(verb="release", targets=(SHOP,))
    assert made.strength is Strength.COUNT


def test_what_somebody_suspended_by_hand_is_better_resumed_first() -> None:
    made = plan(SHOP, owned(kustomization(suspend=True), "flux"))
    assert "is suspended by flux" in made.effects[0]
    assert made.instead == Intent(verb="resume", targets=(SHOP,))


def test_what_a_trigger_holds_is_let_go_by_its_trigger() -> None:
    made = plan(SHOP, owned(kustomization(suspend=True), "gitops-reverser"))
    assert made.instead is None
    assert "take the trigger away first" in made.effects[1]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"prune": False}, "Prune is off: 3 objects of flux-system/shop stay"),
        ({"deletionPolicy": "Orphan"}, "Its deletionpolicy is orphan: 3 objects"),
    ],
)
def test_what_keeps_its_objects_says_so(spec: dict[str, Any], said: str) -> None:
    made = plan(SHOP, kustomization(**spec))
    assert made.effects[0].lower().startswith(said.lower())
    assert made.strength is Strength.COUNT


def test_a_deletion_policy_wins_over_prune() -> None:
    made = plan(SHOP, kustomization(prune=False, deletionPolicy="WaitForTermination"))
    assert "are deleted with it" in made.effects[0]
    assert made.effects[1] == "It is gone when they are."


def test_without_a_finalizer_nobody_collects() -> None:
    raw = kustomization()
    del raw["metadata"]["finalizers"]
    assert "has no finalizer" in plan(SHOP, raw).effects[0]


def test_nothing_applied_means_that_nothing_goes() -> None:
    made = plan(SHOP, kustomization(()))
    assert "has applied nothing" in made.effects[0]
    assert made.strength is Strength.COUNT


@pytest.mark.parametrize("outcome", ["Requested", "Running", "Settling", "Unresolved"])
def test_nothing_is_deleted_while_a_commit_is_being_applied(outcome: str) -> None:
    operation = {"commit": "5f3c1f0c9a", "outcome": outcome}
    raw = owned(kustomization(), "quarterdeck-dispatch", **{"quarterdeck/dispatch": record(operation=operation)})
    with pytest.raises(Refused, match="5f3c1f0 is being applied on flux-system/shop"):
        plan(SHOP, raw)
    operation["outcome"] = "Succeeded"
    raw["metadata"]["annotations"] = {"quarterdeck/dispatch": record(operation=operation)}
    assert plan(SHOP, raw).steps


def test_nothing_is_deleted_while_a_trigger_has_it_resumed() -> None:
    with pytest.raises(Refused, match="by its trigger"):
        plan(SHOP, owned(kustomization(suspend=False), "gitops-reverser"))


def test_what_is_being_deleted_names_what_it_waits_for() -> None:
    raw = kustomization()
    raw["metadata"]["deletionTimestamp"] = "2026-03-01T09:00:00Z"
    with pytest.raises(Refused, match=r"is being deleted since .*; it waits for finalizers\.fluxcd\.io"):
        plan(SHOP, raw)


def test_who_makes_it_again_is_named() -> None:
    raw = kustomization()
    raw["metadata"]["labels"] = {
        "kustomize.toolkit.fluxcd.io/name": "fleet",
        "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
    }
    assert plan(SHOP, raw).effects[-1].startswith("Kustomization flux-system/fleet made flux-system/shop and makes it again")


def helm_release(**spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "redis", "namespace": "apps", "uid": "u1", "generation": 1, "finalizers": [FLUX_FINALIZER]},
        "spec": spec,
        "status": {"history": [{"name": "redis", "namespace": "apps"}]},
    }


def test_a_helm_release_is_uninstalled_unless_it_is_suspended() -> None:
    made = plan(RELEASE, helm_release())
    assert (made.effects[0][:45], made.strength) == ("The Helm release apps/redis is uninstalled wi", Strength.NAME)
    made = plan(RELEASE, helm_release(suspend=True))
    assert "stays installed" in made.effects[0]
    assert made.instead == Intent(verb="resume", targets=(RELEASE,))


def application(finalizers: list[str], **status: Any) -> dict[str, Any]:
    resources = [
        {"kind": "Deployment", "name": "web"},
        {"kind": "PersistentVolumeClaim", "name": "data"},
        {"kind": "Job", "hook": True},
    ]
    return {
        "metadata": {"name": "shop", "namespace": "argocd", "uid": "u1", "generation": 9, "finalizers": finalizers},
        "spec": {},
        "status": {"resources": resources, **status},
    }


def test_the_finalizer_of_an_application_decides_whether_it_cascades() -> None:
    made = plan(APP, application([]))
    assert "nothing cascades, 2 objects stay" in made.effects[0]
    assert made.strength is Strength.COUNT
    made = plan(APP, application([f"{ARGO_FINALIZER}/background"]))
    assert "Argo CD deletes 2 objects with it in the background: Deployment 1, PersistentVolumeClaim 1" in made.effects[0]
    assert made.deletes_state
    assert "generation" not in made.steps[0].precondition


def test_an_application_is_not_deleted_under_a_running_operation() -> None:
    with pytest.raises(Refused, match="under way"):
        plan(APP, application([], operationState={"phase": "Running"}))


def test_a_source_leaves_what_uses_it_behind() -> None:
    ref = Ref("atlas", "GitRepository", "flux-system", "shop", "u1")
    raw = {"metadata": {"name": "shop", "namespace": "flux-system", "uid": "u1", "generation": 1}, "spec": {}}
    assert "can't fetch anything new" in plan(ref, raw).effects[0]


def test_several_are_offered_something_better_only_if_it_is_the_same_for_all() -> None:
    other = Ref("atlas", "Kustomization", "flux-system", "other", "u1")
    suspended, running = owned(kustomization(suspend=True), "flux"), kustomization()
    both = plan_delete(Intent(verb="delete", targets=(SHOP, other)), {SHOP: suspended, other: running})
    assert (both.instead, both.confirmation) == (None, "atlas")
    both = plan_delete(Intent(verb="delete", targets=(SHOP, other)), {SHOP: suspended, other: suspended})
    assert both.instead == Intent(verb="resume", targets=(SHOP, other))
