"""The fault proxy breaks connections in each of its ways, and heals."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from tests.real.proxy import FaultProxy

PATIENCE = 30


async def _echo_after_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers each line at once, and says `bye` when the client has ended its side."""
    while line := await reader.readline():
        writer.write(line)
        await writer.drain()
    writer.write(b"bye\n")
    await writer.drain()
    writer.close()


@contextlib.asynccontextmanager
async def proxied() -> AsyncIterator[FaultProxy]:
    server = await asyncio.start_server(_echo_after_end, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, FaultProxy(f"127.0.0.1:{port}") as proxy:
        yield proxy


@contextlib.asynccontextmanager
async def connected(proxy: FaultProxy) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, text: bytes = b"hello\n") -> bytes:
    writer.write(text)
    await writer.drain()
    return await asyncio.wait_for(reader.readline(), PATIENCE)


async def test_bytes_pass_both_ways_and_a_half_closed_connection_still_answers() -> None:
    async with proxied() as proxy, connected(proxy) as (reader, writer):
        assert await ask(reader, writer) == b"hello\n"
        writer.write_eof()
        assert await asyncio.wait_for(reader.readline(), PATIENCE) == b"bye\n"


async def test_a_refused_connection_is_reset() -> None:
    async with proxied() as proxy:
        await proxy.set("refuse")
        async with connected(proxy) as (reader, writer):
            with contextlib.suppress(ConnectionError):
                assert await ask(reader, writer) == b""


@pytest.mark.parametrize("mode", ["hang", "freeze"])
async def test_a_silent_connection_goes_on_where_it_stood_when_healed(mode: str) -> None:
    async with proxied() as proxy:
        await proxy.set("hang" if mode == "hang" else "freeze")
        async with connected(proxy) as (reader, writer):
            question = asyncio.create_task(ask(reader, writer))
            done, _ = await asyncio.wait([question], timeout=0.2)
            assert not done
            await proxy.set()
            assert await question == b"hello\n"


async def test_an_answer_is_cut_after_so_many_bytes() -> None:
    async with proxied() as proxy:
        await proxy.set(cut_after=4)
        async with connected(proxy) as (reader, writer):
            received = b""
            with contextlib.suppress(ConnectionError):
                received = await ask(reader, writer)
            assert len(received) <= 4


async def test_open_connections_are_cut_now_and_new_ones_pass() -> None:
    async with proxied() as proxy:
        async with connected(proxy) as (reader, writer):
            await ask(reader, writer)
            assert proxy.cut() == 1
            with contextlib.suppress(ConnectionError):
                assert await asyncio.wait_for(reader.readline(), PATIENCE) == b""
        async with connected(proxy) as (reader, writer):
            assert await ask(reader, writer) == b"hello\n"


async def test_a_proxy_in_front_of_nothing_closes_the_connection() -> None:
    async with FaultProxy("unix:/nonexistent/socket") as proxy, connected(proxy) as (reader, _):
        with contextlib.suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
