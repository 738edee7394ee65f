"""What Flux manages in the cluster "atlas" when the world begins."""

from __future__ import annotations

import msgspec

from console.demo.clockwork import rfc3339
from console.demo.cluster import Cluster, condition
from console.demo.collecting import FLUX_FINALIZER
from console.demo.kube_store import Object
from console.demo.seed_workloads import ATLAS

_GIT = "https://git.example.test"
_FLUX_META = "kustomize.toolkit.fluxcd.io"


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """One Kustomization of the beginning. ``reason`` other than success makes it not ready, with ``message``."""

    name: str
    source: str
    path: str
    reason: str = "ReconciliationSucceeded"
    message: str = ""
    behind: bool = False
    suspended_by: str = ""
    depends: tuple[str, ...] = ()
    source_kind: str = "GitRepository"
    interval: str = "10m0s"
    minutes: float = 4.0


REPOSITORIES = (
    ("fleet", f"{_GIT}/platform/fleet.git", "main", "1m0s"),
    ("storefront", f"{_GIT}/shop/storefront.git", "main", "1m0s"),
    ("payments", f"{_GIT}/shop/payments.git", "release", "1m0s"),
    ("search", f"{_GIT}/shop/search.git", "main", "2m0s"),
)

KUSTOMIZATIONS = (
    Applied(name="flux-system", source="fleet", path="./clusters/atlas", minutes=3),
    Applied(name="infrastructure", source="fleet", path="./infrastructure", minutes=3),
    Applied(name="ingress", source="fleet", path="./ingress", depends=("infrastructure",), minutes=5),
    Applied(
        name="storefront",
        source="storefront",
        path="./deploy/atlas",
        reason="HealthCheckFailed",
        message="health check failed after 2m0.5s: timeout waiting for: [Deployment/storefront/web status: 'InProgress']",
        behind=True,
        minutes=7,
    ),
    Applied(name="payments", source="payments", path="./deploy", suspended_by="gitops-reverser", minutes=12),
    Applied(name="search", source="search", path="./deploy", minutes=2),
    Applied(name="observability", source="manifests", path="./", source_kind="OCIRepository", interval="30m0s", minutes=21),
    Applied(name="notifications", source="storefront", path="./notifications", suspended_by="flux", behind=True, minutes=191),
    Applied(
        name="reports",
        source="storefront",
        path="./reports",
        depends=("storefront",),
        reason="DependencyNotReady",
        message="dependency 'flux-system/storefront' is not ready",
        behind=True,
        minutes=1,
    ),
)

HELM_RELEASES = (
    ("observability", "prometheus", "kube-prometheus", "61.3.1", "UpgradeSucceeded", ""),
    ("observability", "loki", "loki", "6.7.3", "UpgradeSucceeded", ""),
    ("ingress", "nginx", "ingress-nginx", "4.11.1", "InstallSucceeded", ""),
    (
        "platform",
        "redis",
        "redis",
        "19.6.4",
        "UpgradeFailed",
        "Helm upgrade failed for release platform/redis with chart redis@19.6.4: cannot patch StatefulSet 'redis-master': "
        "spec: Forbidden: updates to statefulset spec for fields other than 'replicas' and 'template' are forbidden",
    ),
)


def seed_flux(cluster: Cluster) -> None:
    """Sources, Kustomizations and HelmReleases."""
    _seed_sources(cluster)
    for applied in KUSTOMIZATIONS:
        _seed_kustomization(cluster, applied)
    for release in HELM_RELEASES:
        _seed_helm_release(cluster, *release)


def commit(cluster: Cluster, repository: str, back: int = 0) -> str:
    """The commit that a repository's branch had when the world began, or one ``back`` before it."""
    return cluster.names.hexadecimal(f"commit/{repository}/{-back}", 40)


def _seed_sources(cluster: Cluster) -> None:
    for name, url, branch, interval in REPOSITORIES:
        at = rfc3339(cluster.clock.ago(95))
        revision = f"{branch}@sha1:{commit(cluster, name)}"
        status = _source_status(cluster, f"stored artifact for revision '{revision}'", revision, at)
        spec = {"interval": interval, "url": url, "ref": {"branch": branch}, "timeout": "60s"}
        cluster.seed("GitRepository", "flux-system", name, spec=spec, status=status, age=40 * 86400)
    at = rfc3339(cluster.clock.ago(1270))
    digest = f"latest@sha256:{cluster.names.hexadecimal('oci')}"
    cluster.seed(
        "OCIRepository",
        "flux-system",
        "manifests",
        spec={"interval": "30m0s", "url": "oci://registry.example.test/manifests/observability", "ref": {"tag": "latest"}},
        status=_source_status(cluster, f"stored artifact for digest '{digest}'", digest, at),
        age=30 * 86400,
    )
    cluster.seed(
        "HelmRepository",
        "flux-system",
        "charts",
        spec={"interval": "1h0m0s", "url": "https://charts.example.test/stable"},
        status=_source_status(cluster, "stored artifact: revision 'sha256:5c1f'", "sha256:5c1f", at),
        age=40 * 86400,
    )
    failed = "bucket 'assets' not found at 'minio.example.test': Access Denied."
    cluster.seed(
        "Bucket",
        "flux-system",
        "assets",
        spec={"interval": "5m0s", "bucketName": "assets", "endpoint": "minio.example.test"},
        status={"observedGeneration": 1, "conditions": [condition("Ready", "False", "BucketOperationFailed", failed, at)]},
        age=3 * 86400,
    )
    for namespace, name, chart, version, _, _ in HELM_RELEASES:
        cluster.seed(
            "HelmChart",
            "flux-system",
            f"{namespace}-{name}",
            spec={
                "interval": "1h0m0s",
                "chart": chart,
                "version": version,
                "sourceRef": {"kind": "HelmRepository", "name": "charts"},
            },
            status=_source_status(cluster, f"pulled '{chart}' chart with version '{version}'", version, at),
            manager="helm-controller",
            age=20 * 86400,
        )


def _source_status(cluster: Cluster, message: str, revision: str, at: str) -> Object:
    digest = cluster.names.hexadecimal(f"artifact/{revision}")
    return {
        "observedGeneration": 1,
        "conditions": [
            condition("Ready", "True", "Succeeded", message, at),
            condition("ArtifactInStorage", "True", "Succeeded", message, at),
        ],
        "artifact": {"revision": revision, "digest": f"sha256:{digest}", "lastUpdateTime": at, "path": "artifact.tar.gz"},
    }


def revision_of(cluster: Cluster, applied: Applied, back: int = 0) -> str:
    """The revision of a Kustomization's source as its status names it."""
    if applied.source_kind != "GitRepository":
        return f"latest@sha256:{cluster.names.hexadecimal('oci')}"
    branch = next(entry[2] for entry in REPOSITORIES if entry[0] == applied.source)
    return f"{branch}@sha1:{commit(cluster, applied.source, back)}"


def _seed_kustomization(cluster: Cluster, applied: Applied) -> None:
    at = rfc3339(cluster.clock.ago(applied.minutes * 60))
    now, old = revision_of(cluster, applied), revision_of(cluster, applied, 1)
    well = applied.reason == "ReconciliationSucceeded"
    done = old if applied.behind else now
    message = applied.message or f"Applied revision: {done}"
    status: Object = {
        "observedGeneration": 1,
        "conditions": [condition("Ready", "True" if well else "False", applied.reason, message, at)],
        "lastAppliedRevision": done,
        "lastAttemptedRevision": done if well or applied.reason == "DependencyNotReady" else now,
        "lastHandledReconcileAt": at,
        "history": [
            {
                "digest": f"sha256:{cluster.names.hexadecimal(f'history/{applied.name}')}",
                "firstReconciled": rfc3339(cluster.clock.ago(applied.minutes * 60 + 7200)),
                "lastReconciled": at,
                "lastReconciledDuration": "1.482s",
                "lastReconciledStatus": applied.reason,
                "totalReconciliations": 14,
                "metadata": {"revision": now if not well else done},
            }
        ],
        "inventory": {"entries": [{"id": f"{applied.name}_{name}_apps_Deployment", "v": "v1"} for name in _deployed(applied)]},
    }
    spec: Object = {
        "interval": applied.interval,
        "path": applied.path,
        "prune": True,
        "timeout": "2m0s",
        "wait": True,
        "sourceRef": {"kind": applied.source_kind, "name": applied.source},
    }
    if applied.depends:
        spec["dependsOn"] = [{"name": name} for name in applied.depends]
    obj = cluster.seed(
        "Kustomization",
        "flux-system",
        applied.name,
        spec=spec,
        status=status,
        age=40 * 86400,
        labels={f"{_FLUX_META}/name": "flux-system", f"{_FLUX_META}/namespace": "flux-system"},
        finalizers=[FLUX_FINALIZER],
    )
    _request(cluster, obj, at)
    if applied.suspended_by:
        _suspend(cluster, obj, applied.suspended_by)
    reason, warning = ("ReconciliationSucceeded", False) if well else (applied.reason, True)
    cluster.event(obj, reason, message, warning=warning, source="kustomize-controller", age=applied.minutes * 60)


def _deployed(applied: Applied) -> list[str]:
    """Names of the Deployments that a Kustomization applies: those of the namespace of its name."""
    return [entry.name for entry in ATLAS if entry.namespace == applied.name]


def _request(cluster: Cluster, obj: Object, at: str) -> None:
    def stamped(live: Object) -> Object:
        return {**live, "metadata": {**live["metadata"], "annotations": {"reconcile.fluxcd.io/requestedAt": at}}}

    cluster.change(obj, stamped, "flux")


def _suspend(cluster: Cluster, obj: Object, manager: str) -> None:
    def suspended(live: Object) -> Object:
        return {**live, "spec": {**live["spec"], "suspend": True}}

    def configuration(live: Object) -> Object:
        meta = {"name": live["metadata"]["name"], "namespace": live["metadata"]["namespace"]}
        asked = live["metadata"]["annotations"]["reconcile.fluxcd.io/requestedAt"]
        meta["annotations"] = {"reconcile.fluxcd.io/requestedAt": asked}
        return {"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": meta, "spec": {"suspend": True}}

    by_apply = manager == "gitops-reverser"
    cluster.change(obj, configuration if by_apply else suspended, manager, apply=by_apply)
    cluster.set_status(obj, "gotk-kustomize-controller", observedGeneration=2)


def _seed_helm_release(
    cluster: Cluster, namespace: str, name: str, chart: str, version: str, reason: str, message: str
) -> None:
    at = rfc3339(cluster.clock.ago(5400))
    well = not message
    verb = "upgrade" if reason.startswith("Upgrade") else "install"
    text = message or f"Helm {verb} succeeded for release {namespace}/{name}.v3 with chart {chart}@{version}"
    conditions = [condition("Ready", "True" if well else "False", reason, text, at)]
    conditions.append(condition("Released", "True" if well else "False", reason, text, at))
    history = [
        {
            "name": name,
            "namespace": namespace,
            "version": 3 - step,
            "chartName": chart,
            "chartVersion": version,
            "status": "deployed" if well and step == 0 else ("failed" if step == 0 else "superseded"),
            "firstDeployed": rfc3339(cluster.clock.ago(20 * 86400)),
            "lastDeployed": rfc3339(cluster.clock.ago(5400 + step * 86400)),
        }
        for step in range(3)
    ]
    source = {"kind": "HelmRepository", "name": "charts", "namespace": "flux-system"}
    spec = {
        "interval": "30m0s",
        "chart": {"spec": {"chart": chart, "version": version, "sourceRef": source}},
        "values": {"replicas": 2, "resources": {"limits": {"memory": "512Mi"}}},
    }
    status = {
        "observedGeneration": 1,
        "conditions": conditions,
        "history": history,
        "helmChart": f"flux-system/{namespace}-{name}",
        "lastAttemptedRevision": version,
        "lastAttemptedGeneration": 1,
        "failures": 0 if well else 3,
    }
    obj = cluster.seed("HelmRelease", namespace, name, spec=spec, status=status, age=20 * 86400, finalizers=[FLUX_FINALIZER])
    if not well:
        cluster.event(obj, reason, text, warning=True, source="helm-controller", age=300)
