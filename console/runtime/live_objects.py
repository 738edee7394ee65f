"""The objects of one cluster through whatever backend is live now: the dispatch engine outlives lost connections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from console.engines.dispatch.constants import DEFAULT_CLUSTER
from console.engines.ports.applier import ApiKind, JsonObject, Objects
from console.errors import NotFound, Unreachable


@runtime_checkable
class HasObjects(Protocol):
    """A backend that gives plain objects of its cluster."""

    @property
    def objects(self) -> Any:
        """They satisfy :class:`~console.engines.ports.applier.Objects` by shape."""
        ...


class LiveObjects:
    """Satisfies :class:`~console.engines.ports.applier.Objects`; without a live backend nothing is sent (``Unreachable``)."""

    def __init__(self, name: str, backend: Callable[[str], object | None]) -> None:
        self._name = name
        self._backend = backend

    def _now(self) -> Objects:
        backend = self._backend(self._name)
        if not isinstance(backend, HasObjects):
            raise Unreachable(f"{self._name} is not connected now.")
        objects: Objects = backend.objects
        return objects

    async def get(self, kind: ApiKind, namespace: str, name: str) -> JsonObject:
        """One object, read live."""
        return await self._now().get(kind, namespace, name)

    async def list(self, kind: ApiKind, namespace: str = "") -> list[JsonObject]:
        """All objects of a namespace, or of all."""
        return await self._now().list(kind, namespace)

    async def versions(self, kind: ApiKind, namespace: str = "") -> dict[tuple[str, str], str]:
        """The resourceVersions of all objects of a namespace, or of all."""
        return await self._now().versions(kind, namespace)

    async def apply(self, kind: ApiKind, body: JsonObject, *, manager: str, force: bool) -> JsonObject:
        """Server-side apply."""
        return await self._now().apply(kind, body, manager=manager, force=force)

    async def merge(self, kind: ApiKind, namespace: str, name: str, patch: JsonObject, *, manager: str) -> JsonObject:
        """JSON merge patch."""
        return await self._now().merge(kind, namespace, name, patch, manager=manager)

    async def replace(self, kind: ApiKind, body: JsonObject, *, manager: str, subresource: str = "") -> JsonObject:
        """PUT of an object or of its status."""
        return await self._now().replace(kind, body, manager=manager, subresource=subresource)

    async def can_i(self, verb: str, kind: ApiKind, namespace: str, name: str) -> bool:
        """Whether these credentials may do it."""
        return await self._now().can_i(verb, kind, namespace, name)


class OneCluster:
    """Satisfies :class:`~console.engines.ports.dispatch.Clusters` for one connection.

    :param names: what the cluster is called: the connection, and the ClusterProvider that stands for "this cluster".
    """

    def __init__(self, objects: Objects, *names: str) -> None:
        self._objects = objects
        self._names = frozenset(names or (DEFAULT_CLUSTER,))

    async def objects(self, cluster: str) -> Objects:
        """The objects of the cluster. :raises NotFound: another cluster, which this console has no way to from here."""
        if cluster not in self._names:
            raise NotFound(
                f"The ClusterProvider {cluster} leads to another cluster.",
                "Declare a local trigger on a connection to that cluster.",
                status=404,
            )
        return self._objects
