"""Endless answers cut into what they are made of: lines, JSON values, Docker's log frames; and silence made audible.

None of these takes a broken end for an end: a half line, value or frame is :class:`console.errors.Interrupted`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from typing import TypeVar

import msgspec

from console.clients.answers import RETRY_HINT, VERSION_HINT, plain
from console.errors import Interrupted, ProtocolError

T = TypeVar("T")

# A single event or log line beyond this is no event: it would only fill the memory. In bytes.
LONGEST_LINE = 32 * 1024 * 1024

_FRAME_HEADER = 8
_STREAMS = ("stdin", "stdout", "stderr", "systemerr")


async def split_lines(pieces: AsyncIterable[bytes], what: str) -> AsyncGenerator[tuple[bytes, bool], None]:
    """Non-empty lines without their ends, each with whether its line feed was seen (only the last may lack it).

    :param what: the request, for error messages.
    """
    pending = bytearray()
    async for piece in pieces:
        pending += piece
        if b"\n" in piece:
            *lines, rest = bytes(pending).split(b"\n")
            pending = bytearray(rest)
            for line in lines:
                line = line.rstrip(b"\r")
                if line:
                    yield line, True
        if len(pending) > LONGEST_LINE:
            raise ProtocolError(f"{what} sent a line of more than {LONGEST_LINE >> 20} MiB", VERSION_HINT)
    if pending:
        yield bytes(pending), False


async def json_values(pieces: AsyncIterable[bytes], decoder: msgspec.json.Decoder[T], what: str) -> AsyncGenerator[T, None]:
    """One value a line. A half value is :class:`Interrupted`, a whole line of something else :class:`ProtocolError`."""
    async for line, whole in split_lines(pieces, what):
        try:
            value = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            if not whole:
                raise Interrupted(f"{what}: the stream broke off in the middle of a value", RETRY_HINT) from error
            start = plain(line[:80].decode("utf-8", "replace"))
            raise ProtocolError(f'{what} sent "{start}", not the JSON that belongs there', VERSION_HINT) from error
        yield value


async def log_frames(pieces: AsyncIterable[bytes], what: str) -> AsyncGenerator[tuple[str, bytes], None]:
    """Docker's multiplexed stream: ``("stdout" | "stderr" | …, payload)``.

    A frame is one byte of stream number, three zero bytes, four bytes of big-endian length, the payload (Engine API,
    "Attach to a container", stream format).
    """
    pending = bytearray()
    async for piece in pieces:
        pending += piece
        start = 0
        while len(pending) - start >= _FRAME_HEADER:
            number, zeros = pending[start], pending[start + 1 : start + 4]
            if number >= len(_STREAMS) or any(zeros):
                raise ProtocolError(f"{what}: the log is not multiplexed as it should be", "Is it the log of a terminal (tty)?")
            size = int.from_bytes(pending[start + 4 : start + _FRAME_HEADER], "big")
            if size > LONGEST_LINE:
                raise ProtocolError(f"{what} announced a log frame of {size} bytes", VERSION_HINT)
            end = start + _FRAME_HEADER + size
            if len(pending) < end:
                break
            yield _STREAMS[number], bytes(pending[start + _FRAME_HEADER : end])
            start = end
        del pending[:start]
    if pending:
        raise Interrupted(f"{what}: the log broke off in the middle of a frame", RETRY_HINT)


async def log_lines(frames: AsyncIterable[tuple[str, bytes]]) -> AsyncGenerator[tuple[str, str], None]:
    """``(stream, line)`` from frames or raw pieces: a line may span several, and each stream has its own.

    A last line without a line feed counts too: programs end that way.
    """
    pending: dict[str, bytes] = {}
    async for stream, payload in frames:
        *lines, rest = (pending.get(stream, b"") + payload).split(b"\n")
        pending[stream] = rest
        for line in lines:
            yield stream, line.rstrip(b"\r").decode("utf-8", "replace")
    for stream, rest in pending.items():
        if rest:
            yield stream, rest.decode("utf-8", "replace")


async def raw_as_frames(pieces: AsyncIterable[bytes]) -> AsyncGenerator[tuple[str, bytes], None]:
    """A terminal's log has no frames: all of it is standard output."""
    async for piece in pieces:
        yield "stdout", piece


async def with_silence(items: AsyncIterator[T], seconds: float) -> AsyncGenerator[T | None, None]:
    """The items, and ``None`` each time nothing came for so many seconds. The source isn't disturbed by the waiting."""
    task: asyncio.Task[T] | None = None
    try:
        while True:
            task = task or asyncio.ensure_future(_next(items))
            await asyncio.wait({task}, timeout=seconds)
            if not task.done():
                yield None
                continue
            finished, task = task, None
            try:
                item = finished.result()
            except StopAsyncIteration:
                return
            yield item
    finally:
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def _next(items: AsyncIterator[T]) -> T:
    return await anext(items)
