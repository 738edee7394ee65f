"""The shown fields of a swarm's objects, as decoded. Never the content of a config or a secret."""

from __future__ import annotations

import msgspec

from console.backends.docker_wire import Empty, Index, Labelled, Mount, Part


class Replicated(Part):
    """``Mode.Replicated``."""

    replicas: int | None = None


class ReplicatedJob(Part):
    """``Mode.ReplicatedJob``."""

    max_concurrent: int | None = None
    total_completions: int | None = None


class Mode(Part):
    """One of four."""

    replicated: Replicated | None = None
    global_: Empty | None = msgspec.field(default=None, name="Global")
    replicated_job: ReplicatedJob | None = None
    global_job: Empty | None = None


class SecretUse(Part):
    """A secret or config that a service mounts."""

    secret_id: str | None = msgspec.field(default=None, name="SecretID")
    secret_name: str | None = None
    config_id: str | None = msgspec.field(default=None, name="ConfigID")
    config_name: str | None = None


class ContainerSpec(Part):
    """What a task runs."""

    image: str = ""
    secrets: list[SecretUse] | None = None
    configs: list[SecretUse] | None = None
    mounts: list[Mount] | None = None


class RestartPolicy(Part):
    """When a task is started again; an absent condition means "any"."""

    condition: str | None = None
    delay: int | None = None


class Platform(Part):
    """``OS`` and ``Architecture``."""

    os: str | None = msgspec.field(default=None, name="OS")
    architecture: str | None = None


class Placement(Part):
    """Where tasks may run."""

    constraints: list[str] | None = None
    platforms: list[Platform] | None = None


class Attachment(Part):
    """A network of a task, by id."""

    target: str | None = None


class TaskTemplate(Part):
    """``TaskTemplate`` of a service, ``Spec`` of a task."""

    container_spec: ContainerSpec = msgspec.field(default_factory=ContainerSpec)
    restart_policy: RestartPolicy | None = None
    placement: Placement | None = None
    networks: list[Attachment] | None = None
    force_update: int | None = None


class UpdateConfig(Part):
    """How an update is made."""

    monitor: int | None = None


class ServiceSpec(Labelled):
    """``Spec`` of a service."""

    mode: Mode = msgspec.field(default_factory=Mode)
    task_template: TaskTemplate = msgspec.field(default_factory=TaskTemplate)
    update_config: UpdateConfig | None = None
    networks: list[Attachment] | None = None


class PublishedPort(Part):
    """A port of a service."""

    protocol: str | None = None
    target_port: int | None = None
    published_port: int | None = None
    publish_mode: str | None = None


class ServiceEndpoint(Part):
    """``Endpoint`` of a service."""

    ports: list[PublishedPort] | None = None


class UpdateStatus(Part):
    """How the last update stands; absent means that none has run or that the last write touched no task."""

    state: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    message: str | None = None


class JobStatus(Part):
    """Which run of a job is the present one."""

    job_iteration: Index | None = None


class WireService(Part):
    """A service."""

    id: str = msgspec.field(default="", name="ID")
    version: Index = msgspec.field(default_factory=Index)
    created_at: str | None = None
    updated_at: str | None = None
    spec: ServiceSpec = msgspec.field(default_factory=ServiceSpec)
    previous_spec: Empty | None = None
    endpoint: ServiceEndpoint | None = None
    update_status: UpdateStatus | None = None
    job_status: JobStatus | None = None


class ContainerStatus(Part):
    """The container of a task."""

    container_id: str | None = msgspec.field(default=None, name="ContainerID")
    exit_code: int | None = None


class TaskStatus(Part):
    """How a task is."""

    timestamp: str | None = None
    state: str = ""
    message: str | None = None
    err: str | None = None
    container_status: ContainerStatus | None = None


class WireTask(Part):
    """A task. A missing slot is "by node" for global modes, slot 0 for replicated jobs."""

    id: str = msgspec.field(default="", name="ID")
    version: Index = msgspec.field(default_factory=Index)
    created_at: str | None = None
    updated_at: str | None = None
    labels: dict[str, str] | None = None
    spec: TaskTemplate = msgspec.field(default_factory=TaskTemplate)
    service_id: str = msgspec.field(default="", name="ServiceID")
    slot: int = 0
    node_id: str = msgspec.field(default="", name="NodeID")
    status: TaskStatus = msgspec.field(default_factory=TaskStatus)
    desired_state: str = ""
    job_iteration: Index | None = None


class NodeSpec(Part):
    """``Spec`` of a node."""

    role: str = ""
    availability: str = ""
    labels: dict[str, str] | None = None


class EngineInfo(Part):
    """The engine of a node."""

    engine_version: str | None = None
    labels: dict[str, str] | None = None


class NodeDescription(Part):
    """What a node is."""

    hostname: str = ""
    platform: Platform | None = None
    engine: EngineInfo | None = None


class NodeStatus(Part):
    """How a node is."""

    state: str = ""
    message: str | None = None
    addr: str | None = None


class ManagerStatus(Part):
    """A manager's part in the consensus."""

    leader: bool = False
    reachability: str | None = None
    addr: str | None = None


class WireNode(Part):
    """A node."""

    id: str = msgspec.field(default="", name="ID")
    version: Index = msgspec.field(default_factory=Index)
    created_at: str | None = None
    updated_at: str | None = None
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    description: NodeDescription = msgspec.field(default_factory=NodeDescription)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)
    manager_status: ManagerStatus | None = None


class WireFile(Part):
    """A config or secret, without its content."""

    id: str = msgspec.field(default="", name="ID")
    version: Index = msgspec.field(default_factory=Index)
    created_at: str | None = None
    updated_at: str | None = None
    spec: Labelled = msgspec.field(default_factory=Labelled)
