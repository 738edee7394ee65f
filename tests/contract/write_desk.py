"""What the contract tests of writing stand on: the write path over one server, and a way to play that server's controllers."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from console.config.fleet import Entry
from console.demo.config_files import Endpoint, write_kubeconfig
from console.demo.fleet import DemoFleet
from console.journal.journal import Journal
from console.journal.records import OperationRecord
from console.model.plan import Intent, Plan
from console.model.refs import Ref
from console.runtime.commands import Commands
from tests.contract.dock import Dock, client_of
from tests.crash.child import Reach, commands_on, journal_at, reached
from tests.crash.tap import Tap
from tests.real import images
from tests.real.docker_engine import DockerEngine
from tests.real.fleet import condition
from tests.real.kube import KubeServer
from tests.real.swarm import SwarmLab

Object = dict[str, Any]
PATIENCE = 60.0
REQUESTED_AT = "reconcile.fluxcd.io/requestedAt"


class WriteDesk:
    """The write path with a journal of its own, over one connected target."""

    def __init__(self, commands: Commands, journal: Journal, reach: Reach, tap: Tap) -> None:
        self.commands = commands
        self.journal = journal
        self.reach = reach
        self.tap = tap

    async def run(self, plan: Plan, typed: str = "") -> OperationRecord:
        """Confirm a plan, follow it to its end, and read what the journal has of it."""
        identity = await self.commands.run(plan, typed)
        async with asyncio.timeout(PATIENCE):
            await self.commands.wait(identity)
        (record,) = await self.journal.operations(ids=[identity])
        return record

    async def do(self, verb: str, *targets: Ref, **arguments: str) -> OperationRecord:
        """Plan and run in one."""
        plan = await self.commands.plan(Intent(verb=verb, targets=targets, arguments=arguments))
        return await self.run(plan, plan.confirmation)

    async def undo(self, ref: Ref) -> OperationRecord:
        """Take back the newest operation on an object."""
        plan = await self.commands.plan_undo(ref)
        return await self.run(plan, plan.confirmation)


@asynccontextmanager
async def write_desk(env: dict[str, str], entry: Entry, known: Ref | None, folder: Path, tap: Tap) -> AsyncIterator[WriteDesk]:
    """A desk on the target that `env` and `entry` describe, through the tap; `known` is an object that is there."""
    journal = await journal_at(str(folder))
    try:
        async with reached(env, entry, known) as reach:
            commands = commands_on(reach, journal)
            try:
                yield WriteDesk(commands, journal, reach, tap)
            finally:
                await commands.close()
    finally:
        await journal.close()


class Cluster:
    """An API server on which nothing acts by itself; the test plays the controllers."""

    def __init__(self, client: httpx.AsyncClient, endpoint: Endpoint, namespace: str, authority: str, server: str) -> None:
        self.client = client
        self.endpoint = endpoint
        self.namespace = namespace
        self.authority = authority
        self.server = server
        self.restrict: Callable[[], Awaitable[Endpoint]] = self._unrestricted

    def path(self, obj: Object) -> str:
        plural = _PLURALS[obj["kind"]]
        return f"/apis/{obj['apiVersion']}/namespaces/{self.namespace}/{plural}/{obj['metadata']['name']}"

    async def create(self, obj: Object) -> Ref:
        """Make an object, with its status."""
        path = self.path(obj)
        made = await self.client.post(path.rpartition("/")[0], json=obj)
        assert made.status_code == 201, made.text
        if obj["kind"] != "Application" and "status" in obj:
            await self.patch(obj, {"status": obj["status"]}, "/status")
        uid = made.json()["metadata"]["uid"]
        return Ref("cluster", obj["kind"], self.namespace, obj["metadata"]["name"], uid)

    async def get(self, obj: Object) -> Object:
        answer = await self.client.get(self.path(obj))
        assert answer.status_code == 200, answer.text
        found: Object = answer.json()
        return found

    async def patch(self, obj: Object, patch: Object, part: str = "", manager: str = "controller") -> Object:
        answer = await self.client.patch(
            self.path(obj) + part,
            json=patch,
            params={"fieldManager": manager},
            headers={"Content-Type": "application/merge-patch+json"},
        )
        assert answer.status_code == 200, answer.text
        found: Object = answer.json()
        return found

    async def replace(self, obj: Object) -> None:
        """Delete it and make another one of the same name."""
        assert (await self.client.delete(self.path(obj))).status_code == 200
        await self.create(obj)

    async def until(self, obj: Object, holds: Callable[[Object], bool]) -> Object:
        async with asyncio.timeout(PATIENCE):
            while not holds(found := await self.get(obj)):
                await asyncio.sleep(0.05)
        return found

    async def reconciles(self, obj: Object, ready: str = "True", message: str = "Applied revision: main@sha1:ab") -> Object:
        """Play the Flux controller that takes one request: wait for it, then report its end."""
        before = (await self.get(obj)).get("status", {}).get("lastHandledReconcileAt")
        found = await self.until(obj, lambda live: token(live) not in (None, before))
        return await self.reports(obj, ready, message, lastHandledReconcileAt=token(found))

    async def reports(self, obj: Object, ready: str = "True", message: str = "Applied revision", **more: Any) -> Object:
        """Write the Ready condition for the object as it is; the generation is seen only when all is well, as in Flux."""
        generation = (await self.get(obj))["metadata"]["generation"]
        reason = "ReconciliationSucceeded" if ready == "True" else "HealthCheckFailed"
        status = {"conditions": [condition("Ready", ready, reason, message, generation)], **more}
        if ready == "True":
            status["observedGeneration"] = generation
        return await self.patch(obj, {"status": status}, "/status")

    @asynccontextmanager
    async def desk(self, known: Ref, folder: Path, endpoint: Endpoint | None = None) -> AsyncIterator[WriteDesk]:
        """The write path on this cluster; `known` is an object that is there."""
        folder.mkdir(parents=True, exist_ok=True)
        async with Tap(self.endpoint.url, self.authority) as tap:
            through = msgspec.structs.replace(endpoint or self.endpoint, url=f"http://127.0.0.1:{tap.port}")
            write_kubeconfig(folder / "kubeconfig", [through])
            env = {"KUBECONFIG": str(folder / "kubeconfig")}
            entry = Entry(name="cluster", kubernetes=through.name)
            async with write_desk(env, entry, known, folder, tap) as desk:
                yield desk

    async def _unrestricted(self) -> Endpoint:
        raise NotImplementedError


_PLURALS = {
    "Kustomization": "kustomizations",
    "GitRepository": "gitrepositories",
    "HelmRelease": "helmreleases",
    "HelmChart": "helmcharts",
    "HelmRepository": "helmrepositories",
    "Application": "applications",
}


def token(obj: Object) -> str | None:
    """The request that an object carries."""
    found: str | None = (obj["metadata"].get("annotations") or {}).get(REQUESTED_AT)
    return found


@asynccontextmanager
async def demo_cluster(name: str) -> AsyncIterator[Cluster]:
    """A cluster of the demo fleet whose own controllers stand still."""
    async with DemoFleet(speed=0) as fleet:
        endpoint = fleet.endpoint(name)
        headers = {"Authorization": f"Bearer {endpoint.token}"}
        async with httpx.AsyncClient(base_url=endpoint.url, headers=headers, trust_env=False, timeout=30) as client:
            cluster = Cluster(client, endpoint, "default", "", "demo")

            async def restrict() -> Endpoint:
                await fleet.fail(name, "forbidden:Kustomization")
                return endpoint

            cluster.restrict = restrict
            yield cluster


@asynccontextmanager
async def real_cluster(kube: KubeServer) -> AsyncIterator[Cluster]:
    """A namespace of a real API server."""
    headers = {"Authorization": f"Bearer {kube.token()}"}
    trust = ssl.create_default_context(cafile=kube.authority)
    async with httpx.AsyncClient(base_url=kube.url, headers=headers, verify=trust, timeout=30, trust_env=False) as client:
        endpoint = Endpoint(name="real", kind="kubernetes", url=kube.url, token=kube.token())
        cluster = Cluster(client, endpoint, kube.namespace(), str(kube.authority), "real")

        async def restrict() -> Endpoint:
            rule = {"apiGroups": ["kustomize.toolkit.fluxcd.io"], "resources": ["kustomizations"], "verbs": ["get", "list"]}
            await asyncio.to_thread(kube.client.grant, "operator", [rule], cluster.namespace)
            return msgspec.structs.replace(endpoint, token=kube.token("operator"))

        cluster.restrict = restrict
        yield cluster


@pytest.fixture(params=["demo", "real"])
async def flux_cluster(request: pytest.FixtureRequest) -> AsyncIterator[Cluster]:
    """A cluster with the Flux kinds."""
    real = request.param == "real"
    async with real_cluster(request.getfixturevalue("kube")) if real else demo_cluster("atlas") as cluster:
        yield cluster


@pytest.fixture(params=["demo", "real"])
async def argo_cluster(request: pytest.FixtureRequest) -> AsyncIterator[Cluster]:
    """A cluster with the Argo CD kinds."""
    real = request.param == "real"
    async with real_cluster(request.getfixturevalue("kube")) if real else demo_cluster("borealis") as cluster:
        yield cluster


class Engine:
    """One Docker engine: `dock` speaks to it past the console, `desk` through the tap."""

    def __init__(self, dock: Dock, desk: WriteDesk) -> None:
        self.dock = dock
        self.desk = desk


@asynccontextmanager
async def docker_desk(socket: Path | None, folder: Path, image: str, pause: float) -> AsyncIterator[Engine]:
    """The write path on an engine, reached through a tap."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(client_of(socket))
        tap = await stack.enter_async_context(Tap(f"unix:{socket}"))
        entry = Entry(name="engine", endpoint=f"tcp://127.0.0.1:{tap.port}")
        desk = await stack.enter_async_context(write_desk({}, entry, None, folder, tap))
        yield Engine(Dock(client, lambda: asyncio.sleep(pause), image), desk)


@pytest.fixture(params=["demo", "real"])
async def swarm_engine(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Engine]:
    """The manager of a swarm of one manager and at least two workers."""
    if request.param == "real":
        lab: SwarmLab = request.getfixturevalue("swarm")
        async with docker_desk(lab.manager.socket, tmp_path, images.SHELL, 0.2) as engine:
            yield engine
        return
    async with (
        DemoFleet(speed=8) as fleet,
        docker_desk(fleet.endpoint("harbour").socket, tmp_path, "registry.example.test/vendor/filter:1.4", 0.05) as engine,
    ):
        yield engine


@pytest.fixture(params=["demo", "real"])
async def host_engine(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Engine]:
    """A Docker host that has the image `SHELL`."""
    if request.param == "real":
        host: DockerEngine = request.getfixturevalue("docker_engine")
        async with docker_desk(host.socket, tmp_path, images.SHELL, 0.2) as engine:
            yield engine
        return
    async with DemoFleet(speed=8) as fleet:
        fleet.world.engines["tern"].pull(images.SHELL)
        async with docker_desk(fleet.endpoint("tern").socket, tmp_path, images.SHELL, 0.05) as engine:
            yield engine
