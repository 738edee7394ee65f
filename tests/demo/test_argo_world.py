"""The simulated Argo CD controller and the rollouts of Deployments."""

from __future__ import annotations

import pytest

from console.demo.argo_controller import REFRESH
from console.demo.kube_store import Object
from console.demo.kubelet import is_ready
from console.demo.set_controller import REVISION, pods_of
from console.demo.world import World
from tests.demo.conftest import NOW
from tests.demo.test_flux_world import until


@pytest.fixture
def world() -> World:
    return World(7, NOW)


def app(world: World, name: str) -> Object:
    found = world.clusters["borealis"].store.find("Application", "argocd", name)
    assert found is not None
    return found


def sync(world: World, name: str, **operation: object) -> None:
    cluster = world.clusters["borealis"]
    cluster.change(app(world, name), lambda live: {**live, "operation": {"sync": {}, **operation}}, "console")


def pods(world: World, cluster: str, namespace: str, name: str) -> list[Object]:
    found = world.clusters[cluster].store.all("Pod", namespace)
    return [pod for pod in found if pod["metadata"]["labels"]["app"] == name]


def test_an_operation_is_copied_runs_and_is_taken_away_when_done(world: World) -> None:
    wanted = app(world, "payments-eu")["status"]["sync"]["revision"]
    info = [{"name": "request", "value": "one"}]
    sync(world, "payments-eu", info=info, sync={"revision": wanted})
    world.step(0.25)
    running = app(world, "payments-eu")
    assert running["status"]["operationState"]["phase"] == "Running"
    assert running["status"]["operationState"]["operation"]["info"] == info
    assert running["operation"]["info"] == info
    until(world, lambda: app(world, "payments-eu")["status"]["operationState"]["phase"] == "Succeeded")
    done = app(world, "payments-eu")
    assert "operation" not in done
    assert done["status"]["operationState"]["syncResult"]["revision"] == wanted
    assert done["status"]["sync"]["status"] == "Synced"
    assert done["status"]["history"][-1]["revision"] == wanted
    until(world, lambda: app(world, "payments-eu")["status"]["health"]["status"] == "Healthy")


def test_an_older_revision_can_be_synced_and_is_then_out_of_sync(world: World) -> None:
    older = app(world, "catalog-eu")["status"]["history"][0]["revision"]
    sync(world, "catalog-eu", sync={"revision": older})
    until(world, lambda: app(world, "catalog-eu")["status"]["history"][-1]["revision"] == older)
    assert app(world, "catalog-eu")["status"]["sync"]["status"] == "OutOfSync"


def test_a_failing_operation_fails_again_with_its_message(world: World) -> None:
    message = app(world, "analytics")["status"]["operationState"]["message"]
    sync(world, "analytics")
    until(world, lambda: "operation" not in app(world, "analytics"))
    state = app(world, "analytics")["status"]["operationState"]
    assert (state["phase"], state["message"]) == ("Failed", message)


def test_a_terminated_operation_fails(world: World) -> None:
    sync(world, "catalog-eu")
    world.step(0.5)

    def terminated(live: Object) -> Object:
        state = {**live["status"]["operationState"], "phase": "Terminating"}
        return {**live, "status": {**live["status"], "operationState": state}}

    world.clusters["borealis"].change(app(world, "catalog-eu"), terminated, "console")
    world.step(0.5)
    after = app(world, "catalog-eu")
    assert after["status"]["operationState"]["phase"] == "Failed"
    assert "operation" not in after


def test_a_refresh_request_is_taken_away_when_the_comparison_is_done(world: World) -> None:
    before = app(world, "catalog-eu")["status"]["reconciledAt"]

    def asked(live: Object) -> Object:
        return {**live, "metadata": {**live["metadata"], "annotations": {REFRESH: "normal", "other": "kept"}}}

    world.clusters["borealis"].change(app(world, "catalog-eu"), asked, "console")
    until(world, lambda: REFRESH not in app(world, "catalog-eu")["metadata"].get("annotations", {}))
    after = app(world, "catalog-eu")
    assert after["metadata"]["annotations"] == {"other": "kept"}
    assert after["status"]["reconciledAt"] > before


def test_an_automated_application_syncs_a_new_commit_by_itself(world: World) -> None:
    first = app(world, "storefront-eu")["status"]["sync"]["revision"]
    until(world, lambda: app(world, "storefront-eu")["status"]["sync"]["revision"] != first)
    until(world, lambda: app(world, "storefront-eu")["status"]["sync"]["status"] == "Synced")
    assert app(world, "storefront-eu")["status"]["operationState"]["operation"]["initiatedBy"] == {"automated": True}


def change_template(world: World, name: str, image: str) -> None:
    cluster = world.clusters["atlas"]
    deployment = cluster.store.find("Deployment", "storefront", name)
    assert deployment is not None

    def changed(live: Object) -> Object:
        template = live["spec"]["template"]
        (container,) = template["spec"]["containers"]
        spec = {**template["spec"], "containers": [{**container, "image": image}]}
        return {**live, "spec": {**live["spec"], "template": {**template, "spec": spec}}}

    cluster.change(deployment, changed, "console")


def test_a_rollout_replaces_all_pods_and_is_never_without_one(world: World) -> None:
    before = {pod["metadata"]["name"] for pod in pods(world, "atlas", "storefront", "cart")}
    change_template(world, "cart", "registry.example.test/shop/cart:2.8")

    def done() -> bool:
        now = pods(world, "atlas", "storefront", "cart")
        assert any(is_ready(pod) for pod in now)
        names = {pod["metadata"]["name"] for pod in now}
        return len(names) == 2 and names.isdisjoint(before) and all(is_ready(pod) for pod in now)

    until(world, done)
    deployment = world.clusters["atlas"].store.find("Deployment", "storefront", "cart")
    assert deployment is not None
    until(world, lambda: "unavailableReplicas" not in _status(world, "cart"))
    assert _status(world, "cart")["updatedReplicas"] == 2


def test_an_image_that_can_not_be_pulled_leaves_old_pods_serving(world: World) -> None:
    change_template(world, "cart", "registry.example.test/shop/cart:nope")
    world.step(20)
    now = pods(world, "atlas", "storefront", "cart")
    reasons = [pod["status"]["containerStatuses"][0]["state"].get("waiting", {}).get("reason") for pod in now]
    assert None in reasons
    assert "ImagePullBackOff" in reasons


def test_a_deleted_pod_comes_back(world: World) -> None:
    cluster = world.clusters["atlas"]
    gone = pods(world, "atlas", "storefront", "cart")[0]["metadata"]["name"]
    cluster.store.remove(cluster.store.by_word["Pod"], "storefront", gone)

    def replaced() -> bool:
        now = pods(world, "atlas", "storefront", "cart")
        return len(now) == 2 and all(is_ready(pod) for pod in now)

    until(world, replaced)


def test_scaling_a_deployment_changes_its_pods(world: World) -> None:
    cluster = world.clusters["atlas"]
    for count in (4, 0, 1):
        deployment = cluster.store.find("Deployment", "storefront", "cart")
        assert deployment is not None
        cluster.change(deployment, lambda live, n=count: {**live, "spec": {**live["spec"], "replicas": n}}, "console")  # type: ignore[misc]
        until(world, lambda n=count: len(pods(world, "atlas", "storefront", "cart")) == n)  # type: ignore[misc]


def _status(world: World, name: str) -> Object:
    deployment = world.clusters["atlas"].store.find("Deployment", "storefront", name)
    assert deployment is not None
    status: Object = deployment["status"]
    return status


def set_pods(world: World, word: str, namespace: str, name: str) -> dict[str, str]:
    """The pods of a set by name, with their revision; all must be ready but one."""
    cluster = world.clusters["atlas"]
    owner = cluster.store.find(word, namespace, name)
    assert owner is not None
    found = pods_of(cluster, owner)
    assert sum(not is_ready(pod) for pod in found) <= 1
    return {pod["metadata"]["name"]: pod["metadata"]["labels"][REVISION] for pod in found if is_ready(pod)}


@pytest.mark.parametrize(
    ("word", "namespace", "name", "count"),
    [("StatefulSet", "payments", "postgres", 2), ("DaemonSet", "observability", "node-agent", 3)],
)
def test_a_restarted_set_replaces_its_pods_in_their_places_one_at_a_time(
    world: World, word: str, namespace: str, name: str, count: int
) -> None:
    cluster = world.clusters["atlas"]
    before = set_pods(world, word, namespace, name)
    owner = cluster.store.find(word, namespace, name)
    assert owner is not None

    def restarted(live: Object) -> Object:
        template = live["spec"]["template"]
        meta = {**template["metadata"], "annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}
        return {**live, "spec": {**live["spec"], "template": {**template, "metadata": meta}}}

    cluster.change(owner, restarted, "console")

    def done() -> bool:
        now = set_pods(world, word, namespace, name)
        return now.keys() == before.keys() and not set(now.values()) & set(before.values())

    assert len(before) == count
    until(world, done)
    after = cluster.store.find(word, namespace, name)
    assert after is not None
    until(world, lambda: after["status"]["observedGeneration"] >= 1)


def test_a_stateful_set_scales_by_its_last_places(world: World) -> None:
    cluster = world.clusters["atlas"]
    for count in (4, 1):
        owner = cluster.store.find("StatefulSet", "payments", "postgres")
        assert owner is not None
        cluster.change(owner, lambda live, n=count: {**live, "spec": {**live["spec"], "replicas": n}}, "console")  # type: ignore[misc]
        names = {f"postgres-{index}" for index in range(count)}
        until(world, lambda wanted=names: set_pods(world, "StatefulSet", "payments", "postgres").keys() == wanted)  # type: ignore[misc]
