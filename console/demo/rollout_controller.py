"""What becomes of Deployments and their pods: rollouts pod by pod, images that can't be pulled, pods that come back."""

from __future__ import annotations

from console.demo.clockwork import rfc3339
from console.demo.cluster import Cluster
from console.demo.kube_store import Object
from console.demo.kubelet import Kubelet, is_ready, owner_of, waiting_for
from console.demo.seed_workloads import replica_set, seed_pod, template_hash

_KEPT_SETS = 3


class RolloutController:
    """Keeps Deployments and their ReplicaSets."""

    manager = "kube-controller-manager"

    def __init__(self, cluster: Cluster, kubelet: Kubelet) -> None:
        self._cluster = cluster
        self._kubelet = kubelet
        self._unsettled: set[tuple[str, str]] = set()
        self._deployments_seen = cluster.store.version
        self._pods_seen = cluster.store.version

    def step(self) -> None:
        """Look at what changed, then move every Deployment that is not settled."""
        self._notice()
        for namespace, name in sorted(self._unsettled):
            deployment = self._cluster.store.find("Deployment", namespace, name)
            if deployment is None:
                self._clean_up(namespace, name)
                self._unsettled.discard((namespace, name))
            elif self._move(deployment):
                self._unsettled.discard((namespace, name))

    def _notice(self) -> None:
        store = self._cluster.store
        for occurrence in store.since("Deployment", self._deployments_seen) or ():
            meta, before = occurrence.object["metadata"], occurrence.before
            if before is None or before.get("spec") != occurrence.object.get("spec") or occurrence.type == "DELETED":
                self._unsettled.add((meta["namespace"], meta["name"]))
        self._deployments_seen = store.version
        for occurrence in store.since("Pod", self._pods_seen) or ():
            owner = next(iter(occurrence.object["metadata"].get("ownerReferences") or ()), None)
            if owner is not None and owner["kind"] == "ReplicaSet" and occurrence.type == "DELETED":
                namespace = occurrence.object["metadata"]["namespace"]
                self._unsettled.add((namespace, owner["name"].rpartition("-")[0]))
        self._pods_seen = store.version

    def _move(self, deployment: Object) -> bool:
        """One step of a Deployment; returns whether nothing is left to do."""
        cluster, spec, meta = self._cluster, deployment["spec"], deployment["metadata"]
        wanted = spec.get("replicas", 1)
        digest = template_hash(cluster, spec["template"])
        set_name = f"{meta['name']}-{digest}"
        current = cluster.store.find("ReplicaSet", meta["namespace"], set_name)
        if current is None:
            current = replica_set(cluster, deployment, spec["template"], 0, age=0.0)
            self._forget_old_sets(deployment, set_name)
            message = f"Scaled up replica set {set_name}"
            cluster.event(deployment, "ScalingReplicaSet", message, source="deployment-controller")
        pods = self._pods(meta["namespace"], meta["name"])
        for pod in pods:
            self._kubelet.advance(pod)
        pods = self._pods(meta["namespace"], meta["name"])
        new = [pod for pod in pods if _owner(pod) == set_name]
        old = [pod for pod in pods if _owner(pod) != set_name]
        ready = [pod for pod in pods if is_ready(pod)]
        away = _most_away(spec, wanted)
        if old and (broken := next((pod for pod in old if not is_ready(pod)), None)):
            self._delete(broken)
        elif old and len(ready) > wanted - away:
            self._delete(old[-1])
        if len(new) < wanted and len(pods) <= wanted:
            word = cluster.names.next_word(set_name)
            seed_pod(cluster, current, word, age=0.0, waiting="ContainerCreating")
        elif len(new) > wanted:
            self._delete(new[-1])
        self._write_status(deployment, set_name)
        after = self._pods(meta["namespace"], meta["name"])
        # A rollout that waits for an image is settled too: nothing more happens until somebody changes it.
        moving = any(not is_ready(pod) and waiting_for(pod) != "ImagePullBackOff" for pod in after)
        return not moving and [_name(pod) for pod in after] == [_name(pod) for pod in pods]

    def _delete(self, pod: Object) -> None:
        meta = pod["metadata"]
        self._cluster.store.remove(self._cluster.store.by_word["Pod"], meta["namespace"], meta["name"])

    def _clean_up(self, namespace: str, name: str) -> None:
        for pod in self._pods(namespace, name):
            self._delete(pod)
        store = self._cluster.store
        for owned in self._sets(namespace, name):
            store.remove(store.by_word["ReplicaSet"], namespace, owned["metadata"]["name"])

    def _pods(self, namespace: str, name: str) -> list[Object]:
        return [pod for pod in self._cluster.store.all("Pod", namespace) if _owner(pod).rpartition("-")[0] == name]

    def _write_status(self, deployment: Object, set_name: str) -> None:
        meta = deployment["metadata"]
        pods = self._pods(meta["namespace"], meta["name"])
        wanted = deployment["spec"].get("replicas", 1)
        ready = sum(is_ready(pod) for pod in pods)
        updated = sum(_owner(pod) == set_name for pod in pods)
        conditions = deployment.get("status", {}).get("conditions", [])
        done = ready >= wanted and updated >= wanted
        reason = "NewReplicaSetAvailable" if done else "ReplicaSetUpdated"
        progressing = next((entry for entry in conditions if entry["type"] == "Progressing"), None)
        if progressing is None or progressing["reason"] != reason:
            at = rfc3339(self._cluster.clock.now())
            message = "the new replica set has progressed" if done else "the new replica set is progressing"
            made = {"type": "Progressing", "status": "True", "reason": reason, "message": message, "lastTransitionTime": at}
            conditions = [made, *(entry for entry in conditions if entry["type"] != "Progressing")]
        self._cluster.set_status(
            deployment,
            self.manager,
            observedGeneration=meta["generation"],
            replicas=len(pods),
            readyReplicas=ready or None,
            availableReplicas=ready or None,
            updatedReplicas=updated or None,
            unavailableReplicas=max(0, wanted - ready) or None,
            conditions=conditions,
        )
        for owned in self._sets(meta["namespace"], meta["name"]):
            name = owned["metadata"]["name"]
            mine = [pod for pod in pods if _owner(pod) == name]
            count = sum(is_ready(pod) for pod in mine)
            self._cluster.set_status(owned, self.manager, replicas=len(mine), readyReplicas=count or None)

    def _forget_old_sets(self, deployment: Object, set_name: str) -> None:
        meta = deployment["metadata"]
        owners = {_owner(pod) for pod in self._pods(meta["namespace"], meta["name"])}
        empty = [owned for owned in self._sets(meta["namespace"], meta["name"]) if owned["metadata"]["name"] not in owners]
        empty = [owned for owned in empty if owned["metadata"]["name"] != set_name]
        empty.sort(key=lambda owned: str(owned["metadata"]["creationTimestamp"]))
        for owned in empty[:-_KEPT_SETS]:
            kind = self._cluster.store.by_word["ReplicaSet"]
            self._cluster.store.remove(kind, meta["namespace"], owned["metadata"]["name"])

    def _sets(self, namespace: str, name: str) -> list[Object]:
        return [
            owned
            for owned in self._cluster.store.all("ReplicaSet", namespace)
            if any(owner["name"] == name for owner in owned["metadata"].get("ownerReferences") or ())
        ]


def _owner(pod: Object) -> str:
    return owner_of(pod)[1]


def _name(pod: Object) -> str:
    return str(pod["metadata"]["name"])


def _most_away(spec: Object, wanted: int) -> int:
    allowed = spec.get("strategy", {}).get("rollingUpdate", {}).get("maxUnavailable", 1)
    return allowed if isinstance(allowed, int) else max(1, wanted * int(str(allowed).rstrip("%")) // 100)
