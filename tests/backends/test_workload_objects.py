"""Pods and what makes them, as they come from a server, and what the console says of them."""

from __future__ import annotations

from typing import Any

import pytest

from console.model.health import Health
from console.model.kubernetes import Event, Pod, Workload
from tests.backends.decoding import Cluster, Json, condition


def pod(*statuses: Json, phase: str = "Running", inits: list[Json] | None = None, **more: Any) -> Json:
    names = [status["name"] for status in statuses] or ["web"]
    return {
        "kind": "Pod",
        "metadata": {"name": "web-1", "namespace": "shop", "uid": "p1", **more.pop("metadata", {})},
        "spec": {"nodeName": "n1", "containers": [{"name": name} for name in names], **more.pop("spec", {})},
        "status": {"phase": phase, "containerStatuses": list(statuses), "initContainerStatuses": inits or [], **more},
    }


def status(name: str = "web", *, ready: bool = False, restarts: int = 0, **state: Json) -> Json:
    return {"name": name, "ready": ready, "restartCount": restarts, "state": state, "lastState": {}}


RUNNING = {"startedAt": "2026-03-01T10:00:00Z"}


def row(found: Json) -> Pod:
    cluster = Cluster()
    cluster.put(found)
    pod_row = cluster.one("Pod")
    assert isinstance(pod_row, Pod)
    return pod_row


@pytest.mark.parametrize(
    ("found", "phase", "health", "words"),
    [
        (pod(status(ready=True, running=RUNNING)), "Running", Health.OK, ""),
        (pod(status(running=RUNNING)), "Running", Health.WARN, "Not ready: web."),
        (
            pod(status(waiting={"reason": "ImagePullBackOff", "message": "Back-off pulling image web:9"}), phase="Pending"),
            "ImagePullBackOff",
            Health.BAD,
            "Back-off pulling image web:9.",
        ),
        (pod(status(waiting={"reason": "ContainerCreating"}), phase="Pending"), "ContainerCreating", Health.BUSY, "started"),
        (pod(status(terminated={"reason": "Completed", "exitCode": 0}), phase="Succeeded"), "Completed", Health.OK, ""),
        (pod(status(terminated={"reason": "Error", "exitCode": 3}), phase="Failed"), "Error", Health.BAD, "exit code 3"),
        (pod(status(terminated={"exitCode": 3}), phase="Failed"), "ExitCode:3", Health.BAD, "exit code 3"),
        (pod(phase="Failed", reason="Evicted", message="The node was low on memory."), "Evicted", Health.BAD, "low on memory"),
        (pod(status(running=RUNNING), metadata={"deletionTimestamp": "2026-03-01T10:00:00Z"}), "Terminating", Health.BUSY, ""),
        (pod(phase="Pending"), "Pending", Health.BUSY, "waits"),
        (
            pod(phase="Pending", conditions=[condition("PodScheduled", "False", "Unschedulable", "0/3 nodes are available")]),
            "Pending",
            Health.WARN,
            "0/3 nodes",
        ),
        (
            pod(status(), phase="Pending", inits=[status("migrate", waiting={"reason": "CrashLoopBackOff", "message": "no"})]),
            "Init:CrashLoopBackOff",
            Health.BAD,
            "No.",
        ),
        (pod(status(), phase="Pending", inits=[status("migrate", running=RUNNING)]), "Init:0/1", Health.BUSY, ""),
    ],
)
def test_a_pods_word_is_that_of_kubectl_and_its_reason_a_sentence(found: Json, phase: str, health: Health, words: str) -> None:
    result = row(found)
    assert (result.phase, result.health) == (phase, health)
    assert words in result.reason


def test_a_crash_loop_says_how_the_container_ended_when_nothing_else_does() -> None:
    looping = status(waiting={"reason": "CrashLoopBackOff"}, restarts=7)
    looping["lastState"] = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    result = row(pod(looping))
    assert (result.phase, result.restarts) == ("CrashLoopBackOff", 7)
    assert result.reason == "Container web ended with exit code 137 (OOMKilled)."


def test_a_sidecar_counts_as_a_container_and_does_not_block_like_an_init_container() -> None:
    spec = {"initContainers": [{"name": "proxy", "restartPolicy": "Always"}], "containers": [{"name": "web"}]}
    result = row(pod(status(ready=True, running=RUNNING), spec=spec, inits=[status("proxy", ready=True, running=RUNNING)]))
    assert (result.phase, result.containers) == ("Running", ("web", "proxy"))


def test_a_pod_names_its_owner() -> None:
    owners = [{"kind": "ReplicaSet", "name": "web-7f", "uid": "r1", "controller": True}]
    result = row(pod(status(ready=True, running=RUNNING), metadata={"ownerReferences": owners}))
    assert result.owner == "ReplicaSet/web-7f"
    assert result.related[0].uid == "r1"


def workload(kind: str, spec: Json, **state: Any) -> Workload:
    cluster = Cluster()
    template = {"spec": {"containers": [{"name": "web", "image": "web:2"}, {"name": "side", "image": "side:1"}]}}
    cluster.put(
        {
            "kind": kind,
            "metadata": {"name": "web", "namespace": "shop", "generation": 2},
            "spec": {"template": template, **spec},
            "status": {"observedGeneration": 2, **state},
        }
    )
    found = cluster.one(kind)
    assert isinstance(found, Workload)
    return found


@pytest.mark.parametrize(
    ("kind", "spec", "state", "counts", "health"),
    [
        ("Deployment", {"replicas": 3}, {"readyReplicas": 3, "updatedReplicas": 3}, (3, 3, 3), Health.OK),
        ("Deployment", {"replicas": 3}, {"readyReplicas": 3, "updatedReplicas": 1}, (3, 3, 1), Health.BUSY),
        ("Deployment", {"replicas": 3}, {"readyReplicas": 1, "updatedReplicas": 3}, (3, 1, 3), Health.WARN),
        ("Deployment", {"replicas": 3}, {"updatedReplicas": 3}, (3, 0, 3), Health.BAD),
        ("Deployment", {"replicas": 0}, {}, (0, 0, 0), Health.OK),
        ("Deployment", {"replicas": 1, "paused": True}, {"readyReplicas": 1, "updatedReplicas": 1}, (1, 1, 1), Health.HELD),
        (
            "Deployment",
            {"replicas": 1},
            {"conditions": [condition("Progressing", "False", "ProgressDeadlineExceeded", "timed out")]},
            (1, 0, 0),
            Health.BAD,
        ),
        (
            "Deployment",
            {"replicas": 1},
            {"observedGeneration": 1, "readyReplicas": 1, "updatedReplicas": 1},
            (1, 1, 1),
            Health.BUSY,
        ),
        (
            "DaemonSet",
            {},
            {"desiredNumberScheduled": 4, "numberReady": 4, "updatedNumberScheduled": 4},
            (4, 4, 4),
            Health.OK,
        ),
        ("Job", {"completions": 3}, {"succeeded": 3, "conditions": [condition("Complete", "True")]}, (3, 3, 0), Health.OK),
        ("Job", {"completions": 3}, {"succeeded": 1, "active": 1, "failed": 2}, (3, 1, 1), Health.BUSY),
        ("Job", {}, {"conditions": [condition("Failed", "True", "BackoffLimitExceeded", "too many")]}, (1, 0, 0), Health.BAD),
        ("Job", {"suspend": True}, {}, (1, 0, 0), Health.HELD),
    ],
)
def test_workloads_count_their_pods(kind: str, spec: Json, state: Json, counts: tuple[int, int, int], health: Health) -> None:
    found = workload(kind, spec, **state)
    assert (found.wanted, found.ready, found.updated) == counts
    assert found.health is health
    assert found.images == ("web:2", "side:1")


def test_an_event_is_dated_by_the_last_time_it_was_seen() -> None:
    cluster = Cluster()
    about = {"kind": "Pod", "namespace": "shop", "name": "web-1", "uid": "p1"}
    common = {"kind": "Event", "involvedObject": about, "reason": "BackOff", "message": "restarting failed container"}
    cluster.put(
        {
            **common,
            "metadata": {"name": "e1", "namespace": "shop", "uid": "e1"},
            "type": "Warning",
            "count": 4,
            "firstTimestamp": "2026-03-01T10:00:00Z",
            "lastTimestamp": "2026-03-01T10:05:00Z",
            "source": {"component": "kubelet"},
        },
        {
            **common,
            "metadata": {"name": "e2", "namespace": "shop", "uid": "e2"},
            "type": "Normal",
            "eventTime": "2026-03-01T11:00:00.123456Z",
            "series": {"count": 9, "lastObservedTime": "2026-03-01T12:00:00.000000Z"},
            "reportingComponent": "scheduler",
        },
        {**common, "metadata": {"name": "e3", "namespace": "shop", "creationTimestamp": "2026-03-01T09:00:00Z"}},
    )
    old, series, bare = (cluster.one("Event", name) for name in ("e1", "e2", "e3"))
    assert isinstance(old, Event)
    assert isinstance(series, Event)
    assert isinstance(bare, Event)
    assert (old.health, old.count, old.source, old.at.isoformat()) == (Health.WARN, 4, "kubelet", "2026-03-01T10:05:00+00:00")
    assert (series.health, series.count, series.source, series.at.hour) == (Health.OK, 9, "scheduler", 12)
    assert (bare.count, bare.at.hour) == (1, 9)
    assert old.about.uid == "p1"


def test_a_namespace_that_cannot_end_says_why() -> None:
    cluster = Cluster()
    stuck = condition("NamespaceContentRemaining", "True", "SomeResourcesRemain", "pods. has 1 resource instances")
    cluster.put({"kind": "Namespace", "metadata": {"name": "old"}, "status": {"phase": "Terminating", "conditions": [stuck]}})
    assert cluster.one("Namespace").health is Health.WARN
    cluster.put({"kind": "Namespace", "metadata": {"name": "old"}, "status": {"phase": "Active"}})
    assert cluster.one("Namespace").health is Health.OK
