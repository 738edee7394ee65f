"""Operations that an earlier process left behind."""

from __future__ import annotations

import asyncio

import pytest

from console.engines.dispatch.constants import Outcome, Reason
from console.engines.dispatch.faults import RetryableError
from console.engines.dispatch.records import read_operation
from console.engines.dispatch.types import Operation
from console.engines.ports.applier import (
    GIT_TARGETS,
)
from tests.engines.dispatch.reverser import (
    TEAM,
    Console,
    consoles,
    set_up,
)
from tests.engines.dispatch.world import A, Simulated, eventually, simulated

pytestmark = pytest.mark.looptime


def record(console: Console) -> Operation:
    found = read_operation(console.operation(), "shop")
    assert found is not None
    return found


async def crashed(world: Simulated, console: Console) -> Operation:
    """The process ends in mid-apply; what it recorded."""
    world.kustomize.apply_seconds = 30
    console.request(A, Reason.REPAIR)
    await eventually(lambda: console.operation().get("outcome") == "Running")
    await console.stop()
    return record(console)


@pytest.mark.scenario("dispatch:X7")
async def test_a_recovered_request_waits_for_the_start_and_is_followed_without_an_event() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            left = await crashed(world, console)
        second = Console(world, world.api)
        second.writer.start()
        second.request(A, Reason.REPAIR, recovered=left)
        await asyncio.sleep(5)
        assert not second.reports
        assert second.dispatcher.following(second.ref(), left.token)
        second.dispatcher.start()
        await second.done()
        assert second.outcomes[-1] == "Succeeded"
        assert not second.events.seen
        await eventually(lambda: second.operation()["outcome"] == "Succeeded")
        await second.stop()


@pytest.mark.scenario("dispatch:X5")
async def test_an_old_record_is_overdue_on_its_first_read() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            left = await crashed(world, console)
        await world.kustomize.stop()
        await asyncio.sleep(1000)
        world.new_writes()
        async with consoles(world) as second:
            second.request(A, Reason.REPAIR, recovered=left)
            await asyncio.sleep(0.5)
            assert world.suspends == 1
            assert second.outcomes[0] == "Unresolved"
            assert world.api.reads["Kustomization"] == 1


async def test_recovery_asks_nobody_whether_it_is_still_wanted() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            left = await crashed(world, console)
            targets = console.targets("web")
        world.api.delete(GIT_TARGETS, TEAM, "web")
        async with consoles(world) as second:
            second.targets = lambda *names: targets  # type: ignore[method-assign]
            second.request(A, Reason.REPAIR, recovered=left)
            await second.done()
            assert world.k["spec"]["suspend"] is True


async def test_while_a_recovered_operation_is_followed_nothing_else_is_asked() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            left = await crashed(world, console)
        async with consoles(world) as second:
            second.request(A, Reason.REPAIR, recovered=left)
            second.request(A, Reason.REPAIR, recovered=left)
            await asyncio.sleep(1)
            assert isinstance(second.error, RetryableError)
            assert second.dispatcher.following(second.ref(), left.token)
            await second.done(2)
            assert second.outcomes[-1] == "Succeeded"


async def test_a_cluster_that_cannot_be_reached_is_tried_until_it_can() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            left = await crashed(world, console)
        async with consoles(world) as second:
            second.clusters.refusing = {"default"}
            second.request(A, Reason.REPAIR, recovered=left)
            await asyncio.sleep(60)
            assert not second.reports
            second.clusters.refusing = set()
            await second.done()
            assert second.outcomes[-1] == "Succeeded"


async def test_an_external_operation_is_followed_without_events() -> None:
    async with simulated() as world:
        set_up(world)
        world.kustomize.fails = ("BuildFailed", "no such file")
        await world.flux("resume")
        await asyncio.sleep(5)
        found = Operation(
            token="external", reason=Reason.EXTERNAL, outcome=Outcome.RUNNING, requested_at="2026-01-02T03:04:05Z"
        )
        async with consoles(world) as console:
            console.request("", Reason.EXTERNAL, recovered=found)
            await console.done()
            assert console.outcomes[-1] == "Failed"
            assert not console.events.seen
            assert world.k["spec"]["suspend"] is True


# Fetching ahead
