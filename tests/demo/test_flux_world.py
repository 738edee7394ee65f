"""The simulated Flux and GitOps Reverser controllers do what the real ones do, in the same order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from console.demo.kube_store import Object
from console.demo.world import World
from tests.demo.conftest import NOW

REQUESTED_AT = "reconcile.fluxcd.io/requestedAt"


@pytest.fixture
def world() -> World:
    return World(7, NOW)


def kustomization(world: World, name: str) -> Object:
    found = world.clusters["atlas"].store.find("Kustomization", "flux-system", name)
    assert found is not None
    return found


def ready(obj: Object) -> tuple[str, str]:
    (found,) = [entry for entry in obj["status"]["conditions"] if entry["type"] == "Ready"]
    return found["status"], found["reason"]


def request(world: World, kind: str, name: str, token: str, suspend: bool | None = None) -> None:
    """Stamp a reconcile request (and perhaps set or remove suspend) as the flux CLI does."""
    cluster = world.clusters["atlas"]
    obj = cluster.store.find(kind, "flux-system", name)
    assert obj is not None

    def stamped(live: Object) -> Object:
        meta = {**live["metadata"], "annotations": {REQUESTED_AT: token}}
        spec = {key: value for key, value in live["spec"].items() if key != "suspend" or suspend is None}
        return {**live, "metadata": meta, "spec": {**spec, "suspend": True} if suspend else spec}

    cluster.change(obj, stamped, "flux")


def until(world: World, done: Callable[[], bool], seconds: float = 60) -> float:
    """Step the world until something is so; returns how long it took."""
    for step in range(int(seconds * 4)):
        if done():
            return step / 4
        world.step(0.25)
    raise AssertionError(f"not so after {seconds} s of the world")


def handled(world: World, name: str) -> str:
    return str(kustomization(world, name)["status"].get("lastHandledReconcileAt", ""))


def test_a_request_is_handled_after_a_pass_that_was_seen_running(world: World) -> None:
    request(world, "Kustomization", "search", "please")
    world.step(0.25)
    assert ready(kustomization(world, "search")) == ("Unknown", "Progressing")
    assert handled(world, "search") != "please"
    until(world, lambda: handled(world, "search") == "please")
    assert ready(kustomization(world, "search")) == ("True", "ReconciliationSucceeded")


def test_a_suspended_object_handles_its_token_without_applying(world: World) -> None:
    before = kustomization(world, "notifications")["status"]
    request(world, "Kustomization", "notifications", "please")
    until(world, lambda: handled(world, "notifications") == "please")
    after = kustomization(world, "notifications")["status"]
    assert after["lastAppliedRevision"] == before["lastAppliedRevision"]
    assert after["conditions"] == before["conditions"]


def test_resuming_applies_what_was_missed(world: World) -> None:
    before = kustomization(world, "notifications")["status"]["lastAppliedRevision"]
    request(world, "Kustomization", "notifications", "go on", suspend=False)
    until(world, lambda: handled(world, "notifications") == "go on")
    status = kustomization(world, "notifications")["status"]
    assert status["lastAppliedRevision"] != before
    assert status["history"][0]["metadata"]["revision"] == status["lastAppliedRevision"]
    assert status["observedGeneration"] == kustomization(world, "notifications")["metadata"]["generation"]


def test_a_failing_health_check_ends_the_pass_and_leaves_the_applied_revision(world: World) -> None:
    before = kustomization(world, "storefront")["status"]["lastAppliedRevision"]
    request(world, "Kustomization", "storefront", "again")
    until(world, lambda: handled(world, "storefront") == "again")
    after = kustomization(world, "storefront")
    assert ready(after) == ("False", "HealthCheckFailed")
    assert after["status"]["lastAppliedRevision"] == before
    assert after["status"]["lastAttemptedRevision"] != before


def test_a_wait_for_a_dependency_ends_at_once(world: World) -> None:
    request(world, "Kustomization", "reports", "please")
    until(world, lambda: handled(world, "reports") == "please", seconds=2)
    assert ready(kustomization(world, "reports")) == ("False", "DependencyNotReady")


def test_a_source_fetches_a_new_commit_and_its_kustomization_applies_it(world: World) -> None:
    store = world.clusters["atlas"].store

    def applied() -> bool:
        source = store.find("GitRepository", "flux-system", "search")
        assert source is not None
        status = kustomization(world, "search")["status"]
        return bool(status["lastAppliedRevision"] == source["status"]["artifact"]["revision"] != first)

    first = kustomization(world, "search")["status"]["lastAppliedRevision"]
    until(world, applied, seconds=120)


def test_a_failing_source_and_release_handle_their_requests_and_stay_failing(world: World) -> None:
    store = world.clusters["atlas"].store
    request(world, "Bucket", "assets", "please")
    release = store.find("HelmRelease", "platform", "redis")
    assert release is not None

    def stamped(live: Object) -> Object:
        return {**live, "metadata": {**live["metadata"], "annotations": {REQUESTED_AT: "please"}}}

    world.clusters["atlas"].change(release, stamped, "flux")

    def both() -> bool:
        objects: list[Any] = [store.find("Bucket", "flux-system", "assets"), store.find("HelmRelease", "platform", "redis")]
        return all(obj["status"].get("lastHandledReconcileAt") == "please" for obj in objects)

    until(world, both)
    for kind, namespace, name in (("Bucket", "flux-system", "assets"), ("HelmRelease", "platform", "redis")):
        obj = store.find(kind, namespace, name)
        assert obj is not None
        assert ready(obj)[0] == "False"


def test_a_held_trigger_records_resumes_follows_and_holds_again(world: World) -> None:
    store = world.clusters["atlas"].store
    seen: list[tuple[str, bool]] = []

    def outcome() -> str:
        trigger = store.find("FluxTrigger", "team-a", "payments")
        assert trigger is not None
        suspended = bool(kustomization(world, "payments")["spec"].get("suspend"))
        now = (str(trigger["status"]["operation"]["outcome"]), suspended)
        if not seen or seen[-1] != now:
            seen.append(now)
        return now[0]

    until(world, lambda: outcome() == "Requested", seconds=60)
    until(world, lambda: outcome() == "Succeeded", seconds=60)
    assert [entry[0] for entry in seen] == ["Succeeded", "Requested", "Running", "Settling", "Succeeded"]
    assert dict(seen)["Running"] is False
    assert dict(seen)["Settling"] is True
    trigger = store.find("FluxTrigger", "team-a", "payments")
    assert trigger is not None
    assert trigger["status"]["operation"]["appliedRevision"].endswith(trigger["status"]["operation"]["commit"])
