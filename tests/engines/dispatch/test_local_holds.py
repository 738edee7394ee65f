"""Holds of local triggers: noted, kept, and handed back."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from console.engines.dispatch.constants import LOCAL_RECORD, ConditionReason
from console.engines.dispatch.faults import PermanentError, RetryableError
from console.engines.dispatch.local_triggers import delete_warning
from console.engines.ports.applier import (
    KUSTOMIZATIONS,
)
from tests.engines.dispatch.local_console import TRIGGER, local, recorded
from tests.engines.dispatch.world import SHOP, A, eventually, simulated

pytestmark = pytest.mark.looptime


@pytest.mark.scenario("dispatch:W23")
async def test_before_a_held_kustomization_is_deleted_the_user_is_warned() -> None:
    warning = delete_warning("flux-system/shop", suspended=True)
    assert "leaves all its objects" in warning
    assert "Release it first" in warning
    assert delete_warning("flux-system/shop", suspended=False) == ""
    async with simulated() as world:
        world.api.delete(KUSTOMIZATIONS, SHOP.namespace, SHOP.name)
        await eventually(lambda: not world.api.exists(KUSTOMIZATIONS, SHOP.namespace, SHOP.name))
        assert world.kustomize.collected == [], "why: the controller collects nothing then"


async def test_the_hold_is_noted_before_the_first_suspend_and_forgotten_after_the_release() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world, held=False) as console:
            seen: list[bool] = []
            world.api.before("apply", KUSTOMIZATIONS, lambda: seen.append(recorded(world).holding))
            await console.triggers.hold(TRIGGER)
            assert seen == [True]
            assert await console.triggers.release(TRIGGER) == ""
            assert LOCAL_RECORD not in world.k["metadata"].get("annotations", {})
            assert "suspend" not in world.k["spec"]


async def test_a_release_is_noted_although_the_controller_reports_in_the_same_moment() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world, held=False) as console:
            await console.triggers.hold(TRIGGER)
            reports = iter(range(3))

            def report() -> None:
                if next(reports, None) is not None:
                    world.patch(KUSTOMIZATIONS, {"metadata": {"annotations": {"seen": str(world.clock.now().timestamp())}}})

            world.api.before("merge", KUSTOMIZATIONS, report)
            assert await console.triggers.release(TRIGGER) == ""
            assert not recorded(world).holding, "a hold that is still noted would be kept: suspended again"


async def test_what_may_not_be_held_is_not_held() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        world.new_writes()
        async with local(world, held=False) as console:
            with pytest.raises(PermanentError):
                await console.triggers.hold(msgspec.structs.replace(TRIGGER, hold=False))
            assert not world.api.writes()
            console.request(A)
            await console.done()
            assert isinstance(console.reports[-1].error, RetryableError)
            assert not world.api.writes()


@pytest.mark.scenario("dispatch:X16")
async def test_what_is_held_stays_suspended_whoever_resumes_it() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            held, again, _ = await console.triggers.keep(TRIGGER, console.dispatcher)
            assert ((held.status, held.reason), again) == (("True", ConditionReason.SUSPENDED), False)
            world.kustomize.apply_seconds = 20
            console.request(A)
            await eventually(lambda: "Running" in console.outcomes)
            held, _, _ = await console.triggers.keep(TRIGGER, console.dispatcher)
            assert (held.status, held.reason) == ("True", ConditionReason.APPLYING)
            await console.done()
            await world.flux("resume")
            held, again, _ = await console.triggers.keep(TRIGGER, console.dispatcher)
            assert ((held.status, held.reason), again) == (("False", ConditionReason.RESUMED), True)
            assert world.k["spec"]["suspend"] is True
            await console.triggers.release(TRIGGER)
            held, again, _ = await console.triggers.keep(TRIGGER, console.dispatcher)
            assert (held.status, again) == ("False", False)
            assert "suspend" not in world.k["spec"]


async def test_nothing_is_released_while_an_operation_is_in_flight() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            world.kustomize.apply_seconds = 30
            console.request(A)
            await eventually(lambda: "Running" in console.outcomes)
            with pytest.raises(RetryableError):
                await console.triggers.release(TRIGGER)
            await console.done()
