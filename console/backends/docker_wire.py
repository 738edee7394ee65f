"""The shown fields of what an engine answers, as decoded. Never the content of a config or a secret.

Engine API 1.24 and later; every field may be absent or null. Times are RFC 3339 with nanoseconds, durations nanoseconds.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct


class Part(Struct, gc=False, rename="pascal"):
    """Base of all decoded parts."""


class Index(Part):
    """``Version`` of a swarm object, or ``JobIteration``; an absent index is 0."""

    index: int = 0


class Empty(Part):
    """A mode without parameters."""


class Mount(Part):
    """A mount."""

    type: str | None = None
    source: str | None = None
    name: str | None = None


class Labelled(Part):
    """``Spec`` of a swarm object, as far as all are alike."""

    name: str = ""
    labels: dict[str, str] | None = None


class WireNetwork(Part):
    """A network."""

    id: str = ""
    name: str = ""
    created: str | None = None
    scope: str | None = None
    driver: str | None = None
    labels: dict[str, str] | None = None
    ingress: bool = False
    attachable: bool = False
    internal: bool = False


class WireVolume(Part):
    """A volume of this engine."""

    name: str = ""
    driver: str | None = None
    scope: str | None = None
    created_at: str | None = None
    labels: dict[str, str] | None = None


class Volumes(Part):
    """The answer of ``/volumes``."""

    volumes: list[WireVolume] | None = None


class ContainerPort(Part):
    """A port of a container; an unpublished one has no public side."""

    ip: str | None = msgspec.field(default=None, name="IP")
    private_port: int = 0
    public_port: int | None = None
    type: str = "tcp"


class Networks(Part):
    """``NetworkSettings`` of a container, the names only."""

    networks: dict[str, Empty | None] | None = None


class WireContainer(Part):
    """One row of ``/containers/json``. ``status`` is made for people ("Up 3 hours (healthy)")."""

    id: str = ""
    names: list[str] | None = None
    image: str = ""
    image_id: str = msgspec.field(default="", name="ImageID")
    created: int = 0
    ports: list[ContainerPort] | None = None
    labels: dict[str, str] | None = None
    state: str = ""
    status: str = ""
    network_settings: Networks | None = None
    mounts: list[Mount] | None = None


class Probe(Part):
    """``State.Health``."""

    status: str | None = None


class InspectedState(Part):
    """``State`` of an inspected container."""

    status: str | None = None
    exit_code: int = 0
    oom_killed: bool = msgspec.field(default=False, name="OOMKilled")
    error: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    health: Probe | None = None


class InspectedConfig(Part):
    """``Config`` of an inspected container: the image as it was asked for, and whether the log has frames."""

    image: str | None = None
    tty: bool = False


class Inspected(Part):
    """What the list does not tell about a container."""

    id: str = ""
    state: InspectedState = msgspec.field(default_factory=InspectedState)
    restart_count: int = 0
    config: InspectedConfig = msgspec.field(default_factory=InspectedConfig)


class SwarmCluster(Part):
    """The swarm as a manager knows it."""

    id: str = msgspec.field(default="", name="ID")


class SwarmInfo(Part):
    """``Swarm`` of ``/info``."""

    control_available: bool = False
    node_id: str | None = msgspec.field(default=None, name="NodeID")
    error: str | None = None
    cluster: SwarmCluster | None = None


class EngineSummary(Part):
    """The shown part of ``/info``."""

    id: str = msgspec.field(default="", name="ID")
    name: str = ""
    server_version: str = ""
    swarm: SwarmInfo = msgspec.field(default_factory=SwarmInfo)
