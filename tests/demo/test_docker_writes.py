"""What the simulated Docker engines do with writes."""

from __future__ import annotations

import base64
import json
from typing import Any

import httpx
import pytest

from console.demo.fleet import DemoFleet

OUT_OF_SEQUENCE = "rpc error: code = Unknown desc = update out of sequence"


async def service(client: httpx.AsyncClient, name: str) -> dict[str, Any]:
    found: dict[str, Any] = (await client.get(f"/services/{name}")).json()
    return found


async def update(client: httpx.AsyncClient, obj: dict[str, Any], table: str = "services", **params: str) -> httpx.Response:
    """Post an object's spec back under its version."""
    version = {"version": str(obj["Version"]["Index"])}
    return await client.post(f"/{table}/{obj['ID']}/update", params={**version, **params}, json=obj["Spec"])


async def running(client: httpx.AsyncClient, name: str) -> list[dict[str, Any]]:
    chosen = {"filters": json.dumps({"service": [name], "desired-state": ["running"]})}
    return [task for task in (await client.get("/tasks", params=chosen)).json() if task["Status"]["State"] == "running"]


async def test_a_write_with_an_old_version_is_out_of_sequence(harbour: httpx.AsyncClient) -> None:
    obj = await service(harbour, "mail_relay")
    obj["Spec"]["Mode"]["Replicated"]["Replicas"] = 3
    assert (await update(harbour, obj)).status_code == 200
    answer = await update(harbour, obj)
    assert (answer.status_code, answer.json()["message"]) == (500, OUT_OF_SEQUENCE)
    node = (await harbour.get("/nodes")).json()[0]
    node["Version"]["Index"] += 1
    answer = await update(harbour, node, "nodes")
    assert (answer.status_code, answer.json()["message"]) == (500, OUT_OF_SEQUENCE)
    bare = await harbour.post(f"/services/{obj['ID']}/update", json=obj["Spec"])
    assert bare.status_code == 400


async def test_scaling_touches_no_running_task_and_sets_no_update_status(fleet: DemoFleet, harbour: httpx.AsyncClient) -> None:
    before = {task["ID"] for task in await running(harbour, "mail_relay")}
    obj = await service(harbour, "mail_relay")
    obj["Spec"]["Mode"]["Replicated"]["Replicas"] = 4
    await update(harbour, obj)
    fleet.world.step(3)
    after = {task["ID"] for task in await running(harbour, "mail_relay")}
    assert len(after) == 4
    assert before < after
    assert "UpdateStatus" not in await service(harbour, "mail_relay")
    obj = await service(harbour, "mail_relay")
    obj["Spec"]["Mode"]["Replicated"]["Replicas"] = 0
    await update(harbour, obj)
    fleet.world.step(3)
    assert await running(harbour, "mail_relay") == []


async def test_a_forced_update_replaces_one_task_after_the_other(fleet: DemoFleet, harbour: httpx.AsyncClient) -> None:
    before = {task["ID"] for task in await running(harbour, "market_catalog")}
    obj = await service(harbour, "market_catalog")
    obj["Spec"]["TaskTemplate"]["ForceUpdate"] += 1
    await update(harbour, obj)
    counts = set()
    for _ in range(40):
        fleet.world.step(0.25)
        counts.add(len(await running(harbour, "market_catalog")))
        obj = await service(harbour, "market_catalog")
        if obj["UpdateStatus"]["State"] == "completed":
            break
    assert obj["UpdateStatus"]["State"] == "completed"
    assert counts == {2, 3}
    assert before.isdisjoint({task["ID"] for task in await running(harbour, "market_catalog")})


@pytest.mark.parametrize(
    ("action", "state", "image"), [("pause", "paused", "nope"), ("rollback", "rollback_completed", "1.9.2")]
)
async def test_an_image_that_is_not_there_stops_the_update_as_its_policy_says(
    fleet: DemoFleet, harbour: httpx.AsyncClient, action: str, state: str, image: str
) -> None:
    obj = await service(harbour, "market_catalog")
    obj["Spec"]["TaskTemplate"]["ContainerSpec"]["Image"] = "registry.example.test/shop/catalog:nope"
    obj["Spec"]["UpdateConfig"]["FailureAction"] = action
    await update(harbour, obj)
    fleet.world.step(8)
    obj = await service(harbour, "market_catalog")
    assert obj["UpdateStatus"]["State"] == state
    assert obj["Spec"]["TaskTemplate"]["ContainerSpec"]["Image"].endswith(image)
    assert len(await running(harbour, "market_catalog")) == (2 if action == "pause" else 3)


async def test_rolling_back_swaps_the_specs_and_twice_goes_forward(fleet: DemoFleet, harbour: httpx.AsyncClient) -> None:
    obj = await service(harbour, "market_checkout")
    assert (await update(harbour, obj, rollback="previous")).status_code == 200
    fleet.world.step(6)
    obj = await service(harbour, "market_checkout")
    assert obj["UpdateStatus"]["State"] == "rollback_completed"
    assert len(await running(harbour, "market_checkout")) == 3
    forward = obj["PreviousSpec"]["TaskTemplate"]["ContainerSpec"]["Image"]
    assert (await update(harbour, obj, rollback="previous")).status_code == 200
    again = await service(harbour, "market_checkout")
    assert again["Spec"]["TaskTemplate"]["ContainerSpec"]["Image"] == forward


async def test_a_drained_node_is_emptied_and_filled_again_when_active(fleet: DemoFleet, harbour: httpx.AsyncClient) -> None:
    node = (await harbour.get("/nodes/harbour-2")).json()
    node["Spec"]["Availability"] = "drain"
    assert (await update(harbour, node, "nodes")).status_code == 200
    fleet.world.step(4)
    tasks = (await harbour.get("/tasks", params={"filters": json.dumps({"node": [node["ID"]]})})).json()
    assert not [task for task in tasks if task["Status"]["State"] == "running"]
    assert len(await running(harbour, "batch_worker")) == 4
    assert len(await running(harbour, "market_gateway")) == 2
    node = (await harbour.get("/nodes/harbour-2")).json()
    node["Spec"]["Availability"] = "active"
    await update(harbour, node, "nodes")
    fleet.world.step(4)
    assert len(await running(harbour, "market_gateway")) == 3


async def test_the_last_manager_is_not_demoted(harbour: httpx.AsyncClient) -> None:
    node = (await harbour.get("/nodes/harbour-1")).json()
    node["Spec"]["Role"] = "worker"
    answer = await update(harbour, node, "nodes")
    assert (answer.status_code, "last manager" in answer.json()["message"]) == (400, True)


async def test_a_constraint_no_node_fits_leaves_its_task_pending(fleet: DemoFleet, harbour: httpx.AsyncClient) -> None:
    obj = await service(harbour, "mail_filter")
    obj["Spec"]["TaskTemplate"]["Placement"] = {"Constraints": ["node.labels.disk==tape"]}
    await update(harbour, obj)
    fleet.world.step(4)
    chosen = {"filters": json.dumps({"service": ["mail_filter"], "desired-state": ["running"]})}
    (task,) = (await harbour.get("/tasks", params=chosen)).json()
    assert task["Status"]["State"] == "pending"
    assert "no suitable node" in task["Status"]["Err"]


async def test_services_are_created_once_and_removed_with_their_tasks(fleet: DemoFleet, harbour: httpx.AsyncClient) -> None:
    spec = {"Name": "probe", "TaskTemplate": {"ContainerSpec": {"Image": "registry.example.test/ops/probe:1"}}}
    assert (await harbour.post("/services/create", json=spec)).status_code == 201
    assert (await harbour.post("/services/create", json=spec)).status_code == 409
    fleet.world.step(3)
    assert len(await running(harbour, "probe")) == 1
    id_ = (await service(harbour, "probe"))["ID"]
    assert (await harbour.delete("/services/probe")).status_code == 200
    fleet.world.step(3)
    assert not [task for task in (await harbour.get("/tasks")).json() if task["ServiceID"] == id_]
    assert (await harbour.post("/services/create", json={**spec, "Name": "not a name"})).status_code == 400
    nowhere = {**spec["TaskTemplate"], "Networks": [{"Target": "nope"}]}  # type: ignore[dict-item]
    answer = await harbour.post("/services/create", json={"Name": "lost", "TaskTemplate": nowhere})
    assert (answer.status_code, answer.json()["message"]) == (500, "network nope not found")


async def test_what_is_in_use_is_not_removed(harbour: httpx.AsyncClient, heron: httpx.AsyncClient) -> None:
    for path, words in (
        ("/configs/market_gateway-routes", "is in use by the following service: market_gateway"),
        ("/secrets/market_payment-key", "is in use by the following service: market_checkout"),
        ("/networks/market_default", "is in use by service"),
    ):
        answer = await harbour.delete(path)
        assert answer.status_code == 400
        assert words in answer.json()["message"]
    volume = await heron.delete("/volumes/app-orders-db-data")
    assert (volume.status_code, "volume is in use" in volume.json()["message"]) == (409, True)


async def test_only_the_labels_of_a_config_can_change(harbour: httpx.AsyncClient) -> None:
    data = base64.b64encode(b"a").decode()
    made = await harbour.post("/configs/create", json={"Name": "fresh", "Labels": {}, "Data": data})
    assert made.status_code == 201
    assert (await harbour.post("/configs/create", json={"Name": "fresh", "Data": data})).status_code == 409
    obj = (await harbour.get("/configs/fresh")).json()
    obj["Spec"]["Labels"] = {"a": "b"}
    assert (await update(harbour, obj, "configs")).status_code == 200
    obj = (await harbour.get("/configs/fresh")).json()
    obj["Spec"]["Data"] = base64.b64encode(b"b").decode()
    assert (await update(harbour, obj, "configs")).status_code == 400
    assert (await harbour.delete("/configs/fresh")).status_code == 204


async def test_containers_stop_start_and_say_when_nothing_was_to_do(heron: httpx.AsyncClient) -> None:
    first = (await heron.get("/containers/json")).json()[0]["Id"]
    assert [(await heron.post(f"/containers/{first}/stop")).status_code for _ in range(2)] == [204, 304]
    assert (await heron.get(f"/containers/{first}/json")).json()["State"]["Status"] == "exited"
    assert [(await heron.post(f"/containers/{first}/start")).status_code for _ in range(2)] == [204, 304]
    assert (await heron.delete(f"/containers/{first}")).status_code == 409
    assert (await heron.delete(f"/containers/{first}", params={"force": "1"})).status_code == 204


async def test_a_container_is_created_from_an_image_that_is_there(heron: httpx.AsyncClient) -> None:
    absent = await heron.post("/containers/create", params={"name": "x"}, json={"Image": "nothing:1"})
    assert absent.status_code == 404
    pulled = await heron.post("/images/create", params={"fromImage": "registry.example.test/a/b", "tag": "1"})
    assert pulled.status_code == 200
    body = {"Image": "registry.example.test/a/b:1", "HostConfig": {"PortBindings": {"80/tcp": [{"HostPort": "9000"}]}}}
    made = await heron.post("/containers/create", params={"name": "x"}, json=body)
    assert made.status_code == 201
    clash = await heron.post("/containers/x/start")
    assert (clash.status_code, "port is already allocated" in clash.json()["message"]) == (500, True)
    taken = await heron.post("/containers/create", params={"name": "x"}, json=body)
    assert (taken.status_code, made.json()["Id"] in taken.json()["message"]) == (409, True)
    lost = await heron.post("/images/create", params={"fromImage": "registry.example.test/a/b", "tag": "nope"})
    assert lost.status_code == 404


async def test_two_networks_may_share_a_name_and_are_then_ambiguous(heron: httpx.AsyncClient) -> None:
    assert (await heron.post("/networks/create", json={"Name": "n"})).status_code == 201
    assert (await heron.post("/networks/create", json={"Name": "n", "CheckDuplicate": True})).status_code == 409
    assert (await heron.post("/networks/create", json={"Name": "n"})).status_code == 201
    assert (await heron.get("/networks/n")).status_code == 400
