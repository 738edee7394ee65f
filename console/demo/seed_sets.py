"""Nodes, DaemonSets, StatefulSets, jobs and configuration when the world begins."""

from __future__ import annotations

import base64

from console.demo.clockwork import rfc3339
from console.demo.cluster import Cluster
from console.demo.kube_store import Object
from console.demo.seed_workloads import REGISTRY, template
from console.demo.set_controller import make_pod, places, set_status


def seed_sets(cluster: Cluster) -> None:
    """Three nodes, an agent on each, a database with two places, and what belongs to them."""
    for index in range(1, 4):
        _seed_node(cluster, f"{cluster.name}-node-{index}")
    _seed_set(cluster, "DaemonSet", "observability", "node-agent", f"{REGISTRY}/vendor/node-agent:1.8", 0)
    _seed_set(cluster, "StatefulSet", "payments", "postgres", f"{REGISTRY}/vendor/postgres:16.4", 2)
    cluster.seed("ConfigMap", "payments", "payments-limits", more={"data": {"limits.yaml": "perMinute: 600\nburst: 40\n"}})
    secret = {
        key: base64.b64encode(value).decode() for key, value in (("username", b"app"), ("password", b"correct-horse-battery"))
    }
    cluster.seed("Secret", "payments", "database", more={"type": "Opaque", "data": secret}, manager="console-setup")
    for name, schedule, ok in (("nightly-rollup", "15 2 * * *", True), ("invoice-mail", "0 6 * * *", False)):
        _seed_cron_job(cluster, name, schedule, ok=ok)


def _seed_node(cluster: Cluster, name: str) -> None:
    at = rfc3339(cluster.clock.ago(40))
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": at, "lastTransitionTime": at}
    capacity = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    cluster.seed(
        "Node",
        "",
        name,
        spec={"podCIDR": "10.42.0.0/24"},
        status={
            "conditions": [ready],
            "capacity": capacity,
            "allocatable": capacity,
            "nodeInfo": {"kubeletVersion": cluster.version["gitVersion"], "osImage": "Debian GNU/Linux 12 (bookworm)"},
        },
        labels={"kubernetes.io/hostname": name},
        manager="kubelet",
        age=120 * 86400,
    )


def _seed_set(cluster: Cluster, word: str, namespace: str, name: str, image: str, replicas: int) -> None:
    spec: Object = {"selector": {"matchLabels": {"app": name}}, "template": template(name, image)}
    if word == "StatefulSet":
        spec |= {"replicas": replicas, "serviceName": name}
    bare = {"kind": word, "metadata": {"name": name}, "spec": spec}
    count = len(places(cluster, bare))
    status = set_status(cluster, bare, count, count, 1)
    owner = cluster.seed(word, namespace, name, spec=spec, status=status, labels={"app": name}, age=30 * 86400)
    for index, place in enumerate(places(cluster, owner)):
        make_pod(cluster, owner, place, age=500_000 + index)


def _seed_cron_job(cluster: Cluster, name: str, schedule: str, *, ok: bool) -> None:
    job_template = {"spec": {"backoffLimit": 2, "template": template(name, f"{REGISTRY}/data/{name}:1.2")}}
    last = rfc3339(cluster.clock.ago(7 * 3600))
    cron = cluster.seed(
        "CronJob",
        "payments",
        name,
        spec={"schedule": schedule, "jobTemplate": job_template, "suspend": False},
        status={"lastScheduleTime": last, "lastSuccessfulTime": last if ok else rfc3339(cluster.clock.ago(31 * 3600))},
        age=60 * 86400,
    )
    message = "Job has reached the specified backoff limit"
    outcome = {"type": "Complete" if ok else "Failed", "status": "True", "lastTransitionTime": last}
    cluster.seed(
        "Job",
        "payments",
        f"{name}-29301",
        spec={**job_template["spec"], "completions": 1, "parallelism": 1},
        status={
            "startTime": rfc3339(cluster.clock.ago(7 * 3600 + 90)),
            "conditions": [outcome if ok else {**outcome, "reason": "BackoffLimitExceeded", "message": message}],
            **({"succeeded": 1, "completionTime": last} if ok else {"failed": 3}),
        },
        owner=cron,
        manager="kube-controller-manager",
        age=7 * 3600 + 90,
    )
