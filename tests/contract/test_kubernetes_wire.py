"""The API server's wire as it really is: logins, pages, watches that end, break, freeze or ask for too old a version."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from console import errors
from console.clients.kubeconfig import read_kubeconfig
from console.clients.kubernetes import JSON_PATCH, KubernetesClient
from console.clients.kubernetes_wire import WatchEvent
from tests.real.kube import KubeServer
from tests.real.proxy import FaultProxy

# Real servers on a busy machine: this is only ever reached by a test that is going to fail.
PATIENCE = 90.0


class Meta(msgspec.Struct):
    name: str


class ConfigMap(msgspec.Struct):
    metadata: Meta
    data: dict[str, str] | None = None


DECODER = msgspec.json.Decoder(ConfigMap)


@pytest.fixture
async def clients() -> AsyncIterator[list[KubernetesClient]]:
    """Clients made by the test; closed at its end."""
    made: list[KubernetesClient] = []
    yield made
    for client in made:
        await client.close()


def connect(clients: list[KubernetesClient], kubeconfig: Path) -> KubernetesClient:
    context = read_kubeconfig({"KUBECONFIG": str(kubeconfig)}).current
    assert context is not None
    clients.append(KubernetesClient(context.endpoint()))
    return clients[-1]


def path(namespace: str, name: str = "") -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps" + (f"/{name}" if name else "")


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


async def version_now(client: KubernetesClient, namespace: str) -> str:
    async with aclosing(client.list_pages(path(namespace), DECODER)) as pages:
        return (await anext(pages)).resource_version


@pytest.mark.parametrize("certificate", [False, True])
async def test_a_login_by_token_or_certificate_is_understood(
    kube: KubeServer, clients: list[KubernetesClient], certificate: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/dev/null")
    monkeypatch.setenv("SSL_CERT_FILE", "/dev/null")
    client = connect(clients, kube.kubeconfig("admin", certificate=certificate))
    assert (await client.version()).git_version.startswith("v1.")
    assert "apps" in {group.name for group in await client.groups()}
    assert "configmaps" in {resource.name for resource in await client.resources("v1")}
    assert await client.can_i("patch", "apps", "deployments", namespace="default")
    viewer = connect(clients, kube.kubeconfig("nobody", certificate=certificate))
    assert not await viewer.can_i("list", "", "secrets")


async def test_a_list_comes_by_pages_and_a_watch_goes_on_from_there(
    kube: KubeServer, namespace: str, clients: list[KubernetesClient]
) -> None:
    client = connect(clients, kube.kubeconfig())
    for number in range(5):
        await client.create(path(namespace), config_map(f"cm-{number}"))
    pages = [page async for page in client.list_pages(path(namespace), DECODER, first=2, then=2)]
    assert [[item.metadata.name for item in page.items] for page in pages] == [["cm-0", "cm-1"], ["cm-2", "cm-3"], ["cm-4"]]
    assert len({page.resource_version for page in pages}) == 1
    seen: list[tuple[str, str]] = []
    async with (
        asyncio.timeout(PATIENCE),
        aclosing(client.watch(path(namespace), pages[0].resource_version, DECODER)) as events,
    ):
        await client.create(path(namespace), config_map("new"))
        await client.patch(path(namespace, "new"), {"data": {"a": "b"}})
        await client.delete(path(namespace, "new"))
        async for event in events:
            assert event.object is not None
            assert event.resource_version
            seen.append((event.type, event.object.metadata.name))
            if event.type == "DELETED":
                break
    assert seen == [("ADDED", "new"), ("MODIFIED", "new"), ("DELETED", "new")]


async def test_a_watch_ends_in_order_when_its_time_is_over(
    kube: KubeServer, namespace: str, clients: list[KubernetesClient]
) -> None:
    client = connect(clients, kube.kubeconfig())
    start = await version_now(client, namespace)
    async with asyncio.timeout(PATIENCE):
        events = [event async for event in client.watch(path(namespace), start, DECODER, seconds=2)]
    assert {event.type for event in events} <= {"BOOKMARK"}


async def test_too_old_a_version_is_gone_for_watches_and_pages(
    kube: KubeServer, namespace: str, clients: list[KubernetesClient]
) -> None:
    client = connect(clients, kube.kubeconfig())
    for number in range(3):
        await client.create(path(namespace), config_map(f"cm-{number}"))
    async with asyncio.timeout(PATIENCE), aclosing(client.list_pages(path(namespace), DECODER, first=1)) as pages:
        start = (await anext(pages)).resource_version
        await client.delete(path(namespace, "cm-2"))
        await asyncio.to_thread(kube.forget_history)
        with pytest.raises(errors.Gone):
            await anext(pages)
        with pytest.raises(errors.Gone):
            _ = [event async for event in client.watch(path(namespace), start, DECODER)]


async def test_a_killed_server_interrupts_and_comes_back_for_the_same_client(
    kube: KubeServer, namespace: str, clients: list[KubernetesClient]
) -> None:
    client = connect(clients, kube.kubeconfig())
    start = await version_now(client, namespace)
    async with asyncio.timeout(PATIENCE):
        reading = await watching(client, namespace, start)
        await asyncio.to_thread(kube.kill_server)
        with pytest.raises(errors.ConnectionProblem):
            await reading
        with pytest.raises(errors.ConnectionProblem):
            await client.create(path(namespace), config_map("never"))
        await asyncio.to_thread(kube.start)
        assert await version_now(client, namespace)


async def test_a_frozen_watch_is_timed_out(kube: KubeServer, namespace: str, clients: list[KubernetesClient]) -> None:
    async with FaultProxy(f"127.0.0.1:{kube.port}") as proxy, asyncio.timeout(PATIENCE):
        client = connect(clients, kube.kubeconfig(server=f"https://{proxy.address}"))
        start = await version_now(client, namespace)
        reading = await watching(client, namespace, start, silence=1.0)
        await proxy.set("freeze")
        with pytest.raises(errors.TimedOut):
            await reading
        await proxy.set()
        reading = await watching(client, namespace, start)
        proxy.cut()
        with pytest.raises(errors.Interrupted):
            await reading


async def watching(
    client: KubernetesClient, namespace: str, start: str, silence: float = 75.0
) -> "asyncio.Task[list[WatchEvent[ConfigMap]]]":
    """A task that reads a watch which has shown to be running."""
    began = asyncio.Event()

    async def read() -> list[WatchEvent[ConfigMap]]:
        events = []
        async for event in client.watch(path(namespace), start, DECODER, silence=silence):
            events.append(event)
            began.set()
        return events

    task = asyncio.create_task(read())
    await client.create(path(namespace), {"metadata": {"generateName": "sign-"}})
    await began.wait()
    return task


async def test_a_hanging_server_is_noticed_and_forgiven(
    kube: KubeServer, namespace: str, clients: list[KubernetesClient]
) -> None:
    client = connect(clients, kube.kubeconfig())
    await client.version()
    kube.hang()
    try:
        with pytest.raises(errors.TimedOut):
            await client.get(path(namespace), timeout=1.0)
        with pytest.raises(errors.ConnectionProblem):
            await client.http.request("POST", path(namespace), json=config_map("late"), timeout=1.0)
    finally:
        kube.unhang()
    await client.get(path(namespace))


async def test_refusals_mean_what_they_say(kube: KubeServer, namespace: str, clients: list[KubernetesClient]) -> None:
    client = connect(clients, kube.kubeconfig())
    nobody = connect(clients, kube.kubeconfig("nobody"))
    with pytest.raises(errors.Forbidden, match="nobody"):
        await nobody.get(path(namespace))
    config = kube.kubeconfig()
    config.write_text(config.read_text().replace(kube.token(), "wrong"))
    with pytest.raises(errors.LoginExpired) as caught:
        await connect(clients, config).version()
    assert caught.value.hint
    with pytest.raises(errors.NotFound, match="absent"):
        await client.get(path(namespace, "absent"))
    with pytest.raises(errors.NotServed):
        await client.get("/apis/nothing.example/v1/things")
    with pytest.raises(errors.NotServed):
        await client.get("/apis/apps/v1/nothings")
    await client.create(path(namespace), config_map("mine", a="1"))
    with pytest.raises(errors.Conflict, match="already exists"):
        await client.create(path(namespace), config_map("mine"))
    with pytest.raises(errors.Invalid):
        await client.create(path(namespace), config_map("Not A Name"))
    stale = await client.get(path(namespace, "mine"))
    await client.patch(path(namespace, "mine"), {"data": {"a": "2"}})
    with pytest.raises(errors.Conflict):
        await client.replace(path(namespace, "mine"), stale)


async def test_owners_of_a_field_and_a_failed_test_are_conflicts(
    kube: KubeServer, namespace: str, clients: list[KubernetesClient]
) -> None:
    client = connect(clients, kube.kubeconfig())
    target = path(namespace, "shared")
    await client.apply(target, config_map("shared", a="1"), manager="git")
    with pytest.raises(errors.Conflict) as caught:
        await client.apply(target, config_map("shared", a="2"), manager="console-hold")
    (cause,) = caught.value.details["causes"]
    assert cause["field"] == ".data.a"
    assert "git" in cause["message"]
    steps = [{"op": "test", "path": "/data/a", "value": "9"}, {"op": "replace", "path": "/data/a", "value": "3"}]
    with pytest.raises(errors.Conflict):
        await client.patch(target, steps, content_type=JSON_PATCH)
    forced = await client.apply(target, config_map("shared", a="2"), manager="console-hold", force=True)
    assert forced["data"] == {"a": "2"}
