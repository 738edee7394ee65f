"""Everything at once: people, lost answers, dead controllers and crashes, in an order drawn from a seed.

Whatever happened, when the storm is over and everything runs again, each operation has ended, the Kustomization is held, the
record says so, and nothing was called applied that was not.
"""

from __future__ import annotations

import asyncio
import contextlib
import random

import pytest

from console.engines.dispatch.clients import ClusterClients
from console.engines.dispatch.constants import Outcome, Reason
from console.engines.dispatch.dispatcher import Dispatcher
from console.engines.dispatch.faults import RetryableError
from console.engines.dispatch.reconciler import TriggerReconciler
from console.engines.dispatch.records import read_operation
from console.engines.dispatch.types import Operation, TriggerRef
from console.engines.ports.applier import FLUX_TRIGGERS, GIT_REPOSITORIES, KUSTOMIZATIONS
from console.errors import ApiError, Conflict, QuarterdeckError, TimedOut, UnclearAnswer, Unreachable
from tests.engines.dispatch.reverser import TEAM, Console, OneCluster, cluster, flux_trigger, provider, put, target
from tests.engines.dispatch.world import SHOP, Simulated, commit_id, eventually, simulated

pytestmark = pytest.mark.looptime


class Storm:
    """One run. ``asked`` has, by token, how many applies the controller had made when the operation was recorded."""

    def __init__(self, world: Simulated, seed: int) -> None:
        self.world = world
        self.dice = random.Random(seed)
        self.console = Console(world, world.api)
        self.console.start()
        self.pending = 0
        self.commits = 0
        self.ended: dict[str, Operation] = {}

    def operation(self) -> Operation | None:
        return read_operation(self.console.operation(), "shop")

    async def keep_holding(self) -> None:
        """The trigger's reconciler, all the time."""
        clients = ClusterClients(OneCluster(self.world.api), self.world.clock, self.world.tokens, self.world.timing)
        while True:
            reconciler = TriggerReconciler(self.world.api, clients, self.following, self.world.clock)
            with contextlib.suppress(QuarterdeckError):
                await reconciler.reconcile(TriggerRef("FluxTrigger", TEAM, "shop"))
            await asyncio.sleep(2)

    @property
    def following(self) -> Dispatcher:
        return self.console.dispatcher

    async def ask(self) -> None:
        if self.dice.random() < 0.6:
            self.commits += 1
            await self.world.push(commit_id(f"storm-{self.commits}"))
        commit = self.world.remote.branches[next(iter(self.world.remote.branches))]
        self.console.request(commit, self.dice.choice([Reason.FOREIGN_COMMIT, Reason.CATCH_UP, Reason.REPAIR]))

    async def crash(self) -> None:
        """The process ends in the middle of whatever it does; the next one recovers what is recorded."""
        self.note()
        await self.console.stop()
        self.console = Console(self.world, self.world.api)
        self.console.start()
        left = self.operation()
        if left is not None and left.in_flight:
            self.console.request(left.commit, left.reason, recovered=left)

    def note(self) -> None:
        for report in self.console.reports:
            if report.operation is not None and not report.operation.in_flight:
                self.ended[report.operation.token] = report.operation

    async def strike(self) -> None:
        """One thing that goes wrong, or that somebody does."""
        dice, world = self.dice, self.world
        errors = [UnclearAnswer("lost"), TimedOut("late"), ApiError("internal", status=500), Unreachable("refused")]
        match dice.randrange(9):
            case 0 | 1:
                await self.ask()
            case 2:
                await world.flux(dice.choice(["suspend", "resume", "reconcile"]))
            case 3:
                error = dice.choice(errors)
                world.api.fail("apply", KUSTOMIZATIONS, error, done=dice.random() < 0.5 and not isinstance(error, Unreachable))
            case 4:
                world.api.fail("get", dice.choice([KUSTOMIZATIONS, FLUX_TRIGGERS, GIT_REPOSITORIES]), dice.choice(errors))
            case 5:
                error = dice.choice([*errors[:3], Conflict("changed", status=409)])
                world.api.fail("replace", FLUX_TRIGGERS, error, done=dice.random() < 0.5 and not isinstance(error, Conflict))
            case 6:
                await world.kustomize.stop()
                world.kustomize.apply_seconds = dice.choice([0.1, 1, 20])
                if dice.random() < 0.7:
                    world.kustomize.start()
            case 7:
                world.kustomize.fails = dice.choice([None, None, ("BuildFailed", "x"), ("DependencyNotReady", "y")])
            case _:
                await self.crash()

    async def blow(self, strikes: int) -> None:
        for _ in range(strikes):
            await self.strike()
            await asyncio.sleep(self.dice.choice([0.005, 0.3, 2, 7, 40]))

    async def calm(self) -> None:
        """Everything runs again; wait until all is quiet."""
        self.world.api.heal()
        self.world.kustomize.fails = None
        self.world.kustomize.apply_seconds = 1
        await self.world.kustomize.stop()
        self.world.kustomize.start()
        desk = self.console.dispatcher._desk
        await eventually(lambda: not desk.slots, seconds=900, every=1)

        async def quiet() -> bool:
            left = self.operation()
            suspension = await self.world.client.suspension(SHOP)
            conditions = self.console.trigger()["status"].get("conditions", [])
            held = any((c["type"], c["status"], c["reason"]) == ("Held", "True", "Suspended") for c in conditions)
            return held and suspension.complete and not (left is not None and left.in_flight)

        await eventually(quiet, seconds=120, every=1)
        self.note()

    async def ask_until_applied(self) -> None:
        """Ask as a worker does: the hold may be published a moment after it is there, so the first answer may be "later"."""
        commit = self.world.remote.branches[next(iter(self.world.remote.branches))]
        for _ in range(5):
            self.console.reports.clear()
            self.console.request(commit, Reason.REPAIR)
            await self.console.done()
            if not isinstance(self.console.error, RetryableError):
                break
            await asyncio.sleep(5)
        assert self.console.outcomes[-1:] == ["Succeeded"], self.console.error


@pytest.mark.scenario("dispatch:R29", "dispatch:R30", "dispatch:P11", "dispatch:X2", "dispatch:X16")
@pytest.mark.parametrize("seed", range(20))
async def test_after_any_storm_everything_has_ended_and_is_held(seed: int) -> None:
    async with simulated(held=False) as world:
        put(world.api, provider(), cluster(), target("web"), flux_trigger(holding=False))
        storm = Storm(world, seed)
        keeper = asyncio.create_task(storm.keep_holding())
        try:
            await asyncio.sleep(10)
            await storm.blow(20)
            await storm.calm()
            assert not storm.console.dispatcher._desk.followed
            applied = {revision.rpartition(":")[2] for revision in world.kustomize.applied}
            for operation in storm.ended.values():
                if operation.outcome is Outcome.SUCCEEDED and not operation.message:
                    assert operation.commit in applied
            left = storm.operation()
            if left is not None and left.token in storm.ended:
                assert left.outcome is storm.ended[left.token].outcome
            await storm.ask_until_applied()
        finally:
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)
            await storm.console.stop()
