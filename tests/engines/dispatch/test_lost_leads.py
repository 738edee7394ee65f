"""The lead is lost at every single call of an operation: from then on nothing is written, and the next engine ends it all."""

from __future__ import annotations

import asyncio

import pytest

from console.engines.dispatch.constants import Outcome, Reason
from console.engines.dispatch.custom_triggers import CustomTriggers, StatusStore
from console.engines.dispatch.leading import WhileLeading
from console.engines.dispatch.records import read_operation
from console.engines.dispatch.routing import RoutedRecords, RoutedTriggers
from console.engines.dispatch.status_writer import StatusWriter
from console.engines.ports.applier import ApiKind
from tests.engines.dispatch.apiserver import Fault
from tests.engines.dispatch.reverser import Console, OneCluster, consoles, set_up
from tests.engines.dispatch.test_reconciler import Engine
from tests.engines.dispatch.world import Simulated, simulated

pytestmark = pytest.mark.looptime


class Lead:
    """Lost with the call of this number; ``written`` is how many writes had been sent by then."""

    def __init__(self, world: Simulated, at: int) -> None:
        self.held = True
        self.written = 0
        self._world, self._left = world, at
        self._answer = world.api._answer
        world.api._answer = self._counted  # type: ignore[method-assign]

    async def _counted(self, verb: str, kind: ApiKind) -> Fault | None:
        self._left -= 1
        if self._left == 0:
            self.held, self.written = False, len(self._world.api.calls)
        return await self._answer(verb, kind)


def led(world: Simulated, lead: Lead) -> Console:
    """A console that is the engine as long as ``lead`` is held."""
    console = Console(world, world.api)
    guarded = WhileLeading(world.api, lambda: lead.held)
    console.writer = StatusWriter(StatusStore(guarded), world.timing)
    console.clusters = OneCluster(guarded)
    desk = console.dispatcher._desk
    desk.clients._clusters = console.clusters  # type: ignore[attr-defined]
    desk.records = RoutedRecords(console.writer, console.writer, lambda: lead.held)
    triggers = CustomTriggers(world.api, desk.clients)  # type: ignore[arg-type]
    desk.triggers = RoutedTriggers(triggers, triggers, lambda: lead.held)
    return console


async def lost_at(call: int) -> tuple[bool, str]:
    """One run; returns whether the operation made so many calls at all, and how it ended."""
    async with simulated() as world:
        set_up(world)
        commit = await world.push()
        lead = Lead(world, call)
        console = led(world, lead)
        console.start()
        console.request(commit, Reason.FOREIGN_COMMIT)
        await asyncio.sleep(60)
        lost = not lead.held
        if lost:
            assert len(world.api.calls) == lead.written, f"something was written after the lead was lost with call {call}"
            assert not console.dispatcher._desk.slots
        await console.stop()
        async with consoles(world) as second:
            left = read_operation(second.operation(), "shop")
            if left is not None and left.in_flight:
                second.request(left.commit, left.reason, recovered=left)
                await second.done()
            await asyncio.sleep(10)
            await Engine(world, second.dispatcher).until_quiet()
            ended = read_operation(second.operation(), "shop")
            assert world.k["spec"]["suspend"] is True, f"left resumed when the lead was lost with call {call}"
            assert ended is None or not ended.in_flight
            applied = any(commit in revision for revision in world.kustomize.applied)
            assert applied is (ended is not None and ended.outcome is Outcome.SUCCEEDED), f"a wrong record at call {call}"
            return lost, ended.outcome.value if ended is not None else ""


@pytest.mark.scenario("dispatch:X1", "dispatch:X2", "dispatch:X3", "dispatch:X4")
async def test_whenever_the_lead_is_lost_nothing_more_is_written_and_the_next_engine_ends_what_was_begun() -> None:
    outcomes: list[str] = []
    for call in range(1, 200):
        lost, outcome = await lost_at(call)
        if not lost:
            break
        outcomes.append(outcome)
    assert len(outcomes) > 20
    # Lost before the record, between the record and the resume, and after the resume.
    assert [outcome for index, outcome in enumerate(outcomes) if index == 0 or outcomes[index - 1] != outcome][:3] == [
        "",
        "Failed",
        "Succeeded",
    ]
