"""Model objects for the tests of the views: a small fleet at one instant."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from console.model.connections import Connection, Phase
from console.model.docker import Container, Node, Stack, SwarmObject, SwarmService, Task
from console.model.health import Condition, Health
from console.model.kubernetes import Event, KubeObject, Namespace, Pod, Trigger, Workload
from console.model.operations import Operation, State, StepView
from console.model.refs import Ref
from console.model.resource import Resource
from console.views.cells import Context

NOW = datetime(2026, 3, 14, 12, 4, 31, tzinfo=UTC)
GOOD = "4be19d0c5f1e2a7b8c9d0e1f2a3b4c5d6e7f8091"
BAD = "9f2c1ab04d5e6f708192a3b4c5d6e7f8091a2b3c"


def ago(**units: float) -> datetime:
    return NOW - timedelta(**units)


def ref(kind: str, name: str, namespace: str = "", connection: str = "prod-eu") -> Ref:
    return Ref(connection, kind, namespace, name, uid=f"uid-{name}")


def trigger(name: str = "web", kind: str = "Kustomization", namespace: str = "shop", **fields: object) -> Trigger:
    given: dict[str, object] = {
        "health": Health.OK,
        "source": "https://github.com/acme/shop.git",
        "branch": "main",
        "wanted": GOOD,
        "applied": GOOD,
        "changed": ago(minutes=6),
    }
    return Trigger(ref=ref(kind, name, namespace), **(given | fields))  # type: ignore[arg-type]


FAILED_TRIGGER = trigger(
    kind="FluxTrigger",
    health=Health.BAD,
    reason="2 of 3 pods can't pull web:1.44",
    applier=ref("Kustomization", "web", "shop"),
    wanted=BAD,
    ready=Condition("Ready", "False", "HealthCheckFailed", "timeout waiting for Deployment/shop/web"),
    configured=Condition("Configured", "True", "Succeeded"),
    operation="apply failed",
    changed=ago(minutes=2),
)
STACK = Stack(
    ref=ref("Stack", "billing", connection="swarm-a"),
    health=Health.OK,
    services=5,
    services_ok=5,
    tasks_wanted=14,
    tasks_running=14,
    changed=ago(days=2),
)
DRIFTED_STACK = Stack(
    ref=ref("Stack", "shop", connection="swarm-a"),
    health=Health.OK,
    services=4,
    services_ok=4,
    tasks_wanted=10,
    tasks_running=10,
    sync="drifted",
    drift="2 fields of web",
    revision="r41",
    changed=ago(minutes=4),
)
SWARM_SERVICE = SwarmService(
    ref=ref("SwarmService", "shop_web", connection="swarm-a"),
    health=Health.BUSY,
    stack="shop",
    mode="replicated",
    wanted=3,
    running=1,
    image="ghcr.io/acme/web:1.44@sha256:" + "a" * 64,
    update="updating",
)
TASK = Task(
    ref=ref("Task", "t1", connection="swarm-a"),
    health=Health.BAD,
    service=SWARM_SERVICE.ref,
    slot=2,
    node="n1",
    state="rejected",
    desired="shutdown",
    error="No such image: web:nope",
    image="web:nope",
)
NODE = Node(
    ref=ref("SwarmNode", "n1", connection="swarm-a"),
    health=Health.OK,
    hostname="n1",
    role="manager",
    state="ready",
    leader=True,
)
SECRET = SwarmObject(ref=ref("SwarmSecret", "shop_key", connection="swarm-a"), health=Health.OK, stack="shop")
CONTAINER = Container(
    ref=ref("Container", "shop-api-1", connection="edge-1"),
    health=Health.OK,
    app="shop",
    service="api",
    image="registry.example/acme/api:1.9.2",
    state="running",
    probe="healthy",
    started=ago(minutes=11),
)
POD = Pod(
    ref=ref("Pod", "web-1", "shop"),
    health=Health.BAD,
    reason="can't pull web:1.44",
    phase="ImagePullBackOff",
    containers=("web",),
    created=ago(minutes=3),
)
WORKLOAD = Workload(
    ref=ref("Deployment", "web", "shop"), health=Health.BUSY, wanted=3, ready=1, updated=2, images=("web:1.44",)
)
SOURCE = KubeObject(
    ref=ref("GitRepository", "shop", "flux-system"),
    health=Health.OK,
    revision=f"main@sha1:{GOOD}",
    summary="github.com/acme/shop",
)
HELM = KubeObject(
    ref=ref("HelmRelease", "redis", "shop"), health=Health.HELD, suspended=True, suspended_by="kubectl", revision="19.0.1"
)
NAMESPACE = Namespace(ref=ref("Namespace", "shop"), health=Health.OK, phase="Active")
EVENT = Event(
    ref=ref("Event", "e1", "shop"),
    health=Health.WARN,
    at=ago(seconds=40),
    about=ref("Pod", "web-1", "shop"),
    what="BackOff",
    message="Back-off pulling image",
    source="kubelet",
    count=3,
)
RUNNING = Operation(
    ref=ref("Operation", "op-2"),
    health=Health.BUSY,
    target=ref("Kustomization", "core", "pay"),
    verb="apply",
    state=State.RUNNING,
    step="hooks",
    waiting_for="Job pay/migrate to complete",
    started=ago(seconds=38),
    steps=(
        StepView(key="a", title="artifact", state=State.SUCCEEDED, started=ago(seconds=38), ended=ago(seconds=30)),
        StepView(key="b", title="hooks", state=State.RUNNING, started=ago(seconds=30)),
        StepView(key="c", title="settle"),
    ),
)
ENDED = Operation(
    ref=ref("Operation", "op-1"),
    health=Health.BAD,
    target=FAILED_TRIGGER.ref,
    verb="apply",
    state=State.FAILED,
    message="health check timed out",
    started=ago(minutes=6),
    ended=ago(minutes=2),
    who="ops2",
    commit=BAD,
)
LIVE = Connection(
    ref=Ref("prod-eu", "Connection", "", "prod-eu"),
    phase=Phase.LIVE,
    health=Health.OK,
    platforms=("kubernetes",),
    server="Kubernetes v1.36.2",
    heard=ago(seconds=1),
)
GONE = Connection(
    ref=Ref("edge-1", "Connection", "", "edge-1"),
    phase=Phase.UNREACHABLE,
    health=Health.BAD,
    platforms=("host",),
    reason="connection refused",
    hint="Is the engine running?",
    heard=ago(minutes=3),
    since=ago(minutes=3),
    protected=True,
)
CONTEXT = Context(NOW, {"prod-eu": LIVE, "edge-1": GONE})
ALL: tuple[Resource, ...] = (
    trigger("cart"),
    trigger(),
    FAILED_TRIGGER,
    STACK,
    DRIFTED_STACK,
    SWARM_SERVICE,
    TASK,
    NODE,
    SECRET,
    CONTAINER,
    POD,
    WORKLOAD,
    SOURCE,
    HELM,
    NAMESPACE,
    EVENT,
    RUNNING,
    ENDED,
    LIVE,
    GONE,
)
