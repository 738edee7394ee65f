"""StatefulSets and DaemonSets: pods with fixed places, replaced one at a time, the next only when all others are ready."""

from __future__ import annotations

from console.demo.cluster import Cluster
from console.demo.kube_store import Object
from console.demo.kubelet import Kubelet, is_ready, owner_of, waiting_for
from console.demo.seed_workloads import seed_pod, template_hash

REVISION = "controller-revision-hash"
_WORDS = ("StatefulSet", "DaemonSet")


class SetController:
    """Keeps the pods of both kinds."""

    manager = "kube-controller-manager"

    def __init__(self, cluster: Cluster, kubelet: Kubelet) -> None:
        self._cluster = cluster
        self._kubelet = kubelet
        self._unsettled: set[tuple[str, str, str]] = set()
        self._seen = cluster.store.version

    def step(self) -> None:
        """Look at what changed, then move every set that is not settled."""
        store = self._cluster.store
        for word in _WORDS:
            for occurrence in store.since(word, self._seen) or ():
                if occurrence.before is None or occurrence.before.get("spec") != occurrence.object.get("spec"):
                    meta = occurrence.object["metadata"]
                    self._unsettled.add((word, meta["namespace"], meta["name"]))
        for occurrence in store.since("Pod", self._seen) or ():
            word, name = owner_of(occurrence.object)
            if word in _WORDS and occurrence.type == "DELETED":
                self._unsettled.add((word, occurrence.object["metadata"]["namespace"], name))
        self._seen = store.version
        for key in sorted(self._unsettled):
            owner = store.find(*key)
            if owner is None or self._move(owner):
                self._unsettled.discard(key)

    def _move(self, owner: Object) -> bool:
        """One step of a set; returns whether nothing is left to do."""
        cluster, namespace = self._cluster, owner["metadata"]["namespace"]
        revision = template_hash(cluster, owner["spec"]["template"])
        for pod in pods_of(cluster, owner):
            self._kubelet.advance(pod)
        pods = {pod["metadata"]["name"]: pod for pod in pods_of(cluster, owner)}
        wanted = places(cluster, owner)
        extra = [name for name in pods if name not in wanted]
        missing = [name for name in wanted if name not in pods]
        outdated = [name for name in wanted if name in pods and pods[name]["metadata"]["labels"].get(REVISION) != revision]
        busy = [name for name, pod in pods.items() if not is_ready(pod)]
        # A pod that can't start is replaced before any other; a healthy one only while all of them are.
        replaceable = [name for name in outdated if name in busy] or ([] if busy or missing else outdated[-1:])
        for name in [*extra, *replaceable]:
            cluster.store.remove(cluster.store.by_word["Pod"], namespace, name)
        # A StatefulSet makes its pods in order, each when those before it are ready.
        for name in missing if owner["kind"] == "DaemonSet" else missing[: 0 if busy else 1]:
            make_pod(cluster, owner, name, waiting="ContainerCreating", age=0.0)
        self._write_status(owner, revision)
        stuck = all(waiting_for(pods[name]) == "ImagePullBackOff" for name in busy)
        return not (extra or missing or replaceable) and stuck

    def _write_status(self, owner: Object, revision: str) -> None:
        pods = pods_of(self._cluster, owner)
        ready = sum(is_ready(pod) for pod in pods)
        updated = sum(pod["metadata"]["labels"].get(REVISION) == revision for pod in pods)
        generation = owner["metadata"]["generation"]
        self._cluster.set_status(owner, self.manager, **set_status(self._cluster, owner, ready, updated, generation))


def places(cluster: Cluster, owner: Object) -> list[str]:
    """The names of the pods that a set wants."""
    name = owner["metadata"]["name"]
    if owner["kind"] == "StatefulSet":
        return [f"{name}-{index}" for index in range(owner["spec"].get("replicas", 1))]
    nodes = [node["metadata"]["name"] for node in cluster.store.all("Node")]
    return [f"{name}-{cluster.names.suffix(f'{name}/{node}')}" for node in nodes]


def pods_of(cluster: Cluster, owner: Object) -> list[Object]:
    """The pods that a set made."""
    key = (owner["kind"], owner["metadata"]["name"])
    return [pod for pod in cluster.store.all("Pod", owner["metadata"]["namespace"]) if owner_of(pod) == key]


def make_pod(cluster: Cluster, owner: Object, name: str, *, age: float, waiting: str = "") -> Object:
    """A pod of a set in its place, marked with the revision of the template."""
    template = owner["spec"]["template"]
    labels = {**template["metadata"]["labels"], REVISION: template_hash(cluster, template)}
    marked = {**template, "metadata": {**template["metadata"], "labels": labels}}
    maker = {**owner, "spec": {**owner["spec"], "template": marked}}
    return seed_pod(cluster, maker, "", age=age, name=name, waiting=waiting)


def set_status(cluster: Cluster, owner: Object, ready: int, updated: int, generation: int) -> Object:
    """The status of a set in the words of its kind."""
    wanted = len(places(cluster, owner))
    if owner["kind"] == "DaemonSet":
        return {
            "observedGeneration": generation,
            "desiredNumberScheduled": wanted,
            "currentNumberScheduled": wanted,
            "updatedNumberScheduled": updated,
            "numberReady": ready,
            "numberAvailable": ready,
            "numberMisscheduled": 0,
        }
    return {
        "observedGeneration": generation,
        "replicas": wanted,
        "readyReplicas": ready,
        "availableReplicas": ready,
        "currentReplicas": wanted,
        "updatedReplicas": updated,
    }
