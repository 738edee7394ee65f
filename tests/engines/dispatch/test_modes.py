"""Who drives a cluster's triggers, and what a console that does not leaves alone."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from console.engines.dispatch.clients import ClusterClients
from console.engines.dispatch.constants import Outcome, Reason
from console.engines.dispatch.custom_triggers import CustomTriggers, StatusStore
from console.engines.dispatch.faults import RetryableError
from console.engines.dispatch.local import LOCAL_KIND
from console.engines.dispatch.modes import Leadership, ModeKind, decide_mode, lease_holder
from console.engines.dispatch.routing import RoutedRecords, RoutedTriggers
from console.engines.dispatch.status_writer import StatusWriter
from console.engines.dispatch.tokens import written
from console.engines.dispatch.types import ObjectName, Operation, TriggerRef, TriggerStatus
from console.engines.ports.applier import FLUX_TRIGGERS, LEASES, JsonObject
from console.errors import TimedOut, UnclearAnswer
from console.kit.timing import LoopClock
from tests.engines.dispatch.apiserver import ApiServer
from tests.engines.dispatch.reverser import TEAM, Console, OneCluster, set_up
from tests.engines.dispatch.world import START, A, Simulated, eventually, simulated

pytestmark = pytest.mark.looptime

NAME = ObjectName("reverser-system", "gitops-reverser")


def custom(world: Simulated) -> CustomTriggers:
    return CustomTriggers(world.api, ClusterClients(OneCluster(world.api), world.clock, world.tokens, world.timing))


def lease(holder: str, *, age: float = 0, seconds: int = 15) -> JsonObject:
    renewed = written(START - timedelta(seconds=age))
    return {"spec": {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": seconds}}


@pytest.mark.parametrize(
    ("served", "found", "kind", "holder"),
    [
        (False, None, ModeKind.LOCAL, ""),
        (True, lease("us"), ModeKind.LEADER, "us"),
        (True, lease("them"), ModeKind.DISPLAY, "them"),
        (True, lease("us", age=16), ModeKind.DISPLAY, ""),
        (True, lease("them", age=16), ModeKind.DISPLAY, ""),
        (True, lease("them", age=14), ModeKind.DISPLAY, "them"),
        (True, None, ModeKind.DISPLAY, ""),
        (True, lease(""), ModeKind.DISPLAY, ""),
    ],
)
def test_the_mode_is_what_the_cluster_and_the_lease_say(
    served: bool, found: JsonObject | None, kind: ModeKind, holder: str
) -> None:
    mode = decide_mode(served=served, lease=found, identity="us", now=START)
    assert (mode.kind, mode.holder) == (kind, holder)
    assert mode.drives_triggers is (kind is ModeKind.LEADER)
    assert mode.why


def test_a_lease_without_a_duration_never_runs_out() -> None:
    assert lease_holder(lease("them", age=1e6, seconds=0), START) == "them"


class Two:
    """Two consoles and one Lease."""

    def __init__(self) -> None:
        self.clock = LoopClock(START)
        self.clock.now()
        self.api = ApiServer(self.clock)
        self.us = Leadership(self.api, NAME, "us", self.clock)
        self.them = Leadership(self.api, NAME, "them", self.clock)


async def test_of_two_consoles_that_claim_at_once_one_leads() -> None:
    two = Two()
    claims = await asyncio.gather(two.us.claim(), two.them.claim())
    assert sorted(claims) == [False, True]
    assert [two.us.held, two.them.held] == list(claims)
    assert await two.us.claim() is claims[0], "renewed, or refused again"


async def test_a_lease_that_ran_out_is_taken_over_and_its_holder_knows_it() -> None:
    two = Two()
    assert await two.us.claim()
    assert (await two.us.mode()).kind is ModeKind.LEADER
    assert (await two.them.mode()).kind is ModeKind.DISPLAY
    await asyncio.sleep(11)
    assert not two.us.held, "we stop believing in it before it ends"
    assert not await two.them.claim()
    await asyncio.sleep(5)
    claims = await asyncio.gather(two.us.claim(), two.them.claim())
    assert sorted(claims) == [False, True]


async def test_a_renewal_of_unknown_fate_does_not_prolong_the_lead() -> None:
    two = Two()
    assert await two.us.claim()
    await asyncio.sleep(8)
    two.api.fail("merge", LEASES, UnclearAnswer("connection lost"), done=True)
    with pytest.raises(UnclearAnswer):
        await two.us.claim()
    await asyncio.sleep(3)
    assert not two.us.held
    mode = await two.us.mode()
    assert mode.kind is ModeKind.DISPLAY, "the Lease has our name, but we did not see it renewed"


async def test_a_resigned_lease_is_free_at_once() -> None:
    two = Two()
    assert await two.us.claim()
    await two.us.resign()
    assert not two.us.held
    assert await two.them.claim()
    await two.us.resign()
    assert await two.them.claim(), "only its holder gives it back"


async def test_a_mode_that_cannot_be_read_is_no_mode() -> None:
    two = Two()
    two.api.unserved = {"FluxTrigger"}
    assert (await two.us.mode()).kind is ModeKind.LOCAL
    two.api.unserved = set()
    two.api.fail("get", LEASES, TimedOut("no answer"))
    with pytest.raises(TimedOut):
        await two.us.mode()


async def test_a_console_that_does_not_lead_writes_nothing_of_a_custom_trigger() -> None:
    async with simulated() as world:
        set_up(world)
        leads = [False]
        console = Console(world, world.api)
        writer = StatusWriter(StatusStore(world.api))
        records = RoutedRecords(writer, writer, lambda: leads[0])
        triggers = RoutedTriggers(custom(world), custom(world), lambda: leads[0])
        desk = console.dispatcher._desk
        desk.records, desk.triggers = records, triggers
        writer.start()
        console.start()
        console.request(A, Reason.REPAIR)
        await console.done()
        assert isinstance(console.error, RetryableError)
        assert "only displays" in console.error.message
        with pytest.raises(RetryableError):
            await records.record(console.ref(), Operation(token="t", reason=Reason.REPAIR, outcome=Outcome.REQUESTED))
        records.publish(console.ref(), TriggerStatus(repair_pending=True))
        await asyncio.sleep(1)
        assert not world.api.writes()
        leads[0] = True
        console.request(A, Reason.REPAIR)
        await console.done(2)
        assert console.outcomes[-1] == "Succeeded"
        await console.stop()
        await writer.stop()


@pytest.mark.parametrize("when", ["before the resume", "while it is followed"])
async def test_a_lead_that_is_lost_leaves_the_rest_to_the_next_engine(when: str) -> None:
    async with simulated() as world:
        set_up(world)
        leads = [True]
        console = Console(world, world.api)
        desk = console.dispatcher._desk
        desk.records = RoutedRecords(console.writer, console.writer, lambda: leads[0])
        desk.triggers = RoutedTriggers(custom(world), custom(world), lambda: leads[0])
        console.start()
        world.kustomize.apply_seconds = 20
        if when == "before the resume":
            world.api.before("replace", FLUX_TRIGGERS, lambda: leads.__setitem__(0, False))
        console.request(A, Reason.REPAIR)
        if when == "before the resume":
            await console.done()
            assert not world.resumes
        else:
            await eventually(lambda: console.operation().get("outcome") == "Running")
            leads[0] = False
        await asyncio.sleep(400)
        assert world.suspends == 0
        assert not desk.slots
        assert console.operation()["outcome"] == ("Requested" if when == "before the resume" else "Running")
        await console.stop()


async def test_local_triggers_need_no_lead() -> None:
    async with simulated() as world:
        set_up(world)
        writer = StatusWriter(StatusStore(world.api))
        writer.start()
        local: list[TriggerRef] = []

        class Local:
            def publish(self, trigger: TriggerRef, status: TriggerStatus) -> None:
                local.append(trigger)

        records = RoutedRecords(writer, Local(), lambda: False)  # type: ignore[arg-type]
        records.publish(TriggerRef(LOCAL_KIND, "uid", "Kustomization/a/b"), TriggerStatus(repair_pending=True))
        await eventually(lambda: local)
        assert not world.api.writes(FLUX_TRIGGERS)
        assert TEAM
        await writer.stop()
