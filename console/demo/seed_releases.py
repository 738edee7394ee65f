"""The release records that two of the stacks of "harbour" carry: one as deployed, one that the world has drifted from.

A record is a Swarm config found by its labels; its payload is gzipped JSON with the manifest as it was deployed.
"""

from __future__ import annotations

import base64
import gzip
from typing import Any

import msgspec
import yaml

from console.demo.clockwork import rfc3339
from console.demo.seed_harbour import REGISTRY, SERVICES, Declared, content_of
from console.demo.swarm_state import Swarm

Object = dict[str, Any]
_LABEL = "com.swarmcli"
_DRIFTED: dict[str, Object] = {"catalog": {"replicas": 2, "env": ("LOG_LEVEL=warn",)}}
"""What the last manifest of "market" says otherwise than the running services, by service."""


def seed_releases(swarm: Swarm) -> None:
    """Three revisions of "market", the second failed, and two of "batch"."""
    for revision, status, age, tag in ((1, "deployed", 20.0, "0.9"), (2, "failed", 6.0, "0.9.1"), (3, "deployed", 2.0, "1.0")):
        _record(swarm, "market", revision, status, age, tag, _DRIFTED)
    for revision, age, tag in ((1, 15.0, "2.0.0"), (2, 3.0, "2.0.1")):
        _record(swarm, "batch", revision, "deployed", age, tag, {})


def manifest(stack: str, changes: dict[str, Object]) -> str:
    """The compose file that would deploy a stack as the beginning of the world has it, but for the changes."""
    services = [entry for entry in SERVICES if entry.stack == stack]
    body: Object = {"services": {entry.name: _service(entry, changes.get(entry.name, {})) for entry in services}}
    configs = {name: {"file": f"./{name}"} for entry in services for name in entry.configs}
    secrets = {name: {"external": True, "name": f"{stack}_{name}"} for entry in services for name in entry.secrets}
    volumes: Object = {entry.volume: {} for entry in services if entry.volume}
    body |= {key: value for key, value in (("configs", configs), ("secrets", secrets), ("volumes", volumes)) if value}
    return yaml.safe_dump(body, sort_keys=False)


def _service(entry: Declared, changes: Object) -> Object:
    replicas = changes.get("replicas", entry.replicas)
    deploy: Object = {"replicas": replicas} if entry.replicas else {"mode": "global"}
    deploy |= {
        "resources": {"limits": {"memory": "512M"}},
        "restart_policy": {"condition": "any"},
        "update_config": {"parallelism": 1, "failure_action": "pause", "order": "stop-first"},
    }
    if entry.constraint:
        deploy["placement"] = {"constraints": [entry.constraint]}
    found: Object = {"image": f"{REGISTRY}/{entry.image}", "deploy": deploy}
    environment = dict(text.split("=", 1) for text in (*entry.env, *changes.get("env", ())))
    if environment:
        # A record must not hold what is secret: such a value is taken from the environment of whoever deploys.
        found["environment"] = {
            key: value if key in ("LOG_LEVEL", "REGION") else f"${{{key}}}" for key, value in environment.items()
        }
    if entry.port:
        found["ports"] = [{"target": 8080, "published": entry.port, "protocol": "tcp", "mode": "ingress"}]
    for key, names in (("configs", entry.configs), ("secrets", entry.secrets)):
        if names:
            found[key] = list(names)
    if entry.volume:
        found["volumes"] = [f"{entry.volume}:/data"]
    return found


def _record(
    swarm: Swarm, stack: str, revision: int, status: str, days: float, version: str, changes: dict[str, Object]
) -> None:
    created = rfc3339(swarm.clock.ago(days * 86400))
    chart = {"name": stack, "version": version, "appVersion": version}
    payload = {
        "release": stack,
        "revision": revision,
        "status": status,
        "chart": chart,
        "values": {},
        "manifest": manifest(stack, changes),
        "created": created,
        "namespace": stack,
        "files": {f"./{name}": content_of(name) for entry in SERVICES if entry.stack == stack for name in entry.configs},
    }
    labels = {
        f"{_LABEL}.type": "release",
        f"{_LABEL}.release": stack,
        f"{_LABEL}.chart": stack,
        f"{_LABEL}.chart.version": version,
        f"{_LABEL}.revision": str(revision),
        f"{_LABEL}.status": status,
        f"{_LABEL}.created": created,
    }
    data = base64.b64encode(gzip.compress(msgspec.json.encode(payload), mtime=0)).decode()
    name = f"quarterdeck.release.{stack}.v{revision}"
    spec = {"Name": name, "Labels": labels, "Data": data}
    swarm.add("configs", {"Spec": spec}, age=days * 86400, id_=swarm.names.swarm_id(f"configs/{name}"))
