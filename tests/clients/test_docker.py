"""The Engine API client against an engine that is whole, half or dead."""

import asyncio
import json
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import pytest

from console import errors
from console.clients.docker import DockerClient
from console.clients.docker_events import Told
from console.clients.endpoint import Endpoint
from tests.clients.servers import Handler, Reply, Seen, serve


def engine(handler: Handler | None = None, *, api: str = "1.41") -> Handler:
    """An engine that answers pings, and everything else by the handler."""

    async def answer(seen: Seen, reply: Reply) -> None:
        if seen.path == "/_ping":
            headers = {"Api-Version": api, "Swarm": "active/manager", "Server": "Docker/20.10.24 (linux)"}
            await reply.body(200, b"OK", "text/plain", Date="Mon, 30 Nov 2026 12:00:00 GMT", **headers)
        elif handler is None:
            await reply.json({"path": seen.path})
        else:
            await handler(seen, reply)

    return answer


def event(number: int) -> dict[str, Any]:
    return {"Type": "service", "Action": "update", "timeNano": number * 1_000_000_000}


async def test_the_version_is_agreed_once_and_used_in_every_path() -> None:
    async with serve(engine()) as server:
        client = DockerClient(Endpoint(base_url=server.url))
        assert await client.get("/services", {"status": True}) == {"path": "/v1.41/services"}
        assert await client.post("/services/create", json={"Name": "web"}) == {"path": "/v1.41/services/create"}
        ping = await client.ping()
        await client.close()
    assert server.asked()[:3] == ["GET /_ping", "GET /v1.41/services?status=true", "POST /v1.41/services/create"]
    assert ping.api == (1, 41)
    assert ping.swarm == "active/manager"
    assert ping.at == datetime(2026, 11, 30, 12, tzinfo=UTC)


async def test_a_newer_engine_is_spoken_to_in_the_newest_version_that_we_know() -> None:
    async with serve(engine(api="1.99")) as server:
        client = DockerClient(Endpoint(base_url=server.url))
        assert await client.get("/info") == {"path": "/v1.51/info"}
        await client.close()


@pytest.mark.parametrize("api", ["1.23", "", "latest"])
async def test_too_old_an_engine_or_none_at_all_is_refused(api: str) -> None:
    async with serve(engine(api=api)) as server:
        client = DockerClient(Endpoint(base_url=server.url))
        with pytest.raises(errors.ProtocolError, match=r"too old|no Docker engine"):
            await client.get("/info")
        await client.close()
    assert server.asked() == ["GET /_ping"]


async def test_filters_go_as_json_and_empty_values_not_at_all() -> None:
    async with serve(engine()) as server:
        client = DockerClient(Endpoint(base_url=server.url))
        await client.get("/tasks", {"filters": {"service": ["web"]}, "since": "", "all": False})
        await client.close()
    query = server.seen[-1].query
    assert json.loads(query["filters"]) == {"service": ["web"]}
    assert set(query) == {"filters", "all"}


async def test_a_write_without_an_answer_body_returns_nothing() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        await reply.head(304 if "start" in seen.path else 204, {})

    async with serve(engine(handler)) as server:
        client = DockerClient(Endpoint(base_url=server.url))
        assert await client.post("/containers/web/start") is None
        assert await client.delete("/containers/web") is None
        await client.close()


async def test_half_an_answer_is_interrupted() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        await reply.head(200, {"Content-Type": "application/json", "Content-Length": "900"})
        await reply.raw(b'[{"ID": "abc", "Vers')
        reply.cut()

    async with serve(engine(handler)) as server:
        client = DockerClient(Endpoint(base_url=server.url))
        with pytest.raises(errors.Interrupted):
            await client.get("/services")
        await client.close()


async def test_events_come_as_they_happen_and_a_cut_is_no_end() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        await reply.stream()
        await reply.line(event(1))
        await read.wait()
        await reply.line(event(2))
        reply.cut()

    read = asyncio.Event()
    async with serve(engine(handler)) as server:
        client = DockerClient(Endpoint(base_url=server.url))
        got = []
        with pytest.raises(errors.Interrupted):
            async for happened in client.events(filters={"type": ["service"]}):
                got.append(happened["timeNano"])
                read.set()
        await client.close()
    assert got[:1] == [1_000_000_000]


async def test_an_event_stream_that_ends_in_order_is_lost_all_the_same() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        await reply.stream()
        await reply.end()

    async with serve(engine(handler)) as server:
        client = DockerClient(Endpoint(base_url=server.url))
        with pytest.raises(errors.Interrupted, match="ended its event stream"):
            _ = [happened async for happened in client.events()]
        await client.close()


async def test_a_quiet_engine_is_pinged_and_its_stream_renewed_without_loss_or_repetition() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        streams.append(seen.query.get("since", ""))
        await reply.stream(Date="Mon, 30 Nov 2026 12:00:00 GMT")
        if len(streams) == 1:
            await reply.line(event(1_800_000_000))
        else:
            # What was asked for since then, the last known one included.
            await reply.line(event(1_800_000_000))
            await reply.line(event(1_800_000_007))
        await reply.never()

    streams: list[str] = []
    heard: list[None] = []
    async with serve(engine(handler)) as server:
        client = DockerClient(Endpoint(base_url=server.url))
        got = []
        async with aclosing(client.events(silence=0.05, renew=0.1, heard=lambda: heard.append(None))) as events:
            async for happened in events:
                got.append(happened["timeNano"] // 10**9)
                if len(got) == 2:
                    break
        await client.close()
    assert got == [1_800_000_000, 1_800_000_007]
    assert streams == ["", "1799999999.000000000"]
    assert server.asked().count("GET /_ping") >= 3
    assert len(heard) >= 5


async def test_a_stream_without_events_is_renewed_from_when_it_began() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        streams.append(seen.query.get("since", ""))
        await reply.stream(Date="Mon, 30 Nov 2026 12:00:00 GMT")
        if len(streams) > 1:
            await reply.line(event(1_800_000_007))
        await reply.never()

    streams: list[str] = []
    async with serve(engine(handler)) as server:
        client = DockerClient(Endpoint(base_url=server.url))
        async with aclosing(client.events(silence=0.05, renew=0.05)) as events:
            await anext(events)
        await client.close()
    assert streams == ["", str(int(datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()))]


def test_events_that_overtake_each_other_are_all_told_once() -> None:
    told = Told()
    told.began(datetime(2026, 11, 30, 12, tzinfo=UTC))
    assert told.since == "1796040000"
    assert [told.new(event(number)) for number in (1_800_000_005, 1_800_000_004, 1_800_000_005, 1_800_000_004)] == [
        True,
        True,
        False,
        False,
    ]
    assert told.new({**event(1_800_000_005), "Action": "create"})
    assert told.since == "1800000004.000000000"
    assert told.new({"Type": "odd"})
    assert told.new({"Type": "odd"})


async def test_a_dead_engine_behind_a_quiet_stream_is_noticed() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        if seen.path == "/_ping" and len(server.seen) > 1:
            reply.cut()
        elif seen.path == "/_ping":
            await engine()(seen, reply)
        else:
            await reply.stream()
            await reply.never()

    async with serve(handler) as server:
        client = DockerClient(Endpoint(base_url=server.url))
        with pytest.raises(errors.ConnectionProblem):
            _ = [happened async for happened in client.events(silence=0.05)]
        await client.close()


def frame(number: int, payload: bytes) -> bytes:
    return bytes([number, 0, 0, 0]) + len(payload).to_bytes(4, "big") + payload


async def test_a_log_with_frames_is_told_from_one_of_a_terminal() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        framed = "service" in seen.path or "new-tty" not in seen.path
        kind = "application/vnd.docker.multiplexed-stream" if "new" in seen.path else "application/vnd.docker.raw-stream"
        await reply.stream(kind)
        await reply.chunk(
            frame(1, b"out\n") + frame(2, b"err\n") if framed and "old-tty" not in seen.path else b"out\r\nput\r\n"
        )
        await reply.end()

    async with serve(engine(handler)) as server:
        client = DockerClient(Endpoint(base_url=server.url))

        async def read(name: str, tty: bool) -> list[tuple[str, str]]:
            return [line async for line in client.logs(f"/containers/{name}/logs", {"tail": 10}, tty=tty)]

        assert await read("old", False) == [("stdout", "out"), ("stderr", "err")]
        assert await read("old-tty", True) == [("stdout", "out"), ("stdout", "put")]
        assert await read("new", True) == [("stdout", "out"), ("stderr", "err")]
        await client.close()
    assert server.seen[-1].query == {"stdout": "true", "stderr": "true", "tail": "10"}


async def test_a_log_cut_in_a_frame_is_interrupted() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        await reply.stream("application/vnd.docker.multiplexed-stream")
        await reply.chunk(frame(1, b"whole\n") + frame(1, b"half a line\n")[:12])
        await reply.end()

    async with serve(engine(handler)) as server:
        client = DockerClient(Endpoint(base_url=server.url))
        got = []
        with pytest.raises(errors.Interrupted):
            async for line in client.logs("/services/web/logs"):
                got.append(line)
        await client.close()
    assert got == [("stdout", "whole")]


async def test_samples_come_until_they_stop_coming() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        await reply.stream()
        await reply.line({"cpu_stats": {"online_cpus": 2}})
        await reply.never()

    async with serve(engine(handler)) as server:
        client = DockerClient(Endpoint(base_url=server.url))
        got = []
        with pytest.raises(errors.TimedOut):
            async for sample in client.stats("web", silence=0.2):
                got.append(sample)
        await client.close()
    assert got == [{"cpu_stats": {"online_cpus": 2}}]


async def test_a_pull_reports_its_progress_and_a_lost_one_can_be_made_again() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        await reply.stream()
        await reply.line({"status": "Pulling", "header": seen.header("x-registry-auth")})
        if seen.query["fromImage"] == "lost":
            reply.close()
        else:
            await reply.end()

    async with serve(engine(handler)) as server:
        client = DockerClient(Endpoint(base_url=server.url))

        async def pull(image: str) -> list[dict[str, Any]]:
            headers = {"X-Registry-Auth": "abc"}
            return [
                value
                async for value in client.values("POST", "/images/create", {"fromImage": image}, headers=headers, safe=True)
            ]

        assert await pull("web") == [{"status": "Pulling", "header": "abc"}]
        with pytest.raises(errors.Interrupted):
            await pull("lost")
        await client.close()


async def test_an_exec_gives_its_output_until_its_connection_ends() -> None:
    async def handler(seen: Seen, reply: Reply) -> None:
        assert seen.json == {"Detach": False, "Tty": False}
        await reply.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\n")
        await reply.raw(frame(1, b"done\n") + frame(2, b"oh"))
        reply.close()

    async with serve(engine(handler)) as server:
        client = DockerClient(Endpoint(base_url=server.url))
        assert [line async for line in client.exec_output("abc")] == [("stdout", "done"), ("stderr", "oh")]
        await client.close()
