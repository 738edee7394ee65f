"""The fleet as a whole: its configuration files, its faults, and that it is the same every time."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
import msgspec
import pytest
import yaml

from console.demo.fleet import UNREACHABLE, DemoFleet
from console.demo.world import World
from tests.demo.conftest import NOW, client_of

PATIENCE = 20
PODS = "/api/v1/pods"


def everything(world: World) -> str:
    """The whole world as text."""
    clusters = {
        name: [obj for word in cluster.store.by_word for obj in cluster.store.all(word)]
        for name, cluster in world.clusters.items()
    }
    engines = {
        name: [engine.containers, engine.networks, engine.volumes, engine.swarm.tables if engine.swarm else {}]
        for name, engine in world.engines.items()
    }
    return msgspec.json.encode([clusters, engines]).decode()


def test_the_same_seed_and_steps_give_the_same_world() -> None:
    first, second = World(7, NOW), World(7, NOW)
    assert everything(first) == everything(second)
    for world in (first, second):
        world.step(90)
    assert everything(first) == everything(second)


def test_another_seed_gives_the_same_objects_with_other_identities() -> None:
    first, second = World(7, NOW), World(8, NOW)
    assert first.clusters["atlas"].uid != second.clusters["atlas"].uid
    assert first.engines["heron"].id != second.engines["heron"].id
    names = [
        [obj["metadata"]["name"] for obj in world.clusters["atlas"].store.all("Kustomization")] for world in (first, second)
    ]
    assert names[0] == names[1]


def test_the_world_goes_on_without_breaking_or_growing_without_end() -> None:
    world = World(7, NOW)
    world.step(300)
    sizes = [len(everything(world))]
    world.step(300)
    sizes.append(len(everything(world)))
    assert sizes[1] < sizes[0] * 1.5
    store = world.clusters["atlas"].store
    assert store.count("Event") <= 300
    assert len(store.all("Pod", "storefront")) <= 12


def test_nothing_moves_without_a_step() -> None:
    world = World(7, NOW)
    before = everything(world)
    world.step(0)
    assert everything(world) == before


def test_many_pods_and_services_can_be_asked_for() -> None:
    world = World(7, NOW, pods=500, services=40)
    plain = World(7, NOW)
    atlas, swarm = world.clusters["atlas"].store, world.engines["harbour"].swarm
    assert atlas.count("Pod") == plain.clusters["atlas"].store.count("Pod") + 500
    assert swarm is not None
    assert len(swarm.tables["services"]) == 51
    assert len({service["Spec"]["Labels"]["com.docker.stack.namespace"] for service in swarm.tables["services"].values()}) == 9


def test_additional_pods_can_be_changed_in_a_storm() -> None:
    world = World(7, NOW, pods=30)
    store = world.clusters["atlas"].store
    before = store.version
    world.disturb(45)
    happened = store.since("Pod", before)
    assert happened is not None
    assert len(happened) == 45
    assert len({occurrence.object["metadata"]["name"] for occurrence in happened}) == 30


async def test_the_files_lead_to_every_target(fleet: DemoFleet, tmp_path: Path) -> None:
    env = fleet.write_config(tmp_path)
    config = yaml.safe_load(Path(env["KUBECONFIG"]).read_text())
    assert [context["name"] for context in config["contexts"]] == ["atlas", "borealis"]
    assert Path(env["KUBECONFIG"]).stat().st_mode & 0o077 == 0
    for cluster, user in zip(config["clusters"], config["users"], strict=True):
        headers = {"Authorization": f"Bearer {user['user']['token']}"}
        async with httpx.AsyncClient(base_url=cluster["cluster"]["server"], headers=headers, trust_env=False) as client:
            assert (await client.get("/version")).status_code == 200
    metas = [json.loads(path.read_text()) for path in Path(env["DOCKER_CONFIG"]).glob("contexts/meta/*/meta.json")]
    hosts = {meta["Name"]: meta["Endpoints"]["docker"]["Host"] for meta in metas}
    assert set(hosts) == {"harbour", "pelican", "heron", "tern", UNREACHABLE}
    assert hosts["heron"] == f"unix://{fleet.endpoint('heron').socket}"
    assert hosts[UNREACHABLE].startswith("tcp://127.0.0.1:")


async def test_sockets_and_ports_are_gone_afterwards() -> None:
    async with DemoFleet(speed=0) as fleet:
        socket, url = fleet.endpoint("heron").socket, fleet.endpoint("atlas").url
        assert socket is not None
        assert socket.exists()
    assert not socket.parent.exists()
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get("/version")


async def test_the_world_moves_by_itself_at_its_speed() -> None:
    async with DemoFleet(speed=40, now=NOW) as fleet:
        cluster = fleet.world.clusters["atlas"]
        async with asyncio.timeout(PATIENCE):
            while cluster.clock.elapsed < 2:
                await cluster.ticked.wait()
        assert cluster.clock.now() > NOW


async def test_the_unreachable_target_refuses(fleet: DemoFleet) -> None:
    url = fleet.endpoint(UNREACHABLE).url.replace("tcp://", "http://")
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get("/_ping")


@pytest.mark.parametrize(("name", "path"), [("atlas", PODS), ("heron", "/info")])
async def test_a_target_that_is_down_comes_back_where_it_was(fleet: DemoFleet, name: str, path: str) -> None:
    async with client_of(fleet, name) as client:
        assert (await client.get(path)).status_code == 200
        await fleet.fail(name, "down")
        with pytest.raises(httpx.TransportError):
            await client.get(path)
        await fleet.heal(name)
        assert (await client.get(path)).status_code == 200


@pytest.mark.parametrize(("name", "path"), [("atlas", PODS), ("heron", "/info")])
async def test_a_target_that_hangs_answers_after_all_when_healed(fleet: DemoFleet, name: str, path: str) -> None:
    await fleet.fail(name, "hang")
    async with client_of(fleet, name) as client:
        pending = asyncio.create_task(client.get(path))
        done, _ = await asyncio.wait((pending,), timeout=0.05)
        assert not done
        await fleet.heal(name)
        assert (await pending).status_code == 200


async def test_credentials_and_single_kinds_can_be_refused(fleet: DemoFleet) -> None:
    await fleet.fail("atlas", "unauthorized")
    await fleet.fail("harbour", "forbidden:SwarmSecret")
    async with client_of(fleet, "atlas") as atlas, client_of(fleet, "harbour") as harbour:
        assert (await atlas.get(PODS)).status_code == 401
        assert (await harbour.get("/secrets")).status_code == 403
        assert (await harbour.get("/services")).status_code == 200
        await fleet.heal("atlas")
        await fleet.heal("harbour")
        assert (await atlas.get(PODS)).status_code == 200
        assert (await harbour.get("/secrets")).status_code == 200


async def test_a_slow_target_answers_late(fleet: DemoFleet) -> None:
    await fleet.fail("heron", "slow:0.05")
    loop = asyncio.get_running_loop()
    async with client_of(fleet, "heron") as client:
        began = loop.time()
        assert (await client.get("/_ping")).status_code == 200
        assert loop.time() - began >= 0.05


async def test_an_unknown_fault_is_named(fleet: DemoFleet) -> None:
    with pytest.raises(ValueError, match="unknown way to fail: tired"):
        await fleet.fail("heron", "tired")


async def test_a_cut_connection_breaks_a_watch_that_can_be_taken_up_again(fleet: DemoFleet) -> None:
    async with client_of(fleet, "atlas") as client:
        version = (await client.get(PODS)).json()["metadata"]["resourceVersion"]
        with pytest.raises(httpx.TransportError):
            async with client.stream("GET", PODS, params={"watch": "1", "resourceVersion": version}) as answer:
                await fleet.fail("atlas", "cut")
                await anext(answer.aiter_bytes())
        async with client.stream("GET", PODS, params={"watch": "1", "resourceVersion": version}) as answer:
            assert answer.status_code == 200
