"""One client per cluster and kind, made when first needed."""

from __future__ import annotations

from console.engines.dispatch.argo import ArgoClient
from console.engines.dispatch.constants import FIELD_MANAGER, ConditionReason, Timing
from console.engines.dispatch.faults import PermanentError
from console.engines.dispatch.flux import FluxClient
from console.engines.dispatch.tokens import Tokens
from console.engines.dispatch.types import ApplierKey, ObjectName
from console.engines.ports.applier import APPLICATIONS, KUSTOMIZATIONS
from console.engines.ports.dispatch import ApplierClient, Clusters
from console.kit.timing import Clock


class ClusterClients:
    """Makes clients over the objects of each cluster; a client keeps nothing, so none is ever closed."""

    def __init__(
        self, clusters: Clusters, clock: Clock, tokens: Tokens, timing: Timing | None = None, manager: str = FIELD_MANAGER
    ) -> None:
        self._clusters = clusters
        self._clock = clock
        self._tokens = tokens
        self.timing = timing or Timing()
        self._manager = manager

    async def client(self, key: ApplierKey) -> ApplierClient:
        """The client for an applier. :raises PermanentError: no client drives such a kind."""
        if key.kind == KUSTOMIZATIONS.kind:
            return await self.flux(key.cluster)
        if key.kind == APPLICATIONS.kind:
            return await self.argo(key.cluster)
        raise PermanentError(ConditionReason.APPLIER_NOT_FOUND, f"{key.kind} is no kind of applier")

    async def flux(self, cluster: str) -> FluxClient:
        """The Flux client of a cluster."""
        objects = await self._clusters.objects(cluster)
        return FluxClient(objects, self._clock, self._tokens, self.timing, self._manager)

    async def argo(self, cluster: str) -> ArgoClient:
        """The Argo CD client of a cluster."""
        return ArgoClient(await self._clusters.objects(cluster), self._clock, self.timing, self._manager)

    async def prefetch(self, key: ApplierKey, source: ObjectName, commit: str) -> None:
        """Ask the source of a Kustomization to fetch; other appliers have nothing to fetch."""
        if key.kind == KUSTOMIZATIONS.kind:
            client = await self.flux(key.cluster)
            await client.prefetch(key.ref, source, commit)
