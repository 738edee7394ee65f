"""Which kinds a simulated cluster serves, and the little of their schemas that a client can notice.

``required`` and ``fields`` are about ``spec``; they come from the CRDs of Flux, Argo CD and GitOps Reverser.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A served kind. ``group`` is empty for core; ``fields`` None means that unknown fields are kept."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    status: bool = True
    scale: bool = False
    short: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    fields: frozenset[str] | None = None
    selectable: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        """``group/version``, or the version alone for core."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """``plural.group`` as error messages name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


_FLUX_SOURCE_FIELDS = (
    "accessFrom artifactGenerators bucketName certSecretRef endpoint ignore include insecure interval "
    "layerSelector passCredentials prefix provider proxySecretRef recurseSubmodules ref region secretRef "
    "serviceAccountName sparseCheckout sts suspend timeout type url verify chart reconcileStrategy sourceRef "
    "valuesFiles version ignoreMissingValuesFiles"
)
_KUSTOMIZATION_FIELDS = (
    "buildMetadata commonMetadata components decryption deletionPolicy dependsOn force healthCheckExprs "
    "healthChecks ignoreMissingComponents images interval kubeConfig namePrefix nameSuffix patches path postBuild "
    "prune retryInterval serviceAccountName sourceRef suspend targetNamespace timeout wait"
)
_HELM_RELEASE_FIELDS = (
    "chart chartRef commonMetadata dependsOn driftDetection healthCheckExprs install interval kubeConfig "
    "maxHistory persistentClient postRenderers releaseName rollback serviceAccountName storageNamespace suspend "
    "targetNamespace test timeout uninstall upgrade values valuesFrom"
)
_APPLICATION_FIELDS = "destination ignoreDifferences info project revisionHistoryLimit source sourceHydrator sources syncPolicy"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _core(kind: str, plural: str, **more: Any) -> Kind:
    return Kind(group="", version="v1", kind=kind, plural=plural, **more)


def _apps(kind: str, plural: str, *short: str, scale: bool = True) -> Kind:
    return Kind(group="apps", version="v1", kind=kind, plural=plural, scale=scale, short=short)


def _source(kind: str, plural: str, *required: str, version: str = "v1", short: tuple[str, ...] = ()) -> Kind:
    return Kind(
        group="source.toolkit.fluxcd.io",
        version=version,
        kind=kind,
        plural=plural,
        short=short,
        required=required,
        fields=_words(_FLUX_SOURCE_FIELDS),
    )


def _reverser(kind: str, plural: str, namespaced: bool = True) -> Kind:
    return Kind(group="configbutler.ai", version="v1alpha3", kind=kind, plural=plural, namespaced=namespaced)


BUILT_IN = (
    _core("Namespace", "namespaces", namespaced=False, short=("ns",)),
    _core("Node", "nodes", namespaced=False, short=("no",)),
    _core("Pod", "pods", short=("po",), selectable=("spec.nodeName", "status.phase", "status.podIP")),
    _core("Service", "services", short=("svc",)),
    _core("ConfigMap", "configmaps", status=False, short=("cm",)),
    _core("Secret", "secrets", status=False, selectable=("type",)),
    _core(
        "Event",
        "events",
        status=False,
        short=("ev",),
        selectable=(
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "reason",
            "type",
        ),
    ),
    _apps("Deployment", "deployments", "deploy"),
    _apps("StatefulSet", "statefulsets", "sts"),
    _apps("ReplicaSet", "replicasets", "rs"),
    _apps("DaemonSet", "daemonsets", "ds", scale=False),
    Kind(group="batch", version="v1", kind="Job", plural="jobs"),
    Kind(group="batch", version="v1", kind="CronJob", plural="cronjobs", short=("cj",)),
    Kind(group="coordination.k8s.io", version="v1", kind="Lease", plural="leases", status=False),
)

REVERSER = (
    _reverser("FluxTrigger", "fluxtriggers"),
    _reverser("ArgoCDTrigger", "argocdtriggers"),
    _reverser("GitTarget", "gittargets"),
    _reverser("GitProvider", "gitproviders"),
    _reverser("ClusterProvider", "clusterproviders", namespaced=False),
)

FLUX = (
    Kind(
        group="kustomize.toolkit.fluxcd.io",
        version="v1",
        kind="Kustomization",
        plural="kustomizations",
        short=("ks",),
        required=("interval", "prune", "sourceRef"),
        fields=_words(_KUSTOMIZATION_FIELDS),
    ),
    Kind(
        group="helm.toolkit.fluxcd.io",
        version="v2",
        kind="HelmRelease",
        plural="helmreleases",
        short=("hr",),
        required=("interval",),
        fields=_words(_HELM_RELEASE_FIELDS),
    ),
    _source("GitRepository", "gitrepositories", "interval", "url", short=("gitrepo",)),
    _source("OCIRepository", "ocirepositories", "interval", "url", short=("ocirepo",)),
    _source("HelmRepository", "helmrepositories", "url", short=("helmrepo",)),
    _source("HelmChart", "helmcharts", "chart", "interval", "sourceRef", short=("hc",)),
    _source("Bucket", "buckets", "bucketName", "endpoint", "interval"),
)

ARGO = (
    Kind(
        group="argoproj.io",
        version="v1alpha1",
        kind="Application",
        plural="applications",
        status=False,  # the CRD declares no status subresource: every status write raises the generation
        short=("app", "apps"),
        required=("destination", "project"),
        fields=_words(_APPLICATION_FIELDS),
    ),
    Kind(group="argoproj.io", version="v1alpha1", kind="AppProject", plural="appprojects", status=False),
)
