"""Lists in pages, watches, and what both say when they are asked for what was forgotten."""

from __future__ import annotations

from tests.contract.ground import Ground, done

PARTIAL = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}


async def fill(ground: Ground, count: int = 5) -> None:
    for index in range(count):
        done(await ground.create(f"k{index}", team="a" if index % 2 else "b"))


async def test_pages_are_of_one_version_and_say_how_much_is_left(ground: Ground) -> None:
    await fill(ground)
    first = done(await ground.list(limit="2"))
    assert first["metadata"]["remainingItemCount"] == 3
    done(await ground.create("k9"))
    second = done(await ground.list(limit="2", **{"continue": first["metadata"]["continue"]}))
    third = done(await ground.list(limit="2", **{"continue": second["metadata"]["continue"]}))
    names = [item["metadata"]["name"] for page in (first, second, third) for item in page["items"]]
    assert names == ["k0", "k1", "k2", "k3", "k4"]
    assert len({page["metadata"]["resourceVersion"] for page in (first, second, third)}) == 1
    assert not third["metadata"].get("continue")


async def test_an_expired_page_gives_a_token_to_go_on_with(ground: Ground) -> None:
    await fill(ground)
    first = done(await ground.list(limit="2"))
    done(await ground.create("k9"))
    await ground.forget_history()
    answer = await ground.list(limit="2", **{"continue": first["metadata"]["continue"]})
    assert answer.status_code == 410
    assert answer.json()["reason"] == "Expired"
    rest = done(await ground.list(**{"continue": answer.json()["metadata"]["continue"]}))
    assert "k4" in {item["metadata"]["name"] for item in rest["items"]}


async def test_selectors_choose_or_are_refused(ground: Ground) -> None:
    await fill(ground)
    chosen = done(await ground.list(labelSelector="team=a"))
    assert [item["metadata"]["name"] for item in chosen["items"]] == ["k1", "k3"]
    named = done(await ground.list(fieldSelector="metadata.name=k2"))
    assert [item["metadata"]["name"] for item in named["items"]] == ["k2"]
    assert (await ground.list(fieldSelector="spec.suspend=true")).status_code == 400


async def test_metadata_alone_can_be_listed(ground: Ground) -> None:
    await fill(ground, 1)
    body = done(await ground.list(headers=PARTIAL))
    assert body["kind"] == "PartialObjectMetadataList"
    assert body["items"][0]["metadata"]["name"] == "k0"
    assert "spec" not in body["items"][0]


async def test_a_watch_tells_everything_since_its_version_in_order(ground: Ground) -> None:
    version = done(await ground.list())["metadata"]["resourceVersion"]
    obj = await ground.from_git()
    done(await ground.merge("somebody", {"metadata": {"labels": {"a": "b"}}}))
    async with ground.watch(version) as events:
        assert [(await anext(events))["type"] for _ in range(2)] == ["ADDED", "MODIFIED"]
        await ground.delete()
        event = await anext(events)
    assert (event["type"], event["object"]["metadata"]["uid"]) == ("DELETED", obj["metadata"]["uid"])


async def test_leaving_a_selector_is_a_deletion_for_its_watch(ground: Ground) -> None:
    await ground.from_git()
    version = done(await ground.merge("somebody", {"metadata": {"labels": {"team": "a"}}}))["metadata"]["resourceVersion"]
    async with ground.watch(version, labelSelector="team=a") as events:
        done(await ground.merge("somebody", {"metadata": {"labels": {"team": None}}}))
        assert (await anext(events))["type"] == "DELETED"


async def test_a_streamed_list_ends_with_a_bookmark_that_says_so(ground: Ground) -> None:
    await fill(ground, 2)
    streaming = {"sendInitialEvents": "true", "allowWatchBookmarks": "true", "resourceVersionMatch": "NotOlderThan"}
    async with ground.watch("", **streaming) as events:
        found = [await anext(events) for _ in range(3)]
    assert [event["type"] for event in found] == ["ADDED", "ADDED", "BOOKMARK"]
    assert found[-1]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true"


async def test_a_watch_from_a_forgotten_version_is_told_that_it_is_gone(ground: Ground) -> None:
    version = (await ground.from_git())["metadata"]["resourceVersion"]
    for index in range(3):
        done(await ground.merge("somebody", {"metadata": {"labels": {"turn": str(index)}}}))
    await ground.forget_history()
    async with ground.watch(version) as events:
        told = await anext(events)
    # The server refuses the watch itself (410) or, when its cache accepted it first, says so in the stream's only event.
    status = told["object"] if told.get("type") == "ERROR" else told
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")


async def test_a_list_at_a_version_to_come_is_to_be_tried_later(ground: Ground) -> None:
    answer = await ground.list(resourceVersion="999999999", resourceVersionMatch="NotOlderThan")
    assert answer.status_code == 504
    assert answer.headers["Retry-After"] == "1"


async def test_the_same_name_twice_already_exists(ground: Ground) -> None:
    done(await ground.create("k0"))
    again = await ground.create("k0")
    assert (again.status_code, again.json()["reason"]) == (409, "AlreadyExists")


async def test_a_deletion_is_refused_when_its_preconditions_do_not_hold(ground: Ground) -> None:
    obj = await ground.from_git()
    assert (await ground.delete(uid="00000000-0000-4000-8000-000000000000")).status_code == 409
    assert (await ground.delete(resourceVersion="1")).status_code == 409
    good = {"uid": obj["metadata"]["uid"], "resourceVersion": obj["metadata"]["resourceVersion"]}
    assert (await ground.delete(**good)).status_code == 200
    assert (await ground.read()).status_code == 404
