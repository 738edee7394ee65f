"""The virtual table: cursor and marks stay with their object, only what changed is painted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.pilot import Pilot

from console.model.connections import Connection, Phase
from console.model.health import Health
from console.model.refs import Ref
from console.ui.themes import DEFAULTS
from console.ui.widgets.resource_table import ResourceTable
from console.views import tables
from console.views.cells import Context, now_context
from tests.ui.samples import CONTEXT, NOW, TABLE, stack


class Counting(ResourceTable):
    """Remembers which regions were asked to be painted."""

    def __init__(self) -> None:
        super().__init__(CONTEXT)
        self.painted: list[Region] = []

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Counting:
        if hasattr(self, "painted"):
            self.painted += regions
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)


class TableApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.moves: list[str] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return DEFAULTS

    def compose(self) -> ComposeResult:
        yield Counting()

    def on_resource_table_moved(self, message: ResourceTable.Moved) -> None:
        self.moves.append(message.ref.name if message.ref else "")


@asynccontextmanager
async def table(rows: int, width: int = 80, height: int = 12) -> AsyncIterator[tuple[Counting, Pilot[None]]]:
    app = TableApp()
    async with app.run_test(size=(width, height)) as pilot:
        widget = app.query_one(Counting)
        widget.focus()
        widget.show(TABLE)
        widget.replace({row.ref: row for row in (stack(f"s{number:05}") for number in range(rows))})
        await pilot.pause()
        yield widget, pilot


def lines(widget: ResourceTable) -> list[str]:
    return [widget.render_line(y).text.rstrip() for y in range(widget.size.height)]


async def test_the_first_lines_are_title_and_rows() -> None:
    async with table(3) as (widget, _):
        shown = lines(widget)
        assert "NAME" in shown[0]
        assert "s00000" in shown[1]
        assert shown[1].startswith("▌")
        assert shown[4] == ""


async def test_fifty_thousand_rows_compute_only_what_is_visible() -> None:
    async with table(50_000) as (widget, pilot):
        widget.move("bottom")
        await pilot.pause()
        assert "s49999" in lines(widget)[-1]
        assert len(widget._cells) < 60  # visible rows only


async def test_the_cursor_stays_with_its_object_and_on_its_line_when_rows_come_before_it() -> None:
    async with table(100) as (widget, pilot):
        for _ in range(30):
            widget.move("down")
        await pilot.pause()
        ref, line = widget.cursor, next(y for y, text in enumerate(lines(widget)) if text.startswith("▌"))
        widget.update([stack(f"a{number}", Health.BAD) for number in range(5)])
        await pilot.pause()
        assert widget.cursor == ref
        assert lines(widget)[line].startswith("▌")


async def test_an_untouched_cursor_stays_on_the_first_row() -> None:
    async with table(10) as (widget, pilot):
        widget.update([stack("worst", Health.BAD)])
        await pilot.pause()
        assert widget.cursor is not None
        assert widget.cursor.name == "worst"


async def test_when_the_object_under_the_cursor_goes_its_neighbour_takes_over() -> None:
    async with table(5) as (widget, pilot):
        widget.move("down")
        assert widget.cursor is not None
        widget.update([], [widget.cursor])
        await pilot.pause()
        assert widget.cursor.name == "s00002"


async def test_only_the_line_that_changed_is_painted() -> None:
    async with table(1000) as (widget, pilot):
        lines(widget)
        widget.painted.clear()
        widget.update([stack("s00003", reason="two fail")])
        await pilot.pause()
        assert [region.y for region in widget.painted] == [4]


async def test_a_change_off_the_screen_paints_nothing() -> None:
    async with table(1000) as (widget, pilot):
        lines(widget)
        widget.painted.clear()
        widget.update([stack("s00900", reason="two fail")])
        await pilot.pause()
        assert widget.painted == []


async def test_a_tick_that_changes_no_text_paints_nothing() -> None:
    async with table(20) as (widget, pilot):
        lines(widget)
        widget.painted.clear()
        widget.tick(Context(NOW + timedelta(seconds=1)))
        await pilot.pause()
        assert widget.painted == []


async def test_marks_stay_with_their_objects_and_leave_with_them() -> None:
    async with table(5) as (widget, pilot):
        widget.mark()
        widget.mark()
        assert [ref.name for ref in widget.subjects] == ["s00000", "s00001"]
        widget.update([], [stack("s00000").ref])
        await pilot.pause()
        assert [ref.name for ref in widget.subjects] == ["s00001"]
        assert "✓" in lines(widget)[1]


async def test_sorting_by_a_column_shows_its_direction_in_the_title() -> None:
    async with table(5) as (widget, pilot):
        widget.sort_by("name", reverse=True)
        await pilot.pause()
        assert "NAME↓" in lines(widget)[0]
        assert "s00004" in lines(widget)[1]


async def test_a_narrow_table_with_all_columns_scrolls_sideways() -> None:
    async with table(3, width=40) as (widget, pilot):
        assert "SERVICES" in lines(widget)[0]
        widget.show_all_columns(True)
        await pilot.pause()
        assert "SERVICES" not in lines(widget)[0]
        for _ in range(12):
            widget.move("right")
        await pilot.pause()
        assert "SERVICES" in lines(widget)[0]


async def test_wide_characters_do_not_shift_the_columns_after_them() -> None:
    async with table(1) as (widget, pilot):
        plain = lines(widget)[1].index("3/3")
        widget.update([stack("s00000", reason="起動できない 🚀")])
        await pilot.pause()
        strip = widget.render_line(1)
        assert strip.cell_length == 80
        assert strip.crop(plain, plain + 3).text == "3/3"


async def test_rows_of_a_filter_are_hidden_and_the_cursor_moves_to_what_is_left() -> None:
    async with table(5) as (widget, pilot):
        widget.filter(lambda row: row.ref.name == "s00004")
        await pilot.pause()
        assert widget.cursor is not None
        assert widget.cursor.name == "s00004"
        assert widget.rows.hidden == 4


async def test_a_click_selects_and_moves_are_told() -> None:
    async with table(5) as (widget, pilot):
        await pilot.click(Counting, offset=(5, 3))
        assert isinstance(pilot.app, TableApp)
        assert widget.cursor is not None
        assert pilot.app.moves[-1] == "s00002"


async def test_the_room_for_an_age_goes_back_to_other_columns_once_the_target_is_back() -> None:
    def seen(phase: Phase) -> Context:
        return now_context([Connection(ref=Ref("swarm-a", "Connection", "", "swarm-a"), phase=phase)], NOW)

    async with table(2, width=74) as (widget, pilot):
        widget.show(tables.TABLES["stacks"])
        widget.tick(seen(Phase.LIVE))
        widget.replace({row.ref: row for row in (stack("shop"), stack("mail"))})
        await pilot.pause()
        live = lines(widget)
        widget.tick(seen(Phase.STALE))
        assert "swarm-a (stal" in lines(widget)[1]
        widget.tick(seen(Phase.LIVE))
        assert lines(widget) == live
