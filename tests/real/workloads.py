"""Stacks on a real swarm and containers on a real engine that look like a fleet's."""

from typing import Any

import yaml

from tests.real.docker_engine import DockerEngine
from tests.real.images import BROKEN, SHELL, WEB
from tests.real.place import Place
from tests.real.processes import STARTED, wait_until
from tests.real.swarm import SwarmLab


def stack_file(*, replicas: int = 2, tag: str = "1") -> dict[str, Any]:
    """A compose file: a web service on an overlay network, a worker, a config. It needs no pull and no virtual address."""
    deploy = {"replicas": replicas, "endpoint_mode": "dnsrr", "update_config": {"delay": "0s", "order": "start-first"}}
    web = {
        "image": f"{WEB}:{tag}",
        "networks": ["front"],
        "configs": [{"source": "settings", "target": "/etc/settings"}],
        "deploy": deploy,
        "stop_grace_period": "2s",
    }
    worker = {
        "image": SHELL,
        "networks": ["front"],
        "deploy": {"replicas": 1, "endpoint_mode": "dnsrr"},
        "stop_grace_period": "2s",
    }
    return {
        "version": "3.8",
        "services": {"web": web, "worker": worker},
        "networks": {"front": {"driver": "overlay"}},
        "configs": {"settings": {"file": "./settings.txt"}},
    }


def deploy_stack(lab: SwarmLab, place: Place, name: str, document: dict[str, Any] | None = None) -> None:
    """Deploy a stack with the docker command line and wait until all its tasks run."""
    folder = place.folder(f"stack-{name}")
    (folder / "settings.txt").write_text("colour=blue\n")
    file = folder / "stack.yml"
    file.write_text(yaml.safe_dump(document or stack_file()))
    lab.docker("stack", "deploy", "--resolve-image", "never", "-c", str(file), name, timeout=2 * STARTED)
    wait_until(lambda: converged(lab, name), f"stack {name} runs", 2 * STARTED, 0.2)


def converged(lab: SwarmLab, name: str) -> bool:
    """True when every service of a stack has as many running tasks as it wants (replicated services only)."""
    manager = lab.manager
    wanted = f'{{"label":["com.docker.stack.namespace={name}"]}}'
    services = manager.api("GET", "/services", filters=wanted)
    tasks = manager.api("GET", "/tasks", filters=wanted)
    for service in services:
        replicas = service["Spec"]["Mode"]["Replicated"]["Replicas"]
        own = [task for task in tasks if task["ServiceID"] == service["ID"] and task["DesiredState"] == "running"]
        if [task["Status"]["State"] for task in own].count("running") != replicas:
            return False
    return bool(services)


def run_containers(engine: DockerEngine) -> None:
    """A running web server with a published port, one that keeps failing, one that has ended, and one beside a network."""
    engine.docker("network", "create", "shop")
    engine.docker("run", "-d", "--name", "web", "--network", "shop", "-p", "8080:8080", "--label", "team=shop", f"{WEB}:1")
    engine.docker("run", "-d", "--name", "flaky", "--restart", "always", BROKEN)
    engine.docker("run", "--name", "done", SHELL, "sh", "-c", "echo finished")
    engine.docker("create", "--name", "idle", SHELL)
