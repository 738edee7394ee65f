"""A swarm's answers as an engine sends them, small enough to read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from console.backends.docker_wire import WireNetwork, WireVolume
from console.backends.swarm_picture import SNAPSHOT, SwarmPicture
from console.backends.swarm_wire import WireFile, WireNode, WireService, WireTask
from console.model.docker import Stack, SwarmService
from console.model.resource import Change
from console.runtime.store import Store

Json = dict[str, Any]
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
_TYPES: dict[str, Any] = {
    "services": WireService,
    "tasks": WireTask,
    "nodes": WireNode,
    "networks": WireNetwork,
    "configs": WireFile,
    "secrets": WireFile,
    "volumes": WireVolume,
}


def ago(seconds: float) -> str:
    """That long before NOW, as the engine writes it."""
    return (NOW - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%f") + "123Z"


def node(name: str = "n1", *, state: str = "ready", availability: str = "active", role: str = "worker", **more: Any) -> Json:
    return {
        "ID": f"id-{name}",
        "Spec": {"Role": role, "Availability": availability, "Labels": more.pop("labels", {})},
        "Description": {
            "Hostname": name,
            "Platform": {"Architecture": more.pop("arch", "x86_64"), "OS": "linux"},
            "Engine": {"EngineVersion": "20.10.24"},
        },
        "Status": {"State": state, "Addr": "198.18.7.1"},
        **more,
    }


def service(
    name: str = "shop_web", *, mode: Json | None = None, restart: str | None = None, stack: str = "shop", **more: Any
) -> Json:
    template: Json = {"ContainerSpec": {"Image": "web:2@sha256:" + "a" * 64}, **more.pop("template", {})}
    if restart is not None:
        template["RestartPolicy"] = {"Condition": restart, "Delay": 5_000_000_000}
    return {
        "ID": f"id-{name}",
        "Version": {"Index": more.pop("version", 10)},
        "CreatedAt": ago(3600),
        "UpdatedAt": ago(3600),
        "Spec": {
            "Name": name,
            "Labels": {"com.docker.stack.namespace": stack} if stack else {},
            "Mode": mode or {"Replicated": {"Replicas": 1}},
            "TaskTemplate": template,
            **more.pop("spec", {}),
        },
        **more,
    }


def task(
    state: str = "running",
    *,
    of: str = "shop_web",
    slot: int | None = 1,
    on: str = "n1",
    age: float = 600,
    desired: str = "running",
    err: str = "",
    uid: str = "",
    **more: Any,
) -> Json:
    body: Json = {
        "ID": uid or f"t-{of}-{slot}-{on}-{age}-{state}",
        "CreatedAt": ago(age),
        "ServiceID": f"id-{of}",
        "NodeID": f"id-{on}" if on else "",
        "Spec": {"ContainerSpec": {"Image": "web:2"}},
        "Status": {"Timestamp": ago(more.pop("since", age)), "State": state, **({"Err": err} if err else {})},
        "DesiredState": desired,
        **more,
    }
    return body | ({"Slot": slot} if slot is not None else {})


class Swarm:
    """A picture whose changes end in a store, fed with plain JSON."""

    def __init__(self) -> None:
        self.store = Store()
        self.picture = SwarmPicture("harbour")
        self.now = NOW

    def read(self, services: Sequence[Json] = (), tasks: Sequence[Json] = (), nodes: Sequence[Json] | None = None) -> None:
        """One whole snapshot."""
        for topic, found in (("services", services), ("tasks", tasks), ("nodes", nodes if nodes is not None else [node()])):
            self.picture.put(topic, self._wires(topic, found))
        self.apply(self.picture.complete(self.now, SNAPSHOT))

    def objects(self, topic: str, *found: Json) -> None:
        self.apply(self.picture.objects(topic, self._wires(topic, found)))

    def later(self, seconds: float) -> None:
        """Nothing is read; time passes."""
        self.now += timedelta(seconds=seconds)
        self.apply(self.picture.judge(self.now))

    def apply(self, changes: Sequence[Change]) -> None:
        for change in changes:
            self.store.apply(change)

    def service(self, name: str = "shop_web") -> SwarmService:
        (found,) = [row for row in self.store.of("SwarmService").values() if row.ref.name == name]
        assert isinstance(found, SwarmService)
        return found

    def stack(self, name: str = "shop") -> Stack:
        (found,) = [row for row in self.store.of("Stack").values() if row.ref.name == name]
        assert isinstance(found, Stack)
        return found

    @staticmethod
    def _wires(topic: str, found: Sequence[Json]) -> list[Any]:
        kind = _TYPES[topic]
        return [msgspec.json.decode(msgspec.json.encode(one), type=kind) for one in found]
