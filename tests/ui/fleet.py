"""A small fleet with something of everything, for behaviour tests and pictures."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from console.model.connections import Phase
from console.model.docker import Container, Stack, SwarmService, Task
from console.model.health import Condition, Health
from console.model.kubernetes import Event, Pod, Trigger
from console.model.operations import Operation, State, StepView
from console.model.refs import Ref
from console.model.resource import Listed
from tests.ui.stand_in import NOW, StandIn

SHA_OLD, SHA_NEW = "4be19d0" + "a" * 33, "9f2c1ab" + "b" * 33
WEB = Ref("prod-eu", "FluxTrigger", "shop", "web", "uid-web")
SHOP = Ref("swarm-a", "Stack", "", "shop", "shop")
API = Ref("edge-3", "Container", "", "shop-api-1", "c-edge-3-api")


def _ago(**length: float) -> dict[str, Any]:
    return {"changed": NOW - timedelta(**length), "created": NOW - timedelta(days=40)}


def trigger(connection: str, namespace: str, name: str, health: Health = Health.OK, **facts: Any) -> Trigger:
    """A Flux trigger that applies a Kustomization of the same name."""
    values: dict[str, Any] = {
        "ref": Ref(connection, "FluxTrigger", namespace, name, f"uid-{name}"),
        "health": health,
        "applier": Ref(connection, "Kustomization", namespace, name),
        "source": "https://github.com/acme/shop",
        "branch": "main",
        "sync": "synced",
        "wanted": SHA_OLD,
        "applied": SHA_OLD,
        "configured": Condition("Configured", "True", "Succeeded"),
        "ready": Condition("Ready", "True", "Succeeded"),
        **_ago(minutes=6),
        **facts,
    }
    return Trigger(**values)


def stack(connection: str, name: str, health: Health = Health.OK, **facts: Any) -> Stack:
    """A stack that is as declared."""
    values: dict[str, Any] = {
        "ref": Ref(connection, "Stack", "", name, name),
        "health": health,
        "services": 5,
        "services_ok": 5,
        "tasks_wanted": 14,
        "tasks_running": 14,
        "networks": 2,
        "configs": 3,
        "sync": "synced",
        "revision": "r12",
        **_ago(days=2),
        **facts,
    }
    return Stack(**values)


def container(connection: str, app: str, service: str, health: Health = Health.OK, **facts: Any) -> Container:
    """A running container of an app."""
    values: dict[str, Any] = {
        "ref": Ref(connection, "Container", "", f"{app}-{service}-1", f"c-{connection}-{service}"),
        "health": health,
        "app": app,
        "service": service,
        "image": f"registry.acme.test/{service}:1.9.2",
        "state": "running",
        "probe": "healthy",
        "status": "Up 11 minutes",
        "started": NOW - timedelta(minutes=11),
        **_ago(minutes=11),
        **facts,
    }
    return Container(**values)


def catch_up() -> Operation:
    """The operation that failed on shop/web."""
    start = NOW - timedelta(minutes=6, seconds=12)

    def step(key: str, title: str, begin: float, length: float, state: State = State.SUCCEEDED, detail: str = "") -> StepView:
        began = start + timedelta(seconds=begin)
        return StepView(
            key=key, title=title, state=state, started=began, ended=began + timedelta(seconds=length), detail=detail
        )

    return Operation(
        ref=Ref("prod-eu", "Operation", "", "catch-up-9f2c1ab", "op-catch-up"),
        target=WEB,
        verb="apply",
        state=State.FAILED,
        health=Health.BAD,
        started=start,
        ended=start + timedelta(minutes=4, seconds=12),
        who="ops2",
        why="INC-4211",
        commit=SHA_NEW,
        message="Deployment shop/web never became ready: 2 of 3 pods can't pull web:1.44.",
        steps=(
            step("a", "artifact holds 9f2c1ab", 0, 3.1),
            step("b", "recorded", 3.1, 0.1),
            step("c", "resumed", 3.2, 0.2),
            step("d", "applied, health check failed", 3.4, 238, State.FAILED, "timeout waiting for Deployment/web"),
            step("e", "suspended again, settled", 241.4, 6.4),
        ),
    )


def running() -> Operation:
    """An operation in flight, with steps below steps."""
    start = NOW - timedelta(seconds=38)
    return Operation(
        ref=Ref("prod-us", "Operation", "", "sync-core", "op-sync-core"),
        target=Ref("prod-us", "Application", "pay", "core", "uid-core"),
        verb="sync",
        state=State.RUNNING,
        health=Health.BUSY,
        started=start,
        who="argocd",
        step="hooks 2/3",
        waiting_for="Job pay/migrate: 1 of 1 pods running",
        steps=(
            StepView(key="1", title="Pre-sync hooks", state=State.RUNNING, started=start),
            StepView(
                key="1.1", title="Job check", state=State.SUCCEEDED, depth=1, started=start, ended=start + timedelta(seconds=9)
            ),
            StepView(
                key="1.2",
                title="Job migrate",
                state=State.WAITING,
                depth=1,
                started=start + timedelta(seconds=9),
                waiting_for="1 of 1 pods running",
            ),
            StepView(key="2", title="Wave 1: 4 objects", depth=0, after=("1",)),
            StepView(key="3", title="Wave 2: 2 objects", depth=0, after=("2",)),
        ),
    )


def fill(runtime: StandIn) -> None:
    """Put the whole fleet into the runtime."""
    kube, swarm, host = ("kubernetes",), ("swarm", "host"), ("host",)
    runtime.connect("prod-eu", platforms=kube, group="prod", protected=True, server="Kubernetes v1.36.2", latency=0.021)
    runtime.connect("prod-us", platforms=kube, group="prod", server="Kubernetes v1.36.2", latency=0.094)
    runtime.connect("swarm-a", platforms=swarm, group="prod", protected=True, server="Docker 29.1", latency=0.003)
    runtime.connect("edge-1", Phase.POLLING, platforms=host, group="edge", server="Docker 29.1")
    runtime.connect("edge-3", platforms=host, group="edge", server="Docker 29.1")
    runtime.connect(
        "edge-7",
        Phase.UNREACHABLE,
        platforms=host,
        group="edge",
        heard=NOW - timedelta(minutes=3, seconds=10),
        reason="no answer from edge-7.acme.test:22",
        hint="Try ssh edge-7 by hand.",
    )
    runtime.put(
        trigger(
            "prod-eu",
            "shop",
            "web",
            Health.BAD,
            sync="failed",
            reason="apply failed: Deployment web never became ready",
            wanted=SHA_NEW,
            ready=Condition("Ready", "False", "HealthCheckFailed", "timeout waiting for Deployment/shop/web"),
            related=(Ref("prod-eu", "Pod", "shop", "web-6d9f-x2x9l", "uid-pod"),),
            **_ago(minutes=2),
        ),
        trigger("prod-eu", "shop", "cart"),
        trigger("prod-eu", "shop", "search"),
        trigger("prod-eu", "infra", "ingress", Health.HELD, held=True, held_by="ops2", sync="held", **_ago(hours=3)),
        trigger("prod-us", "pay", "ledger", **_ago(hours=1)),
        Trigger(
            ref=Ref("prod-us", "Application", "pay", "core", "uid-core"),
            health=Health.BUSY,
            sync="running",
            source="https://github.com/acme/pay",
            branch="release",
            wanted=SHA_NEW,
            applied=SHA_OLD,
            operation="sync running: hooks 2/3",
            automated=True,
            changed=NOW - timedelta(seconds=38),
        ),
        Pod(
            ref=Ref("prod-eu", "Pod", "shop", "web-6d9f-x2x9l", "uid-pod"),
            health=Health.BAD,
            reason="can't pull web:1.44",
            phase="ImagePullBackOff",
            ready=0,
            containers=("web", "proxy"),
            node="node-3",
            related=(WEB,),
            **_ago(minutes=5),
        ),
        stack(
            "swarm-a",
            "shop",
            Health.WARN,
            sync="drifted",
            drift="2 fields: web.replicas 6→10, web.env LOG",
            revision="r41",
            services=4,
            services_ok=3,
            reason="1 of 4 services differs from what was deployed",
            **_ago(minutes=4),
        ),
        stack("swarm-a", "billing"),
        stack("swarm-a", "metrics", services=3, services_ok=3, tasks_wanted=9, tasks_running=9, revision="r7", **_ago(days=5)),
        SwarmService(
            ref=Ref("swarm-a", "SwarmService", "", "shop_web", "svc-web"),
            health=Health.WARN,
            reason="10 replicas, 6 were deployed",
            stack="shop",
            mode="replicated",
            wanted=10,
            running=10,
            image="registry.acme.test/web:1.43",
            related=(SHOP,),
            **_ago(minutes=4),
        ),
        Task(
            ref=Ref("swarm-a", "Task", "", "shop_web.3", "task-3"),
            service=Ref("swarm-a", "SwarmService", "", "shop_web", "svc-web"),
            health=Health.OK,
            slot=3,
            node="mgr-1",
            state="running",
            desired="running",
            **_ago(minutes=4),
        ),
        container("edge-1", "shop", "api"),
        container("edge-1", "shop", "worker", probe=""),
        container("edge-3", "shop", "api", Health.BUSY, reason="green ready, draining blue 12 s", **_ago(seconds=2)),
        container("edge-7", "shop", "api", **_ago(minutes=9)),
        catch_up(),
        running(),
        Event(
            ref=Ref("prod-eu", "Event", "shop", "web.1", "ev-1"),
            health=Health.WARN,
            at=NOW - timedelta(minutes=2),
            about=WEB,
            what="HealthCheckFailed",
            message="timeout waiting for: [Deployment/shop/web status: 'InProgress']",
            source="kustomize-controller",
            count=3,
        ),
    )
    for connection in runtime.connections():
        for kind in ("Event", "Namespace", "HelmRelease", "SwarmNode"):
            found = tuple(item for item in runtime.store.of(kind).values() if item.ref.connection == connection.ref.name)
            runtime.store.apply(Listed(connection.ref.name, kind, found))
