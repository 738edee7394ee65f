"""Which objects a place shows: the table's own choice, narrowed by scope and filter, kept up with the store.

Pure data over the store: the screen asks for the whole set when the place changes, and for differences afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from console.model.connections import Connection
from console.model.docker import Task
from console.model.kubernetes import TRIGGER_KINDS, Event
from console.model.operations import Operation
from console.model.refs import Ref
from console.model.resource import Resource
from console.ui.place import Place
from console.ui.ports import StoreView
from console.views import filters
from console.views.bridge import Place as BridgePlace
from console.views.bridge import place as bridge_place
from console.views.bridge import spoken_for, trouble
from console.views.cells import Context, Table, row_cells

_SEARCH_CELLS = 3_000
"""Up to so many rows the text of all cells is searched; above, identity, name and reason (to stay below 50 ms a key)."""


class Rows:
    """The objects of one place."""

    def __init__(self, store: StoreView, table: Table[Any], place: Place, context: Context) -> None:
        self.table = table
        self.place = place
        self.context = context
        self.filter = filters.parse(place.filter)
        self._store = store
        self._targets = _targets(store, place.target)
        self._spoken_for: frozenset[BridgePlace] = frozenset()
        self._find_spoken_for()

    @property
    def kinds(self) -> frozenset[str]:
        """What must be heard of to keep the rows right."""
        return frozenset({*self.table.kinds, "Connection"})

    def all(self) -> dict[Ref, Resource]:
        """Every object of the table in this scope, whatever the filter hides."""
        return {
            ref: resource
            for kind in self.table.kinds
            for ref, resource in self._store.of(kind).items()
            if self._belongs(resource)
        }

    def changes(self, dirty: Iterable[Ref]) -> tuple[list[Resource], list[Ref]]:
        """What changed in this scope and what is gone from it, for references that the store reported."""
        changed, gone = [], []
        for ref in dirty:
            if ref.kind not in self.table.kinds:
                continue
            resource = self._store.get(ref)
            if resource is not None and resource.ref == ref and self._belongs(resource):
                changed.append(resource)
            else:
                gone.append(ref)
        return changed, gone

    def must_reload(self, dirty: Iterable[Ref]) -> bool:
        """Whether a change of other objects moves rows in or out: another set of appliers is spoken for by triggers."""
        if self.table.name != "bridge" or not any(ref.kind in TRIGGER_KINDS for ref in dirty):
            return False
        before = self._spoken_for
        self._find_spoken_for()
        return self._spoken_for != before

    def keeps(self, total: int) -> Any:
        """The filter as a function of an object, or None if it hides nothing."""
        problems, chosen = self.place.problems, self.filter
        if not problems and not chosen:
            return None
        with_cells = total <= _SEARCH_CELLS and bool(chosen.terms)
        asks = bool(chosen)

        def keep(resource: Resource) -> bool:
            if problems and not trouble(resource).needs_attention:
                return False
            cells = row_cells(self.table.columns, resource, self.context) if with_cells else ()
            return not asks or chosen.keeps(resource, cells)

        return keep

    def narrower(self, before: Rows) -> bool:
        """Whether what is hidden here holds all that was hidden before, in the same table and scope."""
        return self.filter.narrows(before.filter) and (self.place.problems or not before.place.problems)

    def _belongs(self, resource: Resource) -> bool:
        place, ref = self.place, resource.ref
        if self._targets is not None and ref.connection not in self._targets:
            return False
        if place.namespace and ref.namespace != place.namespace and subject(resource).namespace != place.namespace:
            return False
        if place.owner and not owned_by(resource, place.owner):
            return False
        if self._spoken_for and bridge_place(ref) in self._spoken_for:
            return False
        return self.table.keep(resource)

    def _find_spoken_for(self) -> None:
        """A trigger speaks for the applier it names: on the bridge that one isn't listed a second time."""
        if self.table.name != "bridge":
            return
        self._spoken_for = spoken_for(resource for kind in TRIGGER_KINDS for resource in self._store.of(kind).values())


def subject(resource: Resource) -> Ref:
    """What an entry speaks of: an event or an operation is about another object."""
    if isinstance(resource, Event):
        return resource.about
    return resource.target if isinstance(resource, Operation) else resource.ref


def owned_by(resource: Resource, owner: str) -> bool:
    """Whether an object belongs to the stack or app of this name."""
    if owner in (getattr(resource, "stack", ""), getattr(resource, "app", ""), resource.ref.name):
        return True
    if isinstance(resource, Task):
        return resource.service.name == owner or resource.service.name.startswith(f"{owner}_")
    return subject(resource).name == owner or getattr(resource, "owner", "") == owner


def _targets(store: StoreView, target: str) -> frozenset[str] | None:
    """The connections that a scope names: one by its name, or all of a group."""
    if not target:
        return None
    found = (item for item in store.of("Connection").values() if isinstance(item, Connection))
    return frozenset(item.ref.name for item in found if target in (item.ref.name, item.group)) | {target}
