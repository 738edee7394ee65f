"""Every read and write that the engine makes on a Kustomization or a GitRepository.

Each write is one server-side apply that is the manager's whole intent: what it leaves out, it gives up. ``metadata.uid`` is
always in the body, because an apply without it to a deleted object would create an empty one (neither CRD requires ``spec``).
"""

from __future__ import annotations

from console.engines.dispatch.constants import REQUESTED_AT, ConditionReason
from console.engines.dispatch.faults import read_fault
from console.engines.dispatch.flux_reading import name_of, uid
from console.engines.dispatch.tokens import Tokens
from console.engines.dispatch.types import ObjectName
from console.engines.ports.applier import GIT_REPOSITORIES, KUSTOMIZATIONS, ApiKind, JsonObject, Objects
from console.errors import QuarterdeckError
from console.kit.dig import text


class FluxObjects:
    """Kustomizations and GitRepositories of one cluster, under one field manager."""

    def __init__(self, objects: Objects, tokens: Tokens, manager: str) -> None:
        self.objects = objects
        self.tokens = tokens
        self.manager = manager

    async def kustomization(self, ref: ObjectName) -> JsonObject:
        """A live read; raises a permanent or retryable error."""
        return await self._read(KUSTOMIZATIONS, ref, ConditionReason.APPLIER_NOT_FOUND)

    async def repository(self, ref: ObjectName) -> JsonObject:
        """A live read; raises a permanent or retryable error."""
        return await self._read(GIT_REPOSITORIES, ref, ConditionReason.UNSUPPORTED_SOURCE)

    async def _read(self, kind: ApiKind, ref: ObjectName, missing: ConditionReason) -> JsonObject:
        try:
            return await self.objects.get(kind, ref.namespace, ref.name)
        except QuarterdeckError as error:
            raise read_fault(error, f"{kind.kind} {ref}", missing) from error

    async def resume(self, kustomization: JsonObject, token: str) -> JsonObject:
        """Resume and ask in one write, bound to the object exactly as read.

        Two writes would allow a reconcile between them that reads only one.
        """
        body = _identity(KUSTOMIZATIONS, kustomization, guarded=True)
        body["metadata"]["annotations"] = {REQUESTED_AT: token}
        body["spec"] = {"suspend": False}
        return await self.objects.apply(KUSTOMIZATIONS, body, manager=self.manager, force=True)

    async def suspend(self, kustomization: JsonObject) -> tuple[str, JsonObject]:
        """Suspend with a new token, which is returned with the stored object. Right whatever else changed: no version guard."""
        token = self.tokens.new()
        body = _identity(KUSTOMIZATIONS, kustomization)
        body["metadata"]["annotations"] = {REQUESTED_AT: token}
        body["spec"] = {"suspend": True}
        return token, await self.objects.apply(KUSTOMIZATIONS, body, manager=self.manager, force=True)

    async def take_back(self, kustomization: JsonObject) -> JsonObject:
        """Force ``suspend: false``: a different value takes the field from every owner, an equal one would share it."""
        body = _identity(KUSTOMIZATIONS, kustomization, guarded=True)
        body["spec"] = {"suspend": False}
        return await self.objects.apply(KUSTOMIZATIONS, body, manager=self.manager, force=True)

    async def give_up(self, kustomization: JsonObject) -> JsonObject:
        """Apply nothing: drops every field that only we own. No ``spec`` either, or an empty one would stay ours."""
        body = _identity(KUSTOMIZATIONS, kustomization)
        return await self.objects.apply(KUSTOMIZATIONS, body, manager=self.manager, force=True)

    async def stamp(self, repository: JsonObject) -> str:
        """Ask a GitRepository for a fetch; returns the token."""
        token = self.tokens.new()
        body = _identity(GIT_REPOSITORIES, repository)
        body["metadata"]["annotations"] = {REQUESTED_AT: token}
        await self.objects.apply(GIT_REPOSITORIES, body, manager=self.manager, force=True)
        return token


def _identity(kind: ApiKind, obj: JsonObject, *, guarded: bool = False) -> JsonObject:
    name = name_of(obj)
    metadata: JsonObject = {"name": name.name, "namespace": name.namespace, "uid": uid(obj)}
    if guarded:
        metadata["resourceVersion"] = text(obj, "metadata", "resourceVersion")
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
