"""What the simulated controllers collect when an object is deleted, and the garbage that goes with it.

Facts kept: a finalizer holds the object until its controller has looked; a suspended Kustomization, or one whose policy keeps
its objects, leaves all of them behind (F13 of the dispatch specification's facts); an Application cascades only under
its finalizer; what an object owned goes after it.
"""

from __future__ import annotations

from collections.abc import Iterable

from console.demo.cluster import Cluster
from console.demo.kube_store import Object

FLUX_FINALIZER = "finalizers.fluxcd.io"
ARGO_FINALIZER = "resources-finalizer.argocd.argoproj.io"
Named = tuple[str, str, str]
"""Kind, namespace and name."""


def collects(kustomization: Object) -> bool:
    """Whether a Kustomization that is deleted takes what it applied along."""
    spec = kustomization["spec"]
    if spec.get("suspend"):
        return False
    policy = spec.get("deletionPolicy") or "MirrorPrune"
    return bool(spec.get("prune")) if policy == "MirrorPrune" else policy in ("Delete", "WaitForTermination")


def inventory(kustomization: Object) -> list[Named]:
    """What a Kustomization applied: ids are ``namespace_name_group_kind``."""
    entries = (kustomization.get("status", {}).get("inventory") or {}).get("entries") or ()
    parts = [entry["id"].split("_") for entry in entries]
    return [(kind, namespace, name) for namespace, name, _, kind in parts]


def managed(application: Object) -> list[Named]:
    """What an Application manages."""
    return [
        (entry["kind"], entry.get("namespace", ""), entry["name"])
        for entry in application.get("status", {}).get("resources") or ()
    ]


def finish(cluster: Cluster, obj: Object, finalizer: str, behind: Iterable[Named], manager: str) -> None:
    """Delete what goes with an object that is being deleted, then let the object itself go."""
    for word, namespace, name in behind:
        remove(cluster, word, namespace, name)

    def let_go(live: Object) -> Object:
        left = [entry for entry in live["metadata"].get("finalizers") or () if entry != finalizer]
        meta = {key: value for key, value in live["metadata"].items() if key != "finalizers"}
        return {**live, "metadata": {**meta, "finalizers": left} if left else meta}

    cluster.change(obj, let_go, manager)


def remove(cluster: Cluster, word: str, namespace: str, name: str) -> None:
    """Delete an object and, as the garbage collector does, whatever it owned. Kinds that nothing serves are passed over."""
    kind = cluster.store.by_word.get(word)
    obj = cluster.store.find(word, namespace, name)
    if kind is None or obj is None:
        return
    cluster.store.remove(kind, namespace, name)
    uid = obj["metadata"]["uid"]
    for owned in ("ReplicaSet", "Pod", "Job"):
        for other in cluster.store.all(owned, namespace) if owned in cluster.store.by_word else ():
            if any(owner.get("uid") == uid for owner in other["metadata"].get("ownerReferences") or ()):
                remove(cluster, owned, namespace, other["metadata"]["name"])
