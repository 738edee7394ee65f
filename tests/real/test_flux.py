"""The real kustomize-controller applies, is held, and obeys a request, as the console's holds rely on."""

import yaml

from tests.real import fleet
from tests.real.flux import FluxLab
from tests.real.processes import wait_until

FIRST, SECOND = "1" * 40, "2" * 40


def _files(namespace: str, colour: str) -> dict[str, str]:
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "paint", "namespace": namespace},
        "data": {"colour": colour},
    }
    return {"shop/map.yaml": yaml.safe_dump(body)}


def _colour(flux: FluxLab, namespace: str) -> str:
    found = flux.kube.client.find("v1", "ConfigMap", namespace, "paint")
    return str(found["data"]["colour"]) if found else ""


def _bare_kustomization(namespace: str) -> dict[str, object]:
    return {key: value for key, value in fleet.kustomization(namespace).items() if key != "status"}


def test_a_published_commit_is_applied(flux: FluxLab) -> None:
    namespace = flux.kube.namespace()
    flux.publish(namespace, "shop", _files(namespace, "blue"), FIRST)
    flux.kube.client.apply(_bare_kustomization(namespace))
    flux.wait_applied(namespace, "shop", FIRST)
    assert _colour(flux, namespace) == "blue"


def test_a_suspended_kustomization_waits_until_it_is_resumed(flux: FluxLab) -> None:
    namespace = flux.kube.namespace()
    flux.publish(namespace, "shop", _files(namespace, "blue"), FIRST)
    body = _bare_kustomization(namespace)
    flux.kube.client.apply(body)
    flux.wait_applied(namespace, "shop", FIRST)
    flux.kube.client.merge(body, {"spec": {"suspend": True}})
    flux.publish(namespace, "shop", _files(namespace, "red"), SECOND)
    # A second Kustomization of the same source that has applied shows that the controller has seen the commit.
    other = _bare_kustomization(namespace)
    other["metadata"] = {"name": "witness", "namespace": namespace}
    other["spec"] = {**fleet.kustomization(namespace)["spec"], "path": "./witness"}
    flux.publish(namespace, "shop", {**_files(namespace, "red"), **_witness(namespace)}, SECOND)
    flux.kube.client.apply(other)
    flux.wait_applied(namespace, "witness", SECOND)
    assert _colour(flux, namespace) == "blue"
    flux.kube.client.merge(body, {"spec": {"suspend": None}})
    wait_until(lambda: _colour(flux, namespace) == "red", "the held commit is applied", 60)


def _witness(namespace: str) -> dict[str, str]:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "witness", "namespace": namespace}}
    return {"witness/map.yaml": yaml.safe_dump(body)}


def test_a_request_annotation_is_handled_and_said_so(flux: FluxLab) -> None:
    namespace = flux.kube.namespace()
    flux.publish(namespace, "shop", _files(namespace, "blue"), FIRST)
    body = _bare_kustomization(namespace)
    flux.kube.client.apply(body)
    flux.wait_applied(namespace, "shop", FIRST)
    flux.kube.client.merge(body, {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "token-1"}}})

    def handled() -> bool:
        return bool(flux.kustomization(namespace, "shop")["status"].get("lastHandledReconcileAt") == "token-1")

    wait_until(handled, "the request is handled", 60)


def test_a_dead_controller_comes_back_to_what_was_published_meanwhile(flux: FluxLab) -> None:
    namespace = flux.kube.namespace()
    flux.publish(namespace, "shop", _files(namespace, "blue"), FIRST)
    flux.kube.client.apply(_bare_kustomization(namespace))
    flux.wait_applied(namespace, "shop", FIRST)
    flux.kill()
    flux.publish(namespace, "shop", _files(namespace, "red"), SECOND)
    flux.start()
    flux.wait_applied(namespace, "shop", SECOND)
    assert _colour(flux, namespace) == "red"
