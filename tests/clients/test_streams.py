"""Endless answers cut in pieces at every possible place."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TypeVar

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.clients.streams import json_values, log_frames, log_lines, split_lines, with_silence
from console.errors import Interrupted, ProtocolError

T = TypeVar("T")

ANY: msgspec.json.Decoder[object] = msgspec.json.Decoder()


async def pieces(data: bytes, size: int) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def everything(items: AsyncIterator[T]) -> list[T]:
    return [item async for item in items]


def frame(number: int, payload: bytes) -> bytes:
    return bytes([number, 0, 0, 0]) + len(payload).to_bytes(4, "big") + payload


@settings(deadline=None, derandomize=True)
@given(st.lists(st.binary(min_size=1).filter(lambda line: b"\n" not in line and b"\r" not in line)), st.integers(1, 9))
async def test_lines_come_out_whole_however_the_bytes_arrive(lines: list[bytes], size: int) -> None:
    data = b"".join(line + b"\n" for line in lines)
    assert await everything(split_lines(pieces(data, size), "it")) == [(line, True) for line in lines]


async def test_a_last_line_without_its_end_is_marked() -> None:
    assert await everything(split_lines(pieces(b"one\r\n\ntwo", 2), "it")) == [(b"one", True), (b"two", False)]


async def test_a_half_value_is_an_interruption_and_a_wrong_one_is_not() -> None:
    with pytest.raises(Interrupted, match="in the middle"):
        await everything(json_values(pieces(b'{"a":1}\n{"b":', 4), ANY, "it"))
    with pytest.raises(ProtocolError, match="<html>"):
        await everything(json_values(pieces(b"<html>\n", 4), ANY, "it"))


async def test_a_last_value_without_a_line_feed_still_counts() -> None:
    assert await everything(json_values(pieces(b'{"a":1}\n{"b":2}', 3), ANY, "it")) == [{"a": 1}, {"b": 2}]


@settings(deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from([1, 2]), st.binary())), st.integers(1, 20))
async def test_frames_come_out_whole_however_the_bytes_arrive(frames: list[tuple[int, bytes]], size: int) -> None:
    data = b"".join(frame(number, payload) for number, payload in frames)
    wanted = [({1: "stdout", 2: "stderr"}[number], payload) for number, payload in frames]
    assert await everything(log_frames(pieces(data, size), "it")) == wanted


@pytest.mark.parametrize("end", range(1, 11))
async def test_a_log_cut_inside_a_frame_is_interrupted(end: int) -> None:
    whole = frame(1, b"all right\n")
    with pytest.raises(Interrupted):
        await everything(log_frames(pieces((whole + frame(2, b"end"))[: len(whole) + end], 5), "it"))


async def test_a_log_without_frames_is_not_taken_for_one() -> None:
    with pytest.raises(ProtocolError, match="not multiplexed"):
        await everything(log_frames(pieces(b"plain words of a terminal", 7), "it"))


async def test_lines_of_both_streams_do_not_mix() -> None:
    data = frame(1, b"out ") + frame(2, b"error\nmore ") + frame(1, b"put\r\nlast") + frame(2, b"errors\n")
    lines = await everything(log_lines(log_frames(pieces(data, 6), "it")))
    assert lines == [("stderr", "error"), ("stdout", "out put"), ("stderr", "more errors"), ("stdout", "last")]


@pytest.mark.looptime
async def test_silence_is_heard_and_the_source_goes_on() -> None:
    async def slow() -> AsyncGenerator[int, None]:
        yield 1
        await asyncio.sleep(25)
        yield 2

    assert await everything(with_silence(slow(), 10)) == [1, None, None, 2]


async def test_leaving_a_silent_stream_ends_its_source() -> None:
    ended = asyncio.Event()

    async def silent() -> AsyncGenerator[int, None]:
        try:
            await asyncio.Event().wait()
            yield 1
        finally:
            ended.set()

    paced = with_silence(silent(), 0.001)
    assert await anext(paced) is None
    await paced.aclose()
    assert ended.is_set()
