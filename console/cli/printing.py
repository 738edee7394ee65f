"""Tables as plain text: the columns of the screen, without the screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from console.model.resource import Resource
from console.views import formats
from console.views.cells import Cell, Column, Context, Table, Tone, row_cells

_GAP = "  "
_LEAST_FLEX = 16
_ESCAPE = "\x1b"
# The eight colours that every terminal's own palette has; bright variants would be unreadable on light grounds.
_CODES: dict[Tone, str] = {"ok": "32", "busy": "36", "warn": "33", "bad": "31", "held": "35", "muted": "2", "accent": "34"}


class TablePrinter:
    """Prints rows of one table with stable widths, so that rows of a watch line up with those before.

    :param width: cells of the terminal; 0 means that nothing may be left out or cut (a pipe).
    """

    def __init__(
        self, table: Table[Any], context: Context, *, wide: bool = False, width: int = 0, colours: bool = False
    ) -> None:
        self._context = context
        self._colours = colours
        self._width = 0 if wide else width
        self._columns: tuple[Column[Any], ...] = tuple(column for column in table.columns if wide or not column.wide)
        self._widths: list[int] = [formats.display_width(column.title) for column in self._columns]

    def text(self, rows: Sequence[Resource]) -> str:
        """Heading and rows; "" when there are none."""
        if not rows:
            return ""
        cells = [row_cells(self._columns, row, self._context) for row in rows]
        self._fit(cells)
        heading = self._line([Cell(column.title, "muted") for column in self._columns])
        return "\n".join([heading, *(self._line(self._chosen(entry)) for entry in cells)]) + "\n"

    def row(self, resource: Resource, context: Context, note: str = "") -> str:
        """One more row in the widths of the table before it."""
        line = self._line(row_cells(self._columns, resource, context))
        return f"{line}{_GAP}{note}\n" if note else f"{line}\n"

    def _fit(self, cells: Sequence[Sequence[Cell]]) -> None:
        """Widths from contents; on a terminal, columns that say nothing go first, then the least important ones."""
        kept = list(range(len(self._columns)))
        if self._width:
            kept = [index for index in kept if any(row[index].text for row in cells) or self._columns[index].priority == 1]
        widths = {
            index: max(
                formats.display_width(text) for text in (self._columns[index].title, *(row[index].text for row in cells))
            )
            for index in kept
        }
        while self._width and len(kept) > 1 and self._least(kept, widths) > self._width:
            last = max(kept, key=lambda index: (self._columns[index].priority, index))
            if self._columns[last].priority == 1:
                break
            kept.remove(last)
        self._squeeze(kept, widths)
        self._columns = tuple(self._columns[index] for index in kept)
        self._widths = [widths[index] for index in kept]
        self._kept = kept

    def _least(self, kept: Sequence[int], widths: dict[int, int]) -> int:
        """The narrowest that these columns can be made: only those of free width give way."""
        return sum(
            min(widths[index], _LEAST_FLEX) if self._columns[index].width is None else widths[index] for index in kept
        ) + len(_GAP) * (len(kept) - 1)

    def _squeeze(self, kept: Sequence[int], widths: dict[int, int]) -> None:
        flexible = [index for index in kept if self._columns[index].width is None]
        over = sum(widths[index] for index in kept) + len(_GAP) * (len(kept) - 1) - self._width
        if not self._width or over <= 0:
            return
        for index in sorted(flexible, key=lambda index: -widths[index]):
            given = min(over, max(widths[index] - _LEAST_FLEX, 0))
            widths[index] -= given
            over -= given

    def _chosen(self, row: Sequence[Cell]) -> list[Cell]:
        return [row[index] for index in self._kept]

    def _line(self, cells: Iterable[Cell]) -> str:
        parts = []
        for column, width, entry in zip(self._columns, self._widths, cells, strict=True):
            fitted = width if self._width else max(width, formats.display_width(entry.text))
            padded = formats.padded(entry.text, fitted, right=column.align == "right")
            parts.append(self._coloured(padded, entry.tone))
        return _GAP.join(parts).rstrip()

    def _coloured(self, text: str, tone: Tone) -> str:
        code = _CODES.get(tone) if self._colours and text.strip() else None
        return f"{_ESCAPE}[{code}m{text}{_ESCAPE}[0m" if code else text
