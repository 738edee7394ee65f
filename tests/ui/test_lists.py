"""Lists on the real screen: views, filters, sorting, marks, freshness, emptiness, the way back."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from console.model.connections import Connection, Phase
from console.model.health import Health
from console.model.kubernetes import Trigger
from console.model.operations import State
from console.model.refs import Ref
from console.model.resource import KindState, Removed
from console.ui.tones import Tones
from console.ui.widgets.cards import Cards
from console.views import tables
from tests.ui.fleet import SHOP, WEB, fill, running, stack, trigger
from tests.ui.screen import shown
from tests.ui.stand_in import NOW, StandIn


async def test_the_bridge_shows_everything_worst_first() -> None:
    async with shown() as screen:
        assert screen.rows[0] == "shop/web"
        assert screen.rows[1] == "shop"
        assert "bridge" in screen.bar("title")
        assert "●" in screen.lines()


async def test_an_applier_that_a_trigger_names_is_not_listed_twice() -> None:
    async with shown() as screen:
        before = screen.rows.count("shop/web")
        screen.runtime.put(trigger("prod-eu", "x", "y", ref=WEB.__class__("prod-eu", "Kustomization", "shop", "web", "u")))
        await screen.settle()
        assert screen.rows.count("shop/web") == before == 1


async def test_number_keys_open_the_six_views() -> None:
    async with shown() as screen:
        for key, table in zip("123456", ("bridge", "triggers", "operations", "stacks", "services", "activity"), strict=True):
            await screen.press(key)
            assert screen.app.main.place.table == table


async def test_changes_of_the_store_arrive_on_the_screen() -> None:
    async with shown() as screen:
        await screen.press("4")
        screen.runtime.put(stack("swarm-a", "brand-new"))
        await screen.settle()
        assert "brand-new" in screen.rows
        screen.runtime.store.apply(Removed(SHOP))
        await screen.settle()
        assert "shop" not in screen.rows


async def test_only_what_is_looked_at_is_asked_for() -> None:
    async with shown() as screen:
        await screen.press("colon")
        await screen.enter("pods")
        await screen.press("enter")
        assert screen.runtime.looks[-1] == {"Pod"}
        assert screen.rows == ["shop/web-6d9f-x2x9l"]


async def test_the_filter_narrows_with_each_key_and_esc_takes_it_back() -> None:
    async with shown() as screen:
        everything = screen.rows
        await screen.press("slash")
        await screen.enter("search")
        assert screen.rows == ["shop/search"]
        await screen.press("escape")
        assert screen.rows == everything


async def test_filters_know_inversion_labels_and_fuzzy_names() -> None:
    async with shown(setup=_three_stacks) as screen:
        await screen.press("4", "slash")
        await screen.enter("!alpha")
        assert screen.rows == ["beta", "gamma"]
        await screen.press("escape", "slash")
        await screen.enter("-l tier=db")
        assert screen.rows == ["gamma"]
        await screen.press("escape", "slash")
        await screen.enter("~bt")
        assert screen.rows == ["beta"]


async def test_letters_typed_into_the_filter_are_text_and_move_nothing() -> None:
    async with shown() as screen:
        await screen.press("slash", "j", "k", "q")
        assert screen.app.main.place.filter == "jkq"
        assert screen.app.main.place.table == "bridge"


async def test_a_kept_filter_comes_back_under_its_name(tmp_path: Path) -> None:
    async with shown(state=tmp_path / "screen.json") as screen:
        await screen.press("slash")
        await screen.enter("cart")
        await screen.press("enter", "ctrl+s")
        await screen.enter("mine")
        await screen.press("enter", "escape")
        assert len(screen.rows) > 1
        await screen.press("colon")
        await screen.enter("filter mine")
        await screen.press("enter")
        assert screen.rows == ["shop/cart"]


async def test_problems_only_leaves_what_needs_a_person() -> None:
    async with shown() as screen:
        await screen.press("exclamation_mark")
        assert screen.rows == ["shop/web", "shop", "edge-7"]
        assert "problems only" in screen.bar("title")
        await screen.press("exclamation_mark")
        assert len(screen.rows) > 3


async def test_sorting_by_a_column_and_the_other_way_round() -> None:
    async with shown(setup=_three_stacks) as screen:
        await screen.press("4", "S")
        await screen.enter("-name")
        await screen.press("enter")
        assert screen.rows == ["gamma", "beta", "alpha"]
        await screen.press("S")
        await screen.enter("nothing")
        await screen.press("enter")
        assert "no column" in screen.message


async def test_esc_clears_the_filter_then_widens_the_scope_then_goes_back() -> None:
    async with shown() as screen:
        await screen.press("colon")
        await screen.enter("triggers prod-eu")
        await screen.press("enter", "slash")
        await screen.enter("cart")
        await screen.press("enter")
        assert screen.rows == ["shop/cart"]
        await screen.press("escape")
        assert len(screen.rows) == 4
        await screen.press("escape")
        assert screen.app.main.place.target == ""
        await screen.press("escape")
        assert screen.app.main.place.target == "prod-eu"


async def test_history_goes_back_to_the_row_one_was_on() -> None:
    async with shown() as screen:
        await screen.press("2", "down", "down")
        there = screen.table.cursor
        await screen.press("4", "left_square_bracket")
        assert screen.app.main.place.table == "triggers"
        assert screen.table.cursor == there
        await screen.press("right_square_bracket")
        assert screen.app.main.place.table == "stacks"


async def test_a_group_of_targets_is_a_scope() -> None:
    async with shown() as screen:
        await screen.press("colon")
        await screen.enter("ctx edge")
        await screen.press("enter")
        assert {ref.connection for ref in screen.table.rows} == {"edge-1", "edge-3", "edge-7"}


async def test_an_unknown_command_is_answered_with_what_was_probably_meant() -> None:
    async with shown() as screen:
        await screen.press("colon")
        await screen.enter("stakcs")
        await screen.press("enter")
        assert "Did you mean :stacks?" in screen.message


async def test_tab_completes_a_command_and_up_brings_the_last_one_back() -> None:
    async with shown() as screen:
        await screen.press("colon")
        await screen.enter("kustom")
        await screen.press("tab", "enter")
        assert screen.app.main.place.table == "kustomizations"
        await screen.press("colon", "up")
        assert screen.app.main.prompt.input.value.strip() == "kustomizations"


async def test_rows_of_a_lost_connection_stay_greyed_with_their_time() -> None:
    async with shown() as screen:
        store = screen.runtime.store
        connection = next(item for item in screen.runtime.connections() if item.ref.name == "swarm-a")
        lost = msgspec.structs.replace(connection, phase=Phase.STALE, heard=NOW - timedelta(seconds=61))
        screen.runtime.put(lost)
        await screen.settle()
        assert "billing" in screen.rows
        assert "swarm-a as of 12:03:30 (stale)" in screen.bar("notes")
        assert isinstance(store.get(lost.ref), Connection)
        index = screen.table.rows.index(SHOP)
        assert index is not None
        drifted = next(segment for segment in screen.table.render_line(index + 1) if "drifted" in segment.text)
        assert drifted.style is not None
        assert drifted.style.color == screen.table._tones["muted"].color


async def test_another_identity_under_a_known_name_is_accepted_only_by_name() -> None:
    async with shown() as screen:
        await screen.press("colon")
        await screen.enter("accept prod-us")
        await screen.press("enter")
        assert screen.runtime.accepted == []
        screen.runtime.connect("prod-us", Phase.IDENTITY_CHANGED, reason="another cluster answers")
        await screen.settle()
        await screen.press("colon")
        await screen.enter("accept prod-us")
        await screen.press("enter")
        assert screen.runtime.accepted == ["prod-us"]


async def test_interrupted_operations_are_told_once_at_start() -> None:
    async with shown() as screen:
        screen.runtime.put(msgspec.structs.replace(running(), state=State.INTERRUPTED))
        await screen.settle()
        await screen.until(lambda: bool(screen.message))
        assert "1 operation was interrupted" in screen.message


async def test_an_empty_list_says_why() -> None:
    async with shown(setup=_restricted) as screen:
        await screen.press("4")
        assert "credentials may not list" in screen.text("#empty")
        await screen.press("2")
        assert "not synced yet" in screen.text("#empty")


async def test_a_filter_that_hides_everything_says_how_much() -> None:
    async with shown() as screen:
        await screen.press("4", "slash")
        await screen.enter("nothing-has-this-name")
        assert "The filter hides 3 stacks." in screen.text("#empty")


async def test_marks_are_counted_and_cleared_by_esc() -> None:
    async with shown() as screen:
        await screen.press("4", "space", "space")
        assert "2 marked" in screen.bar("footer")
        await screen.press("escape")
        assert "marked" not in screen.bar("footer")


async def test_markup_and_escapes_from_the_wire_are_only_text() -> None:
    async with shown() as screen:
        screen.runtime.put(stack("swarm-a", "[/x][bold]evil\x1b[31m", Health.BAD, reason="[/] [@click=app.quit]x"))
        await screen.settle()
        await screen.press("4", "enter", "escape")
        assert "[/x][bold]evil␛[31m" in screen.lines()


async def test_a_card_stands_for_each_connection() -> None:
    async with shown(200, 60) as screen:
        cards = screen.app.main.query_one("#cards").cards  # type: ignore[attr-defined]
        assert cards[0].name == "edge-7"
        assert len(cards) == 6


async def test_cards_that_do_not_fit_are_counted() -> None:
    async with shown(80, 24) as screen:
        cards = screen.app.main.query_one(Cards)
        assert "… 4 more" in cards.render_line(0).text
    async with shown(120, 40) as screen:
        await screen.press("enter")
        cards = screen.app.main.query_one(Cards)
        await screen.until(lambda: "… 3 more" in cards.render_line(0).text)


async def test_the_title_counts_fresh_and_lost_targets() -> None:
    async with shown() as screen:
        assert "● 4 live" in screen.bar("title")
        assert "○ 1 gone" in screen.bar("title")
        assert "read-only" in screen.bar("title")


async def test_a_slow_line_is_named_in_the_frame() -> None:
    async with shown() as screen:
        await screen.press("ctrl+l")
        assert "slow line" in screen.bar("title")
        assert screen.app.main.low_bandwidth
        await screen.press("ctrl+l")
        assert not screen.app.main.low_bandwidth


def _three_stacks(runtime: StandIn) -> None:
    runtime.connect("swarm-a", platforms=("swarm",))
    runtime.put(
        stack("swarm-a", "alpha", labels={"tier": "web"}),
        stack("swarm-a", "beta", labels={"tier": "web"}),
        stack("swarm-a", "gamma", labels={"tier": "db"}),
    )


def _restricted(runtime: StandIn) -> None:
    runtime.connect("swarm-a", platforms=("swarm",))
    runtime.connect("prod-eu", platforms=("kubernetes",))
    runtime.store.apply(KindState("swarm-a", "Stack", "restricted", "403"))


def test_the_sample_fleet_has_something_of_everything() -> None:
    runtime = StandIn()
    fill(runtime)
    assert len(runtime.connections()) == 6


async def test_an_unreachable_target_has_one_shape_wherever_it_stands() -> None:
    async with shown(160, 44) as screen:
        cards = screen.app.main.query_one(Cards)
        (card,) = [card for card in cards.cards if card.name == "edge-7"]
        row = next(screen.table.rows.objects[ref] for ref in screen.table.rows if ref.kind == "Connection")
        mark = tables.TABLES["bridge"].column("mark")
        assert mark is not None and mark.cell(row, screen.app.main.context()) == card.mark
        assert card.mark.text == "○"


async def test_a_trigger_and_its_applier_are_told_apart_on_a_narrow_screen() -> None:
    def setup(runtime: StandIn) -> None:
        fill(runtime)
        runtime.put(Trigger(ref=Ref("prod-eu", "Kustomization", "shop", "cart", "uid-k"), health=Health.OK))

    async with shown(80, 24, setup=setup) as screen:
        await screen.press("2")
        rows = [row.split() for row in screen.lines().split("\n") if " cart " in row]
        assert sorted(word for row in rows for word in row if word in ("ks", "trigger")) == ["ks", "trigger"]


async def test_without_colour_trouble_is_bold_and_never_dimmer_than_what_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with shown(120, 40) as screen:
        assert screen.app.no_color
        tones = Tones(screen.table)
        assert tones["bad"].color == tones["plain"].color
        assert tones["bad"].bold and not tones["muted"].bold


async def test_the_title_stays_as_it_is_while_a_minute_passes() -> None:
    async with shown(160, 44) as screen:
        before = screen.bar("title")
        screen.runtime.clock.pass_by(20)
        screen.app.main.tick()
        assert screen.bar("title") == before and "12:04" in before
