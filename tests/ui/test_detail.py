"""The pane about one object: words, YAML, events, related objects, logs, load."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from console.errors import Unreachable
from console.model.docker import Sample
from console.model.kubernetes import LogLine
from console.model.refs import Ref
from console.model.trigger_report import TriggerReport
from console.ui.controls.looking import Looking
from console.ui.widgets import detail as detail_module
from tests.ui.fleet import API, WEB, fill
from tests.ui.samples_reports import REPORT
from tests.ui.screen import Shown, shown
from tests.ui.stand_in import NOW, StandIn

POD = Ref("prod-eu", "Pod", "shop", "web-6d9f-x2x9l", "uid-pod")


async def _wait_for(screen: Shown, text: str, selector: str = "#text") -> str:
    await screen.until(lambda: text in screen.text(selector))
    return screen.text(selector)


async def test_a_wide_screen_has_the_pane_beside_the_list_and_it_follows_the_cursor() -> None:
    async with shown(160, 40) as screen:
        assert screen.app.main.detail.display
        assert screen.app.main.query_one("#main").display
        assert "Why" in screen.text()
        await screen.press("down")
        assert screen.app.main.detail.ref == screen.table.cursor


async def test_a_narrow_screen_shows_the_pane_in_place_of_the_list_and_esc_goes_back() -> None:
    async with shown(80, 24) as screen:
        before = screen.app.main.detail.display
        await screen.press("enter")
        assert not before
        assert screen.app.main.detail.display
        assert not screen.app.main.query_one("#main").display
        await screen.press("escape")
        assert screen.app.main.query_one("#main").display
        assert screen.table.has_focus


async def test_a_high_screen_shows_the_pane_below() -> None:
    async with shown(100, 40) as screen:
        await screen.press("enter")
        assert screen.app.main.has_class("below")
        assert screen.app.main.query_one("#main").display


async def test_resizing_moves_the_pane() -> None:
    async with shown(100, 40) as screen:
        await screen.press("enter")
        await screen.pilot.resize_terminal(160, 40)
        await screen.until(lambda: screen.app.main.has_class("beside"))


async def test_the_description_explains_in_sentences_and_says_what_can_be_done() -> None:
    async with shown() as screen:
        await screen.press("enter")
        text = screen.text()
        assert "can't pull web:1.44" in text
        assert "HealthCheckFailed" in text
        assert "A apply" in text


async def test_yaml_is_masked_and_harmless() -> None:
    async with shown() as screen:
        screen.runtime.raws[WEB] = {
            "kind": "FluxTrigger",
            "metadata": {"name": "web", "managedFields": [{"manager": "x"}]},
            "spec": {"password": "hunter2", "note": "[/x]\x1b[31m"},
        }
        await screen.press("y")
        text = await _wait_for(screen, "kind: FluxTrigger")
        assert "hunter2" not in text
        assert "managedFields" not in text
        assert "[/x]␛[31m" in text


async def test_yaml_that_can_not_be_read_says_why() -> None:
    async with shown() as screen:
        await screen.press("y")
        await _wait_for(screen, "has no whole objects to show")


async def test_events_and_timeline_are_those_of_the_object() -> None:
    async with shown() as screen:
        await screen.press("e")
        rows = screen.app.main.detail.rows.rows
        assert [ref.name for ref in rows] == ["web.1"]
        await screen.press("t")
        assert len(screen.app.main.detail.rows.rows) == 2


async def test_enter_on_a_related_object_jumps_there_and_back() -> None:
    async with shown() as screen:
        await screen.press("o", "enter")
        assert screen.app.main.place.table == "pods"
        assert screen.table.cursor == POD
        await screen.press("left_square_bracket")
        assert screen.app.main.place.table == "bridge"
        assert screen.table.cursor == WEB


async def test_the_same_object_on_all_targets_side_by_side() -> None:
    async with shown() as screen:
        screen.table.select(API)
        await screen.press("v")
        found = {ref.connection for ref in screen.app.main.detail.rows.rows}
        assert found == {"edge-1", "edge-3", "edge-7"}


async def test_an_object_without_a_log_says_so() -> None:
    async with shown() as screen:
        await screen.press("l")
        assert "has no log of its own" in screen.message


async def test_a_log_is_followed_searched_and_harmless() -> None:
    async with shown() as screen:
        screen.runtime.log = [
            LogLine("starting [/bold]", NOW),
            LogLine("ERROR: no route\x1b[2J", NOW),
            LogLine("connection lost, reconnecting", stream="note"),
        ]
        screen.table.select(API)
        await screen.press("l")
        text = await _wait_for(screen, "reconnecting", "#log")
        assert "starting [/bold]" in text
        assert "\x1b" not in text
        assert "— connection lost, reconnecting —" in text
        await screen.press("slash")
        await screen.enter("route")
        await screen.press("enter")
        assert screen.app.main.detail.log_pane.needle == "route"
        assert not screen.app.main.detail.log_pane.following


async def test_the_keys_of_a_log_ask_other_questions() -> None:
    async with shown() as screen:
        screen.runtime.log = [LogLine("hello", NOW)]
        screen.runtime.sources = ("web", "proxy")
        screen.runtime.put(screen.runtime.store.get(POD))  # type: ignore[arg-type]
        await screen.press("colon")
        await screen.enter("pods")
        await screen.press("enter", "l")
        await _wait_for(screen, "hello", "#log")
        assert screen.runtime.asked[-1].container == "web"
        await screen.press("b")
        await _wait_for(screen, "hello", "#log")
        assert screen.runtime.asked[-1].container == "proxy"
        await screen.press("i")
        await _wait_for(screen, "hello", "#log")
        assert screen.runtime.asked[-1].since == 3600
        await screen.press("p")
        await _wait_for(screen, "the log ends here", "#log")
        assert screen.runtime.asked[-1].previous
        await screen.press("m")
        assert "12:04:31 hello" in screen.text("#log")


async def test_a_log_that_pours_is_bounded_and_says_what_it_left_out() -> None:
    async with shown() as screen:
        screen.runtime.log = [LogLine(f"line {number}") for number in range(5_000)]
        screen.table.select(API)
        await screen.press("l")
        text = await _wait_for(screen, "line 4999", "#log")
        assert "3000 lines came too fast and were left out" in text


async def test_closing_the_pane_ends_the_log() -> None:
    async with shown(80, 24) as screen:
        screen.runtime.log = [LogLine("hello")]
        screen.table.select(API)
        await screen.press("l")
        await _wait_for(screen, "hello", "#log")
        pane = screen.app.main.detail.log_pane
        await screen.press("escape")
        assert all(worker.is_cancelled or worker.is_finished for worker in pane.workers if worker.node is pane)


async def test_the_load_of_a_container_is_drawn_as_a_trend() -> None:
    async with shown() as screen:
        screen.runtime.samples = [
            Sample(ref=API, at=NOW + timedelta(seconds=number), cpu=float(number), memory=200 << 20, memory_limit=400 << 20)
            for number in range(8)
        ]
        screen.table.select(API)
        await screen.press("enter")
        text = await _wait_for(screen, "cpu")
        assert "▁▂▃▄▅▆▇█" in text.replace("·", "") or "█ 7%" in text
        assert "of 400" in text


async def test_copying_says_what_it_copied_and_when_it_could_not() -> None:
    async with shown() as screen:
        await screen.press("c")
        assert "no terminal" in screen.message
        sent: list[str] = []
        screen.app.terminal = sent.append
        await screen.press("c")
        assert sent[0].startswith("\x1b")
        assert "Copied shop/web" in screen.message
        assert isinstance(Looking(screen.app.main, sent.append).handlers(), dict)


async def test_an_object_that_went_away_is_said_to_be_gone() -> None:
    from console.model.resource import Removed

    async with shown() as screen:
        await screen.press("enter")
        screen.runtime.store.apply(Removed(WEB))
        await screen.until(lambda: "removed" in screen.text())
        assert "It was removed" in screen.text()


async def test_a_trigger_is_asked_again_until_its_operation_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detail_module, "_AGAIN", 0.01)
    operation = REPORT.operation
    assert operation is not None
    done = msgspec.structs.replace(REPORT, operation=msgspec.structs.replace(operation, outcome="Succeeded"))

    def setup(runtime: StandIn) -> None:
        fill(runtime)
        runtime.reports[WEB] = REPORT

    async with shown(120, 40, setup=setup) as screen:
        await screen.press("d")
        await screen.until(lambda: "Operation in flight" in screen.text())
        screen.runtime.reports[WEB] = done
        screen.app.main.tick()
        await screen.until(lambda: "Last operation" in screen.text())


async def test_a_trigger_that_cannot_be_read_says_so_in_its_place() -> None:
    async with shown(120, 40) as screen:

        async def gone(ref: Ref) -> TriggerReport | None:
            raise Unreachable("prod-eu does not answer.", "Try later.")

        screen.runtime.trigger_report = gone  # type: ignore[method-assign]
        await screen.press("d")
        await screen.until(lambda: "prod-eu does not answer. Try later." in screen.text())
