"""What Argo CD manages in the cluster "borealis" when the world begins."""

from __future__ import annotations

from typing import Any

import msgspec

from console.demo.clockwork import rfc3339
from console.demo.cluster import Cluster
from console.demo.collecting import ARGO_FINALIZER
from console.demo.kube_store import Object


class Managed(msgspec.Struct, frozen=True, kw_only=True):
    """One Application of the beginning. ``drifted`` names the objects that differ from Git."""

    name: str
    project: str = "shop"
    namespace: str = ""
    sync: str = "Synced"
    health: str = "Healthy"
    health_message: str = ""
    automated: bool = False
    drifted: tuple[tuple[str, str], ...] = ()
    phase: str = "Succeeded"
    phase_message: str = "successfully synced (all tasks run)"
    minutes: float = 30.0
    several: bool = False


APPLICATIONS = (
    Managed(name="storefront-eu", namespace="storefront", automated=True, minutes=14),
    Managed(
        name="payments-eu",
        namespace="payments",
        sync="OutOfSync",
        drifted=(("Deployment", "payments-api"), ("ConfigMap", "payments-limits")),
        minutes=96,
    ),
    Managed(
        name="search-eu",
        namespace="search",
        health="Degraded",
        health_message='Deployment "search-indexer" exceeded its progress deadline',
        minutes=41,
    ),
    Managed(name="catalog-eu", namespace="catalog", health="Progressing", minutes=1),
    Managed(
        name="analytics",
        project="data",
        namespace="analytics",
        sync="OutOfSync",
        drifted=(("CronJob", "nightly-rollup"),),
        phase="Failed",
        phase_message='one or more objects failed to apply, reason: CronJob.batch "nightly-rollup" is invalid: '
        'spec.schedule: Invalid value: "61 * * * *": end of range (61) above maximum (59): 61',
        minutes=210,
    ),
    Managed(name="edge-router", project="platform", namespace="edge", automated=True, minutes=600),
    Managed(name="dashboards", project="platform", namespace="observability", several=True, minutes=1440),
    Managed(name="retired-portal", project="shop", namespace="portal", sync="Unknown", health="Missing", minutes=4000),
)


def seed_argo(cluster: Cluster) -> None:
    """Projects and Applications."""
    for name in ("shop", "data", "platform", "default"):
        cluster.seed(
            "AppProject",
            "argocd",
            name,
            spec={
                "sourceRepos": ["*"],
                "destinations": [{"namespace": "*", "server": "https://kubernetes.default.svc"}],
                "description": "",
            },
            manager="argocd-server",
            age=90 * 86400,
        )
    for managed in APPLICATIONS:
        _seed_application(cluster, managed)


def head(cluster: Cluster, name: str, back: int = 0) -> str:
    """The commit that an Application's branch has, or one ``back`` before it."""
    return cluster.names.hexadecimal(f"argo/{name}/{-back}", 40)


def _seed_application(cluster: Cluster, managed: Managed) -> None:
    done = rfc3339(cluster.clock.ago(managed.minutes * 60))
    started = rfc3339(cluster.clock.ago(managed.minutes * 60 + 11))
    wanted = head(cluster, managed.name)
    applied = head(cluster, managed.name, 1) if managed.sync == "OutOfSync" else wanted
    source: Object = {
        "repoURL": f"https://git.example.test/{managed.project}/{managed.name}.git",
        "path": "deploy/borealis",
        "targetRevision": "main",
    }
    spec: Object = {
        "project": managed.project,
        "destination": {"server": "https://kubernetes.default.svc", "namespace": managed.namespace},
    }
    if managed.several:
        spec["sources"] = [source, {**source, "path": "values", "ref": "values"}]
    else:
        spec["source"] = source
    if managed.automated:
        spec["syncPolicy"] = {"automated": {"prune": True, "selfHeal": True}}
    resources: list[Object] = [
        {
            "group": "apps",
            "version": "v1",
            "kind": "Deployment",
            "namespace": managed.namespace,
            "name": f"{managed.name.removesuffix('-eu')}-api",
            "status": "Synced",
            "health": {"status": managed.health},
            "syncWave": 1,
        },
        {"version": "v1", "kind": "Service", "namespace": managed.namespace, "name": managed.name, "status": "Synced"},
    ]
    drifted = [
        {
            "group": _group(kind),
            "version": "v1",
            "kind": kind,
            "namespace": managed.namespace,
            "name": name,
            "status": "OutOfSync",
        }
        for kind, name in managed.drifted
    ]
    names = {entry["name"] for entry in drifted}
    resources = [entry for entry in resources if entry["name"] not in names] + drifted
    operation = {
        "sync": {"revision": applied, "prune": managed.automated},
        "initiatedBy": {"automated": True} if managed.automated else {"username": "deploy-bot"},
    }
    health: dict[str, Any] = {"status": managed.health, "lastTransitionTime": done}
    if managed.health_message:
        health["message"] = managed.health_message
    status: Object = {
        "sync": {
            "status": managed.sync,
            "revision": wanted,
            "comparedTo": {"source": source, "destination": spec["destination"]},
        },
        "health": health,
        "reconciledAt": rfc3339(cluster.clock.ago(95)),
        "sourceType": "Kustomize",
        "operationState": {
            "operation": operation,
            "phase": managed.phase,
            "message": managed.phase_message,
            "startedAt": started,
            "finishedAt": done,
            "syncResult": {"revision": applied, "source": source, "resources": []},
        },
        "history": [
            {
                "id": 40 + step,
                "revision": head(cluster, managed.name, 2 - step + (managed.sync == "OutOfSync")),
                "deployStartedAt": started,
                "deployedAt": rfc3339(cluster.clock.ago(managed.minutes * 60 + (2 - step) * 40000)),
                "initiatedBy": operation["initiatedBy"],
                "source": source,
            }
            for step in range(3)
        ],
        "resources": resources,
        "summary": {"images": [f"registry.example.test/{managed.project}/{managed.name}:2.{len(managed.name)}.0"]},
    }
    if managed.sync == "Unknown":
        at = rfc3339(cluster.clock.ago(200))
        text = "Failed to load target state: repository not found"
        status["conditions"] = [{"type": "ComparisonError", "message": text, "lastTransitionTime": at}]
    obj = cluster.seed(
        "Application",
        "argocd",
        managed.name,
        spec=spec,
        status=status,
        manager="argocd-server",
        age=90 * 86400,
        finalizers=[ARGO_FINALIZER] if managed.automated else None,
    )
    warning = managed.phase == "Failed"
    cluster.event(
        obj,
        "OperationCompleted",
        f"Sync operation to {applied}: {managed.phase_message}",
        warning=warning,
        source="argocd-application-controller",
        age=managed.minutes * 60,
    )


def _group(kind: str) -> str:
    return {"Deployment": "apps", "CronJob": "batch"}.get(kind, "")
