"""Whole objects of an engine, read on demand."""

from __future__ import annotations

from typing import Any

from console.backends.swarm_objects import STACK_LABEL
from console.clients.docker import DockerClient
from console.errors import NotFound, NotServed, ProtocolError
from console.model.refs import Ref

_FOLDERS = {
    "SwarmService": "services",
    "Task": "tasks",
    "SwarmNode": "nodes",
    "SwarmNetwork": "networks",
    "SwarmConfig": "configs",
    "SwarmSecret": "secrets",
    "Volume": "volumes",
    "Container": "containers",
}


async def raw_object(client: DockerClient, ref: Ref) -> dict[str, Any]:
    """The object as the engine has it. A config's content is left out: it may hold what a secret should."""
    if ref.kind == "Stack":
        return await _stack(client, ref.name)
    folder = _FOLDERS.get(ref.kind)
    if folder is None:
        raise NotServed(f"An engine has no {ref.kind}.")
    suffix = "/json" if folder == "containers" else ""
    found = await client.get(f"/{folder}/{ref.uid or ref.name}{suffix}")
    if not isinstance(found, dict):
        raise ProtocolError(f"{ref} is no object, but {type(found).__name__}.")
    return _without_content(found) if folder == "configs" else found


async def _stack(client: DockerClient, name: str) -> dict[str, Any]:
    """Everything under one namespace label: a stack has no object of its own."""
    label = {"filters": {"label": [f"{STACK_LABEL}={name}"]}}
    found: dict[str, Any] = {"Name": name}
    for folder in ("services", "networks", "configs", "secrets"):
        listed = await client.get(f"/{folder}", label)
        found[folder.capitalize()] = [_without_content(item) for item in listed or ()]
    volumes = await client.get("/volumes", label)
    found["Volumes"] = (volumes or {}).get("Volumes") or []
    if not any(found[key] for key in ("Services", "Networks", "Configs", "Secrets", "Volumes")):
        raise NotFound(f"Nothing carries the label of stack {name} any more.")
    return found


def _without_content(found: dict[str, Any]) -> dict[str, Any]:
    spec = found.get("Spec")
    if isinstance(spec, dict) and "Data" in spec:
        return {**found, "Spec": {key: value for key, value in spec.items() if key != "Data"}}
    return found
