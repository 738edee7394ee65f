"""Servers for the crash tests, simulated and real, each behind a tap for every case."""

from __future__ import annotations

import asyncio
import itertools
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Protocol

import httpx
import msgspec
import pytest

from console.config.fleet import Entry
from console.demo.config_files import Endpoint, write_kubeconfig
from console.demo.fleet import DemoFleet
from console.model.plan import Intent
from console.model.refs import Ref
from tests.contract.dock import Dock, client_of
from tests.contract.ground import Ground
from tests.crash.tap import Tap
from tests.real import images
from tests.real.kube import KubeServer
from tests.real.swarm import SwarmLab

_numbers = itertools.count()


class Stage(Protocol):
    """A server on which each case has an object of its own."""

    name: str

    def tap(self) -> Tap:
        """A new way to the server."""
        ...

    def target(self, tap: Tap, folder: Path) -> tuple[dict[str, str], Entry]:
        """How the console finds the server behind that tap."""
        ...

    async def intent(self) -> Intent:
        """Make an object; what is to be done with it changes it once."""
        ...

    async def changes(self, ref: Ref) -> int:
        """How often the object was changed since it was made, as the server counts; raises if it is in neither state."""
        ...

    async def meddle(self, ref: Ref) -> None:
        """Somebody else changes the very field to a third value."""
        ...

    async def settled(self, ref: Ref) -> None:
        """Wait until the world shows what was written."""
        ...


class SwarmStage:
    name = "swarm"

    def __init__(self, dock: Dock, socket: Path) -> None:
        self.dock = dock
        self._socket = socket

    def tap(self) -> Tap:
        return Tap(f"unix:{self._socket}")

    def target(self, tap: Tap, folder: Path) -> tuple[dict[str, str], Entry]:
        return {}, Entry(name=self.name, endpoint=f"tcp://127.0.0.1:{tap.port}")

    async def intent(self) -> Intent:
        name = f"crash-{next(_numbers)}"
        made = await self.dock.client.post("/services/create", json=self.dock.service(name))
        assert made.status_code == 201, made.text
        ref = Ref(self.name, "SwarmService", "", name, made.json()["ID"])
        await self._running(ref, 1)
        return Intent(verb="scale", targets=(ref,), arguments={"replicas": "2"})

    async def changes(self, ref: Ref) -> int:
        service = await self._service(ref)
        if service["Spec"]["Mode"]["Replicated"]["Replicas"] == 1:
            assert "PreviousSpec" not in service
            return 0
        assert service["PreviousSpec"]["Mode"]["Replicated"]["Replicas"] == 1, "one update away from where it began"
        return 1

    async def meddle(self, ref: Ref) -> None:
        service = await self._service(ref)
        service["Spec"]["Mode"]["Replicated"]["Replicas"] = 3
        assert (await self.dock.update(service)).status_code == 200

    async def settled(self, ref: Ref) -> None:
        await self._running(ref, (await self._service(ref))["Spec"]["Mode"]["Replicated"]["Replicas"])

    async def _service(self, ref: Ref) -> Any:
        return await self.dock.get(f"/services/{ref.uid}")

    async def _running(self, ref: Ref, count: int) -> None:
        async def counted() -> bool:
            found = await self.dock.get("/services", filters=f'{{"id":["{ref.uid}"]}}', status="true")
            return bool(found and found[0]["ServiceStatus"]["RunningTasks"] == count)

        await self.dock.until(counted)


class ClusterStage:
    name = "cluster"

    def __init__(self, client: httpx.AsyncClient, endpoint: Endpoint, namespace: str, authority: str = "") -> None:
        self._client = client
        self._endpoint = endpoint
        self._namespace = namespace
        self._authority = authority
        self._grounds: dict[str, Ground] = {}

    def tap(self) -> Tap:
        return Tap(self._endpoint.url, self._authority)

    def target(self, tap: Tap, folder: Path) -> tuple[dict[str, str], Entry]:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "kubeconfig"
        write_kubeconfig(file, [msgspec.structs.replace(self._endpoint, url=f"http://127.0.0.1:{tap.port}")])
        return {"KUBECONFIG": str(file)}, Entry(name=self.name, kubernetes=self._endpoint.name)

    async def intent(self) -> Intent:
        ground = Ground(self._client, self.name, self._namespace)
        made = await ground.from_git()
        assert made["metadata"]["generation"] == 1
        self._grounds[ground.name] = ground
        ref = Ref(self.name, "Kustomization", self._namespace, ground.name, made["metadata"]["uid"])
        return Intent(verb="suspend", targets=(ref,))

    async def changes(self, ref: Ref) -> int:
        found = await self._grounds[ref.name].get()
        assert (found["spec"].get("suspend") is True) is (found["metadata"]["generation"] > 1)
        return int(found["metadata"]["generation"]) - 1

    async def meddle(self, ref: Ref) -> None:
        answer = await self._grounds[ref.name].suspend("somebody", False)
        assert answer.status_code == 200, answer.text

    async def settled(self, ref: Ref) -> None:
        return None


@pytest.fixture(params=["demo swarm", "real swarm", "demo cluster", "real cluster"])
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    """A server on which nothing acts by itself but a swarm's orchestrator."""
    if request.param == "real swarm":
        lab: SwarmLab = request.getfixturevalue("swarm")
        async with client_of(lab.manager.socket) as client:
            yield SwarmStage(Dock(client, lambda: asyncio.sleep(0.2), images.SHELL), lab.manager.socket)
    elif request.param == "real cluster":
        kube: KubeServer = request.getfixturevalue("kube")
        headers = {"Authorization": f"Bearer {kube.token()}"}
        trust = ssl.create_default_context(cafile=kube.authority)
        async with httpx.AsyncClient(base_url=kube.url, headers=headers, verify=trust, timeout=30, trust_env=False) as client:
            endpoint = Endpoint(name="real", kind="kubernetes", url=kube.url, token=kube.token())
            yield ClusterStage(client, endpoint, kube.namespace(), str(kube.authority))
    elif request.param == "demo swarm":
        async with DemoFleet(speed=8) as fleet:
            socket = fleet.endpoint("harbour").socket
            assert socket is not None
            async with client_of(socket) as client:
                dock = Dock(client, lambda: asyncio.sleep(0.05), "registry.example.test/vendor/filter:1.4")
                yield SwarmStage(dock, socket)
    else:
        async with DemoFleet(speed=0) as fleet:
            endpoint = fleet.endpoint("atlas")
            headers = {"Authorization": f"Bearer {endpoint.token}"}
            async with httpx.AsyncClient(base_url=endpoint.url, headers=headers, trust_env=False, timeout=30) as client:
                yield ClusterStage(client, endpoint, "default")
