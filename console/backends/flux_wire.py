"""The shown fields of Flux objects, as decoded."""

from __future__ import annotations

import msgspec

from console.backends.kube_wire import Conditions, NameRef, OwnedMeta, Wire


class FluxSpec(Wire):
    """What all Flux kinds have in ``spec``."""

    suspend: bool | None = None
    interval: str | None = None


class FluxStatus(Conditions):
    """What all Flux kinds have in ``status``."""

    last_handled_reconcile_at: str | None = None


class KustomizationSpec(FluxSpec):
    """``spec`` of a Kustomization."""

    path: str | None = None
    source_ref: NameRef | None = None
    depends_on: list[NameRef] | None = None


class KustomizationStatus(FluxStatus):
    """``status`` of a Kustomization."""

    last_applied_revision: str | None = None
    last_attempted_revision: str | None = None


class WireKustomization(Wire):
    """A Flux Kustomization."""

    metadata: OwnedMeta = msgspec.field(default_factory=OwnedMeta)
    spec: KustomizationSpec = msgspec.field(default_factory=KustomizationSpec)
    status: KustomizationStatus = msgspec.field(default_factory=KustomizationStatus)


class ChartTemplateSpec(Wire):
    """``spec.chart.spec``."""

    chart: str | None = None
    version: str | None = None
    source_ref: NameRef | None = None


class ChartTemplate(Wire):
    """``spec.chart``."""

    spec: ChartTemplateSpec = msgspec.field(default_factory=ChartTemplateSpec)


class HelmReleaseSpec(FluxSpec):
    """``spec`` of a HelmRelease."""

    chart: ChartTemplate | None = None
    chart_ref: NameRef | None = None
    depends_on: list[NameRef] | None = None


class ReleaseSnapshot(Wire):
    """One entry of a HelmRelease's history, newest first."""

    chart_name: str | None = None
    chart_version: str | None = None
    version: int | None = None
    status: str | None = None


class HelmReleaseStatus(FluxStatus):
    """``status`` of a HelmRelease."""

    history: list[ReleaseSnapshot] | None = None
    last_attempted_revision: str | None = None
    last_applied_revision: str | None = None
    helm_chart: str | None = None


class WireHelmRelease(Wire):
    """A Flux HelmRelease."""

    metadata: OwnedMeta = msgspec.field(default_factory=OwnedMeta)
    spec: HelmReleaseSpec = msgspec.field(default_factory=HelmReleaseSpec)
    status: HelmReleaseStatus = msgspec.field(default_factory=HelmReleaseStatus)


class GitReference(Wire):
    """``spec.ref`` of a source; precedence: commit, name, tag, semver, branch (digest, semver, tag for OCI).

    Flux's reference puts semver before tag; source-controller 1.9 does not.
    """

    branch: str | None = None
    tag: str | None = None
    semver: str | None = None
    name: str | None = None
    commit: str | None = None
    digest: str | None = None


class SourceSpec(FluxSpec):
    """``spec`` of any source kind."""

    url: str | None = None
    ref: GitReference | None = None
    bucket_name: str | None = None
    endpoint: str | None = None
    chart: str | None = None
    version: str | None = None
    source_ref: NameRef | None = None
    image: str | None = None


class Artifact(Wire):
    """``status.artifact``."""

    revision: str | None = None
    last_update_time: str | None = None


class SourceStatus(FluxStatus):
    """``status`` of any source kind."""

    artifact: Artifact | None = None


class WireSource(Wire):
    """A GitRepository, OCIRepository, HelmRepository, HelmChart, Bucket or ImageRepository."""

    metadata: OwnedMeta = msgspec.field(default_factory=OwnedMeta)
    spec: SourceSpec = msgspec.field(default_factory=SourceSpec)
    status: SourceStatus = msgspec.field(default_factory=SourceStatus)
