"""Rehearsals: graphs of resources that the graph engine makes and takes away as a whole."""

from __future__ import annotations

from console.model.assembly import Assembly
from console.views import columns
from console.views.cells import Table

REHEARSALS: Table[Assembly] = Table(
    name="rehearsals",
    title="Rehearsals",
    kinds=("Rehearsal",),
    one="rehearsal",
    many="rehearsals",
    aliases=("rehearsal",),
    columns=(
        columns.MARK,
        columns.WHERE,
        columns.NAME,
        columns.shared("parts", "PARTS", lambda item: item.made, lambda item: item.wanted),
        columns.WHAT,
        columns.AGE,
    ),
)
