"""Which version of a kind a cluster serves, asked once and remembered for minutes: an absent CRD must not be asked for every
few seconds, and one that is installed meanwhile must not stay unseen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

import msgspec

from console.backends.kube_kinds import KINDS, Kind
from console.clients.kubernetes_wire import ApiGroup, ApiResource
from console.errors import NotServed
from console.kit.supervisor import cancel
from console.model.refs import Ref

REMEMBERED = 300.0
"""Seconds for which an answer is believed."""


class AsksGroups(Protocol):
    """The part of the Kubernetes client that is needed here."""

    async def groups(self) -> tuple[ApiGroup, ...]:
        """All API groups."""
        ...

    async def resources(self, group_version: str) -> tuple[ApiResource, ...]:
        """What one version of a group serves."""
        ...


class Served(msgspec.Struct, frozen=True):
    """Where a kind is served; ``watchable`` False means that it must be polled."""

    kind: Kind
    version: str
    watchable: bool = True

    def path(self, namespace: str = "", name: str = "") -> str:
        """The path of the collection (in a namespace) or of one object."""
        prefix = f"/apis/{self.kind.group}/{self.version}" if self.kind.group else f"/api/{self.version}"
        place = f"/namespaces/{namespace}" if namespace and self.kind.namespaced else ""
        return f"{prefix}{place}/{self.kind.plural}" + (f"/{name}" if name else "")


class ServedKinds:
    """Finds kinds; one question to the server however many ask at the same time."""

    def __init__(self, client: AsksGroups) -> None:
        self._client = client
        self._asked: dict[str, tuple[float, asyncio.Task[object]]] = {}
        self._places: dict[str, Served] = {}

    async def find(self, kind: Kind) -> Served | None:
        """Where the kind is served now; None if it isn't."""
        if kind.builtin:
            return Served(kind, kind.versions[0])
        self._places.pop(kind.name, None)
        for version in await self._versions(kind):
            for resource in await self._resources(f"{kind.group}/{version}"):
                if resource.name == kind.plural and "list" in resource.verbs:
                    found = self._places[kind.name] = Served(kind, version, watchable="watch" in resource.verbs)
                    return found
        return None

    def forget(self) -> None:
        """Ask anew the next time: a path that was served isn't any more."""
        self._asked = {key: entry for key, entry in self._asked.items() if not entry[1].done()}

    def path_of(self, ref: Ref) -> tuple[str, str, str]:
        """The API path of an object of a kind that was found before, its group and its resource; raises :class:`NotServed`."""
        kind = KINDS.get(ref.kind)
        served = self._places.get(ref.kind) or (Served(kind, kind.versions[0]) if kind and kind.builtin else None)
        if kind is None or served is None:
            raise NotServed(f"{ref.connection} doesn't serve {ref.kind}.", "Is its custom resource definition installed?")
        return served.path(ref.namespace, ref.name), kind.group, kind.plural

    async def close(self) -> None:
        """End questions that are under way."""
        await cancel(tuple(task for _, task in self._asked.values()))

    async def _versions(self, kind: Kind) -> tuple[str, ...]:
        groups = await self._once("/apis", self._groups)
        served = groups.get(kind.group, ()) if isinstance(groups, dict) else ()
        known = tuple(version for version in kind.versions if version in served)
        return known or tuple(served[:1])

    async def _groups(self) -> object:
        found: dict[str, tuple[str, ...]] = {}
        for group in await self._client.groups():
            preferred = group.preferred_version.version
            others = (entry.version for entry in group.versions if entry.version != preferred)
            found[group.name] = tuple(version for version in (preferred, *others) if version)
        return found

    async def _resources(self, group_version: str) -> tuple[ApiResource, ...]:
        async def ask() -> object:
            try:
                return await self._client.resources(group_version)
            except NotServed:
                return ()

        found = await self._once(group_version, ask)
        return found if isinstance(found, tuple) else ()

    async def _once(self, key: str, ask: Callable[[], Coroutine[Any, Any, object]]) -> object:
        """The answer to one question, remembered; a failure is not."""
        now = asyncio.get_running_loop().time()
        known = self._asked.get(key)
        if known is None or (known[1].done() and now - known[0] >= REMEMBERED):
            known = self._asked[key] = (now, asyncio.create_task(ask(), name=f"discovery {key}"))
        try:
            return await asyncio.shield(known[1])
        except BaseException:
            if known[1].done() and self._asked.get(key) is known:
                del self._asked[key]
            raise
