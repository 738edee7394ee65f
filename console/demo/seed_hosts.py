"""The Docker hosts "pelican", "heron" and "tern" when the world begins."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from console.demo.clockwork import WorldClock
from console.demo.container_api import make_container
from console.demo.engine import Engine

Object = dict[str, Any]
_REGISTRY = "registry.example.test"
_RESERVED = "platform-reserved."


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """One service of a host. ``compose`` makes it a compose project's; otherwise it carries the service engine's labels.

    ``state`` is one of running, unhealthy, starting, exited, paused, restarting, oom; ``moved`` means that its tag was
    pushed again since the container was made.
    """

    host: str
    app: str
    service: str
    image: str
    replicas: int = 1
    port: int = 0
    state: str = "running"
    probe: bool = True
    moved: bool = False
    compose: bool = False
    volume: str = ""
    age: float = 5 * 86400.0
    env: tuple[str, ...] = ("LOG_LEVEL=info",)


SERVICES = (
    Running(host="pelican", app="blog", service="blog-web", image="sites/blog:2.8", replicas=2, port=8080),
    Running(host="pelican", app="blog", service="blog-cache", image="vendor/cache:7.2", probe=False),
    Running(
        host="pelican",
        app="wiki",
        service="wiki",
        image="sites/wiki:1.31",
        port=8090,
        state="unhealthy",
        env=("DATABASE_URL=mysql://wiki:correct-horse-battery@db-wiki:3306/wiki", "SMTP_PASSWORD=correct-horse-battery"),
    ),
    Running(host="pelican", app="wiki", service="wiki-db", image="vendor/mysql:8.4", volume="data", probe=False),
    Running(host="heron", app="注文処理", service="orders", image="shop/orders:4.4.1", compose=True, port=9000),
    Running(host="heron", app="注文処理", service="orders-db", image="vendor/postgres:16", compose=True, volume="data"),
    Running(host="heron", app="reports", service="reports", image="data/reports:0.9", state="exited"),
    Running(host="heron", app="reports", service="reports-queue", image="vendor/queue:3.13", moved=True),
    Running(host="heron", app="thumbs", service="thumbs", image="media/thumbs:5.1", replicas=3, state="oom"),
    Running(host="tern", app="ci", service="runner", image="ci/runner:17", replicas=2, probe=False, compose=True),
    Running(
        host="tern", app="ci", service="registry-mirror", image="vendor/registry:2.8", port=5000, compose=True, volume="blobs"
    ),
    Running(host="tern", app="vpn", service="vpn", image="net/vpn:1.0", state="restarting", probe=False),
    Running(host="tern", app="backup", service="backup", image="ops/backup:3.3", state="paused", probe=False),
    Running(host="tern", app="status", service="status-page", image="sites/status:1.2", state="starting", port=8088, age=6.0),
)


def hosts(clock: WorldClock, seed: int) -> dict[str, Engine]:
    """The engines of the three hosts by name."""
    engines = {name: Engine(name, clock, seed) for name in dict.fromkeys(entry.host for entry in SERVICES)}
    for entry in SERVICES:
        _seed(engines[entry.host], entry)
    return engines


def _seed(engine: Engine, entry: Running) -> None:
    reference = f"{_REGISTRY}/{entry.image}"
    image = engine.image(reference) or engine.pull(reference, age=entry.age)
    if image is None:
        return
    network = f"{entry.app}_default" if entry.compose else f"platform-app-{entry.app}"
    if not engine.find_networks(network):
        engine.add_network(network, labels={} if entry.compose else {f"{_RESERVED}store": _store(engine)}, age=entry.age)
    base = hashlib.sha256(reference.encode()).hexdigest()[:8]
    for index in range(entry.replicas):
        ours = f"{entry.service}-{base}" + (f"-r{index}" if index else "")
        name = f"compose-{entry.service}-{index + 1}" if entry.compose else ours
        body = _body(engine, entry, reference, network, index)
        container = make_container(engine, name, body, image, age=entry.age + 3 - index)
        _bring_to_state(engine, container, entry, index)
    if entry.moved:
        engine.pull(reference, word="pushed again", age=7200)


def _store(engine: Engine) -> str:
    return engine.names.hexadecimal("store", 16)


def _body(engine: Engine, entry: Running, reference: str, network: str, index: int) -> Object:
    if entry.compose:
        labels = {
            "com.docker.compose.project": entry.app,
            "com.docker.compose.service": entry.service,
            "com.docker.compose.container-number": str(index + 1),
            "com.docker.compose.oneoff": "False",
        }
    else:
        labels = {
            f"{_RESERVED}service": entry.service,
            f"{_RESERVED}app": entry.app,
            f"{_RESERVED}image": reference,
            f"{_RESERVED}role": "service",
            f"{_RESERVED}store": _store(engine),
            f"{_RESERVED}spec": engine.names.hexadecimal(f"spec/{entry.service}", 12),
        }
    body: Object = {
        "Image": reference,
        "Env": list(entry.env),
        "Labels": labels,
        "Hostname": engine.names.hexadecimal(f"{entry.service}/{index}", 12),
        "HostConfig": {
            "NetworkMode": network,
            "RestartPolicy": {"Name": "unless-stopped" if entry.compose else "no", "MaximumRetryCount": 0},
            "Memory": 512 * 1024**2,
        },
        "NetworkingConfig": {"EndpointsConfig": {network: {"Aliases": [entry.service.removeprefix(f"{entry.app}-")]}}},
    }
    if entry.probe:
        body["Healthcheck"] = {"Test": ["CMD", "healthz"], "Interval": 10_000_000_000, "Retries": 3}
    if entry.port:
        body["ExposedPorts"] = {f"{entry.port}/tcp": {}}
        body["HostConfig"]["PortBindings"] = {f"{entry.port}/tcp": [{"HostPort": str(entry.port + index)}]}
    if entry.volume:
        body["HostConfig"]["Binds"] = [f"app-{entry.service}-{entry.volume}:/data"]
    return body


def _bring_to_state(engine: Engine, container: Object, entry: Running, index: int) -> None:
    state = container["State"]
    engine.start(container, age=entry.age - index)
    if "Health" in state and entry.state != "starting":
        failing = entry.state == "unhealthy"
        output = "connect: connection refused" if failing else "ok"
        entry_log = {"ExitCode": 1 if failing else 0, "Output": output, "Start": state["StartedAt"], "End": state["StartedAt"]}
        health = {"Status": "unhealthy" if failing else "healthy", "FailingStreak": 7 if failing else 0, "Log": [entry_log]}
        state["Health"] = health
    if entry.state == "exited":
        engine.exit(container, 1, age=1740)
        engine.tell(container, "die", age=1740, exitCode="1")
    elif entry.state == "oom" and index == 2:
        engine.exit(container, 137, oom=True, age=400)
        engine.tell(container, "oom", age=401)
        engine.tell(container, "die", age=400, exitCode="137")
    elif entry.state == "paused":
        state.update(Paused=True, Status="paused")
    elif entry.state == "restarting":
        engine.exit(container, 2, age=8)
        state.update(Status="restarting", Restarting=True)
        container["RestartCount"] = 41
