"""An apply that somebody else made on a held Kustomization is found, recorded as External, and held again."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from console.engines.dispatch.constants import REQUESTED_AT, Outcome, Reason
from console.engines.dispatch.external import ExternalApplies
from console.engines.dispatch.holding import Following
from console.engines.dispatch.local import read_local
from console.engines.dispatch.reconciler import TriggerReconciler
from console.engines.dispatch.types import Operation, Progress, Suspension, Trace, TriggerRef
from console.engines.ports.applier import FLUX_TRIGGERS, GIT_REPOSITORIES
from tests.engines.dispatch.local_console import TRIGGER, LocalConsole, local, recorded
from tests.engines.dispatch.reverser import TEAM
from tests.engines.dispatch.test_reconciler import Engine, bound
from tests.engines.dispatch.world import A, C, Simulated, eventually, simulated

pytestmark = pytest.mark.looptime
SHOP = TriggerRef("FluxTrigger", TEAM, "shop")


async def kept(console: LocalConsole, following: Following | None = None) -> None:
    """Look at the hold until there is nothing to do."""
    for _ in range(30):
        _, again, _ = await console.triggers.keep(TRIGGER, following or console.dispatcher)
        if not again:
            return
        await asyncio.sleep(2)
    raise AssertionError("it never came to rest")


async def pushed(world: Simulated, commit: str, *, broken: bool = False) -> None:
    """A new commit that the source has fetched."""
    await world.push(commit, broken=broken)
    stamp = {"metadata": {"annotations": {REQUESTED_AT: world.tokens.new()}}}
    world.api.patch(GIT_REPOSITORIES, "flux-system", "shop", stamp, "flux")
    await eventually(lambda: str(world.g["status"]["artifact"]["revision"]).endswith(commit))


@pytest.mark.scenario("dispatch:X16")
async def test_what_somebody_applied_by_resuming_a_held_kustomization_is_recorded_with_who_and_what() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            await kept(console)
            await pushed(world, C)
            await world.flux("resume")
            await asyncio.sleep(8)
            await kept(console)
            found = recorded(world).operation
            assert (found.reason, found.outcome, found.commit) == (Reason.EXTERNAL, Outcome.SUCCEEDED, C)
            assert found.message.startswith("somebody resumed it and "), "whoever takes a field away leaves no name"
            assert found.message.endswith("was applied; it is held again")
            assert found.completed_at
            assert console.log.lines[-1] == found, "the journal has it as well"
            assert world.k["spec"]["suspend"] is True
            await kept(console)
            assert len(console.log.lines) == 1, "it is found once"


async def test_an_apply_of_somebody_else_that_failed_says_so() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            await kept(console)
            await pushed(world, C, broken=True)
            await world.flux("resume")
            await asyncio.sleep(8)
            await kept(console)
            found = recorded(world).operation
            assert (found.reason, found.outcome) == (Reason.EXTERNAL, Outcome.FAILED)
            assert "was tried" in found.message


async def test_a_resume_after_which_nothing_was_applied_is_no_operation() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            await kept(console)
            await world.stop()
            await world.flux("resume")
            await console.triggers.keep(TRIGGER, console.dispatcher)
            await world.start()
            await kept(console)
            assert read_local(world.k).operation is None


async def test_our_own_operation_is_nobody_elses() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            await kept(console)
            await world.push(C)
            console.request(C, Reason.FOREIGN_COMMIT)
            await console.done()
            await eventually(lambda: recorded(world).operation.outcome is Outcome.SUCCEEDED)
            await kept(console)
            assert recorded(world).operation.reason is Reason.FOREIGN_COMMIT


async def test_the_elected_engine_records_it_on_the_trigger() -> None:
    async with simulated(held=False) as world:
        bound(world)
        engine = Engine(world)
        asked: list[Operation] = []

        async def record(ref: TriggerRef, operation: Operation) -> None:
            assert ref.key == SHOP.key
            asked.append(operation)

        engine.reconciler = TriggerReconciler(
            world.api, engine.reconciler._clients, engine.reconciler._following, world.clock, record=record
        )
        await engine.until_quiet()
        assert asked == []
        await pushed(world, C)
        await world.flux("resume")
        await asyncio.sleep(8)
        await engine.until_quiet()
        assert [(found.reason, found.commit) for found in asked] == [(Reason.EXTERNAL, C)]
        await engine.until_quiet()
        assert len(asked) == 1


async def test_nothing_is_put_over_an_operation_in_flight() -> None:
    async with simulated(held=False) as world:
        bound(world)
        asked: list[Operation] = []
        engine = Engine(world)

        async def record(_: TriggerRef, operation: Operation) -> None:
            asked.append(operation)

        engine.reconciler = TriggerReconciler(
            world.api, engine.reconciler._clients, engine.reconciler._following, world.clock, record=record
        )
        await engine.until_quiet()
        operation = {"token": "t", "reason": "CatchUp", "outcome": "Running"}
        world.api.edit(FLUX_TRIGGERS, TEAM, "shop", lambda t: t["status"].update(operation=operation), "gotk-x")
        await world.push(C)
        await world.flux("resume")
        await asyncio.sleep(8)
        await engine.until_quiet()
        assert asked == []


def rest(trace: Trace, **fields: bool) -> Suspension:
    state = {"suspended": True, "held": True, "handled": True, **fields}
    return Suspension(**state, applied=Progress(Outcome.SUCCEEDED), trace=trace)


def test_two_rests_are_compared_and_the_first_is_only_remembered() -> None:
    watch = ExternalApplies()
    one = Trace(f"main@sha1:{A}", f"main@sha1:{A}", "2026-03-01T09:00:00Z")
    two = msgspec.structs.replace(one, ended="2026-03-01T09:10:00Z")
    assert watch.look(SHOP, rest(one), None) is None
    assert watch.look(SHOP, rest(one), None) is None
    found = watch.look(SHOP, rest(two), None)
    assert found is not None and found.message.startswith("somebody resumed it")
    assert watch.look(SHOP, rest(two), None) is None
    own = Operation(token="ours", reason=Reason.REPAIR, outcome=Outcome.SUCCEEDED)
    assert watch.look(SHOP, rest(one), own) is None, "an operation of ours came between"
    watch.forget(SHOP)
    assert watch.look(SHOP, rest(two), own) is None


def test_who_resumed_it_is_named_only_if_the_name_is_newer_than_the_rest() -> None:
    for newer, named in (("2026-03-01T09:05:00Z", "kubectl-edit"), ("2026-02-01T09:00:00Z", "somebody")):
        watch = ExternalApplies()
        one = Trace(f"main@sha1:{A}", f"main@sha1:{A}", "2026-03-01T09:00:00Z", ("2026-02-01T09:00:00Z", "kubectl-edit"))
        watch.look(SHOP, rest(one), None)
        resumed = msgspec.structs.replace(one, hand=(newer, "kubectl-edit"))
        assert watch.look(SHOP, rest(resumed, suspended=False), None) is None
        found = watch.look(SHOP, rest(msgspec.structs.replace(resumed, ended="2026-03-01T09:06:00Z")), None)
        assert found is not None and found.message.startswith(f"{named} resumed it")
