"""The table of cluster kinds: where each is served, how it is decoded, what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from console.backends import argo_objects, event_objects, flux_objects, trigger_objects, workload_objects
from console.backends.flux_wire import WireHelmRelease, WireKustomization, WireSource
from console.backends.kube_common import Scope
from console.backends.workload_wire import WireEvent, WireNamespace, WirePod, WireWorkload
from console.model.kubernetes import KubeObject, Trigger
from console.model.operations import Operation
from console.model.resource import Resource


class Kind(msgspec.Struct, frozen=True):
    """One kind.

    ``versions`` are those that the decoder knows, the best first; a server with none of them is asked in its own preferred
    one. ``standing`` kinds are always watched, others while somebody looks; ``joined`` ones are converted again when an object
    that they name changes. A kind without ``convert`` can only be read whole.
    """

    name: str
    group: str
    plural: str
    versions: tuple[str, ...]
    wire: Any = None
    convert: Callable[[Any, Scope], Resource] | None = None
    operation: Callable[[Any, Resource, Scope], Operation | None] | None = None
    namespaced: bool = True
    standing: bool = False
    joined: bool = False

    @property
    def builtin(self) -> bool:
        """Whether every cluster serves it, so that nobody need ask."""
        return self.group in ("", "apps", "batch")


def _flux_operation(wire: Any, resource: Resource, _: Scope) -> Operation | None:
    running = flux_objects.operation(resource) if isinstance(resource, Trigger | KubeObject) else None
    if running is None and isinstance(wire, WireKustomization):
        return flux_objects.found_apply(wire, resource.ref)
    return running


def _argo_operation(wire: Any, _: Resource, scope: Scope) -> Operation | None:
    return argo_objects.operation(wire, scope)


def _trigger(name: str, plural: str) -> Kind:
    def operation(wire: Any, _: Resource, scope: Scope) -> Operation | None:
        return trigger_objects.operation(name, wire, scope)

    convert = partial(trigger_objects.trigger, name)
    wire = trigger_objects.WireTrigger
    return Kind(name, "configbutler.ai", plural, ("v1alpha3",), wire, convert, operation, standing=True, joined=True)


def _target(name: str, plural: str, *, namespaced: bool = True) -> Kind:
    convert = partial(trigger_objects.target, name)
    wire, group = trigger_objects.WireTarget, "configbutler.ai"
    return Kind(name, group, plural, ("v1alpha3",), wire, convert, namespaced=namespaced, standing=True, joined=True)


def _source(name: str, plural: str, group: str = "source.toolkit.fluxcd.io") -> Kind:
    convert = partial(flux_objects.source, name)
    versions = ("v1", "v1beta2", "v1beta1")
    # A source is looked at every minute or so: such a pass is no operation that anybody follows.
    return Kind(name, group, plural, versions, WireSource, convert, standing=True)


def _workload(name: str, group: str, plural: str) -> Kind:
    return Kind(name, group, plural, ("v1",), WireWorkload, partial(workload_objects.workload, name))


_TABLE = (
    _trigger("FluxTrigger", "fluxtriggers"),
    _trigger("ArgoCDTrigger", "argocdtriggers"),
    Kind(
        "Kustomization",
        "kustomize.toolkit.fluxcd.io",
        "kustomizations",
        ("v1", "v1beta2", "v1beta1"),
        WireKustomization,
        flux_objects.kustomization,
        _flux_operation,
        standing=True,
        joined=True,
    ),
    Kind(
        "Application",
        "argoproj.io",
        "applications",
        ("v1alpha1",),
        argo_objects.WireApplication,
        argo_objects.application,
        _argo_operation,
        standing=True,
        joined=True,
    ),
    _source("GitRepository", "gitrepositories"),
    Kind(
        "HelmRelease",
        "helm.toolkit.fluxcd.io",
        "helmreleases",
        ("v2", "v2beta2", "v2beta1"),
        WireHelmRelease,
        flux_objects.helm_release,
        _flux_operation,
        standing=True,
        joined=True,
    ),
    _target("GitTarget", "gittargets"),
    _target("GitProvider", "gitproviders"),
    _target("ClusterProvider", "clusterproviders", namespaced=False),
    _source("OCIRepository", "ocirepositories"),
    _source("HelmRepository", "helmrepositories"),
    _source("HelmChart", "helmcharts"),
    _source("Bucket", "buckets"),
    # Only where Flux's image reflector is installed.
    _source("ImageRepository", "imagerepositories", "image.toolkit.fluxcd.io"),
    Kind(
        "AppProject",
        "argoproj.io",
        "appprojects",
        ("v1alpha1",),
        argo_objects.WireProject,
        argo_objects.project,
        standing=True,
    ),
    Kind("Event", "", "events", ("v1",), WireEvent, event_objects.event, standing=True),
    Kind("Pod", "", "pods", ("v1",), WirePod, workload_objects.pod),
    _workload("Deployment", "apps", "deployments"),
    _workload("StatefulSet", "apps", "statefulsets"),
    _workload("DaemonSet", "apps", "daemonsets"),
    _workload("Job", "batch", "jobs"),
    Kind("Namespace", "", "namespaces", ("v1",), WireNamespace, event_objects.namespace, namespaced=False),
    # Named by owners and events; worth reading whole, not worth watching.
    Kind("ReplicaSet", "apps", "replicasets", ("v1",)),
    Kind("CronJob", "batch", "cronjobs", ("v1",)),
    Kind("ConfigMap", "", "configmaps", ("v1",)),
    Kind("Secret", "", "secrets", ("v1",)),
    Kind("Service", "", "services", ("v1",)),
    Kind("Node", "", "nodes", ("v1",), namespaced=False),
)

KINDS = {kind.name: kind for kind in _TABLE}
"""All kinds by name, in the order in which they are listed at the start."""

STANDING = tuple(kind for kind in _TABLE if kind.standing)
ON_DEMAND = frozenset(kind.name for kind in _TABLE if kind.convert is not None and not kind.standing)
SHOWN = frozenset(kind.name for kind in _TABLE if kind.convert is not None) | {"Operation"}
