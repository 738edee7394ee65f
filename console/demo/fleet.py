"""The demo fleet: the simulated world behind real servers on loopback ports and unix sockets."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from console.demo.config_files import Endpoint, write_docker_contexts, write_kubeconfig
from console.demo.docker_api import DockerApi
from console.demo.http_server import Answer, HttpServer, Request
from console.demo.kube_api import KubernetesApi
from console.demo.repositories import Repositories
from console.demo.world import World

_TICK = 0.25
_LONGEST_STEP = 5.0
UNREACHABLE = "faro"


class DemoFleet:
    """Two clusters, a Swarm, three hosts and a target that is down, for as long as the context is entered.

    :param seed: another seed gives other identities, the same objects.
    :param speed: seconds of the world for a real second; with 0 nothing moves but by :meth:`World.step`.
    :param folder: where :meth:`write_config` writes by default (else a private temporary folder).
    :param now: the instant at which the world begins; the present one by default.
    :param pods: so many more pods in "atlas", and ``services`` more services in "harbour", for measuring.
    """

    def __init__(
        self,
        seed: int = 7,
        speed: float = 1.0,
        folder: Path | None = None,
        *,
        now: datetime | None = None,
        pods: int = 0,
        services: int = 0,
    ) -> None:
        self.world = World(seed, now or datetime.now(UTC), pods=pods, services=services)
        self._speed = speed
        self._folder = folder
        self._private: Path | None = None
        self._ticker: asyncio.Task[None] | None = None
        self._apis: dict[str, KubernetesApi | DockerApi] = {}
        self._servers: dict[str, HttpServer] = {}

    async def __aenter__(self) -> Self:
        # Sockets live in a folder of their own with a short name: a unix socket's path may have 107 bytes at most.
        self._private = Path(tempfile.mkdtemp(prefix="quarterdeck-"))
        try:
            for name, cluster in self.world.clusters.items():
                self._apis[name] = api = KubernetesApi(cluster)
                self._servers[name] = HttpServer(api)
            for name, engine in self.world.engines.items():
                self._apis[name] = docker = DockerApi(engine)
                self._servers[name] = HttpServer(docker, self._private / f"{name}.sock")
            for server in self._servers.values():
                await server.listen()
            self._servers[UNREACHABLE] = HttpServer(_nobody)
            await self._servers[UNREACHABLE].reserve()
        except BaseException:
            await self._stop()
            raise
        if self._speed > 0:
            self._ticker = asyncio.create_task(self._tick(), name="demo world")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop()

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """Every target, the unreachable one last."""
        found = [
            Endpoint(name=name, kind="kubernetes", url=self._servers[name].url, token=cluster.token)
            for name, cluster in self.world.clusters.items()
        ]
        found += [Endpoint(name=name, kind="docker", url=self._servers[name].url) for name in self.world.engines]
        url = self._servers[UNREACHABLE].url.replace("http://", "tcp://")
        return (*found, Endpoint(name=UNREACHABLE, kind="docker", url=url))

    @property
    def repositories(self) -> Repositories:
        """What its clusters apply from: commits and their files, without any git."""
        return self.world.repositories

    def endpoint(self, name: str) -> Endpoint:
        """One target by name. Raises ``KeyError``."""
        for endpoint in self.endpoints:
            if endpoint.name == name:
                return endpoint
        raise KeyError(name)

    def write_config(self, folder: Path | None = None) -> dict[str, str]:
        """Write a kubeconfig and a Docker context store; returns the environment variables that point to them."""
        place = folder or self._folder or self._private
        if place is None:
            raise RuntimeError("the fleet has no folder: enter it first or name one")
        place.mkdir(parents=True, exist_ok=True)
        write_kubeconfig(place / "kubeconfig", [entry for entry in self.endpoints if entry.kind == "kubernetes"])
        write_docker_contexts(place / "docker", [entry for entry in self.endpoints if entry.kind == "docker"])
        return {"KUBECONFIG": str(place / "kubeconfig"), "DOCKER_CONFIG": str(place / "docker")}

    async def fail(self, name: str, mode: str) -> None:
        """Make a target fail; modes add up until :meth:`heal`.

        ``down`` refuses connections and cuts the open ones, ``cut`` cuts the open ones once, ``hang`` answers nothing more,
        ``slow`` (or ``slow:SECONDS``) answers late, ``unauthorized`` refuses the credentials, ``forbidden:KIND`` one kind,
        ``compacted`` makes every resourceVersion given out so far too old. Raises ``ValueError`` for any other word.
        """
        server, api = self._servers[name], self._apis[name]
        word, _, argument = mode.partition(":")
        match word:
            case "down":
                await server.refuse()
            case "cut":
                await server.cut()
            case "hang":
                server.hang(True)
            case "slow":
                server.delay = float(argument or 1.5)
            case "unauthorized":
                api.unauthorized = True
            case "forbidden":
                api.forbidden.add(argument)
            case "compacted" if isinstance(api, KubernetesApi):
                self.world.clusters[name].store.compact()
                await server.cut()
            case _:
                raise ValueError(f"unknown way to fail: {mode}")

    async def heal(self, name: str) -> None:
        """Undo every failure of a target."""
        server, api = self._servers[name], self._apis[name]
        server.hang(False)
        server.delay = 0.0
        api.unauthorized = False
        api.forbidden.clear()
        await server.listen()

    def bookmark_every(self, seconds: float) -> None:
        """How long a watch of any cluster is silent before a bookmark; for tests, which can't wait a minute."""
        for api in self._apis.values():
            if isinstance(api, KubernetesApi):
                api.reader.bookmark_seconds = seconds

    async def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        last = loop.time()
        while True:
            await asyncio.sleep(_TICK)
            now = loop.time()
            self.world.step(min((now - last) * self._speed, _LONGEST_STEP * max(1.0, self._speed)))
            last = now

    async def _stop(self) -> None:
        ticker, self._ticker = self._ticker, None
        try:
            if ticker is not None:
                ticker.cancel()
                await asyncio.gather(ticker, return_exceptions=True)
            for server in self._servers.values():
                await server.close()
        finally:
            if self._private is not None:
                shutil.rmtree(self._private, ignore_errors=True)
        if ticker is not None and not ticker.cancelled() and (error := ticker.exception()) is not None:
            raise error


async def _nobody(request: Request) -> Answer:
    """Never called: this server does not listen."""
    return Answer(status=503)
