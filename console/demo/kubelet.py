"""What happens to pods on their node: they start, or their image can't be pulled."""

from __future__ import annotations

from console.demo.clockwork import parse_time
from console.demo.cluster import Cluster
from console.demo.kube_store import Object
from console.demo.seed_workloads import pod_status

_START_SECONDS = 1.0


class Kubelet:
    """Starts the pods of one cluster. ``missing`` are images that can't be pulled, besides those that say so by their tag."""

    def __init__(self, cluster: Cluster, missing: frozenset[str]) -> None:
        self._cluster = cluster
        self._missing = missing

    def advance(self, pod: Object) -> None:
        """Bring a pod one step further, when its time has come."""
        reason = waiting_for(pod)
        if reason not in ("ContainerCreating", "ErrImagePull"):
            return
        waited = (self._cluster.clock.now() - parse_time(pod["status"]["startTime"])).total_seconds()
        if waited < _START_SECONDS:
            return
        image = pod["spec"]["containers"][0]["image"]
        if image not in self._missing and not image.endswith((":nope", ":missing")):
            self._set(pod, "")
        elif reason == "ContainerCreating":
            self._set(pod, "ErrImagePull")
            message = f'Failed to pull image "{image}": rpc error: code = NotFound desc = not found'
            self._cluster.event(pod, "Failed", message, warning=True, source="kubelet")
        elif waited >= 3 * _START_SECONDS:
            self._set(pod, "ImagePullBackOff")
            self._cluster.event(pod, "BackOff", f'Back-off pulling image "{image}"', warning=True, source="kubelet")

    def _set(self, pod: Object, waiting: str) -> None:
        status = pod_status(self._cluster, pod["spec"], age=0.0, waiting=waiting)
        status["startTime"] = pod["status"]["startTime"]
        self._cluster.store.put(self._cluster.store.by_word["Pod"], {**pod, "status": status})


def is_ready(pod: Object) -> bool:
    """Whether a pod's Ready condition is True."""
    return any(entry["type"] == "Ready" and entry["status"] == "True" for entry in pod["status"]["conditions"])


def waiting_for(pod: Object) -> str:
    """The reason that a container of a pod waits for; nothing when all run."""
    for status in pod["status"].get("containerStatuses", ()):
        if "waiting" in status["state"]:
            return str(status["state"]["waiting"]["reason"])
    return ""


def owner_of(pod: Object) -> tuple[str, str]:
    """Kind and name of what made a pod."""
    owner = next(iter(pod["metadata"].get("ownerReferences") or ()), None)
    return (str(owner["kind"]), str(owner["name"])) if owner is not None else ("", "")
