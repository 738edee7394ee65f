"""Fixtures of the reading tests: the same scene over the demo fleet and over real servers."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
import pytest

from console.config.fleet import Entry
from console.demo.fleet import DemoFleet
from console.model.connections import Phase
from tests.contract.ground import Ground
from tests.contract.scene import DockerScene, Scene, connected, docker_context
from tests.real.docker_engine import DockerEngine
from tests.real.images import WEB
from tests.real.kube import KubeServer
from tests.real.proxy import FaultProxy
from tests.real.swarm import SwarmLab


class KubeScene(Scene):
    """A target that is a cluster; ``ground`` is a Kustomization of its own name there."""

    ground: Ground

    async def compact(self) -> None:
        """Make every version given out so far too old, and end the watches that go on from one."""
        raise NotImplementedError


class DemoKube(KubeScene):
    fleet: DemoFleet

    async def compact(self) -> None:
        await self.fleet.fail(self.name, "compacted")


class RealKube(KubeScene):
    server_process: KubeServer

    async def compact(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self.server_process.forget_history)
        await self.cut()


@asynccontextmanager
async def demo_kube(tmp_path: Path) -> AsyncIterator[KubeScene]:
    """Cluster "atlas" of the demo fleet."""
    async with DemoFleet(speed=1, folder=tmp_path) as fleet:
        env = fleet.write_config()
        async with connected(env, Entry(name="atlas", kubernetes="atlas"), tmp_path / "state") as runtime:
            scene = DemoKube(
                runtime,
                "atlas",
                "demo",
                lambda: fleet.fail("atlas", "down"),
                lambda: fleet.heal("atlas"),
                lambda: fleet.fail("atlas", "cut"),
            )
            scene.fleet = fleet
            endpoint = fleet.endpoint("atlas")
            headers = {"Authorization": f"Bearer {endpoint.token}"}
            async with httpx.AsyncClient(base_url=endpoint.url, headers=headers, trust_env=False, timeout=30) as client:
                scene.ground = Ground(client, "demo")
                await scene.until_phase(Phase.LIVE)
                yield scene


@asynccontextmanager
async def real_kube(kube: KubeServer, tmp_path: Path) -> AsyncIterator[KubeScene]:
    """A real API server behind a proxy that can break."""
    async with FaultProxy(kube.url.removeprefix("https://")) as proxy:
        env = {"KUBECONFIG": str(kube.kubeconfig(server=f"https://127.0.0.1:{proxy.port}"))}
        async with connected(env, Entry(name="real", kubernetes="admin"), tmp_path / "state") as runtime:

            async def break_off() -> None:
                await proxy.set("refuse")
                proxy.cut()

            async def cut() -> None:
                proxy.cut()

            async def mend() -> None:
                await proxy.set()

            scene = RealKube(runtime, "real", "real", break_off, mend, cut)
            scene.server_process = kube
            headers = {"Authorization": f"Bearer {kube.token()}"}
            trust = ssl.create_default_context(cafile=kube.authority)
            async with httpx.AsyncClient(
                base_url=kube.url, headers=headers, verify=trust, timeout=30, trust_env=False
            ) as client:
                scene.ground = Ground(client, "real", kube.namespace())
                await scene.until_phase(Phase.LIVE)
                yield scene


@asynccontextmanager
async def docker_scene(
    tmp_path: Path, server: str, name: str, socket: Path, image: str, faults: tuple[FaultProxy | None, DemoFleet | None]
) -> AsyncIterator[DockerScene]:
    """An engine behind whatever can break it."""
    proxy, fleet = faults
    folder = tmp_path / "docker-config"
    host = f"tcp://127.0.0.1:{proxy.port}" if proxy else f"unix://{socket}"
    docker_context(folder, name, host)

    async def break_off() -> None:
        if proxy is not None:
            await proxy.set("refuse")
            proxy.cut()
        if fleet is not None:
            await fleet.fail(name, "down")

    async def mend() -> None:
        if proxy is not None:
            await proxy.set()
        if fleet is not None:
            await fleet.heal(name)

    async def cut() -> None:
        if proxy is not None:
            proxy.cut()
        if fleet is not None:
            await fleet.fail(name, "cut")

    env = {"DOCKER_CONFIG": str(folder)}
    async with AsyncExitStack() as stack:
        runtime = await stack.enter_async_context(connected(env, Entry(name=name, docker=name), tmp_path / "state"))
        scene = DockerScene(runtime, name, server, break_off, mend, cut)
        transport = httpx.AsyncHTTPTransport(uds=str(socket))
        scene.engine = await stack.enter_async_context(
            httpx.AsyncClient(base_url="http://localhost/v1.41", transport=transport, timeout=60)
        )
        scene.image = image
        await scene.until_phase(Phase.LIVE)
        yield scene


@pytest.fixture(params=["demo", "real"])
async def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[KubeScene]:
    """A connected cluster."""
    if request.param == "demo":
        async with demo_kube(tmp_path) as scene:
            yield scene
    else:
        async with real_kube(request.getfixturevalue("kube"), tmp_path) as scene:
            yield scene


@pytest.fixture(params=["demo", "real"])
async def manager(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[DockerScene]:
    """A connected swarm manager."""
    async with AsyncExitStack() as stack:
        if request.param == "demo":
            fleet = await stack.enter_async_context(DemoFleet(speed=4))
            socket = fleet.endpoint("harbour").socket
            assert socket is not None
            faults: tuple[FaultProxy | None, DemoFleet | None] = (None, fleet)
            image = "registry.example.test/vendor/filter:1.4"
            scene = docker_scene(tmp_path, "demo", "harbour", socket, image, faults)
        else:
            lab: SwarmLab = request.getfixturevalue("swarm")
            proxy = await stack.enter_async_context(FaultProxy(f"unix:{lab.manager.socket}"))
            scene = docker_scene(tmp_path, "real", "lab", lab.manager.socket, f"{WEB}:1", (proxy, None))
        yield await stack.enter_async_context(scene)


@pytest.fixture(params=["demo", "real"])
async def host(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[DockerScene]:
    """A connected engine without a swarm."""
    async with AsyncExitStack() as stack:
        if request.param == "demo":
            fleet = await stack.enter_async_context(DemoFleet(speed=4))
            socket = fleet.endpoint("pelican").socket
            assert socket is not None
            scene = docker_scene(tmp_path, "demo", "pelican", socket, "registry.example.test/vendor/cache:7.2", (None, fleet))
        else:
            engine: DockerEngine = request.getfixturevalue("docker_engine")
            proxy = await stack.enter_async_context(FaultProxy(f"unix:{engine.socket}"))
            scene = docker_scene(tmp_path, "real", "engine", engine.socket, f"{WEB}:1", (proxy, None))
        yield await stack.enter_async_context(scene)
