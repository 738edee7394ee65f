"""GitOps Reverser's objects as they come from a server, joined with what they name."""

from __future__ import annotations

from typing import Any

import pytest

from console.model.health import Health
from console.model.kubernetes import KubeObject, Trigger
from console.model.operations import Operation, State
from tests.backends.decoding import Cluster, Json, condition, kinds_of
from tests.backends.test_argo_objects import application
from tests.backends.test_flux_objects import SHA, kustomization, repository

CONFIGURED = (condition("Configured", "True", "Succeeded"), condition("Ready", "True", "Succeeded"))


def flux_trigger(*conditions: Json, operation: Json | None = None, **metadata: Any) -> Json:
    return {
        "kind": "FluxTrigger",
        "metadata": {"name": "shop", "namespace": "team-a", "uid": "t1", "generation": 1, **metadata},
        "spec": {
            "clusterProviderRef": {"group": "configbutler.ai", "kind": "ClusterProvider", "name": "default"},
            "kustomizationRef": {"namespace": "flux-system", "name": "shop"},
        },
        "status": {
            "conditions": list(conditions or CONFIGURED),
            "observedGeneration": 1,
            **({"operation": operation} if operation else {}),
        },
    }


def record(outcome: str, **more: Any) -> Json:
    return {
        "token": "t",
        "commit": "c" * 40,
        "reason": "ForeignCommit",
        "outcome": outcome,
        "requestedAt": "2026-03-01T10:00:00Z",
        **more,
    }


def trigger(*objects: Json) -> Trigger:
    cluster = Cluster()
    cluster.put(*objects)
    found = cluster.one("FluxTrigger")
    assert isinstance(found, Trigger)
    return found


def test_a_trigger_shows_what_its_kustomization_shows_as_soon_as_it_is_known() -> None:
    cluster = Cluster()
    cluster.put(flux_trigger())
    alone = cluster.one("FluxTrigger")
    assert isinstance(alone, Trigger)
    assert (alone.health, alone.wanted, alone.source) == (Health.UNKNOWN, "", "")
    assert alone.applier is not None
    assert alone.applier.uid == ""
    cluster.put(kustomization(), repository())
    joined = cluster.one("FluxTrigger")
    assert isinstance(joined, Trigger)
    assert (joined.health, joined.wanted, joined.applied, joined.branch) == (Health.OK, SHA, SHA, "main")
    assert joined.applier is not None
    assert joined.applier.uid == "k1"


def test_a_change_of_the_source_reaches_the_trigger_through_its_kustomization_and_nobody_else() -> None:
    cluster = Cluster()
    other = {**kustomization(), "metadata": {"name": "other", "namespace": "flux-system", "uid": "k2"}, "spec": {}}
    cluster.put(repository(), kustomization(), other, flux_trigger())
    cluster.changes.clear()
    cluster.put(repository(f"main@sha1:{'d' * 40}"))
    assert kinds_of(cluster.changes) == ["+GitRepository/shop", "+Kustomization/shop", "+FluxTrigger/shop"]


def test_a_kustomization_that_goes_leaves_a_trigger_that_says_so() -> None:
    cluster = Cluster()
    cluster.put(repository(), kustomization(), flux_trigger())
    cluster.drop(kustomization())
    found = cluster.one("FluxTrigger")
    assert found.health is Health.UNKNOWN
    assert "can't be seen" in found.reason


@pytest.mark.parametrize(
    ("outcome", "state", "health"),
    [
        ("Requested", State.PENDING, Health.BUSY),
        ("Running", State.RUNNING, Health.BUSY),
        ("Settling", State.WAITING, Health.BUSY),
        ("Succeeded", State.SUCCEEDED, Health.OK),
        ("Failed", State.FAILED, Health.BAD),
        ("Unresolved", State.UNKNOWN, Health.UNKNOWN),
    ],
)
def test_the_recorded_operation_is_shown_with_its_outcome(outcome: str, state: State, health: Health) -> None:
    cluster = Cluster()
    cluster.put(repository(), kustomization(), flux_trigger(operation=record(outcome, message="said so")))
    found = cluster.one("Operation")
    assert isinstance(found, Operation)
    assert (found.state, found.why, found.commit) == (state, "ForeignCommit", "c" * 40)
    assert cluster.one("FluxTrigger").health is health


def test_while_an_operation_is_in_flight_its_commit_is_the_wanted_one() -> None:
    assert trigger(repository(), kustomization(), flux_trigger(operation=record("Running"))).wanted == "c" * 40
    assert trigger(repository(), kustomization(), flux_trigger(operation=record("Succeeded"))).wanted == SHA


def test_a_trigger_that_is_refused_or_held_by_another_says_why() -> None:
    message = "Kustomization flux-system/shop is held by FluxTrigger team-b/shop; this trigger takes over when that one lets go"
    found = trigger(kustomization(), flux_trigger(condition("Configured", "False", "HeldByAnotherTrigger", message)))
    assert (found.health, found.held_by) == (Health.BAD, "FluxTrigger team-b/shop")


@pytest.mark.scenario("dispatch:J1")
def test_a_trigger_that_nothing_names_is_at_rest_and_holds_nothing() -> None:
    unused = condition("Configured", "Unknown", "NotReferenced", "no GitTarget names the trigger")
    seen = trigger(kustomization(), flux_trigger(unused, condition("Ready", "True")))
    assert (seen.health, seen.held) == (Health.OK, False)
    assert "No GitTarget names" in seen.reason


def test_a_trigger_that_is_not_decided_yet_is_unknown() -> None:
    undecided = condition("Configured", "Unknown", "NotBound", "team-a/shop: its GitProvider is missing")
    assert trigger(kustomization(), flux_trigger(undecided, condition("Ready", "True"))).health is Health.UNKNOWN


def test_the_finalizer_means_that_the_trigger_holds_its_kustomization() -> None:
    found = trigger(kustomization(spec={"suspend": True}), flux_trigger(finalizers=["configbutler.ai/kustomization-hold"]))
    assert (found.held, found.suspended) == (True, True)
    assert found.health is Health.OK, "holding is what it is for"


def test_an_argocd_trigger_follows_its_application() -> None:
    cluster = Cluster()
    body = flux_trigger()
    body |= {"kind": "ArgoCDTrigger", "spec": {"applicationRef": {"namespace": "argocd", "name": "shop"}}}
    cluster.put(body, application("OutOfSync", spec={"syncPolicy": {"automated": {}}}))
    found = cluster.one("ArgoCDTrigger")
    assert isinstance(found, Trigger)
    assert (found.automated, found.sync, found.health) == (True, "OutOfSync", Health.WARN)
    assert found.reason == "Application shop: The cluster differs from the source."


def test_a_git_target_names_its_provider_and_its_trigger() -> None:
    cluster = Cluster()
    cluster.put(
        {
            "kind": "GitTarget",
            "metadata": {"name": "shop", "namespace": "team-a", "uid": "gt"},
            "spec": {
                "providerRef": {"kind": "GitProvider", "name": "forge"},
                "branch": "main",
                "path": "apps/shop",
                "applyTriggerRef": {"kind": "FluxTrigger", "name": "shop"},
            },
            "status": {
                "conditions": [
                    condition("Ready", "True"),
                    condition("ApplyTriggerReady", "False", "SourceMismatch", "other url"),
                ]
            },
        },
        {
            "kind": "GitProvider",
            "metadata": {"name": "forge", "namespace": "team-a", "uid": "gp"},
            "spec": {"url": "https://git.example.test/shop.git", "allowedBranches": ["main"]},
        },
    )
    found = cluster.one("GitTarget")
    assert isinstance(found, KubeObject)
    assert found.summary == "https://git.example.test/shop.git@main apps/shop"
    assert (found.health, found.reason) == (Health.WARN, "Other url.")
    assert [ref.kind for ref in found.related] == ["GitProvider", "FluxTrigger", "ClusterProvider"]
