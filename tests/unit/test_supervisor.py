"""Background tasks are kept, reported by name and always awaited."""

from __future__ import annotations

import asyncio

import pytest

from console.kit.supervisor import Supervisor, cancel


class Reports:
    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def __call__(self, name: str, error: BaseException) -> None:
        self.seen.append((name, str(error)))


@pytest.mark.looptime
async def test_a_task_that_should_never_end_is_reported_and_started_again() -> None:
    reports, runs = Reports(), 0
    supervisor = Supervisor(reports)

    async def work() -> None:
        nonlocal runs
        runs += 1
        if runs == 1:
            raise ValueError("broken")
        if runs == 3:
            await asyncio.Event().wait()

    supervisor.keep("probe", work)
    await asyncio.sleep(10)
    assert runs == 3
    assert reports.seen == [("probe", "broken"), ("probe", "it ended, although it never should")]
    await supervisor.stop()


@pytest.mark.looptime
async def test_stopping_waits_for_what_a_task_does_at_its_end() -> None:
    ended = []
    supervisor = Supervisor()

    async def work() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(1)
            ended.append("closed")

    supervisor.spawn("work", work)
    await asyncio.sleep(0)
    await supervisor.stop()
    assert ended == ["closed"]
    await supervisor.stop()


async def test_what_a_single_run_raises_is_reported_not_lost() -> None:
    reports = Reports()
    supervisor = Supervisor(reports)

    async def work() -> None:
        raise ValueError("lost?")

    await supervisor.spawn("once", work)
    assert reports.seen == [("once", "lost?")]


async def test_cancelling_drops_what_the_tasks_raise_on_the_way_out() -> None:
    async def work() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            raise ValueError("while closing")

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    await cancel([task])
    assert task.done()
