"""The shown fields of what runs in a cluster, as decoded."""

from __future__ import annotations

import msgspec

from console.backends.kube_wire import Conditions, Meta, Wire


class ContainerSpec(Wire):
    """A container as declared. ``restart_policy`` "Always" on an init container makes it a sidecar."""

    name: str = ""
    image: str | None = None
    restart_policy: str | None = None


class PodSpec(Wire):
    """``spec`` of a pod or of a template."""

    node_name: str | None = None
    containers: list[ContainerSpec] | None = None
    init_containers: list[ContainerSpec] | None = None


class Waiting(Wire):
    """A waiting container."""

    reason: str | None = None
    message: str | None = None


class Terminated(Wire):
    """A terminated container."""

    reason: str | None = None
    message: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    finished_at: str | None = None


class Running(Wire):
    """A running container."""

    started_at: str | None = None


class ContainerState(Wire):
    """One of three."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(Wire):
    """How one container is."""

    name: str = ""
    ready: bool | None = None
    restart_count: int | None = None
    state: ContainerState = msgspec.field(default_factory=ContainerState)
    last_state: ContainerState | None = None


class PodStatus(Conditions):
    """``status`` of a pod."""

    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    start_time: str | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None


class WirePod(Wire):
    """A pod."""

    metadata: Meta = msgspec.field(default_factory=Meta)
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)


class Template(Wire):
    """``spec.template``."""

    spec: PodSpec = msgspec.field(default_factory=PodSpec)


class WorkloadSpec(Wire):
    """``spec`` of a Deployment, StatefulSet, DaemonSet or Job."""

    replicas: int | None = None
    paused: bool | None = None
    completions: int | None = None
    parallelism: int | None = None
    suspend: bool | None = None
    template: Template = msgspec.field(default_factory=Template)


class WorkloadStatus(Conditions):
    """``status`` of those, each using its own part."""

    replicas: int | None = None
    ready_replicas: int | None = None
    updated_replicas: int | None = None
    desired_number_scheduled: int | None = None
    number_ready: int | None = None
    updated_number_scheduled: int | None = None
    active: int | None = None
    succeeded: int | None = None
    failed: int | None = None


class WireWorkload(Wire):
    """A Deployment, StatefulSet, DaemonSet or Job."""

    metadata: Meta = msgspec.field(default_factory=Meta)
    spec: WorkloadSpec = msgspec.field(default_factory=WorkloadSpec)
    status: WorkloadStatus = msgspec.field(default_factory=WorkloadStatus)


class NamespaceStatus(Conditions):
    """``status`` of a namespace."""

    phase: str | None = None


class WireNamespace(Wire):
    """A namespace."""

    metadata: Meta = msgspec.field(default_factory=Meta)
    status: NamespaceStatus = msgspec.field(default_factory=NamespaceStatus)


class Involved(Wire):
    """``involvedObject`` of an event."""

    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None


class EventSource(Wire):
    """``source`` of an event."""

    component: str | None = None
    host: str | None = None


class EventSeries(Wire):
    """``series`` of an event that goes on."""

    count: int | None = None
    last_observed_time: str | None = None


class WireEvent(Wire):
    """A core ``v1`` Event."""

    metadata: Meta = msgspec.field(default_factory=Meta)
    involved_object: Involved = msgspec.field(default_factory=Involved)
    reason: str | None = None
    message: str | None = None
    type: str | None = None
    source: EventSource | None = None
    reporting_component: str | None = None
    count: int | None = None
    series: EventSeries | None = None
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    event_time: str | None = None
