"""Logs that go on after a break: the stream is opened again where it stopped, and a line of ours says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from datetime import datetime

from console.backends.kube_common import instant
from console.errors import ConnectionProblem, NotFound, Overloaded
from console.kit.timing import backoff
from console.model.kubernetes import LogLine

Open = Callable[[datetime | None], AsyncGenerator[LogLine, None]]


def timed_line(text: str, stream: str = "stdout", origin: str = "") -> LogLine:
    """A log line from text that begins with an RFC 3339 time and a space, as servers send it when asked for timestamps."""
    stamp, space, rest = text.partition(" ")
    at = instant(stamp) if space else None
    return LogLine(rest, at, origin, stream) if at is not None else LogLine(text, None, origin, stream)


def note(text: str, origin: str = "") -> LogLine:
    """A line of ours between the lines of a log."""
    return LogLine(text, None, origin, "note")


async def follow(
    open_at: Open, *, endless: bool, goes_on: Callable[[], Awaitable[bool]] | None = None, origin: str = ""
) -> AsyncGenerator[LogLine, None]:
    """Lines of a log; with ``endless`` also those after a break, each once.

    :param open_at: opens the log, from an instant on (None: as the query says).
    :param goes_on: asked when the server ended the stream in order: whether more can come.
    :raises ConnectionProblem: the first attempt failed, or it isn't ``endless``.
    """
    last: datetime | None = None
    at_last: set[str] = set()
    pauses = backoff(1, 2, 15)
    heard = False
    while True:
        try:
            async with aclosing(open_at(last)) as lines:
                async for line in lines:
                    if last is not None and line.at is not None and _seen(line, line.at, last, at_last):
                        continue
                    if line.at is not None:
                        if line.at != last:
                            at_last.clear()
                        last = line.at
                        at_last.add(line.text)
                    heard, pauses = True, backoff(1, 2, 15)
                    yield line
            if not endless:
                return
            if goes_on is not None and not await goes_on():
                yield note("The log has ended.", origin)
                return
        except NotFound:
            if not heard:
                raise
            yield note("It is gone; its log with it.", origin)
            return
        except (ConnectionProblem, Overloaded) as error:
            if not endless or not heard:
                raise
            yield note(f"The log broke off: {error.message} Trying again.", origin)
        await asyncio.sleep(next(pauses))


def _seen(line: LogLine, at: datetime, last: datetime, at_last: set[str]) -> bool:
    """A log that is opened again from an instant on repeats what was said in it: servers count in whole seconds."""
    return at < last or (at == last and line.text in at_last)
