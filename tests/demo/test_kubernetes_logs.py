"""The log subresource of pods, and what simulated programs write."""

from __future__ import annotations

from datetime import timedelta

import httpx

from console.demo.fleet import DemoFleet
from console.demo.log_lines import LogSource
from tests.demo.conftest import NOW
from tests.demo.watching import streaming


async def pod(client: httpx.AsyncClient, namespace: str, phase: str = "Running") -> str:
    """The path of a pod."""
    pods = (await client.get(f"/api/v1/namespaces/{namespace}/pods")).json()["items"]
    name = next(item["metadata"]["name"] for item in pods if item["status"]["phase"] == phase)
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


async def test_tail_and_since_choose_lines(atlas: httpx.AsyncClient) -> None:
    path = await pod(atlas, "search")
    tail = (await atlas.get(f"{path}/log", params={"tailLines": "5"})).text.splitlines()
    assert len(tail) == 5
    recent = (await atlas.get(f"{path}/log", params={"sinceSeconds": "10", "timestamps": "true"})).text.splitlines()
    assert 5 <= len(recent) <= 6
    assert all(line[:4] == "2026" for line in recent)


async def test_a_followed_log_grows_with_the_world(fleet: DemoFleet, atlas: httpx.AsyncClient) -> None:
    path = await pod(atlas, "search")
    async with streaming(atlas, f"{path}/log", follow="true", tailLines="1") as lines:
        await lines.text()
        fleet.world.step(4)
        assert await lines.text()
        assert await lines.text()


async def test_the_log_of_a_pod_that_never_started_is_refused_with_the_reason(atlas: httpx.AsyncClient) -> None:
    path = await pod(atlas, "storefront", "Pending")
    answer = await atlas.get(f"{path}/log")
    assert answer.status_code == 400
    assert "trying and failing to pull image" in answer.json()["message"]


async def test_the_previous_log_exists_only_after_a_restart(atlas: httpx.AsyncClient) -> None:
    assert (await atlas.get(f"{await pod(atlas, 'search')}/log", params={"previous": "true"})).status_code == 400
    pods = (await atlas.get("/api/v1/namespaces/payments/pods", params={"labelSelector": "app=ledger"})).json()["items"]
    restarted = [item for item in pods if item["status"]["containerStatuses"][0]["restartCount"]]
    path = f"/api/v1/namespaces/payments/pods/{restarted[0]['metadata']['name']}/log"
    answer = await atlas.get(path, params={"previous": "true", "tailLines": "1"})
    assert answer.text == "FATAL exiting with code 137\n"


async def test_the_log_of_no_pod_is_not_found(atlas: httpx.AsyncClient) -> None:
    assert (await atlas.get("/api/v1/namespaces/search/pods/none/log")).status_code == 404


def test_logs_contain_what_a_terminal_must_not_obey() -> None:
    source = LogSource("any", NOW - timedelta(hours=1))
    text = "".join(source.text(index) for index in source.range(NOW, tail=None, since=None))
    assert "\x1b[" in text
    assert "\x1b]0;" in text
    assert "受注" in text
    assert "password=" in text


def test_a_log_is_the_same_however_it_is_asked_for() -> None:
    source = LogSource("any", NOW - timedelta(hours=1))
    whole = list(source.range(NOW, tail=None, since=None))
    assert list(source.range(NOW, tail=7, since=None)) == whole[-7:]
    since = NOW - timedelta(seconds=60)
    assert list(source.range(NOW, tail=None, since=since)) == [index for index in whole if source.at(index) >= since]
