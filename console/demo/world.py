"""The whole simulated world: the clusters and engines of the demo fleet on one clock, moved by steps."""

from __future__ import annotations

from datetime import datetime

from console.demo.argo_controller import ArgoController
from console.demo.clockwork import WorldClock
from console.demo.cluster import Cluster, Controller
from console.demo.engine import Engine
from console.demo.host_controller import HostController
from console.demo.kubelet import Kubelet
from console.demo.kustomize_controller import KustomizeController
from console.demo.repositories import Fetches, Manifests, Repositories
from console.demo.reverser_controller import ReverserController
from console.demo.rollout_controller import RolloutController
from console.demo.seed_clusters import atlas, borealis
from console.demo.seed_harbour import harbour
from console.demo.seed_hosts import hosts
from console.demo.seed_releases import seed_releases
from console.demo.seed_workloads import ATLAS, BOREALIS
from console.demo.set_controller import SetController
from console.demo.source_controller import Committer, HelmController, SourceController
from console.demo.swarm_orchestrator import Orchestrator

_SLICE = 0.25


class World:
    """Clusters and engines by name. The same seed and start give the same world, and the same steps the same history.

    :param pods: additional pods in "atlas", and ``services`` additional Swarm services in "harbour", for measuring.
    """

    def __init__(self, seed: int, now: datetime, *, pods: int = 0, services: int = 0) -> None:
        self.clock = WorldClock(now)
        self._pods = pods
        self._disturbed = 0
        self.clusters: dict[str, Cluster] = {
            "atlas": atlas(self.clock, seed, pods),
            "borealis": borealis(self.clock, seed),
        }
        self.engines: dict[str, Engine] = {"harbour": harbour(self.clock, seed, services), **hosts(self.clock, seed)}
        found = [(cluster, Manifests(cluster)) for cluster in self.clusters.values()]
        self.repositories = Repositories([(cluster, made, _control(cluster, made)) for cluster, made in found])
        for engine in self.engines.values():
            engine.controllers.append(HostController(engine))
            if engine.swarm is not None:
                seed_releases(engine.swarm)
                engine.controllers.append(Orchestrator(engine.swarm))

    def step(self, seconds: float) -> None:
        """Let time pass, in slices short enough that nothing is skipped."""
        left = seconds
        while left > 1e-9:
            piece = min(left, _SLICE)
            self.clock.advance(piece)
            left -= piece
            for cluster in self.clusters.values():
                cluster.step()
            for engine in self.engines.values():
                engine.step()

    def disturb(self, pods: int) -> None:
        """Change so many of the additional pods, one after the other, for measuring what a storm of changes costs."""
        store = self.clusters["atlas"].store
        kind = store.by_word["Pod"]
        for _ in range(pods if self._pods else 0):
            index = self._disturbed % self._pods
            self._disturbed += 1
            pod = store.get(kind, f"load-{index % 20:02}", f"worker-{index:05}")
            if pod is not None:
                status = pod["status"]
                containers = [{**entry, "restartCount": entry["restartCount"] + 1} for entry in status["containerStatuses"]]
                store.put(kind, {**pod, "status": {**status, "containerStatuses": containers}})


def _control(cluster: Cluster, manifests: Manifests) -> Fetches:
    """Give a cluster its controllers; returns the one that knows where branches are."""
    missing = frozenset(f"{entry.image.rpartition(':')[0]}:{entry.broken}" for entry in (*ATLAS, *BOREALIS) if entry.broken)
    kubelet = Kubelet(cluster, missing)
    workloads: list[Controller] = [RolloutController(cluster, kubelet), SetController(cluster, kubelet)]
    if "Application" in cluster.store.by_word:
        argo = ArgoController(cluster, manifests)
        committer = Committer(cluster, argo.heads, ("storefront-eu", "search-eu", "edge-router"), manifests.times)
        cluster.controllers.extend([committer, argo, *workloads])
        return argo
    source = SourceController(cluster)
    controllers: list[Controller] = [
        Committer(cluster, source.heads, ("payments", "search", "fleet", "storefront"), manifests.times),
        source,
        KustomizeController(cluster, manifests),
        HelmController(cluster),
        ReverserController(cluster),
        *workloads,
    ]
    cluster.controllers.extend(controllers)
    return source
