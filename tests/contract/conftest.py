"""One test body over the simulated API server and over a real one."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx
import pytest

from console.demo.fleet import DemoFleet
from tests.contract.dock import Dock, client_of
from tests.contract.ground import Ground
from tests.real import images
from tests.real.docker_engine import DockerEngine
from tests.real.kube import KubeServer
from tests.real.swarm import SwarmLab


@pytest.fixture(params=["demo", "real"])
async def ground(request: pytest.FixtureRequest) -> AsyncIterator[Ground]:
    """A name for one Kustomization on a server that acts by itself in no way."""
    if request.param == "real":
        kube: KubeServer = request.getfixturevalue("kube")
        headers = {"Authorization": f"Bearer {kube.token()}"}
        verify = ssl.create_default_context(cafile=kube.authority)
        async with httpx.AsyncClient(base_url=kube.url, headers=headers, verify=verify, timeout=30, trust_env=False) as client:
            yield Ground(client, "real", kube.namespace(), kube.forget_history)
        return
    async with DemoFleet(speed=0) as fleet:
        endpoint = fleet.endpoint("atlas")
        headers = {"Authorization": f"Bearer {endpoint.token}"}
        async with httpx.AsyncClient(base_url=endpoint.url, headers=headers, trust_env=False, verify=False) as client:
            yield Ground(client, "demo", forget=fleet.world.clusters["atlas"].store.compact)


@pytest.fixture(params=["demo", "real"])
async def host(request: pytest.FixtureRequest) -> AsyncIterator[Dock]:
    """A Docker host that has the image `SHELL`."""
    if request.param == "real":
        engine: DockerEngine = request.getfixturevalue("docker_engine")
        async with client_of(engine.socket) as client:
            yield Dock(client, lambda: asyncio.sleep(0.2), images.SHELL)
        return
    async with DemoFleet(speed=0) as fleet:
        fleet.world.engines["tern"].pull(images.SHELL)
        async with client_of(fleet.endpoint("tern").socket) as client:
            yield Dock(client, _stepping(fleet), images.SHELL)


@pytest.fixture(params=["demo", "real"])
async def swarm_manager(request: pytest.FixtureRequest) -> AsyncIterator[Dock]:
    """The manager of a Swarm of one manager and two workers."""
    if request.param == "real":
        lab: SwarmLab = request.getfixturevalue("swarm")
        async with client_of(lab.manager.socket) as client:
            yield Dock(client, lambda: asyncio.sleep(0.2), images.SHELL)
        return
    async with DemoFleet(speed=0) as fleet, client_of(fleet.endpoint("harbour").socket) as client:
        yield Dock(client, _stepping(fleet), images.SHELL)


def _stepping(fleet: DemoFleet) -> Callable[[], Awaitable[None]]:
    async def step() -> None:
        fleet.world.step(0.5)
        await asyncio.sleep(0)

    return step
