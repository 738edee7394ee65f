"""How fast lists and watches are read: from the demo server and, where it can run, a real API server; and decoding alone."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

from console.backends import workload_objects
from console.backends.kube_common import Scope
from console.backends.workload_wire import WirePod
from console.clients.endpoint import Endpoint
from console.clients.kubernetes import KubernetesClient
from console.clients.kubernetes_wire import page_decoder
from console.config.fleet import Fleet
from console.runtime.discovery import discover
from tests.bench.figures import Figure
from tests.bench.fleet_process import Fleet as Servers
from tests.bench.fleet_process import fleet
from tests.real import binaries
from tests.real.fleet import pod
from tests.real.kube import KubeServer
from tests.real.place import Place

PODS = 10_000
EVENTS = 5_000
REAL_PODS = 1_000
RUNS = 5
PATH = "/api/v1/pods"
_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder(WirePod)


def reading() -> Sequence[Figure]:
    """The demo server with 10,000 pods, then a real one with 1,000."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name, fleet(Path(name), pods=PODS) as servers:
        figures = asyncio.run(_demo(servers))
    return [*figures, *_real()]


async def _demo(servers: Servers) -> list[Figure]:
    context = next(target for target in discover(servers.env, Fleet()).targets if target.name == "atlas")
    backend: Any = context.make_backend()
    client: KubernetesClient = backend._client
    try:
        lists, version = await _lists(client)
        servers.burst(EVENTS)
        events = [await _events(client, version) for _ in range(RUNS)]
        decoding, convert, size = await _decoding(client)
    finally:
        await backend.close()
    return [
        Figure("list from the demo server", lists, "pods/s"),
        Figure("watch from the demo server", events, "events/s"),
        Figure(f"decoding alone, pages of 500 ({size / 1024:.1f} KiB a pod)", decoding, "pods/s"),
        Figure("decoded pods to rows of the model", convert, "pods/s"),
    ]


async def _lists(client: KubernetesClient) -> tuple[list[float], str]:
    rates, version = [], ""
    for _ in range(RUNS):
        began, count = time.perf_counter(), 0
        async with aclosing(client.list_pages(PATH, _DECODER)) as pages:
            async for page in pages:
                count += len(page.items)
                version = page.resource_version
        rates.append(count / (time.perf_counter() - began))
    return rates, version


async def _events(client: KubernetesClient, version: str, expected: int = EVENTS) -> float:
    began, count = 0.0, 0
    async with aclosing(client.watch(PATH, version, _DECODER)) as events:
        async for _event in events:
            began = began or time.perf_counter()
            count += 1
            if count == expected:
                break
    return (count - 1) / (time.perf_counter() - began)


async def _decoding(client: KubernetesClient) -> tuple[list[float], list[float], float]:
    response = await client.http.request("GET", PATH, params={"limit": 500})
    decoder = page_decoder(WirePod)
    page: Any = response.decode(decoder)
    scope = Scope("atlas")
    decoding, converting = [], []
    for _ in range(RUNS):
        began = time.perf_counter()
        for _ in range(4):
            response.decode(decoder)
        decoding.append(4 * len(page.items) / (time.perf_counter() - began))
        began = time.perf_counter()
        for item in page.items:
            workload_objects.pod(item, scope)
        converting.append(len(page.items) / (time.perf_counter() - began))
    return decoding, converting, len(response.content) / len(page.items)


def _real() -> list[Figure]:
    if not (binaries.APISERVER.find() and binaries.ETCD.find()):
        return [Figure("list from a real API server", [], "build one with tests.real.prepare")]
    with Place() as place, KubeServer(place) as server:
        space = "bench"
        server.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
        for number in range(REAL_PODS):
            server.client.create(pod(space, f"pod-{number:04}"))
        return asyncio.run(_real_rates(server, space))


async def _real_rates(server: KubeServer, space: str) -> list[Figure]:
    token = server.token()

    async def login() -> dict[str, str]:
        return {"Authorization": f"Bearer {token}"}

    client = KubernetesClient(Endpoint(base_url=server.url, ca=server.authority.read_bytes(), auth=login))
    try:
        lists, version = await _lists(client)
        await asyncio.to_thread(_touch, server, space)
        events = [await _events(client, version, REAL_PODS) for _ in range(RUNS)]
    finally:
        await client.close()
    return [
        Figure(f"list from a real API server ({REAL_PODS:,} pods)", lists, "pods/s"),
        Figure("watch from a real API server", events, "events/s"),
    ]


def _touch(server: KubeServer, space: str) -> None:
    for number in range(REAL_PODS):
        body = pod(space, f"pod-{number:04}")
        server.client.merge(body, {"metadata": {"annotations": {"bench": "1"}}})
