"""Objects that look like a real fleet's: Flux, Argo CD, GitOps Reverser and plain Kubernetes, in one namespace.

Pure data: `KubeClient.put` writes each with its status, as the controllers that are not here would have.
"""

from typing import Any

Object = dict[str, Any]

FLUX_KUSTOMIZE = "kustomize.toolkit.fluxcd.io/v1"
FLUX_SOURCE = "source.toolkit.fluxcd.io/v1"
FLUX_HELM = "helm.toolkit.fluxcd.io/v2"
ARGO = "argoproj.io/v1alpha1"
REVERSER = "configbutler.ai/v1alpha3"

COMMIT = "5f3c1f0c9a7d2b8e6f4a1d3c5b7e9f0a2c4d6e81"
OLDER = "0b9e7c6d5a4f3e2d1c0b9a8f7e6d5c4b3a291817"
_WHEN = "2024-05-01T12:00:00Z"


def condition(kind: str, status: str, reason: str, message: str = "", generation: int = 1) -> Object:
    """One entry of a `status.conditions` list."""
    stamps = {"lastTransitionTime": _WHEN, "observedGeneration": generation}
    return {"type": kind, "status": status, "reason": reason, "message": message, **stamps}


def git_repository(namespace: str, name: str = "shop", *, commit: str = COMMIT) -> Object:
    """A Flux source that has fetched `main` at a commit."""
    revision = f"main@sha1:{commit}"
    artifact = {
        "path": f"gitrepository/{namespace}/{name}/{commit}.tar.gz",
        "url": f"http://source-controller.flux-system.svc.cluster.local./gitrepository/{namespace}/{name}/{commit}.tar.gz",
        "revision": revision,
        "digest": f"sha256:{'a' * 64}",
        "lastUpdateTime": _WHEN,
    }
    return {
        "apiVersion": FLUX_SOURCE,
        "kind": "GitRepository",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"interval": "1m", "url": f"https://git.example.test/team/{name}.git", "ref": {"branch": "main"}},
        "status": {
            "observedGeneration": 1,
            "artifact": artifact,
            "conditions": [condition("Ready", "True", "Succeeded", f"stored artifact for revision '{revision}'")],
        },
    }


def kustomization(
    namespace: str,
    name: str = "shop",
    *,
    source: str = "shop",
    ready: str = "True",
    message: str = "",
    suspend: bool | None = None,
    depends_on: tuple[str, ...] = (),
    applied: str = COMMIT,
    attempted: str = COMMIT,
) -> Object:
    """A Flux Kustomization; `ready` is True, False or Unknown, and `suspend` is left out of the spec when None."""
    spec: Object = {
        "interval": "10m",
        "path": f"./{name}",
        "prune": True,
        "sourceRef": {"kind": "GitRepository", "name": source},
        **({} if suspend is None else {"suspend": suspend}),
        **({"dependsOn": [{"name": other} for other in depends_on]} if depends_on else {}),
    }
    reason = {"True": "ReconciliationSucceeded", "False": "HealthCheckFailed", "Unknown": "Progressing"}[ready]
    text = message or f"Applied revision: main@sha1:{applied}"
    inventory = {"entries": [{"id": f"{namespace}_{name}_apps_Deployment", "v": "v1"}]}
    return {
        "apiVersion": FLUX_KUSTOMIZE,
        "kind": "Kustomization",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
        "status": {
            "observedGeneration": 1,
            "lastAppliedRevision": f"main@sha1:{applied}",
            "lastAttemptedRevision": f"main@sha1:{attempted}",
            "inventory": inventory,
            "conditions": [condition("Ready", ready, reason, text)],
        },
    }


def helm_release(namespace: str, name: str = "cache", *, ready: str = "True") -> Object:
    """A Flux HelmRelease of a chart."""
    reason = "UpgradeSucceeded" if ready == "True" else "UpgradeFailed"
    chart = {"spec": {"chart": name, "version": "1.x", "sourceRef": {"kind": "HelmRepository", "name": "charts"}}}
    return {
        "apiVersion": FLUX_HELM,
        "kind": "HelmRelease",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"interval": "5m", "chart": chart, "values": {"replicas": 2}},
        "status": {"observedGeneration": 1, "conditions": [condition("Ready", ready, reason, f"Helm upgrade of {name}")]},
    }


def application(namespace: str, name: str = "payments", *, sync: str = "Synced", health: str = "Healthy") -> Object:
    """An Argo CD Application; `sync` is Synced or OutOfSync, `health` one of Argo CD's words."""
    source = {"repoURL": f"https://git.example.test/team/{name}.git", "path": "deploy", "targetRevision": "main"}
    destination = {"server": "https://kubernetes.default.svc", "namespace": namespace}
    return {
        "apiVersion": ARGO,
        "kind": "Application",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"project": "default", "source": source, "destination": destination},
        "status": {
            "sync": {
                "status": sync,
                "revision": COMMIT if sync == "Synced" else OLDER,
                "comparedTo": {"source": source, "destination": destination},
            },
            "health": {"status": health},
            "reconciledAt": _WHEN,
            "operationState": {
                "phase": "Succeeded",
                "message": "successfully synced (all tasks run)",
                "operation": {"sync": {"revision": COMMIT}},
                "startedAt": _WHEN,
                "finishedAt": _WHEN,
            },
        },
    }


def project(namespace: str, name: str = "default") -> Object:
    """An Argo CD AppProject that allows everything."""
    anything = [{"group": "*", "kind": "*"}]
    spec = {"sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": "*"}], "clusterResourceWhitelist": anything}
    return {"apiVersion": ARGO, "kind": "AppProject", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def cluster_provider(name: str, *admitted: str) -> Object:
    """A ClusterProvider for the console's own cluster that admits these namespaces."""
    return {
        "apiVersion": REVERSER,
        "kind": "ClusterProvider",
        "metadata": {"name": name},
        "spec": {"allowedNamespaces": {"names": list(admitted)}},
        "status": {"observedGeneration": 1, "conditions": [condition("Ready", "True", "Validated")]},
    }


def git_provider(namespace: str, name: str = "shop") -> Object:
    """A GitProvider of the repository that `git_repository` fetches."""
    spec = {"url": f"https://git.example.test/team/{name}.git", "allowedBranches": ["main"], "push": {"commitWindow": "5s"}}
    return {
        "apiVersion": REVERSER,
        "kind": "GitProvider",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
        "status": {"observedGeneration": 1, "conditions": [condition("Ready", "True", "Connected")]},
    }


def git_target(
    namespace: str, name: str = "shop", *, cluster: str, trigger: tuple[str, str] = ("FluxTrigger", "shop")
) -> Object:
    """A GitTarget on `main` that names an apply trigger by kind and name."""
    kind, trigger_name = trigger
    return {
        "apiVersion": REVERSER,
        "kind": "GitTarget",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "providerRef": {"group": "configbutler.ai", "kind": "GitProvider", "name": "shop"},
            "branch": "main",
            "path": f"./{name}",
            "clusterProviderRef": {"group": "configbutler.ai", "kind": "ClusterProvider", "name": cluster},
            "applyTriggerRef": {"group": "configbutler.ai", "kind": kind, "name": trigger_name},
        },
        "status": {"observedGeneration": 1, "conditions": [condition("Ready", "True", "Ready")]},
    }


def flux_trigger(namespace: str, name: str = "shop", *, cluster: str, operation: Object | None = None) -> Object:
    """A FluxTrigger on the Kustomization of its name; `operation` is its record of one."""
    status: Object = {"observedGeneration": 1, "conditions": [condition("Ready", "True", "Ready")]}
    return {
        "apiVersion": REVERSER,
        "kind": "FluxTrigger",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"clusterProviderRef": _cluster(cluster), "kustomizationRef": {"namespace": namespace, "name": name}},
        "status": {**status, **({"operation": operation} if operation else {})},
    }


def argocd_trigger(namespace: str, name: str = "payments", *, cluster: str) -> Object:
    """An ArgoCDTrigger on the Application of its name."""
    return {
        "apiVersion": REVERSER,
        "kind": "ArgoCDTrigger",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"clusterProviderRef": _cluster(cluster), "applicationRef": {"namespace": namespace, "name": name}},
        "status": {"observedGeneration": 1, "conditions": [condition("Ready", "True", "Ready")]},
    }


def _cluster(name: str) -> Object:
    return {"group": "configbutler.ai", "kind": "ClusterProvider", "name": name}


def pod(
    namespace: str, name: str = "shop-7d9f-x2x4z", *, phase: str = "Running", waiting: str = "", restarts: int = 0
) -> Object:
    """A pod of one container; `waiting` is the reason it does not run, such as CrashLoopBackOff."""
    state = {"waiting": {"reason": waiting}} if waiting else {"running": {"startedAt": _WHEN}}
    image = "registry.example.test/shop/web:1"
    container = {"name": "web", "image": image, "imageID": "", "ready": not waiting, "restartCount": restarts, "state": state}
    ready = "False" if waiting else "True"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": "shop"}},
        "spec": {"containers": [{"name": "web", "image": image}], "automountServiceAccountToken": False},
        "status": {
            "phase": phase,
            "startTime": _WHEN,
            "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": _WHEN}],
            "containerStatuses": [container],
        },
    }


def deployment(namespace: str, name: str = "shop", *, replicas: int = 3, ready: int = 3) -> Object:
    """A Deployment with so many replicas, of which some are ready."""
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "web", "image": "registry.example.test/shop/web:1"}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
        "status": {
            "observedGeneration": 1,
            "replicas": replicas,
            "updatedReplicas": replicas,
            "readyReplicas": ready,
            "availableReplicas": ready,
        },
    }


def fleet(namespace: str) -> list[Object]:
    """One of everything in a namespace, in good, bad and busy states; the ClusterProvider is called after the namespace."""
    return [
        git_repository(namespace),
        kustomization(namespace),
        kustomization(namespace, "shop-db", suspend=True),
        kustomization(
            namespace, "shop-front", ready="False", message="health check failed", depends_on=("shop",), attempted=OLDER
        ),
        helm_release(namespace),
        helm_release(namespace, "queue", ready="False"),
        project(namespace),
        application(namespace),
        application(namespace, "ledger", sync="OutOfSync", health="Degraded"),
        cluster_provider(namespace, namespace),
        git_provider(namespace),
        git_target(namespace, cluster=namespace),
        flux_trigger(namespace, cluster=namespace),
        git_target(namespace, "payments", cluster=namespace, trigger=("ArgoCDTrigger", "payments")),
        argocd_trigger(namespace, cluster=namespace),
        deployment(namespace),
        deployment(namespace, "ledger", ready=1),
        pod(namespace),
        pod(namespace, "ledger-5c6b-q8w2e", waiting="CrashLoopBackOff", restarts=17),
    ]
