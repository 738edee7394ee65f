"""What a Docker host answers: versions, life cycle, logs, events, and the words of its refusals."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.contract.dock import PATIENCE, Dock, frames, message


async def test_the_ping_offers_a_version_and_newer_ones_are_refused(host: Dock) -> None:
    ping = await host.client.get("/_ping")
    assert ping.text == "OK"
    offered = ping.headers["Api-Version"]
    assert (await host.client.get(f"/v{offered}/info")).status_code == 200
    status, words = message(await host.client.get("/v1.99/info"))
    assert (status, words) == (400, f"client version 1.99 is too new. Maximum supported API version is {offered}")


async def test_an_engine_without_a_swarm_says_so(host: Dock) -> None:
    assert (await host.get("/info"))["Swarm"]["LocalNodeState"] == "inactive"
    status, words = message(await host.client.get("/services"))
    assert status == 503
    assert "This node is not a swarm manager" in words


async def test_a_container_lives_stops_and_goes(host: Dock) -> None:
    id_ = await host.container("contract-life")
    state = (await host.get("/containers/contract-life/json"))["State"]
    assert (state["Status"], state["Running"]) == ("running", True)
    assert (await host.client.post(f"/containers/{id_}/start")).status_code == 304
    assert message(await host.client.delete(f"/containers/{id_}"))[0] == 409
    assert (await host.client.post(f"/containers/{id_}/stop", params={"t": "1"})).status_code == 204
    assert (await host.client.post(f"/containers/{id_}/stop")).status_code == 304
    listed = await host.get("/containers/json", all="1", filters=json.dumps({"id": [id_]}))
    assert listed[0]["State"] == "exited"
    assert listed[0]["Status"].startswith("Exited (")
    assert (await host.client.delete(f"/containers/{id_}")).status_code == 204
    assert message(await host.client.get(f"/containers/{id_}/json")) == (404, f"No such container: {id_}")


async def test_a_name_is_taken_once_and_its_holder_is_named(host: Dock) -> None:
    id_ = await host.container("contract-name", start=False)
    answer = await host.client.post("/containers/create", params={"name": "contract-name"}, json={"Image": host.image})
    status, words = message(answer)
    assert status == 409
    assert id_ in words


async def test_an_image_that_is_not_there_is_named(host: Dock) -> None:
    answer = await host.client.post("/containers/create", json={"Image": "quarterdeck/absent:1"})
    assert message(answer) == (404, "No such image: quarterdeck/absent:1")


async def test_pausing_twice_is_a_conflict(host: Dock) -> None:
    id_ = await host.container("contract-pause")
    assert (await host.client.post(f"/containers/{id_}/pause")).status_code == 204
    assert (await host.get(f"/containers/{id_}/json"))["State"]["Status"] == "paused"
    assert message(await host.client.post(f"/containers/{id_}/pause"))[0] in (409, 500)
    assert (await host.client.post(f"/containers/{id_}/unpause")).status_code == 204


async def test_a_host_port_is_given_once(host: Dock) -> None:
    ports: dict[str, Any] = {
        "ExposedPorts": {"80/tcp": {}},
        "HostConfig": {"PortBindings": {"80/tcp": [{"HostPort": "28080"}]}},
    }
    await host.container("contract-port-1", **ports)
    await host.container("contract-port-2", start=False, **ports)
    status, words = message(await host.client.post("/containers/contract-port-2/start"))
    assert status == 500
    assert "port is already allocated" in words


async def test_networks_of_one_name_are_ambiguous(host: Dock) -> None:
    for _ in range(2):
        assert (await host.client.post("/networks/create", json={"Name": "contract-twice"})).status_code == 201
    checked = await host.client.post("/networks/create", json={"Name": "contract-twice", "CheckDuplicate": True})
    assert message(checked) == (409, "network with name contract-twice already exists")
    status, words = message(await host.client.get("/networks/contract-twice"))
    assert status == 400
    assert "ambiguous" in words


async def test_a_volume_in_use_stays(host: Dock) -> None:
    await host.container("contract-volume", HostConfig={"Binds": ["contract-data:/data"]})
    status, words = message(await host.client.delete("/volumes/contract-data"))
    assert status == 409
    assert "volume is in use" in words
    assert (await host.client.delete("/containers/contract-volume", params={"force": "1"})).status_code == 204
    assert (await host.client.delete("/volumes/contract-data")).status_code == 204
    assert message(await host.client.get("/volumes/contract-data")) == (404, "get contract-data: no such volume")


async def test_logs_are_framed_by_stream(host: Dock) -> None:
    id_ = await host.container("contract-logs", Cmd=["sh", "-c", "echo out; echo err >&2; sleep 60"])

    async def found() -> list[tuple[int, str]]:
        query = {"stdout": "1", "stderr": "1", "tail": "10"}
        return frames((await host.client.get(f"/containers/{id_}/logs", params=query)).content)

    async def some() -> bool:
        return len(await found()) >= 2

    await host.until(some)
    assert {number for number, _ in await found()} <= {1, 2}
    assert message(await host.client.get(f"/containers/{id_}/logs"))[0] == 400


async def test_one_sample_has_counters_and_a_limit(host: Dock) -> None:
    id_ = await host.container("contract-stats", HostConfig={"Memory": 64 * 1024**2})
    sample = await host.get(f"/containers/{id_}/stats", stream="false")
    assert sample["cpu_stats"]["cpu_usage"]["total_usage"] >= 0
    assert sample["cpu_stats"]["system_cpu_usage"] > 0
    assert 0 < sample["memory_stats"]["usage"] <= sample["memory_stats"]["limit"]


async def test_events_tell_what_happens_to_a_container(host: Dock) -> None:
    chosen = json.dumps({"type": ["container"], "container": ["contract-events"]})
    async with host.client.stream("GET", "/events", params={"filters": chosen}, timeout=PATIENCE) as answer:
        lines = answer.aiter_lines()
        id_ = await host.container("contract-events")
        seen = []
        async with asyncio.timeout(PATIENCE):
            while "start" not in seen:
                event = json.loads(await anext(lines))
                assert (event["id"], event["Actor"]["Attributes"]["name"]) == (id_, "contract-events")
                seen.append(event["Action"])
    assert [action for action in seen if action in ("create", "start")] == ["create", "start"]
