"""What is written for custom triggers is written by the elected engine only: the last place where that is held."""

from __future__ import annotations

from collections.abc import Callable

from console.engines.ports.applier import ApiKind, JsonObject, Objects
from console.errors import Unreachable


class WhileLeading:
    """The objects of a cluster, read as ever, and written only while we lead. Satisfies the port ``Objects``.

    A long pass or a queued record may outlive the lead by moments; what it writes then is not sent.
    """

    def __init__(self, objects: Objects, leads: Callable[[], bool]) -> None:
        self._objects = objects
        self._leads = leads

    async def get(self, kind: ApiKind, namespace: str, name: str) -> JsonObject:
        """One object, read live."""
        return await self._objects.get(kind, namespace, name)

    async def list(self, kind: ApiKind, namespace: str = "") -> list[JsonObject]:
        """All objects of a namespace, or of all."""
        return await self._objects.list(kind, namespace)

    async def versions(self, kind: ApiKind, namespace: str = "") -> dict[tuple[str, str], str]:
        """The resourceVersions of what :meth:`list` would give."""
        return await self._objects.versions(kind, namespace)

    async def apply(self, kind: ApiKind, body: JsonObject, *, manager: str, force: bool) -> JsonObject:
        """Server-side apply. :raises Unreachable: we don't lead, so nothing was sent."""
        self._require_lead()
        return await self._objects.apply(kind, body, manager=manager, force=force)

    async def merge(self, kind: ApiKind, namespace: str, name: str, patch: JsonObject, *, manager: str) -> JsonObject:
        """JSON merge patch. Raises as :meth:`apply`."""
        self._require_lead()
        return await self._objects.merge(kind, namespace, name, patch, manager=manager)

    async def replace(self, kind: ApiKind, body: JsonObject, *, manager: str, subresource: str = "") -> JsonObject:
        """PUT of an object or of its status. Raises as :meth:`apply`."""
        self._require_lead()
        return await self._objects.replace(kind, body, manager=manager, subresource=subresource)

    async def can_i(self, verb: str, kind: ApiKind, namespace: str, name: str) -> bool:
        """Whether these credentials may do it."""
        return await self._objects.can_i(verb, kind, namespace, name)

    def _require_lead(self) -> None:
        if not self._leads():
            raise Unreachable("This console is not the elected engine (any more), so nothing was sent.")
