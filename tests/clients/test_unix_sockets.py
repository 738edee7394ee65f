"""The stream over unix sockets, on a real one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpcore
import pytest

from console.clients.unix_sockets import UnixBackend


@asynccontextmanager
async def serving(path: Path) -> AsyncIterator[list[asyncio.StreamWriter]]:
    """A server that keeps the writers of its connections, and closes them at the end."""
    writers: list[asyncio.StreamWriter] = []
    server = await asyncio.start_unix_server(lambda _, writer: writers.append(writer), str(path))
    try:
        yield writers
    finally:
        server.close()
        for writer in writers:
            writer.close()
        await server.wait_closed()


async def accepted(writers: list[asyncio.StreamWriter]) -> asyncio.StreamWriter:
    async with asyncio.timeout(20):
        while not writers:
            await asyncio.sleep(0)
    return writers[-1]


async def test_bytes_go_both_ways_and_the_end_is_seen(tmp_path: Path) -> None:
    async with serving(tmp_path / "s") as writers:
        stream = await UnixBackend().connect_unix_socket(str(tmp_path / "s"))
        other = await accepted(writers)
        await stream.write(b"ping")
        other.write(b"pong")
        assert await stream.read(10, timeout=20) == b"pong"
        assert stream.get_extra_info("is_readable") is False
        other.close()
        assert await stream.read(10, timeout=20) == b""
        assert stream.get_extra_info("is_readable") is True
        await stream.aclose()


async def test_a_wait_cancelled_while_bytes_arrive_leaves_no_error_behind(tmp_path: Path) -> None:
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    async with serving(tmp_path / "s") as writers:
        stream = await UnixBackend().connect_unix_socket(str(tmp_path / "s"))
        other = await accepted(writers)
        for _ in range(50):
            reading = asyncio.create_task(stream.read(10))
            await asyncio.sleep(0)
            other.write(b"x")
            await asyncio.sleep(0)
            reading.cancel()
            await asyncio.wait({reading})
        await stream.aclose()
    assert complaints == []


async def test_what_can_go_wrong_is_said_in_httpcores_words(tmp_path: Path) -> None:
    with pytest.raises(httpcore.ConnectError, match="No such file"):
        await UnixBackend().connect_unix_socket(str(tmp_path / "none"))
    async with serving(tmp_path / "s"):
        stream = await UnixBackend().connect_unix_socket(str(tmp_path / "s"))
        with pytest.raises(httpcore.ReadTimeout):
            await stream.read(10, timeout=0.001)
        await stream.aclose()
