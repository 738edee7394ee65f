"""Server-side apply as a question: what would the API server make of an object? Nothing is stored (``dryRun=All``).

Source: Kubernetes API concepts, "Dry-run" (admission runs, only the storing is left out) and "Server-Side Apply".
"""

from __future__ import annotations

import asyncio
from typing import Any

from console.clients.kubernetes import KubernetesClient
from console.clients.kubernetes_wire import ApiResource
from console.errors import Invalid, NotFound, NotServed
from console.kit.dig import text


class DryRun:
    """Asks one API server; what it serves is remembered for as long as this lives. Raises errors of :mod:`console.errors`."""

    def __init__(self, client: KubernetesClient) -> None:
        self._client = client
        self._served: dict[str, asyncio.Task[tuple[ApiResource, ...]]] = {}

    async def namespaced(self, api_version: str, kind: str) -> bool:
        """Whether objects of this kind live in namespaces. :raises NotServed: the server does not know the kind."""
        return (await self._resource(api_version, kind)).namespaced

    async def live(self, api_version: str, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        """The object as it is now; None where there is none. :raises NotServed: the server does not know the kind."""
        path = await self._path(api_version, kind, namespace, name)
        try:
            return await self._client.get(path)
        except NotFound:
            return None

    async def apply(self, obj: dict[str, Any], manager: str) -> dict[str, Any]:
        """The object as it would be stored if ``manager`` applied this one, taking every field that it sets."""
        metadata = obj.get("metadata") or {}
        path = await self._path(
            text(obj, "apiVersion"), text(obj, "kind"), str(metadata.get("namespace") or ""), text(obj, "metadata", "name")
        )
        return await self._client.apply(path, obj, manager=manager, force=True, params={"dryRun": "All"})

    async def close(self) -> None:
        """End questions that are under way."""
        for task in self._served.values():
            task.cancel()
        await asyncio.gather(*self._served.values(), return_exceptions=True)

    async def _path(self, api_version: str, kind: str, namespace: str, name: str) -> str:
        resource = await self._resource(api_version, kind)
        if resource.namespaced and not namespace:
            raise Invalid(f"{kind} {name} says no namespace, and lives in one.")
        for part in (api_version, namespace, name):
            if not part.isprintable() or "?" in part or "#" in part or "%" in part or ".." in part.split("/"):
                raise Invalid(f"{kind} {name!r} has a name that no object can have.")
        if "/" in namespace or "/" in name:
            raise Invalid(f"{kind} {name!r} has a name that no object can have.")
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        place = f"/namespaces/{namespace}" if resource.namespaced else ""
        return f"{root}{place}/{resource.name}/{name}"

    async def _resource(self, api_version: str, kind: str) -> ApiResource:
        asked = self._served.get(api_version)
        if asked is None:
            asked = self._served[api_version] = asyncio.create_task(
                self._client.resources(api_version), name=f"discovery {api_version}"
            )
        for resource in await asyncio.shield(asked):
            if resource.kind == kind and "/" not in resource.name:
                return resource
        raise NotServed(f"The server does not know the kind {kind} of {api_version}.", status=404)
