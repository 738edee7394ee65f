"""Steps in their order as an indented tree of lines: each wave one step further in, parallel steps side by side.

Steps of one wave that wait for the same ones share lines, as many as fit. A step whose own note matters (it failed, it is being
retried) has a line to itself, so that the note can be read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from graphlib import TopologicalSorter
from itertools import groupby
from typing import Any

import msgspec

from console.views.cells import Cell
from console.views.formats import clipped, display_width

Line = tuple[Cell, ...]
"""One line of a tree, as pieces of text to be set one after the other."""

INDENT = 2
GAP = "   "
LEAST_NOTE = 8


class Leaf(msgspec.Struct, frozen=True, kw_only=True):
    """One step: where it stands (``wave`` from 0; ``parents`` come first, ``key`` tells equals apart) and how it reads."""

    wave: int
    parents: tuple[Any, ...]
    key: Any
    pieces: tuple[Cell, ...]
    note: Cell | None = None


def depths(after: Mapping[str, Collection[str]]) -> dict[str, int]:
    """Each step's wave: 0 for one that waits for nothing, else one more than the latest that it waits for.

    Names without an entry of their own don't count. Raises :class:`graphlib.CycleError`.
    """
    known = {key: [parent for parent in parents if parent in after] for key, parents in after.items()}
    found: dict[str, int] = {}
    for key in TopologicalSorter(known).static_order():
        found[key] = 1 + max((found[parent] for parent in known[key]), default=-1)
    return found


def side_by_side(leaves: Iterable[Leaf], width: int) -> Iterable[Line]:
    """The lines of a tree in at most ``width`` terminal cells, as long as a single step fits."""
    ordered = sorted(leaves, key=lambda leaf: (leaf.wave, leaf.parents, leaf.key))
    for (wave, _parents), group in groupby(ordered, key=lambda leaf: (leaf.wave, leaf.parents)):
        indent = " " * INDENT * (wave + 1)
        row: list[Cell] = []
        for leaf in group:
            used, needed = _width(row), _width(leaf.pieces)
            if row and (leaf.note or len(indent) + used + len(GAP) + needed > width):
                yield (Cell(indent), *row)
                row = []
            row += [*([Cell(GAP)] if row else []), *leaf.pieces]
            if leaf.note:
                room = max(width - len(indent) - needed - INDENT, LEAST_NOTE)
                yield (Cell(indent), *row, Cell(" " * INDENT + clipped(leaf.note.text, room), leaf.note.tone))
                row = []
        if row:
            yield (Cell(indent), *row)


def _width(pieces: Iterable[Cell]) -> int:
    return sum(display_width(piece.text) for piece in pieces)
