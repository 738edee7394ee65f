"""The way to a write: a key makes a plan, the plan is read, and only a deliberate answer confirms it."""

from __future__ import annotations

import msgspec
import pytest
from textual import events
from textual.widgets import Button, Input

from console.errors import JournalError, Refused
from console.model.plan import Intent, Plan
from console.model.refs import Ref
from console.runtime.refusals import MovedOn
from console.ui.plan_text import question
from console.ui.screens import plan as plan_module
from console.ui.screens.ask import AskScreen
from console.ui.screens.dialogs import ChooseScreen, QuitScreen
from console.ui.screens.operation import OperationScreen
from console.ui.screens.plan import PlanScreen
from console.ui.widgets.bar import Bar, Note
from console.ui.widgets.text_pane import TextPane
from tests.ui.fleet import API, SHOP, fill
from tests.ui.screen import Shown, shown
from tests.ui.stand_in import StandIn, one_field_plan


@pytest.fixture(autouse=True)
def _no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_module, "GRACE", 0.0)


async def _plan(screen: Shown, ref: Ref, key: str, *, arm: bool = True) -> PlanScreen:
    if arm:
        screen.app.changing.arm(ref.connection)
    screen.table.select(ref)
    await screen.press(key)
    return await screen.dialog(PlanScreen)


async def test_a_key_shows_a_plan_and_writes_nothing() -> None:
    async with shown() as screen:
        dialog = await _plan(screen, SHOP, "C")
        text = screen.text("#steps")
        assert "Mode.Replicated.Replicas" in text
        assert "10  →  6" in text
        assert "4 tasks stop" in text
        assert "Undo   possible: roll back." in text
        assert screen.runtime.commands.ran == []
        assert dialog.focused is dialog.query_one("#cancel")


async def test_enter_on_a_fresh_dialog_cancels() -> None:
    async with shown() as screen:
        await _plan(screen, API, "R")
        await screen.press("enter")
        assert screen.on_main
        assert screen.runtime.commands.ran == []


async def test_pressing_the_key_of_the_plan_again_never_confirms() -> None:
    async with shown() as screen:
        await _plan(screen, API, "R")
        await screen.press("R", "R", "R")
        assert screen.runtime.commands.ran == []


async def test_one_key_confirms_a_plan_of_low_blast_radius() -> None:
    async with shown() as screen:
        await _plan(screen, API, "R")
        await screen.press("y")
        await screen.until(lambda: bool(screen.runtime.commands.ran))
        assert [(plan.intent.verb, typed) for plan, typed in screen.runtime.commands.ran] == [("restart", "")]
        await screen.dialog(OperationScreen)


async def test_a_protected_target_wants_its_name_typed() -> None:
    async with shown() as screen:
        dialog = await _plan(screen, SHOP, "C")
        await screen.press("y")
        assert screen.runtime.commands.ran == []
        await screen.focus("#typed")
        await screen.enter("sho")
        await screen.press("enter")
        assert screen.runtime.commands.ran == []
        await screen.focus("#typed")
        await screen.enter("shop")
        assert not dialog.query_one("#run", Button).disabled
        await screen.press("enter")
        await screen.until(lambda: bool(screen.runtime.commands.ran))
        assert screen.runtime.commands.ran[0][1] == "shop"


async def test_several_objects_want_their_number_typed() -> None:
    async with shown() as screen:
        screen.app.changing.arm("edge-1")
        await screen.press("5")
        refs = [ref for ref in screen.table.rows if ref.connection == "edge-1"]
        screen.table.marked |= set(refs)
        dialog = await _plan(screen, refs[0], "R", arm=False)
        assert len(dialog.plan.steps) == 2
        assert "number of objects" in "".join(part.text for part in question(dialog.plan))


async def test_the_answer_stays_on_the_screen_however_long_the_plan_is() -> None:
    async with shown(80, 24) as screen:
        refs = tuple(Ref("swarm-a", "SwarmService", "", f"service-{number}", f"s{number}") for number in range(30))
        screen.runtime.commands.plans["correct"] = one_field_plan(Intent(verb="correct", targets=refs))
        dialog = await _plan(screen, SHOP, "C")
        cancel, steps = dialog.query_one("#cancel"), dialog.query_one("#steps", TextPane)
        assert dialog.query_one("#box").content_region.contains_region(cancel.region)
        await screen.press("pagedown")
        assert steps.scroll_offset.y > 0


async def test_pasting_does_not_confirm() -> None:
    async with shown() as screen:
        dialog = await _plan(screen, SHOP, "C")
        typed = dialog.query_one("#typed", Input)
        typed.focus()
        await screen.pilot.pause()
        typed.post_message(events.Paste("shop"))
        await screen.pilot.pause()
        assert typed.value == ""
        assert "Pasting" in dialog.query_one("#answer").text  # type: ignore[attr-defined]


async def test_keys_that_were_on_their_way_confirm_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_module, "GRACE", 3600.0)
    async with shown() as screen:
        await _plan(screen, API, "R")
        await screen.press("y", "tab", "enter")
        assert screen.runtime.commands.ran == []


async def test_a_target_that_is_not_armed_can_be_looked_at_and_armed_from_the_dialog() -> None:
    async with shown() as screen:
        dialog = await _plan(screen, API, "R", arm=False)
        assert "edge-3 is read-only here." in dialog.query_one("#answer").text  # type: ignore[attr-defined]
        await screen.press("y")
        assert screen.runtime.commands.ran == []
        await screen.press("W")
        assert screen.runtime.commands.arming.armed("edge-3")
        await screen.press("y")
        await screen.until(lambda: len(screen.runtime.commands.ran) == 1)


async def test_a_plan_that_no_longer_fits_is_replaced_by_the_new_one() -> None:
    async with shown() as screen:
        await _plan(screen, API, "R")
        fresh = one_field_plan(Intent(verb="restart", targets=(API,)), no_undo="x")
        screen.runtime.commands.refusal = MovedOn("The world moved: another container.", fresh)
        await screen.press("y")
        dialog = await screen.dialog(PlanScreen)
        await screen.until(lambda: dialog.plan is fresh)
        assert "This is the new plan" in dialog.query_one("#answer").text  # type: ignore[attr-defined]


async def test_a_refusal_is_said_in_the_dialog() -> None:
    async with shown() as screen:
        await _plan(screen, API, "R")
        screen.runtime.commands.refusal = Refused("Operation 12 already writes to api.", "Wait for it.")
        await screen.press("y")
        answer = screen.app.screen.query_one("#answer", Bar)
        await screen.until(lambda: "already writes" in answer.text)


async def test_a_forbidden_plan_can_not_be_run() -> None:
    async with shown() as screen:
        intent = Intent(verb="sweep", targets=(SHOP,))
        screen.runtime.commands.plans["sweep"] = one_field_plan(intent, forbidden="It would leave the swarm without a quorum.")
        dialog = await _plan(screen, SHOP, "X")
        assert "without a quorum" in screen.text("#steps")
        assert not dialog.can_run
        assert not dialog.query_one("#run").display


async def test_nothing_to_do_is_said() -> None:
    async with shown() as screen:
        intent = Intent(verb="apply", targets=(SHOP,))
        screen.runtime.commands.plans["apply"] = Plan(intent=intent, nothing="all five services are as declared")
        await _plan(screen, SHOP, "A")
        assert "Nothing to do: all five services are as declared." in screen.text("#steps")


async def test_a_change_that_is_impossible_says_why() -> None:
    async with shown() as screen:
        await screen.press("T")
        assert "can't be done with a FluxTrigger here" in screen.message


async def test_a_target_that_is_not_live_is_not_written_to() -> None:
    async with shown() as screen:
        ref = next(ref for ref in screen.table.rows if ref.connection == "edge-7" and ref.kind == "Container")
        screen.table.select(ref)
        await screen.press("R")
        assert "isn't live" in screen.message


async def test_the_action_menu_offers_what_the_backend_offers() -> None:
    async with shown() as screen:
        await screen.press("a")
        await screen.dialog(ChooseScreen)
        await screen.press("enter")
        dialog = await screen.dialog(PlanScreen)
        assert dialog.plan.intent.verb == "apply"


async def test_holding_asks_for_a_reason_first() -> None:
    async with shown() as screen:
        await screen.press("H")
        await screen.dialog(AskScreen)
        await screen.enter("INC-4211")
        await screen.press("enter")
        dialog = await screen.dialog(PlanScreen)
        assert dialog.plan.intent.reason == "INC-4211"


async def test_a_long_refusal_is_read_to_its_end_and_the_buttons_stay() -> None:
    why = "The disk of the journal /home/operator/.local/state/quarterdeck/journal.sqlite3 is full."
    async with shown(80, 24) as screen:
        dialog = await _plan(screen, API, "R")
        screen.runtime.commands.refusal = JournalError(why, "Free some space: nothing is written to any target before.")
        await screen.press("y")
        answer = dialog.query_one("#answer", Note)
        await screen.until(lambda: answer.size.height > 1)
        seen = " ".join("".join(segment.text for segment in answer.render_line(y)) for y in range(answer.size.height))
        assert "target before." in " ".join(seen.split())
        cancel = dialog.query_one("#cancel")
        assert cancel.region.height == 1 and cancel.region.bottom < 24


async def test_a_narrow_screen_shows_whole_which_environment_a_plan_is_for() -> None:
    async with shown(60, 24, setup=_in_a_group_with_a_long_name) as screen:
        dialog = await _plan(screen, API, "R")
        headline = dialog.query_one("#headline", Note)
        await screen.until(lambda: headline.size.height > 1)
        seen = "".join(segment.text for y in range(headline.size.height) for segment in headline.render_line(y))
        assert "the-production-of-everything" in seen and "protected" in seen


def _in_a_group_with_a_long_name(runtime: StandIn) -> None:
    fill(runtime)
    intent = Intent(verb="restart", targets=(API,))
    plan = one_field_plan(intent, protected=True)
    runtime.commands.plans["restart"] = msgspec.structs.replace(plan, environment="the-production-of-everything")


async def test_a_diff_only_shows_the_plan() -> None:
    async with shown() as screen:
        dialog = await _plan(screen, SHOP, "equals_sign")
        assert not dialog.can_run
        await screen.press("y")
        assert screen.runtime.commands.ran == []


async def test_arming_is_shown_wherever_one_looks_and_can_be_taken_back() -> None:
    async with shown() as screen:
        await screen.press("colon")
        await screen.enter("write swarm-a 5m")
        await screen.press("enter")
        await screen.until(lambda: "ARMED swarm-a" in screen.bar("title"))
        await screen.press("6")
        assert "ARMED swarm-a" in screen.bar("title")
        await screen.press("colon")
        await screen.enter("read")
        await screen.press("enter")
        await screen.until(lambda: "ARMED" not in screen.bar("title"))


async def test_a_read_only_console_never_arms() -> None:
    def setup(runtime: StandIn) -> None:
        runtime.connect("edge-1")
        runtime.commands.arming.forbid("This console was started with --read-only.", "Start another one.")

    async with shown(setup=setup) as screen:
        await screen.press("colon")
        await screen.enter("write edge-1")
        await screen.press("enter")
        assert "--read-only" in screen.message
        assert "read-only for good" in screen.bar("title")


async def test_an_operation_shows_its_steps_and_what_it_waits_for() -> None:
    async with shown() as screen:
        await screen.press("3", "enter")
        await screen.dialog(OperationScreen)
        text = screen.text("#steps")
        assert "Job migrate  waits for 1 of 1 pods running" in text
        assert "Waits for  Job pay/migrate" in text
        await screen.press("escape")
        assert screen.on_main


async def test_leaving_while_an_operation_runs_asks_first() -> None:
    async with shown() as screen:
        screen.runtime.commands.running = ("op-sync-core",)
        await screen.press("ctrl+c")
        await screen.dialog(QuitScreen)
        await screen.press("enter")
        assert screen.app.is_running
        assert screen.on_main


async def test_leaving_without_operations_just_leaves() -> None:
    async with shown() as screen:
        await screen.press("ctrl+c")
        assert screen.app.return_code == 0


async def test_enter_in_any_field_goes_on_once_nothing_is_missing_and_arrows_move() -> None:
    async with shown() as screen:
        screen.runtime.commands.offered["Stack"] = ("scale",)
        screen.table.select(SHOP)
        screen.app.changing.ask("scale")
        dialog = await screen.dialog(AskScreen)
        await screen.press("down")
        await screen.enter("traffic")
        await screen.press("enter")
        assert screen.app.screen is dialog and dialog.query_one("#field-replicas", Input).has_focus
        await screen.enter("4")
        await screen.press("enter")
        plan = await screen.dialog(PlanScreen)
        assert (plan.plan.intent.arguments, plan.plan.intent.reason) == ({"replicas": "4"}, "traffic")


@pytest.mark.parametrize("height", [10, 12, 16, 24])
async def test_the_buttons_are_on_the_screen_however_low_it_is(height: int) -> None:
    async with shown(80, height) as screen:
        dialog = await _plan(screen, SHOP, "C")
        for part in ("#headline", "#steps", "#cancel", "#run", "#typed"):
            region = dialog.query_one(part).region
            assert region.height >= 1 and region.y >= 0 and region.bottom <= height, part
