"""The demo's HTTP server: keep-alive, streams, and every way to fail."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from console.demo.http_server import Answer, HttpServer, Request, Stream

PATIENCE = 20


class Echo:
    """Answers with what was asked; `/stream` gives lines from `queue` until None."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.closed = asyncio.Event()
        self.asked = 0

    async def __call__(self, request: Request) -> Answer | Stream:
        self.asked += 1
        if request.path == "/stream":
            return Stream(chunks=self._lines())
        if request.path == "/nothing":
            return Answer(status=204)
        return Answer.of_json(
            {"method": request.method, "path": request.path, "query": request.query, "body": request.body.decode()}
        )

    async def _lines(self) -> AsyncGenerator[bytes, None]:
        try:
            while (line := await self.queue.get()) is not None:
                yield line
        finally:
            self.closed.set()


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
async def server(echo: Echo) -> AsyncIterator[HttpServer]:
    server = HttpServer(echo)
    await server.listen()
    yield server
    await server.close()


@pytest.fixture
async def client(server: HttpServer) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=server.url, timeout=PATIENCE, trust_env=False) as client:
        yield client


async def test_method_path_query_and_body_arrive_decoded(client: httpx.AsyncClient) -> None:
    answer = await client.post("/a%20b", params={"x": ["1", "2"], "y": ""}, content=b"hello")
    assert answer.json() == {"method": "POST", "path": "/a b", "query": {"x": ["1", "2"], "y": [""]}, "body": "hello"}


async def test_one_connection_serves_many_requests(server: HttpServer) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(server.url).port)
    for _ in range(3):
        writer.write(b"GET /nothing HTTP/1.1\r\nHost: demo\r\n\r\n")
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
        assert head.startswith(b"HTTP/1.1 204")
    writer.close()
    await writer.wait_closed()


async def test_the_answer_to_head_has_no_body(client: httpx.AsyncClient) -> None:
    answer = await client.head("/x")
    assert answer.status_code == 200
    assert int(answer.headers["Content-Length"]) > 0
    assert answer.content == b""


async def test_what_is_not_http_is_cut_off(server: HttpServer) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(server.url).port)
    writer.write(b"\x16\x03\x01 this is no request\r\n\r\n")
    assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
    writer.close()
    await writer.wait_closed()


async def test_chunks_arrive_as_they_are_made(client: httpx.AsyncClient, echo: Echo) -> None:
    async with client.stream("GET", "/stream") as answer:
        chunks = answer.aiter_bytes()
        echo.queue.put_nowait(b"one\n")
        assert await anext(chunks) == b"one\n"
        echo.queue.put_nowait(b"two\n")
        assert await anext(chunks) == b"two\n"
        echo.queue.put_nowait(None)
        assert [chunk async for chunk in chunks] == []


async def test_a_stream_ends_when_the_client_hangs_up(client: httpx.AsyncClient, echo: Echo) -> None:
    async with client.stream("GET", "/stream") as answer:
        echo.queue.put_nowait(b"one\n")
        await anext(answer.aiter_bytes())
    await asyncio.wait_for(echo.closed.wait(), PATIENCE)


async def test_a_server_that_is_down_refuses_and_comes_back_on_its_port(server: HttpServer, client: httpx.AsyncClient) -> None:
    url = server.url
    await server.refuse()
    with pytest.raises(httpx.ConnectError):
        await client.get("/x")
    await server.listen()
    assert server.url == url
    assert (await client.get("/x")).status_code == 200


async def test_going_down_cuts_streams_in_mid_answer(server: HttpServer, client: httpx.AsyncClient, echo: Echo) -> None:
    with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
        async with client.stream("GET", "/stream") as answer:
            chunks = answer.aiter_bytes()
            echo.queue.put_nowait(b"one\n")
            await anext(chunks)
            await server.refuse()
            await anext(chunks)
    assert echo.closed.is_set()


async def test_a_hanging_server_answers_when_it_is_healed(server: HttpServer, client: httpx.AsyncClient, echo: Echo) -> None:
    server.hang(True)
    pending = asyncio.create_task(client.get("/x"))
    reader, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(server.url).port)
    writer.close()
    await writer.wait_closed()
    assert reader.at_eof() or not pending.done()
    assert echo.asked == 0
    server.hang(False)
    assert (await pending).status_code == 200


async def test_a_reserved_port_refuses(echo: Echo) -> None:
    server = HttpServer(echo)
    await server.reserve()
    async with httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get("/x")
    await server.close()


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose name leaves room in the 107 bytes of a socket's path."""
    with tempfile.TemporaryDirectory(prefix="qd-") as folder:
        yield Path(folder)


async def test_a_unix_socket_serves_and_goes_when_closed(echo: Echo, short_folder: Path) -> None:
    path = short_folder / "s.sock"
    server = HttpServer(echo, path)
    await server.listen()
    async with httpx.AsyncClient(
        transport=httpx.AsyncHTTPTransport(uds=str(path)), base_url="http://docker", timeout=PATIENCE
    ) as client:
        assert (await client.get("/x")).json()["path"] == "/x"
    await server.close()
    assert not path.exists()
