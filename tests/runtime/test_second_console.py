"""A second console of one account: it reads, says who acts, and drives nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from console.config.triggers import TriggerEntry
from console.engines.ports.applier import KUSTOMIZATIONS
from console.errors import JournalError, Refused
from console.journal.journal import Journal
from console.journal.records import Who
from console.kit.supervisor import cancel
from console.kit.timing import SystemClock
from console.model.connections import Connection, Phase
from console.model.plan import PlanStep
from console.model.refs import Ref
from console.model.resource import Upserted
from console.runtime.dispatch_writer import DispatchWriter
from console.runtime.dispatching import Dispatching
from console.runtime.store import Store
from tests.engines.dispatch.world import URL, eventually
from tests.runtime.held_fleet import SPACE, Forgetful, HeldFleet, held_fleet

SHOP = Ref("east", "Kustomization", SPACE, "app-0000")


class Backend:
    """One that is live, and gives the objects of its cluster."""

    def __init__(self, world: HeldFleet) -> None:
        self.objects = world.api


def met(world: HeldFleet, *, drives: bool) -> tuple[Dispatching, Store]:
    """A console that has one declared trigger, and meets the cluster."""
    store = Store()
    entry = TriggerEntry(
        name="shop", kind="flux", connection="east", namespace=SPACE, object="app-0000", url=URL, branch="main", hold=True
    )
    backend = Backend(world)
    dispatching = Dispatching((entry,), store, lambda name: backend, Forgetful(), world.clock, "us", drives=drives)
    store.apply(Upserted(Connection(ref=Ref("east", "Connection", "", "east"), phase=Phase.LIVE, platforms=("kubernetes",))))
    return dispatching, store


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:W19")
@pytest.mark.parametrize("drives", [False, True])
async def test_only_the_console_that_runs_the_engines_keeps_holds_and_takes_requests(drives: bool) -> None:
    async with held_fleet(1) as (world, engine):
        await engine.stop()
        dispatching, _ = met(world, drives=drives)
        running = asyncio.create_task(dispatching.run())
        try:
            await eventually(lambda: dispatching.engines)
            world.new_writes()
            world.api.patch(KUSTOMIZATIONS, SPACE, "app-0000", {"spec": {"suspend": None}}, "flux")
            await asyncio.sleep(60)
            assert world.suspended("app-0000") is drives
            writer = dispatching.writer(SHOP)
            assert isinstance(writer, DispatchWriter)
            request: dict[str, object] = {"call": "hold", "why": "w", "until": ""}
            step = PlanStep(key="hold", title="Hold", ref=SHOP, request=request)
            if drives:
                assert "suspended" in await writer.execute(step)
            else:
                with pytest.raises(Refused, match="Another console of this account runs the engines"):
                    await writer.execute(step)
                assert not world.api.writes()
        finally:
            await cancel([running])


@pytest.mark.scenario("dispatch:W19")
async def test_a_second_console_may_write_nothing_into_the_journal(tmp_path: Path) -> None:
    file = tmp_path / "journal.db"
    first = await Journal.open(file, SystemClock(), Who(user="oncall", host="bastion", pid=1))
    second = await Journal.open(file, SystemClock(), Who(user="oncall", host="bastion", pid=2))
    try:
        assert (first.lease.held, second.lease.held) == (True, False)
        await first.dispatched("LocalTrigger x", "T", b"{}")
        with pytest.raises(JournalError, match="process 1"):
            await second.dispatched("LocalTrigger x", "U", b"{}")
    finally:
        await second.close()
        await first.close()
