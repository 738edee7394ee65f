"""Logs that go on after a break, and several read as one. In virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import datetime
from typing import Any

import pytest

from console.backends.docker_logs import docker_log
from console.backends.following import follow, timed_line
from console.backends.merging import merged
from console.errors import Interrupted, NotFound, NotServed, Unreachable
from console.model.kubernetes import LogLine, LogQuery
from console.model.refs import Ref

pytestmark = pytest.mark.looptime


class Log:
    """What each opening of a log gives: lines (text with a time), then an end or an error."""

    def __init__(self, *openings: list[str | Exception]) -> None:
        self.openings = list(openings)
        self.asked: list[str] = []

    async def open_at(self, last: datetime | None) -> AsyncGenerator[LogLine, None]:
        self.asked.append(last.isoformat() if last else "")
        for step in self.openings.pop(0) if self.openings else []:
            if isinstance(step, Exception):
                raise step
            yield timed_line(step)


async def texts(lines: AsyncGenerator[LogLine, None]) -> list[str]:
    return [f"{line.stream}: {line.text}" if line.stream == "note" else line.text async for line in lines]


async def ended() -> bool:
    return False


async def test_a_broken_log_goes_on_where_it_stopped_and_says_so() -> None:
    log = Log(
        ["2026-03-01T10:00:00.100Z one", "2026-03-01T10:00:00.200Z two", Interrupted("reset by peer.")],
        [Unreachable("refused.")],
        [
            "2026-03-01T10:00:00.100Z one",
            "2026-03-01T10:00:00.200Z two",
            "2026-03-01T10:00:00.200Z twin",
            "2026-03-01T10:00:01Z three",
        ],
    )
    assert await texts(follow(log.open_at, endless=True, goes_on=ended)) == [
        "one",
        "two",
        "note: The log broke off: reset by peer. Trying again.",
        "note: The log broke off: refused. Trying again.",
        "twin",
        "three",
        "note: The log has ended.",
    ]
    assert log.asked[1].startswith("2026-03-01T10:00:00.2")


async def test_a_log_that_cannot_be_opened_at_all_is_an_error() -> None:
    with pytest.raises(Unreachable):
        await texts(follow(Log([Unreachable("refused")]).open_at, endless=True))
    with pytest.raises(NotFound):
        await texts(follow(Log([NotFound("no such pod")]).open_at, endless=True))


async def test_a_past_log_is_read_once() -> None:
    log = Log(["2026-03-01T10:00:00Z one", "no time here"])
    assert await texts(follow(log.open_at, endless=False)) == ["one", "no time here"]
    with pytest.raises(Interrupted):
        await texts(follow(Log(["2026-03-01T10:00:00Z one", Interrupted("cut")]).open_at, endless=False))


async def test_a_log_whose_owner_went_says_so() -> None:
    log = Log(["2026-03-01T10:00:00Z one", Interrupted("cut.")], [NotFound("gone")])
    assert (await texts(follow(log.open_at, endless=True)))[-1] == "note: It is gone; its log with it."


async def test_a_container_that_restarts_goes_on_in_its_log() -> None:
    answers = iter([True, False])

    async def goes_on() -> bool:
        return next(answers)

    log = Log(["2026-03-01T10:00:00Z one"], ["2026-03-01T10:00:09Z two"])
    assert await texts(follow(log.open_at, endless=True, goes_on=goes_on)) == ["one", "two", "note: The log has ended."]


async def numbers(count: int, pause: float, fail: Exception | None = None) -> AsyncGenerator[int, None]:
    for number in range(count):
        await asyncio.sleep(pause)
        yield number
    if fail is not None:
        raise fail


async def test_streams_are_merged_as_they_come() -> None:
    assert [item async for item in merged([numbers(3, 2), numbers(2, 3)])] == [0, 0, 1, 1, 2]


async def test_one_stream_that_fails_ends_all() -> None:
    with pytest.raises(Interrupted):
        async with aclosing(merged([numbers(100, 1), numbers(2, 1, Interrupted("cut"))])) as items:
            async for _ in items:
                pass


async def test_a_reader_that_stops_stops_the_streams() -> None:
    async with aclosing(merged([numbers(1000, 1), numbers(1000, 1)])) as items:
        async for _ in items:
            break
    assert len(asyncio.all_tasks()) == 1


class Engine:
    """Just enough of an engine for its logs."""

    def __init__(self, lines: list[tuple[str, str]]) -> None:
        self.lines = lines
        self.params: dict[str, Any] = {}

    async def get(self, path: str) -> dict[str, Any]:
        return {"Config": {"Tty": False}, "State": {"Status": "exited"}}

    async def logs(self, path: str, params: dict[str, Any], *, tty: bool) -> AsyncGenerator[tuple[str, str], None]:
        self.params = params
        for line in self.lines:
            yield line


async def test_lines_of_a_service_say_which_task_they_are_from() -> None:
    details = "com.docker.swarm.node.id=n,com.docker.swarm.service.id=s,com.docker.swarm.task.id=t1"
    engine = Engine([("stderr", f"2026-03-01T10:00:00.000000000Z {details} hello world")])
    ref = Ref("harbour", "SwarmService", "", "web", "s")
    names = {"t1": "web.1"}
    lines = [line async for line in docker_log(engine, ref, LogQuery(follow=False, tail=5), names.__getitem__)]  # type: ignore[arg-type]
    assert [(line.origin, line.stream, line.text) for line in lines] == [("web.1", "stderr", "hello world")]
    assert (engine.params["details"], engine.params["tail"]) == (True, "5")


async def test_what_has_no_log_says_so() -> None:
    with pytest.raises(NotServed):
        await texts(docker_log(Engine([]), Ref("h", "Volume", "", "v"), LogQuery(), str))  # type: ignore[arg-type]
