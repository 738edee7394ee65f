"""What the simulated API server answers to those who read."""

from __future__ import annotations

import httpx
import pytest

from console.demo.fleet import DemoFleet
from tests.demo.conftest import client_of
from tests.demo.watching import streaming

FLUX = "/apis/kustomize.toolkit.fluxcd.io/v1"
ALL = f"{FLUX}/kustomizations"
HERE = f"{FLUX}/namespaces/flux-system/kustomizations"


async def label(client: httpx.AsyncClient, name: str, **labels: str | None) -> str:
    """Label a Kustomization; returns its new resourceVersion."""
    answer = await client.patch(
        f"{HERE}/{name}",
        json={"metadata": {"labels": labels}},
        headers={"Content-Type": "application/merge-patch+json"},
    )
    return str(answer.json()["metadata"]["resourceVersion"])


async def test_discovery_names_groups_resources_and_verbs(atlas: httpx.AsyncClient) -> None:
    groups = {group["name"] for group in (await atlas.get("/apis")).json()["groups"]}
    assert {"apps", "kustomize.toolkit.fluxcd.io", "source.toolkit.fluxcd.io", "configbutler.ai"} <= groups
    resources = {entry["name"]: entry for entry in (await atlas.get(FLUX)).json()["resources"]}
    assert resources["kustomizations"]["kind"] == "Kustomization"
    assert "watch" in resources["kustomizations"]["verbs"]
    assert "kustomizations/status" in resources
    assert (await atlas.get("/version")).json()["gitVersion"] == "v1.36.2"


async def test_a_kind_that_is_not_installed_is_not_served(borealis: httpx.AsyncClient) -> None:
    answer = await borealis.get(ALL)
    assert answer.status_code == 404
    assert answer.json()["reason"] == "NotFound"


async def test_a_wrong_token_is_unauthorized(fleet: DemoFleet) -> None:
    async with httpx.AsyncClient(base_url=fleet.endpoint("atlas").url, trust_env=False) as stranger:
        for path in ("/version", ALL):
            assert (await stranger.get(path)).status_code == 401


async def test_pages_show_one_version_of_the_world(atlas: httpx.AsyncClient) -> None:
    first = (await atlas.get(ALL, params={"limit": "4"})).json()
    assert first["metadata"]["remainingItemCount"] == 5
    gone = first["items"][0]["metadata"]["name"]
    await atlas.delete(f"{HERE}/{gone}")
    await atlas.delete(f"{HERE}/search")
    rest = (await atlas.get(ALL, params={"limit": "4", "continue": first["metadata"]["continue"]})).json()
    last = (await atlas.get(ALL, params={"limit": "4", "continue": rest["metadata"]["continue"]})).json()
    names = [item["metadata"]["name"] for page in (first, rest, last) for item in page["items"]]
    assert len(names) == len(set(names)) == 9
    assert "search" in names
    assert {page["metadata"]["resourceVersion"] for page in (first, rest, last)} == {first["metadata"]["resourceVersion"]}
    assert "continue" not in last["metadata"]


async def test_an_expired_page_says_gone_and_how_to_go_on(fleet: DemoFleet, atlas: httpx.AsyncClient) -> None:
    first = (await atlas.get(ALL, params={"limit": "4"})).json()
    fleet.world.clusters["atlas"].store.compact()
    await label(atlas, "search", moved="yes")
    answer = await atlas.get(ALL, params={"limit": "4", "continue": first["metadata"]["continue"]})
    assert answer.status_code == 410
    assert answer.json()["reason"] == "Expired"
    assert answer.json()["metadata"]["continue"]


@pytest.mark.parametrize(("selector", "expected"), [("app=web", 3), ("app in (web,cart)", 5), ("app,app!=web,app!=cart", 2)])
async def test_labels_select(atlas: httpx.AsyncClient, selector: str, expected: int) -> None:
    found = await atlas.get("/api/v1/namespaces/storefront/pods", params={"labelSelector": selector})
    assert len(found.json()["items"]) == expected


async def test_fields_select_where_the_kind_allows_it(atlas: httpx.AsyncClient) -> None:
    one = await atlas.get(HERE, params={"fieldSelector": "metadata.name=search"})
    assert [item["metadata"]["name"] for item in one.json()["items"]] == ["search"]
    assert (await atlas.get(HERE, params={"fieldSelector": "spec.suspend=true"})).status_code == 400
    events = await atlas.get("/api/v1/events", params={"fieldSelector": "involvedObject.name=storefront"})
    assert {event["involvedObject"]["name"] for event in events.json()["items"]} == {"storefront"}


async def test_a_list_at_a_version_to_come_is_not_answered_yet(atlas: httpx.AsyncClient) -> None:
    answer = await atlas.get(ALL, params={"resourceVersion": "99999999"})
    assert answer.status_code == 504
    assert answer.headers["Retry-After"] == "1"


async def test_metadata_alone_can_be_listed(atlas: httpx.AsyncClient) -> None:
    accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
    body = (await atlas.get(ALL, headers={"Accept": accept})).json()
    assert body["kind"] == "PartialObjectMetadataList"
    assert all("spec" not in item for item in body["items"])


async def test_a_watch_tells_what_came_changed_and_went(atlas: httpx.AsyncClient) -> None:
    version = (await atlas.get(ALL)).json()["metadata"]["resourceVersion"]
    async with streaming(atlas, ALL, watch="1", resourceVersion=version) as lines:
        changed = await label(atlas, "search", moved="yes")
        event = await lines.next()
        assert (event["type"], event["object"]["metadata"]["resourceVersion"]) == ("MODIFIED", changed)
        await atlas.delete(f"{HERE}/search")
        assert (await lines.next())["object"]["metadata"]["deletionTimestamp"]
        nothing_left = {"metadata": {"finalizers": None}}
        await atlas.patch(f"{HERE}/search", json=nothing_left, headers={"Content-Type": "application/merge-patch+json"})
        assert (await lines.next())["type"] == "DELETED"
        spec = {"interval": "1m", "prune": True, "sourceRef": {"kind": "GitRepository", "name": "fleet"}}
        await atlas.post(HERE, json={"metadata": {"name": "fresh"}, "spec": spec})
        event = await lines.next()
        assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "fresh")


async def test_a_watch_without_version_begins_with_what_is_there(atlas: httpx.AsyncClient) -> None:
    async with streaming(atlas, ALL, watch="1") as lines:
        assert {(await lines.next())["type"] for _ in range(9)} == {"ADDED"}


async def test_a_streamed_list_ends_with_its_bookmark(atlas: httpx.AsyncClient) -> None:
    params = {"watch": "1", "sendInitialEvents": "true", "allowWatchBookmarks": "true"}
    async with streaming(atlas, ALL, **params) as lines:
        events = [await lines.next() for _ in range(10)]
    assert [event["type"] for event in events] == ["ADDED"] * 9 + ["BOOKMARK"]
    assert events[-1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_an_object_that_leaves_a_selector_is_deleted_for_its_watch(atlas: httpx.AsyncClient) -> None:
    version = await label(atlas, "search", team="a")
    async with streaming(atlas, ALL, watch="1", resourceVersion=version, labelSelector="team=a") as lines:
        await label(atlas, "payments", team="b")
        await label(atlas, "search", team=None)
        event = await lines.next()
        assert (event["type"], event["object"]["metadata"]["name"]) == ("DELETED", "search")


async def test_a_silent_watch_gets_bookmarks_when_it_allows_them(fleet: DemoFleet, atlas: httpx.AsyncClient) -> None:
    fleet.bookmark_every(0.01)
    version = (await atlas.get(ALL)).json()["metadata"]["resourceVersion"]
    async with streaming(atlas, ALL, watch="1", resourceVersion=version, allowWatchBookmarks="true") as lines:
        event = await lines.next()
    assert event["type"] == "BOOKMARK"
    assert event["object"]["metadata"]["resourceVersion"] == version


async def test_a_watch_from_a_forgotten_version_is_told_so_in_its_stream(fleet: DemoFleet, atlas: httpx.AsyncClient) -> None:
    version = (await atlas.get(ALL)).json()["metadata"]["resourceVersion"]
    await label(atlas, "search", moved="yes")
    fleet.world.clusters["atlas"].store.compact()
    async with streaming(atlas, ALL, watch="1", resourceVersion=version) as lines:
        assert lines.answer.status_code == 200
        event = await lines.next()
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
        with pytest.raises(StopAsyncIteration):
            await lines.next()


async def test_a_forbidden_kind_is_refused_and_the_review_says_so(fleet: DemoFleet) -> None:
    await fleet.fail("atlas", "forbidden:Secret")
    async with client_of(fleet, "atlas") as client:
        answer = await client.get("/api/v1/namespaces/payments/secrets")
        assert answer.status_code == 403
        assert 'cannot list resource "secrets"' in answer.json()["message"]
        for resource, allowed in (("secrets", False), ("pods", True)):
            attributes = {"verb": "list", "resource": resource, "namespace": "payments"}
            review = {"kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": attributes}}
            said = await client.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", json=review)
            assert said.json()["status"]["allowed"] is allowed


@pytest.mark.parametrize("params", [{"fieldSelector": "spec.suspend=true"}, {"timeoutSeconds": "soon"}])
async def test_a_watch_that_can_not_be_is_refused_before_it_begins(atlas: httpx.AsyncClient, params: dict[str, str]) -> None:
    assert (await atlas.get(ALL, params={"watch": "1", **params})).status_code == 400
