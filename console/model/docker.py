"""Objects of a Swarm and of a Docker host."""

from __future__ import annotations

from datetime import datetime

from console.model.refs import Ref
from console.model.resource import Resource


class Stack(Resource, frozen=True, kw_only=True):
    """A Swarm stack, by its namespace label. Counts are services. ``unreadable`` says what could not be read; such a stack is
    never called missing or well.

    ``sync`` ("synced", "drifted", "out of sync"), ``drift`` (what differs, in words) and ``revision`` ("r41") are known only
    for releases that somebody compared or recorded; empty otherwise.
    """

    services: int = 0
    services_ok: int = 0
    tasks_wanted: int = 0
    tasks_running: int = 0
    networks: int = 0
    configs: int = 0
    secrets: int = 0
    volumes: int = 0
    update: str = ""
    unreadable: str = ""
    sync: str = ""
    drift: str = ""
    revision: str = ""


class SwarmService(Resource, frozen=True, kw_only=True):
    """A Swarm service. ``mode``: replicated, global, replicated-job or global-job; ``update`` is ``UpdateStatus.State``."""

    stack: str = ""
    mode: str = ""
    wanted: int = 0
    running: int = 0
    completed: int = 0
    image: str = ""
    digest: str = ""
    update: str = ""
    update_message: str = ""
    update_started: datetime | None = None
    ports: tuple[str, ...] = ()
    force: int = 0
    previous: bool = False


class Task(Resource, frozen=True, kw_only=True):
    """A Swarm task. ``state`` and ``desired`` are the engine's words; ``error`` is the engine's text."""

    service: Ref
    slot: int = 0
    node: str = ""
    state: str = ""
    desired: str = ""
    error: str = ""
    image: str = ""
    container: str = ""
    exit_code: int = 0


class Node(Resource, frozen=True, kw_only=True):
    """A Swarm node. ``role``: manager or worker; ``state``: ready, down, unknown, disconnected; ``leader`` for managers."""

    hostname: str = ""
    role: str = ""
    state: str = ""
    availability: str = ""
    leader: bool = False
    reachability: str = ""
    address: str = ""
    engine: str = ""
    tasks: int = 0


class SwarmObject(Resource, frozen=True, kw_only=True):
    """A network, config, secret or volume; ``detail`` is driver and scope, or a digest. Never any content."""

    stack: str = ""
    detail: str = ""


class Container(Resource, frozen=True, kw_only=True):
    """A container of a host. ``app`` is its compose project (or ours), ``service`` the service in it.

    ``state``: created, running, paused, restarting, removing, exited, dead. ``probe``: the health check's word, "" without one.
    ``drift`` says in words how it differs from what was declared; empty when it doesn't or nobody declared it.
    """

    app: str = ""
    service: str = ""
    image: str = ""
    image_id: str = ""
    state: str = ""
    probe: str = ""
    status: str = ""
    restarts: int = 0
    exit_code: int = 0
    oom_killed: bool = False
    ports: tuple[str, ...] = ()
    started: datetime | None = None
    finished: datetime | None = None
    networks: tuple[str, ...] = ()
    drift: str = ""


class Sample(Resource, frozen=True, kw_only=True):
    """One measurement of a container: ``cpu`` in percent of one core, memory in bytes (cache not counted)."""

    at: datetime
    cpu: float = 0.0
    memory: int = 0
    memory_limit: int = 0
