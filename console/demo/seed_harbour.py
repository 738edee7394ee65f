"""The Swarm "harbour" when the world begins: three nodes and four stacks."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from console.demo.clockwork import WorldClock, rfc3339_nano
from console.demo.engine import Engine
from console.demo.swarm_api import endpoint
from console.demo.swarm_orchestrator import new_task
from console.demo.swarm_state import Swarm

Object = dict[str, Any]
_STACK = "com.docker.stack.namespace"
_ON_MANAGER = "node.role==manager"
REGISTRY = "registry.example.test"


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """One service of the beginning. ``replicas`` 0 means global."""

    stack: str
    name: str
    image: str
    replicas: int = 2
    port: int = 0
    constraint: str = ""
    update: str = ""
    configs: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    volume: str = ""


SERVICES = (
    Declared(stack="market", name="gateway", image="edge/gateway:3.2", replicas=0, port=8443, configs=("gateway-routes",)),
    Declared(
        stack="market",
        name="catalog",
        image="shop/catalog:1.9.2",
        replicas=3,
        port=8081,
        env=("LOG_LEVEL=info", "DATABASE_URL=postgres://catalog:correct-horse-battery@db.example.test/catalog"),
    ),
    Declared(
        stack="market",
        name="checkout",
        image="shop/checkout:5.0.0-rc2",
        replicas=3,
        update="paused",
        secrets=("payment-key",),
        env=("PAYMENT_API_TOKEN=tok_live_8f2a61c09d", "REGION=eu"),
    ),
    Declared(stack="market", name="orders", image="shop/orders:4.4.1", replicas=2, volume="orders-data"),
    Declared(stack="metrics", name="collector", image="vendor/collector:0.104", replicas=0, configs=("collector-config",)),
    Declared(stack="metrics", name="store", image="vendor/tsdb:2.53", replicas=1, volume="tsdb", constraint=_ON_MANAGER),
    Declared(
        stack="metrics", name="dashboards", image="vendor/dashboards:11.1", replicas=1, port=3000, secrets=("dashboards-admin",)
    ),
    Declared(stack="mail", name="relay", image="vendor/relay:3.9", replicas=2, port=2525, secrets=("relay-tls",)),
    Declared(stack="mail", name="filter", image="vendor/filter:1.4", replicas=1, constraint="node.labels.disk==ssd"),
    Declared(stack="batch", name="scheduler", image="data/scheduler:2.0", replicas=1, update="completed"),
    Declared(stack="batch", name="worker", image="data/worker:2.0", replicas=4, update="completed"),
)


def harbour(clock: WorldClock, seed: int, services: int = 0) -> Engine:
    """The engine of the Swarm's manager. ``services`` more services in many stacks are for measuring."""
    engine = Engine("harbour-1", clock, seed)
    swarm = Swarm("harbour", clock, engine.names, engine.events)
    engine.swarm = swarm
    _seed_nodes(swarm)
    for stack in dict.fromkeys(entry.stack for entry in SERVICES):
        _add_network(swarm, f"{stack}_default", {_STACK: stack})
    _add_network(swarm, "ingress", {}, ingress=True)
    for entry in SERVICES:
        _seed_service(engine, swarm, entry)
    for index in range(services):
        entry = Declared(stack=f"load-{index // 8:03}", name=f"svc-{index:04}", image="load/worker:1", replicas=1 + index % 3)
        if index % 8 == 0:
            _add_network(swarm, f"{entry.stack}_default", {_STACK: entry.stack})
        _seed_service(engine, swarm, entry)
    return engine


def _seed_nodes(swarm: Swarm) -> None:
    for index, (role, labels) in enumerate((("manager", {"disk": "ssd"}), ("worker", {"disk": "hdd"}), ("worker", {}))):
        name = f"harbour-{index + 1}"
        node: Object = {
            "Spec": {"Labels": labels, "Role": role, "Availability": "active"},
            "Description": {
                "Hostname": name,
                "Platform": {"Architecture": "x86_64", "OS": "linux"},
                "Resources": {"NanoCPUs": 8_000_000_000, "MemoryBytes": 16 * 1024**3},
                "Engine": {"EngineVersion": "20.10.24", "Plugins": []},
            },
            "Status": {"State": "ready", "Addr": f"10.20.0.{index + 1}"},
        }
        if role == "manager":
            node["ManagerStatus"] = {"Leader": True, "Reachability": "reachable", "Addr": f"10.20.0.{index + 1}:2377"}
        swarm.add("nodes", node, age=90 * 86400, id_=swarm.names.swarm_id(f"node/{name}"))


def _add_network(swarm: Swarm, name: str, labels: dict[str, str], *, ingress: bool = False) -> Object:
    driver = {"Name": "overlay", "Options": {"com.docker.network.driver.overlay.vxlanid_list": "4097"}}
    spec = {"Name": name, "Labels": labels, "DriverConfiguration": driver, "Scope": "swarm", "Ingress": ingress}
    return swarm.add("networks", {"Spec": spec}, age=60 * 86400, id_=swarm.names.swarm_id(f"network/{name}"))


def content_of(name: str) -> str:
    """What a config or secret of the beginning holds, in base64."""
    return base64.b64encode(f"# {name}\nlisten: 8080\npassword: correct-horse-battery\n".encode()).decode()


def _content(swarm: Swarm, table: str, stack: str, name: str) -> Object:
    full = f"{stack}_{name}"
    there = swarm.find(table, full)
    if there is not None:
        return there
    data = content_of(name)
    spec = {"Name": full, "Labels": {_STACK: stack}, "Data": data}
    return swarm.add(table, {"Spec": spec}, age=45 * 86400, id_=swarm.names.swarm_id(f"{table}/{full}"))


def _reference(swarm: Swarm, table: str, key: str, stack: str, name: str) -> Object:
    obj = _content(swarm, table.lower(), stack, name)
    # As a stack deploy mounts it: a config at the root, a secret by its key.
    target = f"/{name}" if table == "Configs" else name
    file = {"Name": target, "UID": "0", "GID": "0", "Mode": 292}
    return {"File": file, key: obj["ID"], f"{table[:-1]}Name": obj["Spec"]["Name"]}


def _seed_service(engine: Engine, swarm: Swarm, entry: Declared) -> None:
    name = f"{entry.stack}_{entry.name}"
    spec = _spec(swarm, entry)
    age = 3000.0 if entry.update == "paused" else 86400.0 * 3
    obj: Object = {"Spec": spec, "Endpoint": endpoint(spec)}
    service = swarm.add("services", obj, age=30 * 86400, id_=swarm.names.swarm_id(f"service/{name}"))
    service["UpdatedAt"] = rfc3339_nano(swarm.clock.ago(age))
    if entry.volume:
        engine.add_volume(f"{entry.stack}_{entry.volume}", {_STACK: entry.stack}, age=30 * 86400)
    nodes = swarm.schedulable(service)
    places = [(node, 0) for node in nodes] if not entry.replicas else []
    for slot in range(1, entry.replicas + 1):
        places.append((nodes[(slot + len(name)) % len(nodes)], slot))
    if entry.update == "paused":
        _pause(swarm, service, entry, places)
        return
    if entry.update == "completed":
        started, ended = rfc3339_nano(swarm.clock.ago(age)), rfc3339_nano(swarm.clock.ago(age - 25))
        service["UpdateStatus"] = {
            "State": "completed",
            "StartedAt": started,
            "CompletedAt": ended,
            "Message": "update completed",
        }
        service["PreviousSpec"] = _with_image(spec, f"{REGISTRY}/data/{entry.name}:1.9")
    for node, slot in places:
        new_task(swarm, service, node, slot, age=age - slot, state="running")


def _pause(swarm: Swarm, service: Object, entry: Declared, places: list[tuple[Object, int]]) -> None:
    """An update that stopped at its first task, whose image nobody can pull; the other tasks still run the old one."""
    broken = service["Spec"]["TaskTemplate"]["ContainerSpec"]["Image"]
    swarm.missing_images.add(broken.partition("@")[0])
    old = _with_image(service["Spec"], f"{REGISTRY}/shop/{entry.name}:4.9.3")
    new = service["Spec"]
    service["Spec"] = old
    for node, slot in places[1:]:
        new_task(swarm, service, node, slot, age=86400, state="running")
    service["Spec"], service["PreviousSpec"] = new, old
    node, slot = places[0]
    rejected: list[Object] = []
    for age in (2990.0, 1200.0, 260.0):
        task = new_task(swarm, service, node, slot, age=age)
        task["DesiredState"] = "shutdown"
        task["Status"] |= {"State": "rejected", "Message": "preparing", "Err": f"No such image: {broken}"}
        task["Status"]["Timestamp"] = rfc3339_nano(swarm.clock.ago(age - 1))
        rejected.append(task)
    swarm.dirty.add(service["ID"])
    service["UpdateStatus"] = {
        "State": "paused",
        "StartedAt": rfc3339_nano(swarm.clock.ago(3000)),
        "Message": f"update paused due to failure or early termination of task {rejected[0]['ID']}",
    }


def _with_image(spec: Object, image: str) -> Object:
    template = spec["TaskTemplate"]
    return {**spec, "TaskTemplate": {**template, "ContainerSpec": {**template["ContainerSpec"], "Image": image}}}


def _spec(swarm: Swarm, entry: Declared) -> Object:
    labels = {_STACK: entry.stack}
    container: Object = {"Image": f"{REGISTRY}/{entry.image}", "Labels": labels, "Isolation": "default"}
    if entry.env:
        container["Env"] = list(entry.env)
    for table, names, key in (("Configs", entry.configs, "ConfigID"), ("Secrets", entry.secrets, "SecretID")):
        if names:
            container[table] = [_reference(swarm, table, key, entry.stack, name) for name in names]
    if entry.volume:
        source = f"{entry.stack}_{entry.volume}"
        options = {"VolumeOptions": {"Labels": labels}}
        container["Mounts"] = [{"Type": "volume", "Source": source, "Target": "/data", **options}]
    network = swarm.find("networks", f"{entry.stack}_default")
    spec: Object = {
        "Name": f"{entry.stack}_{entry.name}",
        "Labels": {**labels, "com.docker.stack.image": container["Image"]},
        "TaskTemplate": {
            "ContainerSpec": container,
            "Resources": {"Limits": {"MemoryBytes": 512 * 1024**2}},
            "RestartPolicy": {"Condition": "any", "MaxAttempts": 0},
            "Placement": {"Constraints": [entry.constraint]} if entry.constraint else {},
            "Networks": [{"Target": network["ID"], "Aliases": [entry.name]}] if network else [],
            "ForceUpdate": 0,
            "Runtime": "container",
        },
        "Mode": {"Replicated": {"Replicas": entry.replicas}} if entry.replicas else {"Global": {}},
        "UpdateConfig": {"Parallelism": 1, "FailureAction": "pause", "MaxFailureRatio": 0, "Order": "stop-first"},
        "EndpointSpec": {"Mode": "vip"},
    }
    if entry.port:
        port = {"Protocol": "tcp", "TargetPort": 8080, "PublishedPort": entry.port, "PublishMode": "ingress"}
        spec["EndpointSpec"]["Ports"] = [port]
    return spec
