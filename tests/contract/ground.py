"""What the contract tests of server-side apply stand on: a Kubernetes API with the Flux kinds, and words for what is done."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

Object = dict[str, Any]

API = "kustomize.toolkit.fluxcd.io/v1"
KC = "kustomize-controller"
CONSOLE = "console-hold"
FLUX = "flux"
_names = itertools.count()


class Ground:
    """One Kustomization of its own name on one server."""

    def __init__(
        self, client: httpx.AsyncClient, server: str, namespace: str = "default", forget: Callable[[], object] = bool
    ) -> None:
        self._client = client
        self.server = server
        self._forget = forget
        self.namespace = namespace
        self.name = f"contract-{next(_names)}"

    @property
    def collection(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def path(self) -> str:
        return f"/apis/{API}/namespaces/{self.namespace}/kustomizations/{self.name}"

    def manifest(self, **spec: Any) -> Object:
        """The object as Git has it."""
        base = {"interval": "10m", "path": "./deploy", "prune": True, "sourceRef": {"kind": "GitRepository", "name": "repo"}}
        return {"spec": {**base, **spec}}

    async def apply(
        self, manager: str, body: Object, *, force: bool = False, subresource: str = "", **query: str
    ) -> httpx.Response:
        meta = {"name": self.name, "namespace": self.namespace, **body.get("metadata", {})}
        config = {"apiVersion": API, "kind": "Kustomization", **body, "metadata": meta}
        return await self._client.patch(
            self.path + subresource,
            params={"fieldManager": manager, **({"force": "true"} if force else {}), **query},
            json=config,
            headers={"Content-Type": "application/apply-patch+yaml"},
        )

    async def from_git(self, **spec: Any) -> Object:
        """The controller applies the manifest, forced, as it does on every pass."""
        return done(await self.apply(KC, self.manifest(**spec), force=True))

    async def suspend(self, manager: str, value: bool, *, force: bool = False) -> httpx.Response:
        return await self.apply(manager, {"spec": {"suspend": value}}, force=force)

    async def release(self, manager: str) -> Object:
        """The empty apply: the manager wants nothing any more."""
        return done(await self.apply(manager, {}))

    async def merge(self, manager: str, patch: Object, subresource: str = "", **query: str) -> httpx.Response:
        return await self._client.patch(
            self.path + subresource,
            params={"fieldManager": manager, **query},
            json=patch,
            headers={"Content-Type": "application/merge-patch+json"},
        )

    async def json_patch(self, manager: str, *operations: Object) -> httpx.Response:
        return await self._client.patch(
            self.path,
            params={"fieldManager": manager},
            json=list(operations),
            headers={"Content-Type": "application/json-patch+json"},
        )

    async def put(self, manager: str, obj: Object) -> httpx.Response:
        return await self._client.put(self.path, params={"fieldManager": manager}, json=obj)

    async def get(self) -> Object:
        return done(await self._client.get(self.path))

    async def read(self) -> httpx.Response:
        return await self._client.get(self.path)

    async def delete(self, **preconditions: str) -> httpx.Response:
        options = {"preconditions": preconditions} if preconditions else None
        return await self._client.request("DELETE", self.path, json=options)

    async def create(self, name: str, **labels: str) -> httpx.Response:
        """Another Kustomization in the same namespace."""
        meta = {"name": name, "namespace": self.namespace, "labels": labels}
        body = {"apiVersion": API, "kind": "Kustomization", "metadata": meta, **self.manifest()}
        return await self._client.post(self.collection, json=body)

    async def list(self, headers: dict[str, str] | None = None, **params: str) -> httpx.Response:
        return await self._client.get(self.collection, params=params, headers=headers)

    async def forget_history(self) -> None:
        """Compact the store: what was read before is too old to go on from."""
        await asyncio.to_thread(self._forget)
        # A server that had to start again for it refuses watches (429) until its storage is ready.
        async with asyncio.timeout(60):
            while True:
                async with self._client.stream("GET", self.collection, params={"watch": "1"}) as answer:
                    if answer.status_code == 200:
                        return
                await asyncio.sleep(0.2)

    @asynccontextmanager
    async def watch(self, version: str, **params: str) -> AsyncIterator[AsyncIterator[Object]]:
        """The events of a watch, decoded; silence of half a minute is an error."""
        query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "60", **params}
        async with self._client.stream("GET", self.collection, params=query, timeout=30) as answer:
            yield _decoded(answer)


def done(response: httpx.Response) -> Object:
    """The object of a write or read that succeeded."""
    assert response.status_code in (200, 201), response.text
    found: Object = response.json()
    return found


def suspended(obj: Object) -> bool | None:
    value = obj["spec"].get("suspend")
    assert value is None or isinstance(value, bool)
    return value


def owners(obj: Object, field: str = "spec.suspend") -> set[tuple[str, str]]:
    """Who owns a field, as (manager, operation)."""
    return {
        (entry["manager"], entry["operation"])
        for entry in obj["metadata"].get("managedFields", ())
        if field in set(_dotted(entry["fieldsV1"], ""))
    }


def entries(obj: Object) -> set[tuple[str, str, str]]:
    """All entries as (manager, operation, subresource)."""
    found = obj["metadata"].get("managedFields", ())
    return {(entry["manager"], entry["operation"], entry.get("subresource", "")) for entry in found}


def position(obj: Object, manager: str) -> int:
    """Where the entry of a manager stands in the list."""
    found = [index for index, entry in enumerate(obj["metadata"]["managedFields"]) if entry["manager"] == manager]
    assert len(found) == 1
    return found[0]


def _dotted(tree: Object, above: str) -> Iterator[str]:
    for element, below in tree.items():
        if element == ".":
            continue
        here = f"{above}.{element.removeprefix('f:')}".lstrip(".")
        if not below or "." in below:
            yield here
        yield from _dotted(below, here)


async def _decoded(answer: httpx.Response) -> AsyncIterator[Object]:
    async for line in answer.aiter_lines():
        yield json.loads(line)
