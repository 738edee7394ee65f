"""What the dispatch engine needs of one cluster: plain objects, read live and written with guards.

All methods raise errors of :mod:`console.errors` only. What matters most is that a failed write says truly whether it was
made: :class:`~console.errors.Unreachable` means that nothing was sent, :class:`~console.errors.UnclearAnswer`,
:class:`~console.errors.TimedOut` and :class:`~console.errors.Interrupted` that nobody knows. An implementation never repeats
a write by itself: the repetition of a write that landed is answered with a conflict, and would hide that it landed.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

JsonObject = dict[str, Any]


class ApiKind(msgspec.Struct, frozen=True):
    """A kind as the API serves it: where its objects are found and what they call themselves."""

    group: str
    version: str
    plural: str
    kind: str

    @property
    def api_version(self) -> str:
        """``group/version``, or just the version for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version


KUSTOMIZATIONS = ApiKind("kustomize.toolkit.fluxcd.io", "v1", "kustomizations", "Kustomization")
GIT_REPOSITORIES = ApiKind("source.toolkit.fluxcd.io", "v1", "gitrepositories", "GitRepository")
APPLICATIONS = ApiKind("argoproj.io", "v1alpha1", "applications", "Application")
HELM_RELEASES = tuple(
    ApiKind("helm.toolkit.fluxcd.io", version, "helmreleases", "HelmRelease") for version in ("v2", "v2beta2", "v2beta1")
)
HELM_CHARTS = tuple(ApiKind("source.toolkit.fluxcd.io", version, "helmcharts", "HelmChart") for version in ("v1", "v1beta2"))
ARTIFACT_GENERATORS = ApiKind("source.extensions.fluxcd.io", "v1beta1", "artifactgenerators", "ArtifactGenerator")
NAMESPACES = ApiKind("", "v1", "namespaces", "Namespace")
LEASES = ApiKind("coordination.k8s.io", "v1", "leases", "Lease")

REVERSER_GROUP = "configbutler.ai"
FLUX_TRIGGERS = ApiKind(REVERSER_GROUP, "v1alpha3", "fluxtriggers", "FluxTrigger")
ARGOCD_TRIGGERS = ApiKind(REVERSER_GROUP, "v1alpha3", "argocdtriggers", "ArgoCDTrigger")
GIT_TARGETS = ApiKind(REVERSER_GROUP, "v1alpha3", "gittargets", "GitTarget")
GIT_PROVIDERS = ApiKind(REVERSER_GROUP, "v1alpha3", "gitproviders", "GitProvider")
CLUSTER_PROVIDERS = ApiKind(REVERSER_GROUP, "v1alpha3", "clusterproviders", "ClusterProvider")


class Objects(Protocol):
    """The objects of one cluster. Reads are live (never from a cache). Returned objects belong to the caller."""

    async def get(self, kind: ApiKind, namespace: str, name: str) -> JsonObject:
        """One object.

        :raises NotFound: there is none. :raises NotServed: the cluster does not know the kind. :raises Forbidden: 403.
        """
        ...

    async def list(self, kind: ApiKind, namespace: str = "") -> list[JsonObject]:
        """All objects of a namespace, or of all namespaces. Raises as :meth:`get`."""
        ...

    async def versions(self, kind: ApiKind, namespace: str = "") -> dict[tuple[str, str], str]:
        """The resourceVersion of each object that :meth:`list` would give, by namespace and name: which of them changed.

        Much cheaper than a list of whole objects; nothing else of them is known by it. Raises as :meth:`get`.
        """
        ...

    async def apply(self, kind: ApiKind, body: JsonObject, *, manager: str, force: bool) -> JsonObject:
        """Server-side apply of exactly ``body``; returns the object as stored.

        :raises Conflict: ``metadata.uid`` or ``metadata.resourceVersion`` do not fit, or (unforced) a field is another's.
        """
        ...

    async def merge(self, kind: ApiKind, namespace: str, name: str, patch: JsonObject, *, manager: str) -> JsonObject:
        """JSON merge patch. A ``metadata.resourceVersion`` or ``metadata.uid`` inside is a guard (:class:`Conflict`)."""
        ...

    async def replace(self, kind: ApiKind, body: JsonObject, *, manager: str, subresource: str = "") -> JsonObject:
        """PUT of the whole object, or of its ``status`` subresource, guarded by its resourceVersion (:class:`Conflict`)."""
        ...

    async def can_i(self, verb: str, kind: ApiKind, namespace: str, name: str) -> bool:
        """A ``SelfSubjectAccessReview`` made with the same credentials."""
        ...
