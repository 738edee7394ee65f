"""A graph on the screen: its plan as a tree to be confirmed, its run in the same places."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from console.demo.rehearsal import REHEARSE, Rehearsal
from console.model.operations import Operation, State, StepView
from console.model.plan import Intent, Plan
from console.model.refs import Ref
from console.model.resource import Upserted
from console.ui.screens import plan as plan_module
from console.ui.screens.operation import OperationScreen
from console.ui.screens.plan import PlanScreen
from tests.ui.fleet import fill
from tests.ui.screen import Shown, shown
from tests.ui.stand_in import NOW, StandIn, StillClock
from tests.ui.test_snapshots import MIDDLE, NARROW, compare

PLACE = "edge-1"


@pytest.fixture(autouse=True)
def _no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_module, "GRACE", 0.0)


def setup(runtime: StandIn) -> None:
    fill(runtime)
    Rehearsal(PLACE, clock=StillClock()).show(runtime.store.apply)
    runtime.commands.offered["Rehearsal"] = ("rehearse", "dismantle")


async def the_plan() -> Plan:
    """The real one; without the digest, whose key is another in each process."""
    rehearsal = Rehearsal(PLACE, clock=StillClock())
    writer = rehearsal.writer(rehearsal.ref)
    assert writer is not None
    plan = await writer.plan(Intent(verb=REHEARSE, targets=(rehearsal.ref,)))
    return msgspec.structs.replace(plan, steps=tuple(msgspec.structs.replace(step, request={}) for step in plan.steps))


async def at_the_rehearsal(screen: Shown) -> None:
    await screen.press("colon")
    await screen.enter("rehearsal")
    await screen.press("enter")
    await screen.until(lambda: screen.rows == ["shop"])


def part(plan: Plan, key: str, state: State, began: float, took: float = 0.0, **more: object) -> StepView:
    step = next(step for step in plan.steps if step.key == key)
    started = NOW - timedelta(seconds=began)
    ended = started + timedelta(seconds=took) if took else None
    return StepView(
        key=key,
        title=step.title,
        after=step.after,
        state=state,
        started=started if began else None,
        ended=ended,
        **more,  # type: ignore[arg-type]
    )


def under_way(plan: Plan) -> Operation:
    target = plan.intent.targets[0]
    return Operation(
        ref=Ref(PLACE, "Operation", "", "rehearse shop", "op-shop"),
        target=target,
        verb=REHEARSE,
        state=State.RUNNING,
        origin="journal",
        started=NOW - timedelta(seconds=13),
        who="ops@bastion",
        step="Create service/catalogue",
        waiting_for="task 1 of 2",
        steps=(
            part(plan, "config/pages", State.SUCCEEDED, 13, 0.8, attempts=1),
            part(plan, "config/prices", State.SUCCEEDED, 13, 0.8, attempts=1),
            part(plan, "network/shop", State.SUCCEEDED, 13, 1.2, attempts=1),
            part(plan, "database/ledger", State.SUCCEEDED, 11.8, 4, attempts=1),
            part(plan, "job/tables", State.SUCCEEDED, 7.8, 6, attempts=1),
            part(plan, "service/catalogue", State.WAITING, 1.8, attempts=1, waiting_for="task 1 of 2"),
            part(
                plan,
                "service/checkout",
                State.WAITING,
                1.8,
                attempts=2,
                detail="503: the registry is busy.",
                waiting_for="the next try in 2.0 s",
            ),
            part(plan, "service/web", State.PENDING, 0),
        ),
    )


async def test_the_key_of_applying_shows_the_graph_as_a_tree_to_confirm() -> None:
    async with shown(setup=setup) as screen:
        screen.runtime.commands.plans[REHEARSE] = await the_plan()
        await at_the_rehearsal(screen)
        await screen.press("A")
        await screen.dialog(PlanScreen)
        lines = screen.text("#steps").splitlines()
        assert lines[:6] == [
            "+ 8 created",
            "  + Create config/pages   + Create config/prices   + Create network/shop",
            "    + Create database/ledger",
            "      + Create job/tables",
            "        + Create service/catalogue   + Create service/checkout",
            "          + Create service/web",
        ]
        assert any(line.split() == ["image", "checkout:2.4"] for line in lines)
        assert "Undo   possible: dismantle." in lines
        await compare(screen, "plan-tree")


async def test_a_tree_is_laid_out_for_the_width_of_the_dialog() -> None:
    async with shown(*NARROW, setup=setup) as screen:
        screen.runtime.commands.plans[REHEARSE] = await the_plan()
        await at_the_rehearsal(screen)
        await screen.press("A")
        await screen.dialog(PlanScreen)
        await screen.until(lambda: "  + Create network/shop" in screen.text("#steps").splitlines())


async def test_a_run_stands_in_the_places_of_its_plan_with_tries_and_what_it_waits_for() -> None:
    async with shown(*MIDDLE, setup=setup) as screen:
        operation = under_way(await the_plan())
        screen.runtime.store.apply(Upserted(operation))
        screen.app.push_screen(OperationScreen(screen.runtime, operation.ref))
        await screen.dialog(OperationScreen)
        await screen.until(lambda: "network/shop 1.2s" in screen.text("#steps"))
        lines = screen.text("#steps").splitlines()
        assert "        ◐ Create service/catalogue 1.8s  waits for task 1 of 2" in lines
        assert any(line.startswith("        ◐ Create service/checkout 1.8s try 2  waits for the next try") for line in lines)
        assert "          ○ Create service/web" in lines
        await compare(screen, "operation-tree")
