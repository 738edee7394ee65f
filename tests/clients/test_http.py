"""Requests over real sockets: what comes back whole, what is lost on the way, and what is never sent twice."""

import asyncio

import pytest

from console import errors
from console.clients.endpoint import Endpoint
from console.clients.http import HttpClient
from tests.clients.servers import Reply, Seen, serve


async def ok(seen: Seen, reply: Reply) -> None:
    await reply.json({"path": seen.path})


async def test_a_request_is_sent_as_it_was_meant() -> None:
    async with serve(ok) as server:
        client = HttpClient(Endpoint(base_url=f"{server.url}/k8s/clusters/c-1/", headers=(("X-Group", "a"), ("X-Group", "b"))))
        answer = await client.request(
            "PATCH", "/api/v1", params={"limit": 5, "force": True}, json={"a": 1}, headers={"X-One": "1"}
        )
        await client.close()
    seen = server.seen[0]
    assert answer.json() == {"path": "/k8s/clusters/c-1/api/v1"}
    assert seen.query == {"limit": "5", "force": "true"}
    assert seen.json == {"a": 1}
    assert seen.header("content-type") == "application/json"
    assert seen.header("x-group") == "a, b"
    assert seen.header("user-agent").startswith("quarterdeck/")


async def test_ten_requests_need_one_connection() -> None:
    async with serve(ok) as server:
        client = HttpClient(Endpoint(base_url=server.url))
        for _ in range(10):
            await client.request("GET", "/")
        await client.close()
    assert server.connections == 1


async def test_a_refused_connection_is_unreachable_for_reads_and_writes() -> None:
    async with serve(ok) as server:
        pass
    client = HttpClient(Endpoint(base_url=server.url))
    for method in ("GET", "POST"):
        with pytest.raises(errors.Unreachable, match="connection refused") as caught:
            await client.request(method, "/")
        assert f"127.0.0.1:{server.port}" in caught.value.message
        assert caught.value.hint
    await client.close()


async def test_a_name_that_can_not_be_one_is_said_so() -> None:
    client = HttpClient(Endpoint(base_url=f"http://{'x' * 70}.example"))
    with pytest.raises(errors.Unreachable, match=r"xxx\.example") as caught:
        await client.request("GET", "/")
    assert "DNS" in caught.value.hint
    await client.close()


@pytest.mark.parametrize("framing", ["Content-Length: 500", "Transfer-Encoding: chunked"])
async def test_an_answer_cut_in_the_middle_is_interrupted(framing: str) -> None:
    async def half(seen: Seen, reply: Reply) -> None:
        body = b'{"items": [1, 2' if "Length" in framing else b'f\r\n{"items": [1, 2\r\n'
        await reply.raw(f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{framing}\r\n\r\n".encode() + body)
        reply.close()

    async with serve(half) as server:
        client = HttpClient(Endpoint(base_url=server.url))
        with pytest.raises(errors.Interrupted):
            await client.request("GET", "/services")
        with pytest.raises(errors.UnclearAnswer):
            await client.request("POST", "/services")
        await client.close()


async def test_a_cut_before_any_answer_is_interrupted_for_reads_and_unclear_for_writes() -> None:
    async def cut(seen: Seen, reply: Reply) -> None:
        reply.cut()

    async with serve(cut) as server:
        client = HttpClient(Endpoint(base_url=server.url))
        with pytest.raises(errors.Interrupted):
            await client.request("GET", "/")
        with pytest.raises(errors.UnclearAnswer) as caught:
            await client.request("DELETE", "/services/web")
        await client.close()
    assert "look" in caught.value.hint
    assert server.asked() == ["GET /", "DELETE /services/web"]


async def test_silence_is_timed_out_for_reads_and_unclear_for_writes() -> None:
    async def hang(seen: Seen, reply: Reply) -> None:
        if seen.path == "/warm":
            await ok(seen, reply)
        else:
            await reply.never()

    async with serve(hang) as server:
        client = HttpClient(Endpoint(base_url=server.url))
        await client.request("GET", "/warm")
        with pytest.raises(errors.TimedOut, match=r"no answer within 0\.1 s"):
            await client.request("GET", "/", timeout=0.1)
        await client.request("GET", "/warm")
        with pytest.raises(errors.UnclearAnswer, match=r"no answer came within 0\.1 s"):
            await client.request("POST", "/", timeout=0.1)
        await client.close()


async def test_a_read_over_a_dead_kept_connection_is_made_again_and_a_write_is_not() -> None:
    async def once_a_connection(seen: Seen, reply: Reply) -> None:
        # Every second request of a connection meets a server that has just gone away.
        if len(server.seen) in {2, 5}:
            reply.close()
        else:
            await ok(seen, reply)

    async with serve(once_a_connection) as server:
        client = HttpClient(Endpoint(base_url=server.url))
        await client.request("GET", "/1")
        assert (await client.request("GET", "/2")).json() == {"path": "/2"}
        await client.request("GET", "/3")
        with pytest.raises(errors.UnclearAnswer):
            await client.request("POST", "/4")
        await client.close()
    assert server.asked() == ["GET /1", "GET /2", "GET /2", "GET /3", "POST /4"]
    assert server.connections == 2


async def test_a_restarted_server_is_found_again_without_an_error() -> None:
    async def close_after(seen: Seen, reply: Reply) -> None:
        await ok(seen, reply)
        reply.close()

    async with serve(close_after) as server:
        client = HttpClient(Endpoint(base_url=server.url))
        for _ in range(3):
            await client.request("GET", "/")
        await client.close()
    assert len(server.seen) == 3


async def test_a_refused_read_is_made_again_once_with_a_renewed_login_and_a_write_is_not() -> None:
    tokens = iter(["old", "new", "worse", "worst"])
    current = [next(tokens)]

    async def auth() -> dict[str, str]:
        return {"Authorization": f"Bearer {current[0]}"}

    def renew() -> None:
        current[0] = next(tokens)

    async def only_new(seen: Seen, reply: Reply) -> None:
        good = seen.header("authorization") == "Bearer new"
        await reply.json({"message": "fine" if good else "Unauthorized"}, 200 if good else 401)

    async with serve(only_new) as server:
        client = HttpClient(Endpoint(base_url=server.url, auth=auth, rejected=renew, login_hint="Run the login."))
        assert (await client.request("GET", "/")).json() == {"message": "fine"}
        current[0] = "bad"
        with pytest.raises(errors.LoginExpired) as caught:
            await client.request("POST", "/")
        await client.close()
    assert caught.value.hint == "Run the login."
    assert [seen.method for seen in server.seen] == ["GET", "GET", "POST"]


async def test_something_that_is_not_http_is_a_protocol_error() -> None:
    async def other(seen: Seen, reply: Reply) -> None:
        await reply.raw(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
        reply.close()

    async with serve(other) as server:
        client = HttpClient(Endpoint(base_url=server.url))
        with pytest.raises(errors.ProtocolError, match="isn't HTTP"):
            await client.request("GET", "/")
        await client.close()


async def test_a_stream_that_only_ends_with_its_connection_is_not_complete() -> None:
    async def open_ended(seen: Seen, reply: Reply) -> None:
        await reply.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nword")
        reply.close()

    async with serve(open_ended) as server:
        client = HttpClient(Endpoint(base_url=server.url))
        with pytest.raises(errors.Interrupted, match="end mark"):
            _ = [piece async for piece in client.stream_bytes("GET", "/")]
        assert [piece async for piece in client.stream_bytes("GET", "/", open_ended=True)] == [b"word"]
        await client.close()


async def test_a_silent_stream_is_timed_out() -> None:
    async def silent(seen: Seen, reply: Reply) -> None:
        await reply.stream()
        await reply.chunk(b"one")
        await reply.never()

    async with serve(silent) as server:
        client = HttpClient(Endpoint(base_url=server.url))
        got = []
        with pytest.raises(errors.TimedOut, match=r"not a byte for 0\.2 s"):
            async for piece in client.stream_bytes("GET", "/", silence=0.2):
                got.append(piece)
        assert got == [b"one"]
        await client.close()


async def test_a_refused_stream_raises_before_it_begins() -> None:
    async def refuse(seen: Seen, reply: Reply) -> None:
        await reply.json({"message": "No such container: web"}, 404)

    async with serve(refuse) as server:
        client = HttpClient(Endpoint(base_url=server.url))
        with pytest.raises(errors.NotFound, match="No such container: web"):
            async with client.stream("GET", "/containers/web/logs"):
                pytest.fail("there is nothing to read")
        await client.close()


async def test_leaving_a_stream_drops_its_connection_and_no_other() -> None:
    gone = asyncio.Event()

    async def endless(seen: Seen, reply: Reply) -> None:
        if seen.path == "/short":
            await ok(seen, reply)
            return
        await reply.stream()
        try:
            while True:
                await reply.chunk(b"x")
                await asyncio.sleep(0.001)
        finally:
            gone.set()

    async with serve(endless) as server:
        client = HttpClient(Endpoint(base_url=server.url))
        async with client.stream("GET", "/") as answer:
            assert await anext(answer.body)
        assert (await client.request("GET", "/short")).status == 200
        async with asyncio.timeout(20):
            await gone.wait()
        await client.close()


async def test_a_closed_client_says_so() -> None:
    client = HttpClient(Endpoint(base_url="http://127.0.0.1:9"))
    await client.close()
    with pytest.raises(errors.Unreachable, match="closed"):
        await client.request("GET", "/")


async def test_credentials_in_an_address_are_in_no_message() -> None:
    endpoint = Endpoint(base_url="http://jo:s3cretpass@127.0.0.1:9", key=b"-----BEGIN PRIVATE KEY-----")
    client = HttpClient(endpoint)
    with pytest.raises(errors.Unreachable) as caught:
        await client.request("GET", "/")
    await client.close()
    assert "s3cretpass" not in f"{caught.value.sentence()} {endpoint!r}"
