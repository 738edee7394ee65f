"""Clocks that jump, leads that lapse, records that can't be read, a second console: nothing stays resumed, nothing is lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest

from console.engines.dispatch.constants import LOCAL_RECORD, Reason, Timing
from console.engines.dispatch.modes import Leadership
from console.engines.ports.applier import FLUX_TRIGGERS, KUSTOMIZATIONS, LEASES
from console.errors import TimedOut
from console.kit.timing import Clock, LoopClock
from console.runtime.cluster_engine import LEASE, ClusterEngine
from tests.engines.dispatch.apiserver import ApiServer
from tests.engines.dispatch.reverser import TEAM, EventLog, cluster, flux_trigger, provider, put, target
from tests.engines.dispatch.world import START, B, eventually
from tests.runtime.held_fleet import SPACE, HeldFleet, held_fleet

pytestmark = pytest.mark.looptime


class Jumping:
    """A machine's clock that somebody sets."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.off = timedelta()

    def now(self) -> datetime:
        return self._clock.now() + self.off


def claimant() -> tuple[Leadership, Jumping, ApiServer]:
    steady = LoopClock(START)
    steady.now()
    clock, api = Jumping(steady), ApiServer(steady)
    return Leadership(api, LEASE, "us", clock), clock, api


@pytest.mark.parametrize("hours", [-1, 1])
async def test_a_clock_that_is_set_prolongs_no_lead(hours: int) -> None:
    us, clock, _ = claimant()
    assert await us.claim()
    clock.off = timedelta(hours=hours)
    assert us.held is (hours < 0), "set forward, the Lease may have run out meanwhile"
    await asyncio.sleep(11)
    assert not us.held, "nobody has seen it renewed, whatever the machine's clock says"
    assert await us.claim()
    assert us.held


async def test_each_lead_is_told_from_the_one_before_it() -> None:
    us, _, _ = claimant()
    assert await us.claim()
    first = us.term
    await asyncio.sleep(4)
    assert await us.claim()
    assert us.term == first, "renewed in time"
    await asyncio.sleep(11)
    assert await us.claim()
    assert us.term == first + 1, "for a moment anybody might have led"
    await us.resign()
    assert await us.claim()
    assert us.term == first + 2


@pytest.mark.parametrize("alive", [True, False])
async def test_a_clock_that_is_ahead_pushes_no_live_engine_aside(alive: bool) -> None:
    us, clock, api = claimant()
    steady = LoopClock(START)
    steady.now()
    them = Leadership(api, LEASE, "them", steady)
    assert await them.claim()
    clock.off = timedelta(hours=1)

    async def renew() -> None:
        while alive:
            await asyncio.sleep(4)
            assert await them.claim(), "it was pushed aside"

    beside = asyncio.create_task(renew())
    began = asyncio.get_running_loop().time()
    assert await us.claim() is not alive
    assert asyncio.get_running_loop().time() - began == pytest.approx(15, abs=1)
    await asyncio.sleep(10)
    beside.cancel()
    await asyncio.gather(beside, return_exceptions=True)
    assert them.held is alive


async def test_a_lease_that_was_seen_to_run_out_is_taken_at_once() -> None:
    us, _, api = claimant()
    api.create(LEASES, stale("them"))
    await us.mode()
    await asyncio.sleep(20)
    began = asyncio.get_running_loop().time()
    assert await us.claim()
    assert asyncio.get_running_loop().time() - began < 1


def stale(holder: str) -> dict[str, Any]:
    spec = {"holderIdentity": holder, "renewTime": "2026-01-01T00:00:00.000000Z", "leaseDurationSeconds": 15}
    return {"metadata": {"namespace": LEASE.namespace, "name": LEASE.name}, "spec": spec}


@asynccontextmanager
async def leading() -> AsyncIterator[tuple[HeldFleet, ClusterEngine]]:
    """An engine that leads and holds one Kustomization."""
    world = HeldFleet(1)
    world.api.unserved = set()
    put(world.api, provider(), cluster(), target("web"))
    kind, trigger = flux_trigger(holding=False)
    trigger["spec"]["kustomizationRef"]["name"] = "app-0000"
    world.api.create(kind, trigger)
    for controller in world.controllers:
        controller.start()
    engine = ClusterEngine("east", "uid", world.api, None, EventLog(), world.clock, "us", world.timing)
    try:
        engine.start()
        assert await engine.claim()
        await eventually(lambda: "Suspended" in str(world.api.peek(FLUX_TRIGGERS, TEAM, "shop")["status"].get("conditions")))
        yield world, engine
    finally:
        await engine.stop()
        for controller in world.controllers:
            await controller.stop()


@pytest.mark.scenario("dispatch:X2")
async def test_an_operation_is_followed_on_after_a_lapse_of_the_lead_however_short() -> None:
    async with leading() as (world, engine):
        world.kustomize.apply_seconds = 60
        view = (await engine.references.triggers("FluxTrigger"))[0]
        targets = await engine.references.naming_targets(view.ref)
        binding = await engine.references.binding(targets[0])
        assert binding is not None
        commit = await world.push(B)
        engine.request(view.ref, view.key, binding, commit, Reason.REPAIR, [targets[0].ref])
        await eventually(lambda: not world.suspended("app-0000"))
        # Renewals fail until the lead has just ended; the next one succeeds.
        world.api.fail("merge", LEASES, TimedOut("no answer"), times=20)
        await eventually(lambda: not engine.leadership.held, 30, every=0.01)
        await asyncio.sleep(2.5)
        world.api.heal()
        await eventually(lambda: engine.leadership.held, 30)
        await eventually(lambda: operation(world)["outcome"] == "Succeeded", 120)
        await eventually(lambda: world.suspended("app-0000"), 10)
        assert engine.dispatcher.following(view.ref, operation(world)["token"]) is False


@pytest.mark.scenario("dispatch:X2")
async def test_what_was_resumed_is_held_again_also_when_its_trigger_names_another_by_then() -> None:
    async with leading() as (world, engine):
        world.kustomize.apply_seconds = 30
        view = (await engine.references.triggers("FluxTrigger"))[0]
        targets = await engine.references.naming_targets(view.ref)
        binding = await engine.references.binding(targets[0])
        assert binding is not None
        engine.request(view.ref, view.key, binding, await world.push(B), Reason.REPAIR, [targets[0].ref])
        await eventually(lambda: not world.suspended("app-0000"))
        await engine.stop()
        repointed = {"spec": {"kustomizationRef": {"name": "app-0001", "namespace": SPACE}}}
        world.api.patch(FLUX_TRIGGERS, TEAM, "shop", repointed, "kubectl-edit")
        again = ClusterEngine("east", "uid", world.api, None, EventLog(), world.clock, "us", world.timing)
        again.start()
        try:
            assert await again.claim()
            await eventually(lambda: operation(world)["outcome"] == "Succeeded", 120)
            await eventually(lambda: world.suspended("app-0000"), 10)
        finally:
            await again.stop()


def operation(world: HeldFleet) -> dict[str, str]:
    found: dict[str, str] = world.api.peek(FLUX_TRIGGERS, TEAM, "shop")["status"]["operation"]
    return found


async def test_a_record_nobody_understands_leaves_all_other_holds_their_keeper() -> None:
    async with held_fleet(3) as (world, engine):
        await engine.stop()
        spoilt = {"metadata": {"annotations": {LOCAL_RECORD: "{half"}}}
        world.api.patch(KUSTOMIZATIONS, SPACE, "app-0001", spoilt, "kubectl-edit")
        again = world.engine()
        again.start()
        try:
            for name in world.names:
                world.api.patch(KUSTOMIZATIONS, SPACE, name, {"spec": {"suspend": None}}, "flux")
            await eventually(lambda: world.suspended("app-0000") and world.suspended("app-0002"), 30)
            mended = {"metadata": {"annotations": {LOCAL_RECORD: '{"holding":true}'}}}
            world.api.patch(KUSTOMIZATIONS, SPACE, "app-0001", mended, "kubectl-edit")
            await eventually(lambda: world.suspended("app-0001"), 30)
        finally:
            await again.stop()


async def test_what_could_not_be_read_at_the_start_is_recovered_when_it_can() -> None:
    async with held_fleet(2) as (world, engine):
        await world.push(B)
        world.kustomize.apply_seconds = 90
        world.ask(engine, "app-0001")
        await eventually(lambda: not world.suspended("app-0001"))
        await engine.stop()
        record = world.api.peek(KUSTOMIZATIONS, SPACE, "app-0001")["metadata"]["annotations"][LOCAL_RECORD]
        spoilt = {"metadata": {"annotations": {LOCAL_RECORD: record[:-1]}}}
        world.api.patch(KUSTOMIZATIONS, SPACE, "app-0001", spoilt, "kubectl-edit")
        again = world.engine()
        again.start()
        try:
            await asyncio.sleep(30)
            assert not again.operations
            mended = {"metadata": {"annotations": {LOCAL_RECORD: record}}}
            world.api.patch(KUSTOMIZATIONS, SPACE, "app-0001", mended, "kubectl-edit")
            await eventually(lambda: again.operations, 150)
            await eventually(lambda: world.ended(again, "app-0001"), 300, every=1)
            assert world.suspended("app-0001")
        finally:
            await again.stop()


@pytest.mark.scenario("dispatch:X16")
async def test_another_consoles_apply_is_left_alone_until_it_should_have_ended() -> None:
    async with held_fleet(1) as (world, engine):
        beside = world.engine()
        beside.start()
        try:
            await asyncio.sleep(30)
            world.kustomize.apply_seconds = 100
            await world.push(B)
            world.ask(engine, "app-0000")
            await eventually(lambda: world.ended(engine, "app-0000"), 300)
            assert "Succeeded" in str(engine.operations)
            assert suspends(world) == 2, "the hold, and the end of the apply"
            # One that dies leaves it resumed: the other one takes it into hold again when its time is over.
            await world.kustomize.stop()
            world.ask(engine, "app-0000", await world.push())
            await eventually(lambda: not world.suspended("app-0000"))
            await engine.stop()
            await asyncio.sleep(Timing().unresolved_after - 30)
            assert not world.suspended("app-0000")
            await eventually(lambda: world.suspended("app-0000"), 60)
            # And it follows it to its end, so that the record tells the truth and the next apply may be asked for.
            world.kustomize.start()
            await eventually(lambda: record(world)["outcome"] == "Failed", 60)
            world.ask(beside, "app-0000", await world.push())
            await eventually(lambda: record(world)["outcome"] == "Succeeded", 300)
            assert world.suspended("app-0000")
        finally:
            await beside.stop()


def record(world: HeldFleet) -> dict[str, str]:
    annotations = world.api.peek(KUSTOMIZATIONS, SPACE, "app-0000")["metadata"]["annotations"]
    found: dict[str, str] = json.loads(annotations[LOCAL_RECORD])["operation"]
    return found


def suspends(world: HeldFleet) -> int:
    return sum(call.verb == "apply" and call.body.get("spec", {}).get("suspend") is True for call in world.timed.calls)
