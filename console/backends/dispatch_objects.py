"""The objects of one cluster as the dispatch engine wants them: satisfies :class:`~console.engines.ports.applier.Objects`.

Each write is one request; :class:`~console.clients.kubernetes.KubernetesClient` repeats none, and its errors say whether a
request that failed can have been carried out. The kinds are described by shape, so that nothing of the engine is imported here.
"""

from __future__ import annotations

from typing import Any, Protocol
from urllib.parse import quote

import msgspec

from console.clients.kubernetes import MERGE_PATCH, KubernetesClient
from console.errors import Invalid


class _Metadata(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    namespace: str = ""
    version: str = msgspec.field(default="", name="resourceVersion")


class _Named(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata


_ANY: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])
_NAMED: msgspec.json.Decoder[_Named] = msgspec.json.Decoder(_Named)


class ServedKind(Protocol):
    """A kind as the API serves it; ``group`` is empty for the core group."""

    @property
    def group(self) -> str:
        """API group."""
        ...

    @property
    def version(self) -> str:
        """API version inside the group."""
        ...

    @property
    def plural(self) -> str:
        """Name of the resource in paths."""
        ...

    @property
    def kind(self) -> str:
        """What an object calls itself."""
        ...


class ClusterObjects:
    """Live reads and guarded writes of whole objects. All methods raise errors of :mod:`console.errors` only."""

    def __init__(self, client: KubernetesClient) -> None:
        self._client = client

    async def get(self, kind: ServedKind, namespace: str, name: str) -> dict[str, Any]:
        """One object, read live."""
        return await self._client.get(_path(kind, namespace, name))

    async def list(self, kind: ServedKind, namespace: str = "") -> list[dict[str, Any]]:
        """All objects of a namespace or of all namespaces, by pages; each says what it is, which lists leave out."""
        found: list[dict[str, Any]] = []
        api_version = f"{kind.group}/{kind.version}" if kind.group else kind.version
        async for page in self._client.list_pages(_path(kind, namespace), _ANY, first=500):
            found += [{"apiVersion": api_version, "kind": kind.kind, **item} for item in page.items]
        return found

    async def versions(self, kind: ServedKind, namespace: str = "") -> dict[tuple[str, str], str]:
        """The resourceVersions of a list, which the server is asked to send without specs and statuses."""
        found: dict[tuple[str, str], str] = {}
        pages = self._client.list_pages(_path(kind, namespace), _NAMED, first=500, metadata_only=True)
        async for page in pages:
            for item in page.items:
                found[item.metadata.namespace, item.metadata.name] = item.metadata.version
        return found

    async def apply(self, kind: ServedKind, body: dict[str, Any], *, manager: str, force: bool) -> dict[str, Any]:
        """Server-side apply of exactly this body."""
        return await self._client.apply(_of(kind, body), body, manager=manager, force=force)

    async def merge(
        self, kind: ServedKind, namespace: str, name: str, patch: dict[str, Any], *, manager: str
    ) -> dict[str, Any]:
        """JSON merge patch; a ``metadata.resourceVersion`` or ``uid`` inside guards it."""
        query = {"fieldManager": manager}
        return await self._client.patch(_path(kind, namespace, name), patch, content_type=MERGE_PATCH, params=query)

    async def replace(self, kind: ServedKind, body: dict[str, Any], *, manager: str, subresource: str = "") -> dict[str, Any]:
        """PUT, guarded by the resourceVersion in the body."""
        path = _of(kind, body) + (f"/{subresource}" if subresource else "")
        return await self._client.replace(path, body, params={"fieldManager": manager})

    async def can_i(self, verb: str, kind: ServedKind, namespace: str, name: str) -> bool:
        """Whether these credentials may do it."""
        return await self._client.can_i(verb, kind.group, kind.plural, namespace=namespace, name=name)


def _of(kind: ServedKind, body: dict[str, Any]) -> str:
    metadata = body["metadata"]
    return _path(kind, metadata.get("namespace", ""), metadata["name"])


def _path(kind: ServedKind, namespace: str, name: str = "") -> str:
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    where = f"/namespaces/{_part(namespace)}" if namespace else ""
    return f"{root}{where}/{kind.plural}" + (f"/{_part(name)}" if name else "")


def _part(name: str) -> str:
    """A name as one part of a path, whatever it is: whoever may write a trigger must not choose what is asked about."""
    if name in {".", ".."}:
        raise Invalid(f"{name!r} is no name of an object.", "Correct the name where it is given.", status=400)
    return quote(name, safe="")
