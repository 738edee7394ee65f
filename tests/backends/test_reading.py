"""Re-reading: once per burst of events, never too often, and failures that stay where they belong. In virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from console.backends.reading import FAILED_MOST, Reading, all_of
from console.errors import ApiError, Forbidden, LoginExpired, TimedOut, Unreachable
from console.kit.supervisor import cancel

pytestmark = pytest.mark.looptime


class Group:
    """Two topics that answer, or fail, as the test says."""

    def __init__(self, *, may_hang: bool = False) -> None:
        self.error: Exception | None = None
        self.reads: list[tuple[float, frozenset[str]]] = []
        self.failures: list[tuple[str, str]] = []
        topics = ("services", "tasks")
        self.reading = Reading("swarm", topics, self._read, all_of(topics, 60), self._fail, may_hang=may_hang)
        self.task = asyncio.create_task(self.reading.run())

    async def _read(self, wanted: frozenset[str]) -> None:
        self.reads.append((asyncio.get_running_loop().time(), wanted))
        if self.error is not None:
            raise self.error

    def _fail(self, state: str, why: str) -> None:
        self.failures.append((state, why))


@asynccontextmanager
async def group(*, may_hang: bool = False) -> AsyncIterator[Group]:
    found = Group(may_hang=may_hang)
    try:
        yield found
    finally:
        await cancel((found.task,))


async def test_a_burst_of_events_causes_one_reading() -> None:
    async with group() as it:
        await asyncio.sleep(10)
        for _ in range(5):
            it.reading.touch(("tasks", "containers"))
            await asyncio.sleep(0.01)
        await asyncio.sleep(1)
        assert len(it.reads) == 2
        assert 0.2 < it.reads[1][0] - 10 < 0.4


async def test_everything_is_read_again_after_a_minute_without_any_event() -> None:
    async with group() as it:
        await asyncio.sleep(185)
        assert len(it.reads) == 4


async def test_events_of_other_topics_cause_nothing() -> None:
    async with group() as it:
        await asyncio.sleep(1)
        it.reading.touch(("volumes",))
        await asyncio.sleep(10)
        assert len(it.reads) == 1


async def test_events_without_end_do_not_cause_readings_without_end() -> None:
    async with group() as it:
        for _ in range(1200):
            it.reading.touch(("tasks",))
            await asyncio.sleep(0.5)
        late = [at for at, _ in it.reads if at > 300]
        assert len(late) <= 60, "ten a minute at most in the long run"
        assert len([at for at, _ in it.reads if at < 10]) >= 8, "at first as fast as things happen"


async def test_a_failure_is_shown_and_tried_again_and_does_not_end_the_connection() -> None:
    async with group() as it:
        it.error = ApiError("no leader", status=503)
        await asyncio.sleep(200)
        assert it.failures[0] == ("failed", "no leader")
        assert 5 <= len(it.reads) <= 10
        it.error = None
        await asyncio.sleep(FAILED_MOST * 1.2 + 1)
        assert len(it.failures) < len(it.reads)
        assert it.reads[-1][1] == {"services", "tasks"}


async def test_what_is_forbidden_is_not_asked_for_at_every_event() -> None:
    async with group() as it:
        it.error = Forbidden("may not read services")
        for _ in range(60):
            it.reading.touch(("services",))
            await asyncio.sleep(1)
        assert it.failures[0] == ("restricted", "may not read services")
        assert len(it.reads) <= 3


@pytest.mark.parametrize("error", [Unreachable("refused"), LoginExpired("certificate expired"), TimedOut("no answer")])
async def test_what_is_wrong_with_the_connection_ends_the_reading(error: Exception) -> None:
    async with group() as it:
        it.error = error
        it.reading.touch(("tasks",))
        await asyncio.wait({it.task}, timeout=100)
        with pytest.raises(type(error)):
            it.task.result()


async def test_a_part_that_may_hang_fails_alone() -> None:
    async with group(may_hang=True) as it:
        it.error = TimedOut("no answer")
        await asyncio.sleep(100)
        assert not it.task.done()
        assert it.failures[0][0] == "failed"
