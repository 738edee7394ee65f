"""Plans for Flux objects: bound to what was read, refused where unlawful, explained."""

from __future__ import annotations

from typing import Any

import pytest

from console.backends.flux_writes import SOURCES, flux_verbs, plan_flux
from console.backends.kube_deletes import plan_delete
from console.backends.kube_plans import REQUESTED_AT
from console.errors import Refused
from console.model.plan import Intent, Plan, Strength
from console.model.refs import Ref

SHOP = Ref("atlas", "Kustomization", "flux-system", "shop", "u1")
SOURCE = Ref("atlas", "GitRepository", "flux-system", "shop", "u2")


def kustomization(**spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "shop", "namespace": "flux-system", "uid": "u1", "generation": 3, "resourceVersion": "90"},
        "spec": {"sourceRef": {"kind": "GitRepository", "name": "shop"}, **spec},
    }


def owned_by(manager: str, raw: dict[str, Any]) -> dict[str, Any]:
    raw["metadata"]["managedFields"] = [{"manager": manager, "operation": "Apply", "fieldsV1": {"f:spec": {"f:suspend": {}}}}]
    return raw


def plan(verb: str, raw: dict[str, Any], sources: dict[Ref, dict[str, Any]] | None = None) -> Plan:
    return plan_flux(Intent(verb=verb, targets=(SHOP,)), {SHOP: raw}, sources or {})


def test_suspending_binds_to_uid_generation_and_the_value_that_was_read() -> None:
    made = plan("suspend", kustomization())
    (step,) = made.steps
    assert step.precondition == {"uid": "u1", "generation": "3", "spec.suspend": "absent"}
    assert [(change.path, change.before, change.after) for change in step.changes] == [("spec.suspend", "absent", "true")]
    assert made.undo == Intent(verb="resume", targets=(SHOP,))
    assert made.strength is Strength.KEY


def test_resuming_takes_the_field_away_as_flux_does() -> None:
    (step,) = plan("resume", owned_by("flux", kustomization(suspend=True))).steps
    assert step.request["patch"] == {"spec": {"suspend": None}}
    assert step.changes[0].owner == "flux"


def test_what_is_so_already_needs_nothing() -> None:
    assert plan("suspend", kustomization(suspend=True)).nothing == "flux-system/shop is already suspended"
    assert plan("resume", kustomization()).nothing == "flux-system/shop is already not suspended"


def test_a_suspension_that_stands_in_git_is_not_fought() -> None:
    with pytest.raises(Refused, match="kept by kustomize-controller"):
        plan("resume", owned_by("kustomize-controller", kustomization(suspend=True)))


@pytest.mark.parametrize("verb", ["reconcile", "reconcile-with-source"])
def test_a_suspended_object_is_not_asked_to_reconcile(verb: str) -> None:
    with pytest.raises(Refused, match="suspended by flux"):
        plan(verb, owned_by("flux", kustomization(suspend=True)))


def test_reconciling_with_source_fetches_first() -> None:
    source = {"metadata": {"name": "shop", "namespace": "flux-system", "uid": "u2"}, "spec": {}}
    fetch, apply = plan("reconcile-with-source", kustomization(), {SOURCE: source}).steps
    assert (fetch.ref, apply.ref) == (SOURCE, SHOP)
    assert apply.after == (fetch.key,)


def test_a_suspended_source_is_named() -> None:
    source = {"metadata": {"name": "shop", "uid": "u2"}, "spec": {"suspend": True}}
    with pytest.raises(Refused, match="GitRepository flux-system/shop is suspended"):
        plan("reconcile-with-source", kustomization(), {SOURCE: source})


def test_a_request_has_the_same_hash_a_minute_later() -> None:
    first, second = plan("reconcile", kustomization()), plan("reconcile", kustomization())
    assert first.hash == second.hash
    assert first.steps[0].request["patch"] == {"metadata": {"annotations": {REQUESTED_AT: "<time of the call>"}}}


def test_an_object_made_again_is_refused() -> None:
    raw = kustomization()
    raw["metadata"]["uid"] = "other"
    with pytest.raises(Refused, match="deleted and made again"):
        plan("suspend", raw)


def test_force_of_a_helm_release_asks_with_both_annotations() -> None:
    ref = Ref("atlas", "HelmRelease", "apps", "redis", "u3")
    raw = {"metadata": {"name": "redis", "namespace": "apps", "uid": "u3"}, "spec": {}}
    (step,) = plan_flux(Intent(verb="force", targets=(ref,)), {ref: raw}, {}).steps
    assert [change.path.rpartition("/")[2] for change in step.changes] == ["requestedAt", "forceAt"]


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_is_suspended_resumed_fetched_and_deleted(kind: str) -> None:
    ref = Ref("atlas", kind, "flux-system", "shop", "u4")
    raw = {"kind": kind, "metadata": {"name": "shop", "namespace": "flux-system", "uid": "u4"}, "spec": {}}
    assert flux_verbs(kind) == ("suspend", "resume", "reconcile")
    for verb in ("suspend", "reconcile"):
        assert plan_flux(Intent(verb=verb, targets=(ref,)), {ref: raw}, {}).steps
    assert plan_delete(Intent(verb="delete", targets=(ref,)), {ref: raw}).steps[0].kind == "delete"


def test_an_argument_that_no_flux_verb_knows_is_refused() -> None:
    with pytest.raises(Refused, match="takes no force"):
        plan_flux(Intent(verb="reconcile", targets=(SHOP,), arguments={"force": "true"}), {SHOP: kustomization()}, {})
