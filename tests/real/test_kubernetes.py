"""The API server of the harness behaves as a cluster's: access rules, conflicts, expired watches, faults."""

import json

import httpx
import pytest

from tests.real import fleet
from tests.real.kube import KubeServer
from tests.real.kube_client import Refused
from tests.real.processes import wait_until


def test_a_whole_fleet_can_be_written_with_its_status(kube: KubeServer, namespace: str) -> None:
    for body in fleet.fleet(namespace):
        kube.client.put(body)
    broken = kube.client.get(fleet.FLUX_KUSTOMIZE, "Kustomization", namespace, "shop-front")
    assert broken["status"]["conditions"][0]["message"] == "health check failed"
    assert kube.client.get(fleet.ARGO, "Application", namespace, "ledger")["status"]["health"]["status"] == "Degraded"
    assert len(kube.client.all("v1", "Pod", namespace)) == 2


def test_a_user_reads_only_what_was_granted(kube: KubeServer, namespace: str) -> None:
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]
    kube.client.grant("viewer", rules, namespace)
    with kube.http("viewer") as viewer:
        path = f"/api/v1/namespaces/{namespace}/pods"
        wait_until(lambda: viewer.get(path).status_code == 200, "the grant holds")
        assert viewer.get(f"/api/v1/namespaces/{namespace}/secrets").status_code == 403


def test_two_field_managers_conflict_over_a_value(kube: KubeServer, namespace: str) -> None:
    kube.client.apply(_bare(fleet.kustomization(namespace, suspend=False)), "kustomize-controller")
    with pytest.raises(Refused) as refusal:
        kube.client.apply(_bare(fleet.kustomization(namespace, suspend=True)), "console", force=False)
    assert refusal.value.status == 409


def test_objects_survive_the_death_of_both_servers(kube: KubeServer, namespace: str) -> None:
    kube.client.put(fleet.pod(namespace, "survivor"))
    kube.kill()
    kube.mend()
    assert kube.client.get("v1", "Pod", namespace, "survivor")["status"]["phase"] == "Running"


def test_a_hung_server_accepts_and_never_answers(kube: KubeServer) -> None:
    kube.hang()
    with kube.http(timeout=1) as client, pytest.raises(httpx.TimeoutException):
        client.get("/readyz")
    kube.unhang()
    wait_until(kube.ready, "the server is ready again")


def test_a_watch_from_a_forgotten_revision_is_told_that_it_is_gone(kube: KubeServer, namespace: str) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "tick", "namespace": namespace}, "data": {"n": "0"}}
    first = kube.client.apply(body)["metadata"]["resourceVersion"]
    kube.client.apply({**body, "data": {"n": "1"}})
    kube.forget_history()
    query = {"watch": "1", "resourceVersion": first, "timeoutSeconds": "20"}
    answer = kube.client.http.get(f"/api/v1/namespaces/{namespace}/configmaps", params=query)
    event = json.loads(answer.text.splitlines()[0])
    assert (answer.status_code, event["type"], event["object"]["code"]) == (200, "ERROR", 410)


def test_a_kubeconfig_with_a_client_certificate_names_the_user(kube: KubeServer) -> None:
    text = kube.kubeconfig("operator", certificate=True).read_text()
    assert "client-certificate-data" in text
    assert kube.token("operator") not in text


def test_an_immutable_field_of_a_target_stays(kube: KubeServer, namespace: str) -> None:
    target = fleet.git_target(namespace, cluster=namespace)
    kube.client.put(target)
    with pytest.raises(Refused, match="branch is immutable"):
        kube.client.merge(target, {"spec": {"branch": "other"}})


def _bare(body: dict[str, object]) -> dict[str, object]:
    """The object without its status, as an apply of the spec wants it."""
    return {key: value for key, value in body.items() if key != "status"}
