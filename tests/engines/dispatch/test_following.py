"""Following in time: unresolved operations, failed reads, abandoning, stopping, crashing."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from console.engines.dispatch.constants import Reason
from console.engines.dispatch.faults import RetryableError
from console.engines.dispatch.types import ApplierKey, Started
from console.engines.ports.applier import (
    GIT_REPOSITORIES,
    KUSTOMIZATIONS,
)
from console.errors import TimedOut
from tests.engines.dispatch.reverser import (
    consoles,
    set_up,
)
from tests.engines.dispatch.world import A, C, eventually, simulated

pytestmark = pytest.mark.looptime


@pytest.mark.scenario("dispatch:P15", "dispatch:W16")
async def test_an_operation_that_does_not_end_is_unresolved_once_and_watched_ever_more_slowly() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            await world.kustomize.stop()
            console.request(A, Reason.REPAIR)
            await eventually(lambda: world.suspends, seconds=400)
            assert console.outcomes[:2] == ["Requested", "Running"]
            assert console.events.reasons() == ["ApplyRequested", "ApplyUnresolved"]
            loop = asyncio.get_running_loop()
            times = [loop.time()]
            count = world.api.reads["Kustomization"]
            while len(times) < 8:
                await asyncio.sleep(0.25)
                if world.api.reads["Kustomization"] > count:
                    count = world.api.reads["Kustomization"]
                    times.append(loop.time())
            assert world.k["spec"]["suspend"] is True, "suspended in the very read that found it overdue"
            gaps = [round(later - earlier) for earlier, later in itertools.pairwise(times)]
            assert gaps == [2, 4, 8, 16, 32, 60, 60]
            assert world.suspends == 1
            assert set(console.outcomes[console.outcomes.index("Unresolved") :]) == {"Unresolved"}
            await eventually(lambda: console.operation().get("suspendToken"))
            assert console.operation()["outcome"] == "Unresolved"
            world.kustomize.start()
            await console.done()
            assert console.outcomes[-1] == "Failed"
            assert console.events.reasons() == ["ApplyRequested", "ApplyUnresolved", "ApplyFailed"]


@pytest.mark.scenario("dispatch:P19")
async def test_reads_that_fail_change_and_end_nothing() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            world.kustomize.apply_seconds = 20
            console.request(A, Reason.REPAIR)
            await eventually(lambda: "Running" in console.outcomes)
            before = len(console.reports)
            world.api.fail("get", KUSTOMIZATIONS, TimedOut("no answer"), times=3)
            await asyncio.sleep(7)
            assert len(console.reports) == before
            await console.done()
            assert console.outcomes[-1] == "Succeeded"


@pytest.mark.scenario("dispatch:X8")
async def test_an_abandoned_kustomization_is_suspended_and_followed_until_that_is_handled() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            world.kustomize.apply_seconds = 60
            request = console.request(A, Reason.REPAIR)
            await eventually(lambda: "Running" in console.outcomes)
            count = len(console.reports)
            token = console.operation()["token"]
            console.dispatcher.abandon(request)
            await eventually(lambda: world.suspends == 1, seconds=3)
            assert console.dispatcher.following(console.ref(), token)
            await eventually(lambda: not console.dispatcher.following(console.ref(), token), seconds=90)
            assert len(console.reports) == count
            await eventually(lambda: console.operation()["outcome"] == "Succeeded")
            assert console.operation()["suspendToken"]


@pytest.mark.scenario("dispatch:X9")
async def test_abandoned_before_the_write_nothing_is_written() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            request = console.request(C)
            await eventually(lambda: world.api.writes(GIT_REPOSITORIES))
            console.dispatcher.abandon(request)
            await asyncio.sleep(60)
            assert not world.api.writes(KUSTOMIZATIONS)
            assert not console.reports
            console.request(A, Reason.REPAIR)
            await console.done()
            assert console.outcomes[-1] == "Succeeded", "the slot is free again"


@pytest.mark.scenario("dispatch:X10")
async def test_a_stop_reports_and_undoes_nothing() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            world.kustomize.apply_seconds = 60
            console.request(A, Reason.REPAIR)
            await eventually(lambda: console.operation().get("outcome") == "Running")
            record, count = console.operation(), len(console.reports)
            await console.stop()
            await asyncio.sleep(100)
            assert len(console.reports) == count
            assert console.operation() == record
            assert world.suspends == 0


async def test_a_stop_waits_for_a_starting_write_and_keeps_its_record() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            console.request(A, Reason.REPAIR)
            await eventually(lambda: world.resumes, every=0.001)
            await console.stop()
            assert world.k["spec"]["suspend"] is False
            assert console.operation()["outcome"] == "Requested"


class Crashing:
    """A client that breaks unexpectedly while it follows, once."""

    def __init__(self, inner: Any, where: str) -> None:
        self.inner, self.where = inner, where

    async def client(self, key: ApplierKey) -> Any:
        self.real = await self.inner.client(key)
        return self

    async def request(self, ref: Any, ask: Any) -> Started:
        if self.where == "before":
            self.where = ""
            raise ZeroDivisionError("a bug")
        started: Started = await self.real.request(ref, ask)
        if self.where == "after":
            self.where = ""
            raise ZeroDivisionError("a bug")
        return started

    async def progress(self, ref: Any, started: Started) -> Any:
        if self.where == "follow":
            self.where = ""
            raise ZeroDivisionError("a bug")
        return await self.real.progress(ref, started)


@pytest.mark.parametrize("where", ["before", "after", "follow"])
async def test_a_crash_leaves_neither_an_operation_nor_a_slot_behind(where: str) -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            desk = console.dispatcher._desk
            desk.clients = Crashing(desk.clients, where)  # type: ignore[assignment]
            console.request(A, Reason.REPAIR)
            await console.done()
            if where == "before":
                assert isinstance(console.error, RetryableError)
            else:
                assert console.outcomes[-1] == "Succeeded"
            assert not desk.slots
            assert not desk.followed
            console.request(A, Reason.REPAIR)
            await console.done(2)
            assert console.outcomes[-1] == "Succeeded"


# Argo CD
