"""Rows and titles of a table as styled segments, and how wide their texts are. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from console.model.resource import Resource
from console.ui.tones import Tones
from console.ui.widgets.columns import GUTTER, Placed, fit_text
from console.views.cells import Cell, Column, Context, row_cells

_BAR, _MARK = "▌", "✓"
_SAMPLE = 200
"""Rows that are measured: the first ones, which are those that one sees."""
_NAMES = ("name", "path")


def natural_widths(
    columns: Sequence[Column[Any]], resources: Iterable[Resource], context: Context, known: Mapping[str, int]
) -> dict[str, int]:
    """The longest text of each column in cells. A width that was known never shrinks: columns that jump are worse than room."""
    widths = {column.key: known.get(column.key, 0) for column in columns}
    for resource in islice(resources, _SAMPLE):
        for column, cell in zip(columns, row_cells(columns, resource, context), strict=True):
            size = len(cell.text) if cell.text.isascii() else cell_len(cell.text)
            if size > widths[column.key]:
                widths[column.key] = size
    return widths


def header_segments(placed: Sequence[Placed], style: Style, sort_key: str, reverse: bool, tones: Tones) -> list[Segment]:
    """The titles; an arrow marks the column that is sorted by."""
    chosen = style + tones["accent"]
    segments: list[Segment] = []
    at = 0
    for place in placed:
        column = place.column
        sorted_by = column.key == sort_key
        title = column.title + (("↓" if reverse else "↑") if sorted_by else "")
        text = fit_text(title, place.width, column.align)
        segments += [Segment(" " * (place.start - at), style), Segment(text, chosen if sorted_by else style)]
        at = place.start + place.width
    return segments


def row_segments(
    placed: Sequence[Placed],
    cells: Sequence[Cell],
    ground: Style,
    tones: Tones,
    *,
    cursor: bool,
    marked: bool,
    bold: bool,
    plain: bool = False,
) -> list[Segment]:
    """One row. The bar and the mark say without colour where the cursor is and what is marked; ``bold`` names need the eye.

    :param plain: no tones, for grounds on which the terminal's own colours might not be legible.
    """
    accent = ground + tones["accent"]
    segments = [Segment(_BAR if cursor else " ", accent), Segment(_MARK if marked else " ", accent)]
    at = GUTTER
    for place, cell in zip(placed, cells, strict=False):
        if place.start > at:
            segments.append(Segment(" " * (place.start - at), ground))
        style = ground + (Style(color="bright_white") if plain else tones[cell.tone])
        if bold and place.column.key in _NAMES:
            style = style + Style(bold=True)
        segments.append(Segment(fit_text(cell.text, place.width, place.column.align), style))
        at = place.start + place.width
    return segments
