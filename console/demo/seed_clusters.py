"""The two clusters of the demo fleet, put together."""

from __future__ import annotations

from console.demo import kube_kinds
from console.demo.clockwork import WorldClock, rfc3339
from console.demo.cluster import Cluster
from console.demo.reverser_controller import LEASE, seed_lease
from console.demo.seed_argo import head, seed_argo
from console.demo.seed_flux import commit, seed_flux
from console.demo.seed_reverser import record, seed_reverser, seed_target, seed_trigger
from console.demo.seed_sets import seed_sets
from console.demo.seed_workloads import ATLAS, BOREALIS, Deployed, seed_deployments, seed_namespaces, seed_pod, template

_BOUND = (
    ("Ready", "True", "Succeeded", "the trigger is ready"),
    ("Configured", "True", "Succeeded", "the applier can be asked"),
)


def atlas(clock: WorldClock, seed: int, pods: int = 0) -> Cluster:
    """The cluster with Flux. ``pods`` more pods without any controller are for measuring."""
    kinds = (*kube_kinds.BUILT_IN, *kube_kinds.REVERSER, *kube_kinds.FLUX)
    cluster = Cluster("atlas", kinds, clock, seed, "1.36.2")
    seed_namespaces(
        cluster, (*dict.fromkeys(entry.namespace for entry in ATLAS), "observability", "platform", "team-a", LEASE[0])
    )
    seed_flux(cluster)
    seed_deployments(cluster, ATLAS)
    seed_sets(cluster)
    seed_reverser(cluster, tuple(("team-a", f"shop/{name}") for name in ("payments", "storefront", "live")))
    seed_lease(cluster)
    _atlas_triggers(cluster)
    if pods:
        _many_pods(cluster, pods)
    return cluster


def borealis(clock: WorldClock, seed: int) -> Cluster:
    """The cluster with Argo CD."""
    kinds = (*kube_kinds.BUILT_IN, *kube_kinds.REVERSER, *kube_kinds.ARGO)
    cluster = Cluster("borealis", kinds, clock, seed, "1.34.5")
    seed_namespaces(
        cluster, (*dict.fromkeys(entry.namespace for entry in BOREALIS), "analytics", "observability", "team-b", LEASE[0])
    )
    seed_argo(cluster)
    seed_deployments(cluster, BOREALIS)
    seed_sets(cluster)
    seed_reverser(cluster, tuple(("team-b", f"shop/{name}") for name in ("payments-eu", "storefront-eu")))
    _borealis_triggers(cluster)
    return cluster


def _source(url: str, branch: str, repository: str = "") -> dict[str, object]:
    found: dict[str, object] = {"url": url, "revision": branch}
    if repository:
        found |= {"gitRepository": {"namespace": "flux-system", "name": repository}, "prefetch": repository == "payments"}
    return found


def _atlas_triggers(cluster: Cluster) -> None:
    payments = commit(cluster, "payments")
    good = record(cluster, payments, "CatchUp", "Succeeded", age=760, took=34, appliedRevision=f"release@sha1:{payments}")
    seed_trigger(
        cluster,
        "FluxTrigger",
        "team-a",
        "payments",
        ("flux-system", "payments"),
        _source("https://git.example.test/shop/payments.git", "release", "payments"),
        (*_BOUND, ("Held", "True", "Suspended", "the Kustomization is suspended and handled")),
        good,
    )
    failing = record(
        cluster,
        commit(cluster, "storefront"),
        "ForeignCommit",
        "Failed",
        age=540,
        took=120,
        message="health check failed: Deployment/storefront/web is not ready",
    )
    seed_trigger(
        cluster,
        "FluxTrigger",
        "team-a",
        "storefront",
        ("flux-system", "storefront"),
        _source("https://git.example.test/shop/storefront.git", "main", "storefront"),
        (*_BOUND, ("Held", "False", "Resumed", "the Kustomization was resumed by somebody else")),
        failing,
    )
    search = "https://git.example.test/shop/search.git"
    mismatch = f"the applier applies {search}, but https://git.example.test/shop/live.git is written"
    seed_trigger(
        cluster,
        "FluxTrigger",
        "team-a",
        "search",
        ("flux-system", "search"),
        _source(search, "main", "search"),
        (("Ready", "False", "SourceMismatch", mismatch), ("Configured", "False", "SourceMismatch", mismatch)),
    )
    well = ("True", "Succeeded", "bound to its trigger")
    for name, branch, provider, ready in (
        ("payments", "release", "payments", well),
        ("storefront", "main", "storefront", well),
        # It edits another repository than the one that is applied: what it commits would never arrive.
        ("search", "main", "live", ("False", "SourceMismatch", mismatch)),
    ):
        seed_target(cluster, "team-a", name, branch, f"apps/{name}", ("FluxTrigger", name), ready, provider)


def _borealis_triggers(cluster: Cluster) -> None:
    seed_trigger(
        cluster,
        "ArgoCDTrigger",
        "team-b",
        "payments-eu",
        ("argocd", "payments-eu"),
        _source("https://git.example.test/shop/payments-eu.git", "main"),
        _BOUND,
        record(cluster, head(cluster, "payments-eu", 1), "CatchUp", "Succeeded", age=5800, took=11),
    )
    automated = "automated sync of the Application is on"
    seed_trigger(
        cluster,
        "ArgoCDTrigger",
        "team-b",
        "storefront-eu",
        ("argocd", "storefront-eu"),
        _source("https://git.example.test/shop/storefront-eu.git", "main"),
        (("Ready", "False", "AutomatedSyncEnabled", automated), ("Configured", "False", "AutomatedSyncEnabled", automated)),
    )
    seed_trigger(
        cluster,
        "ArgoCDTrigger",
        "team-b",
        "unused",
        ("argocd", "catalog-eu"),
        _source("https://git.example.test/shop/catalog-eu.git", "main"),
        (
            ("Ready", "True", "Succeeded", "nothing to do"),
            ("Configured", "Unknown", "NotReferenced", "no GitTarget names the trigger"),
        ),
    )
    seed_target(
        cluster,
        "team-b",
        "payments-eu",
        "main",
        "apps/payments",
        ("ArgoCDTrigger", "payments-eu"),
        ("True", "Succeeded", "bound to its trigger"),
    )
    seed_target(
        cluster,
        "team-b",
        "storefront-eu",
        "main",
        "apps/storefront",
        ("ArgoCDTrigger", "storefront-eu"),
        ("False", "AutomatedSyncEnabled", automated),
    )


def _many_pods(cluster: Cluster, count: int) -> None:
    image = Deployed(namespace="", name="", image="registry.example.test/load/worker:1").image
    for index in range(count):
        namespace, name = f"load-{index % 20:02}", f"worker-{index:05}"
        uid = cluster.names.uid(f"rs/{index // 100}")
        owner = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"worker-{index // 100}",
                "namespace": namespace,
                "uid": uid,
            },
            "spec": {"template": template("worker", image)},
        }
        waiting = "CrashLoopBackOff" if index % 97 == 0 else ""
        seed_pod(cluster, owner, "", age=3600 + index, name=name, waiting=waiting, restarts=int(index % 89 == 0))
    for index in range(20):
        name = f"load-{index:02}"
        at = rfc3339(cluster.clock.now())
        status = {"phase": "Active"}
        meta = {"name": name, "creationTimestamp": at}
        cluster.store.put(cluster.store.by_word["Namespace"], {"metadata": meta, "spec": {}, "status": status})
