"""Columns that fit and text that is as wide as it says."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from console.ui.widgets.columns import FLEX_LEAST, FLEX_LEAST_NARROW, fit, fit_text, total_width, wrap_cells
from console.views.cells import Cell, Column
from tests.ui.samples import COLUMNS


def _keys(width: int, everything: bool = False) -> list[str]:
    return [placed.column.key for placed in fit(COLUMNS, width, everything=everything)]


def test_all_columns_are_shown_where_there_is_room() -> None:
    assert _keys(120) == ["health", "name", "where", "what", "services"]


def test_the_least_important_column_goes_first_when_it_gets_narrow() -> None:
    assert _keys(60) == ["health", "name", "what", "services"]
    assert _keys(40) == ["health", "name", "services"]


def test_a_column_that_was_hidden_comes_back_when_the_next_one_made_room() -> None:
    columns: tuple[Column[Any], ...] = (
        Column(key="name", title="N", width=20, cell=lambda o, c: Cell(""), sort=lambda o: 0),
        Column(key="long", title="L", width=40, cell=lambda o, c: Cell(""), sort=lambda o: 0, priority=2),
        Column(key="short", title="S", width=5, cell=lambda o, c: Cell(""), sort=lambda o: 0, priority=2),
    )
    assert [placed.column.key for placed in fit(columns, 62)] == ["name", "short"]


def test_important_columns_stay_and_the_table_scrolls_sideways() -> None:
    assert _keys(20) == ["health", "name", "services"]
    assert total_width(fit(COLUMNS, 20)) > 20


def test_nothing_is_hidden_when_all_columns_are_asked_for() -> None:
    assert _keys(30, everything=True) == [column.key for column in COLUMNS]


@settings(derandomize=True, deadline=None)
@given(st.integers(60, 250))
def test_the_flexible_column_takes_exactly_what_is_left(width: int) -> None:
    placed = fit(COLUMNS, width)
    assert total_width(placed) == width - 1
    assert all(
        entry.width >= (FLEX_LEAST if width >= 70 else FLEX_LEAST_NARROW) for entry in placed if entry.column.width is None
    )


@settings(derandomize=True, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Mn", "Me", "Mc"])), st.integers(1, 30))
def test_text_takes_exactly_its_width(text: str, width: int) -> None:
    assert cell_len(fit_text(text, width)) == width
    assert cell_len(fit_text(text, width, "right")) == width


def test_a_wide_character_is_never_cut_in_half() -> None:
    assert fit_text("日本語", 4) == "日 …"
    assert fit_text("日本語", 5) == "日本…"
    assert fit_text("🚀x", 5, "right") == "  🚀x"


@settings(derandomize=True, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Mn", "Me", "Mc"])), st.integers(2, 20))
def test_wrapped_lines_hold_the_whole_text(text: str, width: int) -> None:
    lines = wrap_cells(text, width)
    assert "".join(lines) == text
    assert all(cell_len(line) <= width for line in lines)


def test_a_column_without_room_is_told_in_short_and_in_full_where_it_fits() -> None:
    short = Column[Any](key="where", title="W", width=3, cell=lambda o, c: Cell("s"), sort=lambda o: "")
    columns = tuple(msgspec.structs.replace(column, short=short) if column.key == "where" else column for column in COLUMNS)
    assert [(placed.column.title, placed.width) for placed in fit(columns, 120) if placed.column.key == "where"] == [
        ("WHERE", 12)
    ]
    assert [(placed.column.title, placed.width) for placed in fit(columns, 60) if placed.column.key == "where"] == [("W", 3)]
    assert [placed.column.key for placed in fit(columns, 60)] == ["health", "name", "where", "what", "services"]
