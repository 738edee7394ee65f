"""Real servers that refuse, hang and lose their quorum, as the console shows them."""

from __future__ import annotations

import asyncio
from pathlib import Path

from console.config.fleet import Entry
from console.model.connections import Phase
from console.model.health import Health
from console.runtime.runtime import Runtime
from tests.contract.scene import DockerScene, Scene, connected, docker_context
from tests.contract.stages import docker_scene
from tests.real.docker_engine import DockerEngine
from tests.real.images import WEB
from tests.real.kube import KubeServer
from tests.real.proxy import FaultProxy
from tests.real.swarm import SwarmLab


async def _nothing() -> None:
    return None


def scene(runtime: Runtime, name: str) -> Scene:
    return Scene(runtime, name, "real", _nothing, _nothing, _nothing)


async def test_what_credentials_may_not_read_is_restricted_and_the_rest_is_there(
    kube: KubeServer, namespace: str, tmp_path: Path
) -> None:
    rules = [{"apiGroups": ["kustomize.toolkit.fluxcd.io"], "resources": ["kustomizations"], "verbs": ["list", "watch", "get"]}]
    kube.client.grant("viewer", rules)
    env = {"KUBECONFIG": str(kube.kubeconfig("viewer"))}
    async with connected(env, Entry(name="cluster", kubernetes="viewer"), tmp_path / "state") as runtime:
        it = scene(runtime, "cluster")
        await it.until_phase(Phase.RESTRICTED)
        states = await it.settled("Kustomization", "GitRepository", "Event")
        assert {state.kind: state.state for state in states} == {"GitRepository": "restricted", "Event": "restricted"}
        assert "viewer" in states[0].detail
        assert it.connection.identity == "", "who may not read kube-system can't tell one cluster from another"


async def test_credentials_for_some_namespaces_see_those(kube: KubeServer, namespace: str, tmp_path: Path) -> None:
    other = kube.namespace()
    rules = [{"apiGroups": [""], "resources": ["events", "pods"], "verbs": ["list", "watch", "get"]}]
    for place in (namespace, other):
        kube.client.grant("operator", rules, place)
    env = {"KUBECONFIG": str(kube.kubeconfig("operator"))}
    entry = Entry(name="cluster", kubernetes="operator", namespaces=(namespace, other))
    async with connected(env, entry, tmp_path / "state") as runtime:
        it = scene(runtime, "cluster")
        runtime.look({"Pod"})
        await it.until("both namespaces are listed", lambda: it.state("Pod").state == "listed")
        await it.until("events are listed", lambda: it.state("Event").state == "listed")
        await it.until("the rest is refused", lambda: it.state("Kustomization").state == "restricted")


async def test_a_wrong_token_is_an_expired_login(kube: KubeServer, tmp_path: Path) -> None:
    file = kube.kubeconfig("viewer")
    file.write_text(file.read_text().replace(kube.token("viewer"), "x" * 32))
    async with connected({"KUBECONFIG": str(file)}, Entry(name="cluster", kubernetes="viewer")) as runtime:
        it = scene(runtime, "cluster")
        await it.until_phase(Phase.LOGIN_EXPIRED)
        assert it.connection.hint


async def test_a_frozen_connection_goes_stale_by_itself_and_comes_back(kube: KubeServer, tmp_path: Path) -> None:
    async with FaultProxy(kube.url.removeprefix("https://")) as proxy:
        env = {"KUBECONFIG": str(kube.kubeconfig(server=f"https://127.0.0.1:{proxy.port}"))}
        async with connected(env, Entry(name="cluster", kubernetes="admin")) as runtime:
            it = scene(runtime, "cluster")
            await it.until_phase(Phase.LIVE)
            await proxy.set("freeze")
            await it.until_phase(Phase.STALE)
            await proxy.set()
            await it.until_phase(Phase.LIVE)


async def test_a_swarm_without_a_quorum_is_unreadable_and_the_host_stays_live(quorum: SwarmLab, tmp_path: Path) -> None:
    manager = quorum.manager
    async with docker_scene(tmp_path, "real", "lab", manager.socket, f"{WEB}:1", (None, None)) as it:
        assert await it.settled("SwarmService", "Stack", "Container") == ()
        labels = {"com.docker.stack.namespace": "shop"}
        body = {
            "Name": "shop_web",
            "Labels": labels,
            "Mode": {"Replicated": {"Replicas": 1}},
            "TaskTemplate": {"ContainerSpec": {"Image": it.image}},
            "EndpointSpec": {"Mode": "dnsrr"},
        }
        await it.call("POST", "/services/create", body)
        await it.until("the stack is there", lambda: it.find("Stack", "shop") is not None)
        loop = asyncio.get_running_loop()
        lost = [engine for engine in map(quorum.engine, (1, 2, 3)) if engine is not manager]
        await asyncio.gather(*(loop.run_in_executor(None, engine.kill) for engine in lost))
        await it.until("the swarm can't be read", lambda: it.state("SwarmService").state == "failed", 150)
        stack = it.row("Stack", "shop")
        assert stack.health is Health.UNKNOWN, "unreadable is neither missing nor well"
        assert it.connection.phase is Phase.LIVE
        assert it.connection.health is Health.WARN
        await _containers_are_live(it)
        await asyncio.gather(*(loop.run_in_executor(None, engine.start) for engine in lost))
        await it.until("it is readable again", lambda: it.state("SwarmService").state == "listed", 150)
        await it.until("the stack is judged again", lambda: it.row("Stack", "shop").health is not Health.UNKNOWN, 150)


async def _containers_are_live(it: DockerScene) -> None:
    made = await it.call("POST", "/containers/create", {"Image": it.image}, name="beside")
    await it.until("a container of the host appears", lambda: it.find("Container", "beside") is not None)
    await it.call("DELETE", f"/containers/{made['Id']}", force="true")
    await it.until("and goes", lambda: it.find("Container", "beside") is None)


async def test_an_engine_that_hangs_from_the_start_is_unreachable_after_the_deadline(
    tmp_path: Path, docker_engine: DockerEngine
) -> None:
    async with FaultProxy(f"unix:{docker_engine.socket}") as proxy:
        await proxy.set("hang")
        docker_context(tmp_path / "docker", "engine", f"tcp://127.0.0.1:{proxy.port}")
        env = {"DOCKER_CONFIG": str(tmp_path / "docker")}
        async with connected(env, Entry(name="engine", docker="engine")) as runtime:
            it = scene(runtime, "engine")
            await it.until_phase(Phase.UNREACHABLE)
            await proxy.set()
            runtime.reconnect("engine")
            await it.until_phase(Phase.LIVE)
