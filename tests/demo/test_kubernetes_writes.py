"""What the simulated API server does with writes, besides ownership (that is tested beside the real server)."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

HERE = "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations"
APPS = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications"
DEPLOYMENTS = "/apis/apps/v1/namespaces/storefront/deployments"
SPEC = {"interval": "1m", "prune": True, "sourceRef": {"kind": "GitRepository", "name": "fleet"}}
MERGE = {"Content-Type": "application/merge-patch+json"}
NO_FINALIZERS = {"metadata": {"finalizers": None}}


async def merge(client: httpx.AsyncClient, path: str, patch: dict[str, Any], **params: str) -> httpx.Response:
    return await client.patch(path, json=patch, headers=MERGE, params=params)


async def test_creating_gives_identity_and_the_same_name_again_is_refused(atlas: httpx.AsyncClient) -> None:
    body = {"metadata": {"name": "fresh"}, "spec": SPEC, "status": {"lastAppliedRevision": "ignored"}}
    made = await atlas.post(HERE, json=body)
    assert made.status_code == 201
    meta = made.json()["metadata"]
    assert meta["uid"]
    assert meta["generation"] == 1
    assert "status" not in made.json()
    again = await atlas.post(HERE, json=body)
    assert (again.status_code, again.json()["reason"]) == (409, "AlreadyExists")


async def test_an_object_made_again_under_its_name_has_another_uid(atlas: httpx.AsyncClient) -> None:
    before = (await merge(atlas, f"{HERE}/search", NO_FINALIZERS)).json()["metadata"]["uid"]
    await atlas.delete(f"{HERE}/search")
    after = await atlas.post(HERE, json={"metadata": {"name": "search"}, "spec": SPEC})
    assert after.json()["metadata"]["uid"] != before


async def test_names_can_be_generated(atlas: httpx.AsyncClient) -> None:
    names = set()
    for _ in range(2):
        made = await atlas.post("/api/v1/namespaces/payments/configmaps", json={"metadata": {"generateName": "cm-"}})
        names.add(made.json()["metadata"]["name"])
    assert len(names) == 2
    assert all(name.startswith("cm-") for name in names)


async def test_required_fields_are_required(atlas: httpx.AsyncClient) -> None:
    made = await atlas.post(HERE, json={"metadata": {"name": "fresh"}, "spec": {"interval": "1m"}})
    assert made.status_code == 422
    assert {cause["field"] for cause in made.json()["details"]["causes"]} == {"spec.prune", "spec.sourceRef"}


@pytest.mark.parametrize(
    ("precondition", "value", "expected"),
    [("uid", "another", 409), ("resourceVersion", "1", 409), ("uid", "", 200), ("resourceVersion", "", 200)],
)
async def test_a_deletion_keeps_its_preconditions(
    atlas: httpx.AsyncClient, precondition: str, value: str, expected: int
) -> None:
    live = (await merge(atlas, f"{HERE}/search", NO_FINALIZERS)).json()["metadata"]
    options = {"preconditions": {precondition: value or live[precondition]}}
    assert (await atlas.request("DELETE", f"{HERE}/search", json=options)).status_code == expected
    assert (await atlas.get(f"{HERE}/search")).status_code == (404 if expected == 200 else 200)


async def test_a_finalizer_holds_a_deleted_object_until_it_is_taken_away(atlas: httpx.AsyncClient) -> None:
    path = "/apis/configbutler.ai/v1alpha3/namespaces/team-a/fluxtriggers/payments"
    left = (await atlas.delete(path)).json()
    assert left["metadata"]["deletionTimestamp"]
    assert (await atlas.get(path)).status_code == 200
    await merge(atlas, path, {"metadata": {"finalizers": None}})
    assert (await atlas.get(path)).status_code == 404


async def test_only_changes_of_the_spec_raise_the_generation(atlas: httpx.AsyncClient) -> None:
    before = (await atlas.get(f"{HERE}/search")).json()["metadata"]["generation"]
    labelled = await merge(atlas, f"{HERE}/search", {"metadata": {"labels": {"a": "b"}}})
    assert labelled.json()["metadata"]["generation"] == before
    suspended = await merge(atlas, f"{HERE}/search", {"spec": {"suspend": True}})
    assert suspended.json()["metadata"]["generation"] == before + 1


async def test_an_application_has_no_status_of_its_own(borealis: httpx.AsyncClient) -> None:
    live = (await borealis.get(f"{APPS}/payments-eu")).json()
    assert (await merge(borealis, f"{APPS}/payments-eu/status", {"status": {"x": 1}})).status_code == 404
    after = await merge(borealis, f"{APPS}/payments-eu", {"status": {"reconciledAt": "2026-01-01T00:00:00Z"}})
    assert after.json()["metadata"]["generation"] == live["metadata"]["generation"] + 1


async def test_unknown_patch_types_and_methods_are_refused(atlas: httpx.AsyncClient) -> None:
    odd = await atlas.patch(f"{HERE}/search", json={}, headers={"Content-Type": "application/json"})
    assert odd.status_code == 415
    strategic = {"Content-Type": "application/strategic-merge-patch+json"}
    assert (await atlas.patch(f"{HERE}/search", json={}, headers=strategic)).status_code == 415
    assert (await atlas.post(f"{HERE}/search", json={})).status_code == 405


@pytest.mark.parametrize("body", [b"{", b"[]", b'"text"'])
async def test_a_body_that_is_no_object_is_a_bad_request(atlas: httpx.AsyncClient, body: bytes) -> None:
    assert (await atlas.post(HERE, content=body)).status_code == 400


async def test_scaling_goes_through_the_scale_subresource(atlas: httpx.AsyncClient) -> None:
    scale = (await atlas.get(f"{DEPLOYMENTS}/cart/scale")).json()
    assert scale["spec"]["replicas"] == 2
    guard = {"resourceVersion": scale["metadata"]["resourceVersion"]}
    changed = await merge(atlas, f"{DEPLOYMENTS}/cart/scale", {"metadata": guard, "spec": {"replicas": 5}})
    assert changed.json()["spec"]["replicas"] == 5
    assert (await atlas.get(f"{DEPLOYMENTS}/cart")).json()["spec"]["replicas"] == 5
    stale = await merge(atlas, f"{DEPLOYMENTS}/cart/scale", {"metadata": guard, "spec": {"replicas": 1}})
    assert stale.status_code == 409


async def test_a_strategic_patch_merges_containers_by_name(atlas: httpx.AsyncClient) -> None:
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "cart", "image": "registry.example.test/shop/cart:9"}]}}}}
    strategic = {"Content-Type": "application/strategic-merge-patch+json"}
    after = (await atlas.patch(f"{DEPLOYMENTS}/cart", json=patch, headers=strategic)).json()
    (container,) = after["spec"]["template"]["spec"]["containers"]
    assert container["image"].endswith("cart:9")
    assert container["ports"]


async def test_two_appliers_own_their_containers_fields(atlas: httpx.AsyncClient) -> None:
    container = {"name": "cart", "image": "registry.example.test/shop/cart:9"}
    config = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    headers = {"Content-Type": "application/apply-patch+yaml"}
    refused = await atlas.patch(f"{DEPLOYMENTS}/cart", json=config, headers=headers, params={"fieldManager": "console"})
    assert refused.status_code == 409
    fields = [cause["field"] for cause in refused.json()["details"]["causes"]]
    assert fields == ['.spec.template.spec.containers[name="cart"].image']


async def test_a_dry_run_deletes_nothing(atlas: httpx.AsyncClient) -> None:
    assert (await atlas.delete(f"{HERE}/search", params={"dryRun": "All"})).status_code == 200
    assert (await atlas.get(f"{HERE}/search")).status_code == 200
