"""Namespaces, workloads and their pods when the world begins."""

from __future__ import annotations

import msgspec

from console.demo.clockwork import rfc3339
from console.demo.cluster import Cluster, condition
from console.demo.kube_store import Object

REGISTRY = "registry.example.test"
_FLUX = "ghcr.example.test/fluxcd"


class Deployed(msgspec.Struct, frozen=True, kw_only=True):
    """One Deployment of the beginning; ``broken`` is the tag that its last rollout can't pull."""

    namespace: str
    name: str
    image: str
    replicas: int = 2
    broken: str = ""
    restarts: int = 0


ATLAS = (
    Deployed(namespace="flux-system", name="source-controller", image=f"{_FLUX}/source-controller:v1.9.1", replicas=1),
    Deployed(
        namespace="flux-system",
        name="kustomize-controller",
        image=f"{_FLUX}/kustomize-controller:v1.9.4",
        replicas=1,
    ),
    Deployed(namespace="flux-system", name="helm-controller", image=f"{_FLUX}/helm-controller:v1.5.2", replicas=1),
    Deployed(
        namespace="gitops-reverser", name="gitops-reverser", image=f"{REGISTRY}/platform/gitops-reverser:0.9.0", replicas=1
    ),
    Deployed(namespace="storefront", name="web", image=f"{REGISTRY}/shop/web:1.43", replicas=3, broken="1.44"),
    Deployed(namespace="storefront", name="cart", image=f"{REGISTRY}/shop/cart:2.7"),
    Deployed(namespace="storefront", name="notifications", image=f"{REGISTRY}/shop/notifications:0.18"),
    Deployed(namespace="payments", name="payments-api", image=f"{REGISTRY}/shop/payments:5.2.0", replicas=3),
    Deployed(namespace="payments", name="ledger", image=f"{REGISTRY}/shop/ledger:3.0.1", restarts=17),
    Deployed(namespace="search", name="search-api", image=f"{REGISTRY}/shop/search:4.11"),
    Deployed(namespace="search", name="search-indexer", image=f"{REGISTRY}/shop/indexer:4.11", replicas=1),
    Deployed(namespace="ingress", name="nginx", image=f"{REGISTRY}/vendor/nginx:1.27"),
)

BOREALIS = (
    Deployed(namespace="argocd", name="argocd-server", image="quay.example.test/argoproj/argocd:v3.5.1", replicas=1),
    Deployed(namespace="argocd", name="argocd-repo-server", image="quay.example.test/argoproj/argocd:v3.5.1", replicas=1),
    Deployed(namespace="storefront", name="storefront-api", image=f"{REGISTRY}/shop/web:1.43", replicas=3),
    Deployed(namespace="payments", name="payments-api", image=f"{REGISTRY}/shop/payments:5.2.0"),
    Deployed(namespace="search", name="search-indexer", image=f"{REGISTRY}/shop/indexer:4.10", replicas=2, broken="4.11-rc1"),
    Deployed(namespace="catalog", name="catalog-api", image=f"{REGISTRY}/shop/catalog:1.9"),
    Deployed(namespace="edge", name="edge-router", image=f"{REGISTRY}/platform/edge:7.1"),
)


def seed_namespaces(cluster: Cluster, names: tuple[str, ...]) -> None:
    """The named namespaces and those that every cluster has."""
    for name in ("default", "kube-system", *names):
        labels = {"kubernetes.io/metadata.name": name}
        status = {"phase": "Active"}
        cluster.seed("Namespace", "", name, spec={}, status=status, labels=labels, age=120 * 86400)


def seed_deployments(cluster: Cluster, deployed: tuple[Deployed, ...]) -> None:
    """Deployments with their ReplicaSets and pods, broken rollouts in mid-air."""
    for entry in deployed:
        image = entry.image if not entry.broken else f"{entry.image.rpartition(':')[0]}:{entry.broken}"
        deployment = seed_deployment(cluster, entry, image)
        if not entry.broken:
            running = replica_set(cluster, deployment, deployment["spec"]["template"], entry.replicas, age=90000)
            for index in range(entry.replicas):
                seed_pod(cluster, running, f"{index}", age=90000 + index, restarts=entry.restarts if index == 0 else 0)
            continue
        old = replica_set(cluster, deployment, template(entry.name, entry.image), 1, age=700000)
        seed_pod(cluster, old, "0", age=700000)
        new = replica_set(cluster, deployment, deployment["spec"]["template"], entry.replicas - 1, age=430)
        for index in range(entry.replicas - 1):
            pod = seed_pod(cluster, new, f"{index}", age=430 + index, waiting="ImagePullBackOff")
            message = f'Failed to pull image "{image}": rpc error: code = NotFound desc = not found'
            cluster.event(pod, "Failed", message, warning=True, source="kubelet", age=75)
            cluster.event(pod, "BackOff", f'Back-off pulling image "{image}"', warning=True, source="kubelet", age=20)


def template(name: str, image: str) -> Object:
    """A pod template with an environment that holds something secret, and a second container for nobody."""
    environment: list[Object] = [
        {"name": "LOG_LEVEL", "value": "info"},
        {"name": "DATABASE_URL", "value": "postgres://app:correct-horse-battery@db.example.test:5432/app"},
        {"name": "API_TOKEN", "valueFrom": {"secretKeyRef": {"name": f"{name}-token", "key": "token"}}},
    ]
    container: Object = {
        "name": name,
        "image": image,
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "env": environment,
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10},
    }
    return {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container], "terminationGracePeriodSeconds": 30}}


def seed_deployment(cluster: Cluster, entry: Deployed, image: str) -> Object:
    """The Deployment itself; a broken one allows all but one of its pods to be away."""
    away = entry.replicas - 1 if entry.broken else 1
    ready = 1 if entry.broken else entry.replicas
    at = rfc3339(cluster.clock.ago(430 if entry.broken else 90000))
    progressing = condition("Progressing", "True", "NewReplicaSetAvailable", "the new replica set has progressed", at)
    if entry.broken:
        progressing = condition("Progressing", "False", "ProgressDeadlineExceeded", "the new replica set has timed out", at)
    available = condition("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.", at)
    for built_in in (progressing, available):
        built_in.pop("observedGeneration")  # conditions of built-in kinds carry none
    return cluster.seed(
        "Deployment",
        entry.namespace,
        entry.name,
        spec={
            "replicas": entry.replicas,
            "selector": {"matchLabels": {"app": entry.name}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": away}},
            "template": template(entry.name, image),
        },
        status={
            "observedGeneration": 1,
            "replicas": entry.replicas,
            "updatedReplicas": entry.replicas - 1 if entry.broken else entry.replicas,
            "readyReplicas": ready,
            "availableReplicas": ready,
            "unavailableReplicas": entry.replicas - ready,
            "conditions": [available, progressing],
        },
        labels={
            "app": entry.name,
            "kustomize.toolkit.fluxcd.io/name": entry.namespace,
            "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
        },
        age=60 * 86400,
    )


def template_hash(cluster: Cluster, pod_template: Object) -> str:
    """The pod-template-hash of a template."""
    return cluster.names.suffix(msgspec.json.encode(pod_template, order="deterministic").decode(), 9)


def replica_set(cluster: Cluster, deployment: Object, pod_template: Object, replicas: int, age: float) -> Object:
    """The ReplicaSet of one template of a Deployment."""
    meta = deployment["metadata"]
    digest = template_hash(cluster, pod_template)
    labels = {**pod_template["metadata"]["labels"], "pod-template-hash": digest}
    return cluster.seed(
        "ReplicaSet",
        meta["namespace"],
        f"{meta['name']}-{digest}",
        spec={
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {**pod_template, "metadata": {**pod_template["metadata"], "labels": labels}},
        },
        status={"replicas": replicas, "readyReplicas": replicas, "observedGeneration": 1},
        labels=labels,
        manager="kube-controller-manager",
        owner=deployment,
        age=age,
    )


def seed_pod(
    cluster: Cluster, owner: Object, word: str, *, age: float, restarts: int = 0, waiting: str = "", name: str = ""
) -> Object:
    """A pod of a ReplicaSet (or another owner with a template): running, or waiting for the reason given."""
    meta = owner["metadata"]
    pod_template = owner["spec"]["template"]
    name = name or f"{meta['name']}-{cluster.names.suffix(meta['name'] + word)}"
    spec = {**pod_template["spec"], "nodeName": f"{cluster.name}-node-{1 + len(name) % 3}"}
    return cluster.store.put(
        cluster.store.by_word["Pod"],
        {
            "metadata": {
                "name": name,
                "namespace": meta["namespace"],
                "labels": pod_template["metadata"]["labels"],
                "creationTimestamp": rfc3339(cluster.clock.ago(age)),
                "ownerReferences": [
                    {
                        "apiVersion": owner["apiVersion"],
                        "kind": owner["kind"],
                        "name": meta["name"],
                        "uid": meta["uid"],
                        "controller": True,
                    }
                ],
            },
            "spec": spec,
            "status": pod_status(cluster, spec, age=age, restarts=restarts, waiting=waiting),
        },
    )


def pod_status(cluster: Cluster, spec: Object, *, age: float, restarts: int = 0, waiting: str = "") -> Object:
    """The status of a pod that started ``age`` seconds ago; restarted ones restarted last a tenth of that ago."""
    started = rfc3339(cluster.clock.ago(age if not restarts else age / 10))
    statuses: list[Object] = []
    for container in spec["containers"]:
        state: Object = {"running": {"startedAt": started}}
        if waiting:
            state = {"waiting": {"reason": waiting, "message": f'Back-off pulling image "{container["image"]}"'}}
        status: Object = {
            "name": container["name"],
            "image": container["image"],
            "ready": not waiting,
            "started": not waiting,
            "restartCount": restarts,
            "state": state,
        }
        if restarts:
            ended = {
                "exitCode": 137,
                "reason": "OOMKilled",
                "startedAt": rfc3339(cluster.clock.ago(age / 5)),
                "finishedAt": started,
            }
            status["lastState"] = {"terminated": ended}
        statuses.append(status)
    ready = "False" if waiting else "True"
    return {
        "phase": "Pending" if waiting else "Running",
        "startTime": rfc3339(cluster.clock.ago(age)),
        "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": rfc3339(cluster.clock.ago(age))},
            {"type": "Ready", "status": ready, "lastTransitionTime": started},
        ],
        "containerStatuses": statuses,
    }
