"""How many of everything there are and how many need a person, kept up with every change instead of counted again.

Counting ten thousand objects for the tabs and cards each second would cost more than painting them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from console.model.connections import Connection
from console.model.health import Health, worst
from console.model.operations import Operation
from console.model.refs import Ref
from console.model.resource import Resource
from console.ui.frame import Count
from console.ui.ports import StoreView
from console.views.bridge import on_bridge, trouble
from console.views.cells import Table
from console.views.glyphs import TONES

_Part = tuple[str, Health, bool]
"""What one object adds: the table, its state, whether it needs a person (or runs)."""


class Tally:
    """Counts by table and by connection over some tables of a store."""

    def __init__(self, store: StoreView, tables: Iterable[Table[Any]]) -> None:
        self._store = store
        self._tables = tuple(tables)
        self.kinds = frozenset(kind for table in self._tables for kind in table.kinds) | {"Operation"}
        self._of_kind = {kind: tuple(table for table in self._tables if kind in table.kinds) for kind in self.kinds}
        self._known: dict[Ref, tuple[_Part, ...]] = {}
        self._totals: Counter[str] = Counter()
        self._needing: dict[str, Counter[Health]] = {table.name: Counter() for table in self._tables}
        self._places: dict[str, Counter[Health]] = {}
        self._running: Counter[str] = Counter()

    def count_all(self) -> None:
        """Count everything once, at the beginning."""
        for kind in self.kinds:
            self.take(self._store.of(kind))

    def take(self, dirty: Iterable[Ref]) -> None:
        """These objects appeared, changed or went."""
        for ref in dirty:
            if ref.kind not in self.kinds:
                continue
            before = self._known.pop(ref, None)
            if before is not None:
                self._add(ref, before, -1)
            resource = self._store.of(ref.kind).get(ref)
            if resource is not None:
                parts = tuple(self._parts(resource))
                self._known[ref] = parts
                self._add(ref, parts, 1)

    def count(self, table: str) -> Count:
        """The number beside a view: running operations, else objects in trouble, else (muted) all objects."""
        needing = {state: number for state, number in self._needing[table].items() if number > 0}
        if needing:
            return Count(sum(needing.values()), TONES[worst(*needing)])
        return Count(0 if table == "operations" else self._totals[table])

    @property
    def places(self) -> dict[str, dict[Health, int]]:
        """For each connection how many objects of the bridge are in each state."""
        return {
            name: {state: number for state, number in counts.items() if number > 0} for name, counts in self._places.items()
        }

    @property
    def running(self) -> dict[str, int]:
        """For each connection how many operations run."""
        return {name: number for name, number in self._running.items() if number > 0}

    def _parts(self, resource: Resource) -> Iterable[_Part]:
        if isinstance(resource, Operation):
            state, needs = Health.BUSY, not resource.state.ended
        else:
            state = trouble(resource)
            needs = state.needs_attention
        for table in self._of_kind[resource.ref.kind]:
            if table.keep(resource):
                yield (table.name, state, needs)
        if isinstance(resource, Operation):
            if needs:
                yield ("running", state, needs)
        elif not isinstance(resource, Connection) and on_bridge(resource):
            yield ("place", state, needs)

    def _add(self, ref: Ref, parts: Iterable[_Part], by: int) -> None:
        for name, state, needs in parts:
            if name == "place":
                self._places.setdefault(ref.connection, Counter())[state] += by
            elif name == "running":
                self._running[ref.connection] += by
            else:
                self._totals[name] += by
                if needs:
                    self._needing[name][state] += by
