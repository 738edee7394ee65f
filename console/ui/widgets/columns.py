"""Which columns fit, how wide they are, and text cut to a number of terminal cells. Pure functions.

Everything is counted in terminal cells, not characters: an ideograph or an emoji takes two and must not shift what follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from rich.cells import cell_len, set_cell_size

from console.views.cells import Align, Column

GUTTER = 2
"""Cells left of the first column: the cursor's bar and the mark."""
FLEX_LEAST, FLEX_LEAST_NARROW = 24, 14
"""A flexible column narrower than this says little; other columns go first. Only before it would go itself, and
below 70 cells, it takes less."""
FLEX_WIDE = 48
"""The width of a flexible column when all columns are asked for and the table scrolls sideways."""
PLENTY = 26
"""With so many cells left over, a flexible column gives some to columns whose text is cut."""
ROOMY = 150
"""From this width on, columns that are only shown where there is plenty of room come in."""


class Placed(msgspec.Struct, frozen=True):
    """A column on the screen: where it starts and how wide it is, in cells."""

    column: Column[Any]
    start: int
    width: int


def fit(
    columns: Sequence[Column[Any]], width: int, *, everything: bool = False, natural: Mapping[str, int] | None = None
) -> tuple[Placed, ...]:
    """Place columns in ``width`` cells.

    Columns of the highest priority number are hidden first until the rest fits; priority 1 always stays, even if the table
    must then scroll sideways. What is left over is shared by the flexible columns. With ``everything`` nothing is hidden.

    :param natural: how wide the longest text of each column is; a column takes no more than that, and more than its own width
        only where the flexible ones have plenty.
    """
    placed = _fit(columns, width, everything, natural)
    shown = {place.column.key for place in placed}
    if not any(column.short is not None and column.key not in shown for column in columns):
        return placed
    shorter = [column if column.short is None or column.key in shown else column.short for column in columns]
    return _fit(shorter, width, everything, natural)


def _fit(columns: Sequence[Column[Any]], width: int, everything: bool, natural: Mapping[str, int] | None) -> tuple[Placed, ...]:
    gap = 2 if width >= 60 else 1
    room = width - GUTTER - 1
    sizes = {column.key: _size(column, natural or {}, width) for column in columns}
    chosen = list(columns) if everything else [column for column in columns if not column.wide or width >= ROOMY]
    hidden: list[Column[Any]] = []
    while not everything and _needed(chosen, sizes, gap) > room:
        droppable = [column for column in chosen if column.priority > 1]
        if not droppable:
            break
        last = max(droppable, key=lambda column: (column.priority, columns.index(column)))
        if last.width is None and sizes[last.key] > FLEX_LEAST_NARROW:
            # A text that says why is worth showing even if it is short.
            sizes[last.key] = FLEX_LEAST_NARROW
        else:
            chosen.remove(last)
            hidden.append(last)
    for column in sorted(hidden, key=lambda column: column.priority):
        again = [known for known in columns if known in chosen or known is column]
        if _needed(again, sizes, gap) <= room:
            chosen = again
    flexible = [column for column in chosen if column.width is None]
    left = max(room - _needed(chosen, sizes, gap), 0)
    for column in chosen if flexible else ():
        wish = (natural or {}).get(column.key, 0) - sizes[column.key]
        if column.width is not None and 0 < wish <= left - PLENTY * len(flexible):
            sizes[column.key] += wish
            left -= wish
    placed, start = [], GUTTER
    for column in chosen:
        size = sizes[column.key]
        if column.width is None and everything and not left:
            size = FLEX_WIDE
        elif column.width is None:
            share = left // len(flexible)
            size += share + (left - share * len(flexible) if column is flexible[-1] else 0)
        placed.append(Placed(column, start, size))
        start += size + gap
    return tuple(placed)


def _size(column: Column[Any], natural: Mapping[str, int], room: int) -> int:
    if column.width is None:
        return FLEX_LEAST if room >= 70 else FLEX_LEAST_NARROW
    title = len(column.title) + 1 if column.title and column.align == "left" else len(column.title)
    return max(min(column.width, natural.get(column.key, column.width)), title)


def _needed(columns: Sequence[Column[Any]], sizes: Mapping[str, int], gap: int) -> int:
    return sum(sizes[column.key] for column in columns) + gap * max(len(columns) - 1, 0)


def total_width(placed: Sequence[Placed]) -> int:
    """How many cells the placed columns take, with the gutter."""
    return placed[-1].start + placed[-1].width if placed else GUTTER


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
    """``text`` cut into lines of at most ``width`` cells, at any character; at least one line. No character is lost."""
    if width < 2:
        return [text]
    if text.isascii():
        return [text[start : start + width] for start in range(0, len(text), width)] or [""]
    lines, start, used = [], 0, 0
    for index, character in enumerate(text):
        size = cell_len(character)
        if used + size > width:
            lines.append(text[start:index])
            start, used = index, 0
        used += size
    return [*lines, text[start:]]
