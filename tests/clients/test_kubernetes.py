"""Lists, watches and writes against a server that speaks the Kubernetes protocol, well or badly."""

import asyncio
from contextlib import aclosing
from typing import Any

import msgspec
import pytest

from console import errors
from console.clients.endpoint import Endpoint
from console.clients.kubernetes import JSON_PATCH, KubernetesClient
from tests.clients.servers import Handler, Reply, Seen, serve


class Meta(msgspec.Struct):
    name: str


class Item(msgspec.Struct):
    metadata: Meta


ITEM = msgspec.json.Decoder(Item)
PODS = "/api/v1/pods"


def obj(name: str, version: int = 1) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": name, "resourceVersion": str(version)}, "spec": {"nodeName": "n"}}


def status(code: int, reason: str, message: str = "", **details: Any) -> dict[str, Any]:
    return {"kind": "Status", "code": code, "reason": reason, "message": message or reason, "details": details}


def paged(count: int) -> Handler:
    async def handler(seen: Seen, reply: Reply) -> None:
        start, limit = int(seen.query.get("continue", "0")), int(seen.query["limit"])
        end = min(count, start + limit)
        more = {"continue": str(end), "remainingItemCount": count - end} if end < count else {}
        await reply.json(
            {"metadata": {"resourceVersion": "42", **more}, "items": [obj(f"pod-{number}") for number in range(start, end)]}
        )

    return handler


async def test_a_list_comes_in_pages_and_the_loop_gets_a_turn_after_each() -> None:
    turns: list[None] = []

    async def other() -> None:
        while True:
            turns.append(None)
            await asyncio.sleep(0)

    async with serve(paged(1250)) as server:
        client = KubernetesClient(Endpoint(base_url=server.url))
        beside = asyncio.create_task(other())
        pages = [page async for page in client.list_pages(PODS, ITEM)]
        beside.cancel()
        await asyncio.gather(beside, return_exceptions=True)
        await client.close()
    assert [len(page.items) for page in pages] == [100, 500, 500, 150]
    assert {page.resource_version for page in pages} == {"42"}
    assert [page.remaining for page in pages] == [1150, 650, 150, 0]
    assert pages[-1].items[-1].metadata.name == "pod-1249"
    assert len(turns) > len(pages)


async def test_an_empty_list_may_be_null() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        await reply.json({"metadata": {"resourceVersion": "7"}, "items": None})

    async with serve(handler) as server:
        client = KubernetesClient(Endpoint(base_url=server.url))
        assert [page async for page in client.list_pages(PODS, ITEM)] == [([], "7", 0)]
        await client.close()


async def test_an_expired_continue_token_is_gone() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        if "continue" in seen.query:
            await reply.json(status(410, "Expired", "The provided continue parameter is too old"), 410)
        else:
            await paged(500)(seen, reply)

    async with serve(handler) as server:
        client = KubernetesClient(Endpoint(base_url=server.url))
        got = []
        with pytest.raises(errors.Gone, match="too old"):
            async for page in client.list_pages(PODS, ITEM):
                got.append(len(page.items))
        assert got == [100]
        await client.close()


async def test_one_odd_object_does_not_take_the_others_with_it() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        await reply.json({"metadata": {"resourceVersion": "7"}, "items": [obj("a"), {"metadata": {"name": 3}}, obj("b")]})

    bad: list[errors.ProtocolError] = []
    async with serve(handler) as server:
        client = KubernetesClient(Endpoint(base_url=server.url))
        pages = [page async for page in client.list_pages(PODS, ITEM, on_bad=bad.append)]
        with pytest.raises(errors.ProtocolError):
            _ = [page async for page in client.list_pages(PODS, ITEM)]
        await client.close()
    assert [item.metadata.name for item in pages[0].items] == ["a", "b"]
    assert "$.metadata.name" in bad[0].message


async def test_a_watch_yields_what_happened_and_where_to_go_on() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        await reply.stream()
        await reply.line({"type": "ADDED", "object": obj("a", 11)})
        await reply.line({"type": "MODIFIED", "object": obj("a", 12)})
        await reply.line({"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {"resourceVersion": "20"}}})
        await reply.line({"type": "DELETED", "object": obj("a", 21)})
        await reply.end()

    async with serve(handler) as server:
        client = KubernetesClient(Endpoint(base_url=server.url))
        events = [event async for event in client.watch(PODS, "10", ITEM, params={"labelSelector": "a=b"}, seconds=33)]
        await client.close()
    assert [(event.type, event.resource_version) for event in events] == [
        ("ADDED", "11"),
        ("MODIFIED", "12"),
        ("BOOKMARK", "20"),
        ("DELETED", "21"),
    ]
    assert events[2].object is None
    assert events[3].object == Item(Meta("a"))
    assert server.seen[0].query == {
        "watch": "true",
        "resourceVersion": "10",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "33",
        "labelSelector": "a=b",
    }


@pytest.mark.parametrize("in_stream", [True, False])
async def test_a_watch_from_too_old_a_version_is_gone(in_stream: bool) -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        if not in_stream:
            await reply.json(status(410, "Expired"), 410)
            return
        await reply.stream()
        await reply.line({"type": "ERROR", "object": status(410, "Expired", "too old resource version: 1 (9)")})
        await reply.end()

    async with serve(handler) as server:
        client = KubernetesClient(Endpoint(base_url=server.url))
        with pytest.raises(errors.Gone):
            _ = [event async for event in client.watch(PODS, "1", ITEM)]
        await client.close()


async def test_any_other_error_in_a_watch_is_raised_with_its_words() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        await reply.stream()
        await reply.line({"type": "ERROR", "object": status(500, "InternalError", "etcd event received with PrevKv=nil")})
        await reply.end()

    async with serve(handler) as server:
        client = KubernetesClient(Endpoint(base_url=server.url))
        with pytest.raises(errors.ApiError, match="PrevKv"):
            _ = [event async for event in client.watch(PODS, "1", ITEM)]
        await client.close()


@pytest.mark.parametrize("ending", ["cut", "close", "half line"])
async def test_a_watch_that_is_cut_is_interrupted_after_what_came_before(ending: str) -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        await reply.stream()
        await reply.line({"type": "ADDED", "object": obj("a")})
        await read.wait()
        if ending == "half line":
            await reply.chunk(b'{"type": "MODIFIED", "obj')
            await reply.end()
        elif ending == "close":
            reply.close()
        else:
            reply.cut()

    read = asyncio.Event()
    async with serve(handler) as server:
        client = KubernetesClient(Endpoint(base_url=server.url))
        got = []
        with pytest.raises(errors.Interrupted):
            async for event in client.watch(PODS, "1", ITEM):
                got.append(event.type)
                read.set()
        assert got == ["ADDED"]
        await client.close()


async def test_a_silent_watch_is_timed_out() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        await reply.stream()
        await reply.never()

    async with serve(handler) as server:
        client = KubernetesClient(Endpoint(base_url=server.url))
        with pytest.raises(errors.TimedOut):
            _ = [event async for event in client.watch(PODS, "1", ITEM, silence=0.1)]
        await client.close()


async def test_a_page_of_a_proxy_is_no_list_and_no_watch() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        await reply.body(200, b"<html><title>Welcome</title></html>", "text/html")

    async with serve(handler) as server:
        client = KubernetesClient(Endpoint(base_url=server.url))
        with pytest.raises(errors.ProtocolError, match="Welcome"):
            _ = [page async for page in client.list_pages(PODS, ITEM)]
        with pytest.raises(errors.ProtocolError, match="Welcome"):
            _ = [event async for event in client.watch(PODS, "1", ITEM)]
        await client.close()


async def test_discovery_reads_groups_and_resources() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        match seen.path:
            case "/version":
                await reply.json({"gitVersion": "v1.36.2", "minor": "", "platform": "linux/amd64"})
            case "/apis":
                version = {"groupVersion": "apps/v1", "version": "v1"}
                await reply.json({"groups": [{"name": "apps", "versions": [version], "preferredVersion": version}]})
            case "/apis/apps/v1" | "/api/v1":
                entry = {"name": "things", "kind": "Thing", "namespaced": True, "verbs": ["list", "watch"]}
                await reply.json({"resources": [entry]})
            case _:
                await reply.body(404, b"404 page not found\n", "text/plain")

    async with serve(handler) as server:
        client = KubernetesClient(Endpoint(base_url=server.url))
        assert (await client.version()).git_version == "v1.36.2"
        assert [group.preferred_version.group_version for group in await client.groups()] == ["apps/v1"]
        assert [resource.verbs for resource in await client.resources("apps/v1")] == [("list", "watch")]
        assert (await client.resources("v1"))[0].kind == "Thing"
        with pytest.raises(errors.NotServed):
            await client.resources("gone.example/v1")
        await client.close()


async def test_a_permission_is_asked_for_and_may_be_asked_again() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        if len(server.seen) == 2:
            reply.close()
            return
        await reply.json({"status": {"allowed": seen.json["spec"]["resourceAttributes"]["verb"] == "list"}}, 201)

    async with serve(handler) as server:
        client = KubernetesClient(Endpoint(base_url=server.url))
        assert await client.can_i("list", "apps", "deployments", namespace="shop")
        assert not await client.can_i("patch", "apps", "deployments", subresource="scale")
        await client.close()
    assert server.seen[0].json["spec"]["resourceAttributes"] == {
        "verb": "list",
        "group": "apps",
        "resource": "deployments",
        "namespace": "shop",
    }
    assert len(server.seen) == 3


async def test_writes_say_what_they_are() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        await reply.json(obj("a"))

    async with serve(handler) as server:
        client = KubernetesClient(Endpoint(base_url=server.url))
        path = "/apis/apps/v1/namespaces/shop/deployments/web"
        await client.apply(path, {"kind": "Deployment"}, manager="quarterdeck-suspend", params={"dryRun": "All"})
        await client.patch(path, {"spec": None})
        await client.replace(path, obj("web"))
        await client.create("/api/v1/namespaces", obj("shop"))
        await client.delete(path, {"propagationPolicy": "Background"})
        await client.close()
    assert [(seen.method, seen.header("content-type")) for seen in server.seen] == [
        ("PATCH", "application/apply-patch+yaml"),
        ("PATCH", "application/merge-patch+json"),
        ("PUT", "application/json"),
        ("POST", "application/json"),
        ("DELETE", "application/json"),
    ]
    assert server.seen[0].query == {"fieldManager": "quarterdeck-suspend", "force": "false", "dryRun": "All"}


async def test_a_failed_test_of_a_json_patch_is_a_conflict_and_a_wrong_value_is_not() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        causes = [{"field": "spec.x"}] if "/wrong" in seen.path else []
        await reply.json(status(422, "Invalid", "the server rejected our request", causes=causes), 422)

    steps = [{"op": "test", "path": "/metadata/resourceVersion", "value": "1"}, {"op": "remove", "path": "/spec/x"}]
    async with serve(handler) as server:
        client = KubernetesClient(Endpoint(base_url=server.url))
        with pytest.raises(errors.Conflict):
            await client.patch("/it", steps, content_type=JSON_PATCH)
        with pytest.raises(errors.Invalid):
            await client.patch("/wrong", steps, content_type=JSON_PATCH)
        with pytest.raises(errors.Invalid):
            await client.patch("/it", steps[1:], content_type=JSON_PATCH)
        await client.close()


async def test_log_lines_come_as_they_are_written() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        await reply.stream("text/plain")
        await reply.chunk(b"one\ntw")
        await first.wait()
        await reply.chunk("o ü\n".encode() + b"\xff last")
        await reply.end()

    first = asyncio.Event()
    async with serve(handler) as server:
        client = KubernetesClient(Endpoint(base_url=server.url))
        got = []
        async with aclosing(client.logs(f"{PODS}/web/log", {"follow": True})) as lines:
            async for line in lines:
                got.append(line)
                first.set()
        await client.close()
    assert got == ["one", "two ü", "� last"]


async def test_a_log_that_is_cut_is_interrupted() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        await reply.stream("text/plain")
        await reply.chunk(b"one\n")
        reply.close()

    async with serve(handler) as server:
        client = KubernetesClient(Endpoint(base_url=server.url))
        with pytest.raises(errors.Interrupted):
            _ = [line async for line in client.logs(f"{PODS}/web/log")]
        await client.close()
