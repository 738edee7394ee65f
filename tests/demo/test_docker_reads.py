"""What the simulated Docker engines answer to those who read."""

from __future__ import annotations

import base64
import gzip
import json
import struct
from typing import Any

import httpx
import pytest
import yaml

from console.demo.fleet import DemoFleet
from tests.demo.conftest import NOW, client_of
from tests.demo.watching import streaming


def filters(**chosen: list[str]) -> dict[str, str]:
    return {"filters": json.dumps(chosen)}


def frames(raw: bytes) -> list[tuple[int, str]]:
    """The frames of a multiplexed log as (stream, text)."""
    found = []
    while raw:
        number, size = struct.unpack(">BxxxI", raw[:8])
        found.append((number, raw[8 : 8 + size].decode()))
        raw = raw[8 + size :]
    return found


async def test_the_ping_says_which_version_to_speak(harbour: httpx.AsyncClient) -> None:
    for method in ("GET", "HEAD"):
        answer = await harbour.request(method, "/_ping")
        assert answer.headers["Api-Version"] == "1.41"
        assert answer.headers["Ostype"] == "linux"


@pytest.mark.parametrize(("prefix", "status"), [("", 200), ("/v1.41", 200), ("/v1.24", 200), ("/v1.44", 400), ("/v1.5", 400)])
async def test_versions_outside_the_range_are_refused(harbour: httpx.AsyncClient, prefix: str, status: int) -> None:
    assert (await harbour.get(f"{prefix}/info")).status_code == status


async def test_a_manager_knows_its_swarm_and_a_host_has_none(harbour: httpx.AsyncClient, heron: httpx.AsyncClient) -> None:
    swarm = (await harbour.get("/info")).json()["Swarm"]
    assert swarm["ControlAvailable"] is True
    assert swarm["Nodes"] == 3
    assert swarm["Cluster"]["ID"]
    assert (await heron.get("/info")).json()["Swarm"]["LocalNodeState"] == "inactive"
    refused = await heron.get("/services")
    assert refused.status_code == 503
    assert "not a swarm manager" in refused.json()["message"]


async def test_services_carry_their_counts_when_asked(harbour: httpx.AsyncClient) -> None:
    services = (await harbour.get("/services", params={"status": "true"})).json()
    assert {service["Spec"]["Labels"]["com.docker.stack.namespace"] for service in services} == {
        "market",
        "metrics",
        "mail",
        "batch",
    }
    counts = {service["Spec"]["Name"]: service["ServiceStatus"] for service in services}
    assert counts["market_gateway"] == {"RunningTasks": 3, "DesiredTasks": 3, "CompletedTasks": 0}
    assert counts["market_checkout"]["RunningTasks"] == 2
    assert "ServiceStatus" not in (await harbour.get("/services")).json()[0]


async def test_filters_choose_by_label_name_service_node_and_state(harbour: httpx.AsyncClient) -> None:
    stack = filters(label=["com.docker.stack.namespace=mail"])
    for path, expected in (("/services", 2), ("/networks", 1), ("/secrets", 1)):
        assert len((await harbour.get(path, params=stack)).json()) == expected
    named = (await harbour.get("/services", params=filters(name=["market_c"]))).json()
    assert [service["Spec"]["Name"] for service in named] == ["market_catalog", "market_checkout"]
    tasks = (await harbour.get("/tasks", params=filters(service=["market_checkout"]))).json()
    assert {task["Status"]["State"] for task in tasks} == {"running", "rejected"}
    wanted = (await harbour.get("/tasks", params=filters(**{"desired-state": ["running"]}))).json()
    assert {task["DesiredState"] for task in wanted} == {"running"}
    node = (await harbour.get("/nodes")).json()[0]["ID"]
    assert {task["NodeID"] for task in (await harbour.get("/tasks", params=filters(node=[node]))).json()} == {node}


async def test_a_failing_update_is_paused_and_says_why(harbour: httpx.AsyncClient) -> None:
    service = (await harbour.get("/services/market_checkout")).json()
    assert service["UpdateStatus"]["State"] == "paused"
    tasks = (await harbour.get("/tasks", params=filters(service=[service["ID"]]))).json()
    assert "No such image" in next(task["Status"]["Err"] for task in tasks if "Err" in task["Status"])


async def test_configs_have_their_data_and_secrets_never(harbour: httpx.AsyncClient) -> None:
    assert all(config["Spec"]["Data"] for config in (await harbour.get("/configs")).json())
    secrets = (await harbour.get("/secrets")).json()
    assert secrets
    for secret in (*secrets, (await harbour.get(f"/secrets/{secrets[0]['ID']}")).json()):
        assert "Data" not in secret["Spec"]


async def test_what_is_not_there_is_not_found_in_the_engines_words(harbour: httpx.AsyncClient) -> None:
    for path, words in (
        ("/services/nowhere", "service nowhere not found"),
        ("/nodes/nowhere", "node nowhere not found"),
        ("/networks/nowhere", "network nowhere not found"),
        ("/volumes/nowhere", "get nowhere: no such volume"),
        ("/containers/nowhere/json", "No such container: nowhere"),
        ("/nowhere", "page not found"),
    ):
        answer = await harbour.get(path)
        assert (answer.status_code, answer.json()["message"]) == (404, words)


async def test_containers_are_listed_running_or_all(heron: httpx.AsyncClient) -> None:
    running = (await heron.get("/containers/json")).json()
    everything = (await heron.get("/containers/json", params={"all": "1"})).json()
    assert len(everything) == len(running) + 2
    dead = (await heron.get("/containers/json", params=filters(status=["exited"]))).json()
    assert {item["State"] for item in dead} == {"exited"}
    assert any(item["Status"].startswith("Exited (137)") for item in dead)


async def test_a_container_is_found_by_name_and_by_the_beginning_of_its_id(heron: httpx.AsyncClient) -> None:
    first = (await heron.get("/containers/json")).json()[0]
    by_name = (await heron.get(f"/containers/{first['Names'][0].removeprefix('/')}/json")).json()
    by_id = (await heron.get(f"/containers/{first['Id'][:12]}/json")).json()
    assert by_name["Id"] == by_id["Id"] == first["Id"]


async def test_a_project_may_have_a_wide_name_and_an_environment_a_secret(fleet: DemoFleet, heron: httpx.AsyncClient) -> None:
    labels = [item["Labels"] for item in (await heron.get("/containers/json")).json()]
    assert "注文処理" in {found.get("com.docker.compose.project") for found in labels}
    async with client_of(fleet, "pelican") as pelican:
        texts = [
            text
            for item in (await pelican.get("/containers/json")).json()
            for text in (await pelican.get(f"/containers/{item['Id']}/json")).json()["Config"]["Env"]
        ]
    assert any(text.startswith("SMTP_PASSWORD=") for text in texts)


async def test_a_moved_tag_points_to_another_image_than_the_container_has(heron: httpx.AsyncClient) -> None:
    queue = (await heron.get("/containers/json", params=filters(name=["reports-queue"]))).json()[0]
    image = (await heron.get(f"/images/{queue['Image']}/json")).json()
    assert image["Id"] != queue["ImageID"]


async def test_logs_come_in_frames_with_tail_and_timestamps(heron: httpx.AsyncClient) -> None:
    first = (await heron.get("/containers/json")).json()[0]["Id"]
    params = {"stdout": "1", "stderr": "1", "tail": "4", "timestamps": "1"}
    found = frames((await heron.get(f"/containers/{first}/logs", params=params)).content)
    assert len(found) == 4
    assert {number for number, _ in found} <= {1, 2}
    assert all(text.startswith("2026-") and text.endswith("\n") for _, text in found)
    assert (await heron.get(f"/containers/{first}/logs")).status_code == 400


async def test_the_logs_of_a_service_name_their_tasks_when_asked(harbour: httpx.AsyncClient) -> None:
    params = {"stdout": "1", "stderr": "1", "tail": "2", "details": "1"}
    found = frames((await harbour.get("/services/market_catalog/logs", params=params)).content)
    assert len(found) == 6
    assert len({text.partition("com.docker.swarm.task.id=")[2].split(" ")[0] for _, text in found}) == 3


async def test_a_followed_log_and_samples_go_on_with_the_world(fleet: DemoFleet, heron: httpx.AsyncClient) -> None:
    first = (await heron.get("/containers/json")).json()[0]["Id"]
    async with streaming(heron, f"/containers/{first}/stats") as lines:
        one = await lines.next()
        fleet.world.step(2)
        two = await lines.next()
    assert two["cpu_stats"]["system_cpu_usage"] > one["cpu_stats"]["system_cpu_usage"]
    assert two["precpu_stats"]["cpu_usage"]["total_usage"] == one["cpu_stats"]["cpu_usage"]["total_usage"]
    assert 0 < one["memory_stats"]["usage"] < one["memory_stats"]["limit"]


async def test_one_sample_can_be_asked_for(heron: httpx.AsyncClient) -> None:
    first = (await heron.get("/containers/json")).json()[0]["Id"]
    answer = await heron.get(f"/containers/{first}/stats", params={"stream": "false"})
    assert answer.json()["id"] == first


async def events_of(client: httpx.AsyncClient, **params: str) -> list[dict[str, Any]]:
    text = (await client.get("/events", params=params)).text
    return [json.loads(line) for line in text.splitlines()]


async def test_past_events_can_be_read_since_a_time(heron: httpx.AsyncClient) -> None:
    until = str(NOW.timestamp())
    found = await events_of(heron, since="0", until=until)
    assert [event["Action"] for event in found] == ["die", "oom", "die"]
    assert found == sorted(found, key=lambda event: event["timeNano"])
    recent = await events_of(heron, since=str(NOW.timestamp() - 600), until=until)
    assert [event["Action"] for event in recent] == ["oom", "die"]


async def test_events_arrive_as_things_happen_and_can_be_filtered(heron: httpx.AsyncClient) -> None:
    first = (await heron.get("/containers/json")).json()[0]["Id"]
    async with streaming(heron, "/events", **filters(type=["container"], event=["die"])) as lines:
        await heron.post(f"/containers/{first}/restart")
        event = await lines.next()
    assert (event["Action"], event["Actor"]["ID"], event["id"]) == ("die", first, first)


async def test_a_request_of_the_wrong_shape_is_refused(harbour: httpx.AsyncClient) -> None:
    assert (await harbour.get("/events", params={"since": "yesterday"})).status_code == 400
    assert (await harbour.get("/services", params={"filters": "{"})).status_code == 400
    assert (await harbour.post("/services/create", content=b"{")).status_code == 400
    assert (await harbour.post("/services/create", json=["no", "object"])).status_code == 400


async def test_releases_are_recorded_in_configs_that_belong_to_no_stack(harbour: httpx.AsyncClient) -> None:
    records = (await harbour.get("/configs", params=filters(label=["com.swarmcli.type=release"]))).json()
    assert len(records) == 5
    assert not [record for record in records if "com.docker.stack.namespace" in record["Spec"]["Labels"]]
    last = next(record for record in records if record["Spec"]["Name"].endswith("market.v3"))
    payload = json.loads(gzip.decompress(base64.b64decode(last["Spec"]["Data"])))
    assert (payload["release"], payload["revision"], payload["status"]) == ("market", 3, "deployed")
    declared = yaml.safe_load(payload["manifest"])["services"]
    assert set(declared) == {"gateway", "catalog", "checkout", "orders"}
    live = (await harbour.get("/services/market_catalog")).json()["Spec"]
    assert declared["catalog"]["image"] == live["TaskTemplate"]["ContainerSpec"]["Image"]
    assert declared["catalog"]["deploy"]["replicas"] != live["Mode"]["Replicated"]["Replicas"]
    assert "tok_live" not in payload["manifest"]
    assert "correct-horse" not in payload["manifest"]
