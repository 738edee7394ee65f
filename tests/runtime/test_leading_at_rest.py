"""What being the engine of a cluster's triggers costs when nothing happens, and that nothing is missed for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from console.engines.dispatch.constants import FINALIZER
from console.engines.ports.applier import (
    FLUX_TRIGGERS,
    GIT_REPOSITORIES,
    GIT_TARGETS,
    KUSTOMIZATIONS,
    LEASES,
    ApiKind,
    JsonObject,
)
from console.errors import Forbidden, TimedOut
from console.model.refs import Ref
from console.runtime.cluster_engine import LEASE, ClusterEngine
from tests.engines.dispatch.reverser import TEAM, EventLog, cluster, flux_trigger, provider, put, target
from tests.engines.dispatch.world import eventually
from tests.runtime.held_fleet import SPACE, HeldFleet

pytestmark = pytest.mark.looptime

LISTS = 9
"""Kinds of objects that a pass depends on."""


def trigger_of(name: str) -> tuple[ApiKind, JsonObject]:
    kind, obj = flux_trigger(name, holding=False)
    obj["spec"]["kustomizationRef"]["name"] = name
    return kind, obj


@asynccontextmanager
async def leading(triggers: int) -> AsyncIterator[tuple[HeldFleet, ClusterEngine]]:
    """An engine that leads, with a target and a trigger for each Kustomization, all held by it."""
    world = HeldFleet(triggers)
    world.api.unserved = set()
    put(world.api, provider(), cluster())
    for name in world.names:
        put(world.api, target(name, name), trigger_of(name))
    for controller in world.controllers:
        controller.start()
    engine = ClusterEngine("east", "uid", world.api, None, EventLog(), world.clock, "us", world.timing)
    try:
        engine.start()
        assert await engine.claim()
        await eventually(lambda: all(holding(world, name) for name in world.names), 300)
        await asyncio.sleep(120)
        yield world, engine
    finally:
        await engine.stop()
        for controller in world.controllers:
            await controller.stop()


def condition(world: HeldFleet, name: str, which: str) -> str:
    conditions = world.api.peek(FLUX_TRIGGERS, TEAM, name).get("status", {}).get("conditions", [])
    return next((entry["reason"] for entry in conditions if entry["type"] == which), "")


def holding(world: HeldFleet, name: str) -> bool:
    finalizers = world.api.peek(FLUX_TRIGGERS, TEAM, name)["metadata"].get("finalizers", [])
    return FINALIZER in finalizers and condition(world, name, "Held") == "Suspended"


def resume(world: HeldFleet, name: str) -> None:
    world.api.patch(KUSTOMIZATIONS, SPACE, name, {"spec": {"suspend": None}}, "flux")


async def test_at_rest_the_number_of_triggers_costs_little() -> None:
    async def a_minute(triggers: int) -> float:
        async with leading(triggers) as (world, _):
            before = world.timed.count
            await asyncio.sleep(1200)
            return (world.timed.count - before) / 20

    few, many = await a_minute(2), await a_minute(22)
    # The lists, and renewals of the Lease (a read and a write); a pass of each trigger now and then.
    assert few < 6 * LISTS + 2 * 15 + 10
    assert (many - few) / 20 < 6


async def test_what_is_resumed_by_hand_is_suspended_again_and_others_are_left_alone() -> None:
    async with leading(6) as (world, engine):
        resume(world, "app-0002")
        world.new_writes()
        await eventually(lambda: world.suspended("app-0002"), 12)
        assert {call.name for call in world.timed.writes(KUSTOMIZATIONS)} == {"app-0002"}
        await eventually(lambda: holding(world, "app-0002"), 20)
        resume(world, "app-0003")
        engine.look([Ref("east", "Kustomization", SPACE, "app-0003")])
        await eventually(lambda: world.suspended("app-0003"), 1, every=0.05)


async def test_a_target_that_goes_hands_its_kustomization_back() -> None:
    async with leading(3) as (world, _):
        world.api.delete(GIT_TARGETS, TEAM, "app-0001")
        await eventually(lambda: not world.suspended("app-0001"), 15)
        await eventually(lambda: condition(world, "app-0001", "Configured") == "NotReferenced", 15)
        assert world.suspended("app-0000") and world.suspended("app-0002")


async def test_where_something_may_not_be_listed_each_trigger_gets_its_pass() -> None:
    async with leading(3) as (world, _):
        world.timed.fail("list", GIT_REPOSITORIES, Forbidden("may not list", status=403), times=50)
        resume(world, "app-0002")
        await eventually(lambda: world.suspended("app-0002"), 12)


async def test_a_trigger_that_cannot_be_read_keeps_no_other_from_its_pass() -> None:
    async with leading(3) as (world, _):
        for name in world.names:
            resume(world, name)
        world.timed.fail("get", FLUX_TRIGGERS, TimedOut("no answer"))
        await eventually(lambda: sum(world.suspended(name) for name in world.names) == 2, 12, every=0.02)
        await eventually(lambda: all(world.suspended(name) for name in world.names), 15)


async def test_the_lease_is_renewed_during_a_long_round() -> None:
    async with leading(8) as (world, engine):
        world.api.latency = 1.0
        for name in world.names:
            world.api.edit(FLUX_TRIGGERS, TEAM, name, lambda obj: obj["metadata"].update(labels={"a": "b"}), "kubectl")
        for _ in range(60):
            await asyncio.sleep(2)
            assert engine.leadership.held


async def test_nothing_more_is_written_for_triggers_once_the_lead_is_lost() -> None:
    async with leading(4) as (world, engine):
        them = {"holderIdentity": "them"}
        world.api.edit(LEASES, LEASE.namespace, LEASE.name, lambda obj: obj["spec"].update(them), "them")
        await eventually(lambda: not engine.leadership.held, 30)
        world.new_writes()
        for name in world.names:
            resume(world, name)
        engine.look([Ref("east", "Kustomization", SPACE, name) for name in world.names])
        await asyncio.sleep(60)
        assert not world.timed.writes()
