"""How many of everything there are and how many need a person, kept up with every change instead of counted again.

Counting ten thousand objects for the tabs and cards each second would cost more than painting them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from console.model.connections import Connection
from console.model.health import Health, worst
from console.model.kubernetes import TRIGGER_KINDS
from console.model.operations import Operation
from console.model.refs import Ref
from console.model.resource import Resource
from console.ui.frame import Count
from console.ui.ports import StoreView
from console.views.bridge import Place, on_bridge, place, spoken_for, trouble, without_spoken_for
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
        self._namers: Counter[Place] = Counter()
        self._names: dict[Ref, Place] = {}
        self._at: dict[Place, Ref] = {}

    def count_all(self) -> None:
        """Count everything once, at the beginning."""
        for kind in self.kinds:
            self.take(self._store.of(kind))

    def take(self, dirty: Iterable[Ref]) -> None:
        """These objects appeared, changed or went."""
        dirty = [ref for ref in dirty if ref.kind in self.kinds]
        named = [applier for ref in dirty for applier in self._name(ref)]
        for ref in dict.fromkeys([*dirty, *(self._at[applier] for applier in named if applier in self._at)]):
            before = self._known.pop(ref, None)
            if before is not None:
                self._add(ref, before, -1)
            resource = self._store.of(ref.kind).get(ref)
            if resource is not None:
                parts = tuple(self._parts(resource))
                self._known[ref] = parts
                self._add(ref, parts, 1)

    def _name(self, ref: Ref) -> Iterable[Place]:
        """Note which applier a trigger names, and return those that somebody speaks for now, or no longer does."""
        if ref.kind not in TRIGGER_KINDS:
            return ()
        resource = self._store.of(ref.kind).get(ref)
        here = place(ref)
        if resource is None:
            self._at.pop(here, None)
        else:
            self._at[here] = ref
        before = self._names.pop(ref, None)
        names = next(iter(spoken_for([resource])), None) if resource is not None else None
        if names is not None:
            self._names[ref] = names
        if before == names:
            return ()
        changed = [found for found in (before, names) if found is not None]
        if before is not None:
            self._namers[before] -= 1
        if names is not None:
            self._namers[names] += 1
        return changed

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
        # An applier that a trigger names is that trigger's row wherever rows are distinct.
        spoken = self._namers[place(resource.ref)] > 0
        for table in self._of_kind[resource.ref.kind]:
            if table.keep(resource) and not (spoken and table.distinct is without_spoken_for):
                yield (table.name, state, needs)
        if isinstance(resource, Operation):
            if needs:
                yield ("running", state, needs)
        elif not isinstance(resource, Connection) and not spoken and on_bridge(resource):
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
