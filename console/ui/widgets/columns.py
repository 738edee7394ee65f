"""Which columns fit, how wide they are, and text cut to a number of terminal cells. Pure functions.

Everything is counted in terminal cells, not characters: an ideograph or an emoji takes two and must not shift what follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from rich.cells import cell_len, chop_cells, set_cell_size

from console.views.cells import Align, Column

GUTTER = 2
"""Cells left of the first column: the cursor's bar and the mark."""
FLEX_LEAST = 14
"""A flexible column narrower than this says nothing; other columns go first."""
FLEX_WIDE = 48
"""The width of a flexible column when all columns are asked for and the table scrolls sideways."""
ROOMY = 150
"""From this width on, columns that are only shown where there is plenty of room come in."""


class Placed(msgspec.Struct, frozen=True):
    """A column on the screen: where it starts and how wide it is, in cells."""

    column: Column[Any]
    start: int
    width: int


def fit(columns: Sequence[Column[Any]], width: int, *, everything: bool = False) -> tuple[Placed, ...]:
    """Place columns in ``width`` cells.

    Columns of the highest priority number are hidden first until the rest fits; priority 1 always stays, even if the table
    must then scroll sideways. What is left over is shared by the flexible columns. With ``everything`` nothing is hidden.
    """
    gap = 2 if width >= 60 else 1
    room = width - GUTTER
    chosen = list(columns) if everything else [column for column in columns if not column.wide or width >= ROOMY]
    while not everything and _needed(chosen, gap) > room:
        droppable = [column for column in chosen if column.priority > 1]
        if not droppable:
            break
        last = max(droppable, key=lambda column: (column.priority, columns.index(column)))
        chosen.remove(last)
    flexible = [column for column in chosen if column.width is None]
    left = max(room - _needed(chosen, gap), 0)
    placed, start = [], GUTTER
    for column in chosen:
        if column.width is not None:
            size = max(column.width, len(column.title) if column.align == "left" else 0)
        elif everything and not left:
            size = FLEX_WIDE
        else:
            share = left // len(flexible)
            size = FLEX_LEAST + share + (left - share * len(flexible) if column is flexible[-1] else 0)
        placed.append(Placed(column, start, size))
        start += size + gap
    return tuple(placed)


def total_width(placed: Sequence[Placed]) -> int:
    """How many cells the placed columns take, with the gutter."""
    return placed[-1].start + placed[-1].width if placed else GUTTER


def _needed(columns: Sequence[Column[Any]], gap: int) -> int:
    sizes = (
        FLEX_LEAST if column.width is None else max(column.width, len(column.title) if column.align == "left" else 0)
        for column in columns
    )
    return sum(sizes) + gap * max(len(columns) - 1, 0)


def fit_text(text: str, width: int, align: Align = "left") -> str:
    """``text`` in exactly ``width`` cells: padded, or cut with an ellipsis. A wide character is never cut in half."""
    if width <= 0:
        return ""
    if text.isascii():
        if len(text) > width:
            return text[: width - 1] + "…"
        return text.rjust(width) if align == "right" else text.ljust(width)
    length = cell_len(text)
    if length > width:
        return set_cell_size(text, width - 1) + "…"
    padding = " " * (width - length)
    return padding + text if align == "right" else text + padding


def wrap_cells(text: str, width: int) -> list[str]:
    """``text`` cut into lines of at most ``width`` cells, at any character; at least one line."""
    if width < 1:
        return [text]
    if text.isascii():
        return [text[start : start + width] for start in range(0, len(text), width)] or [""]
    return chop_cells(text, width) or [""]
