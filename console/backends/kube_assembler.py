"""From decoded objects to changes: converts, joins objects that name each other, remembers what is there.

A Kustomization's source, branch and wanted commit are its GitRepository's; a trigger's applied commit is its applier's. So the
decoded form of such kinds is kept, what a conversion looked at is remembered, and a change of that converts it again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from console.backends.kube_common import Scope
from console.backends.kube_kinds import KINDS, Kind
from console.backends.kube_wire import Meta
from console.model.operations import Operation, seen_on
from console.model.resource import Change, KindState, Listed, Removed, Resource, Upserted

Key = tuple[str, str, str]
"""Kind, namespace, name."""


class Assembler:
    """What one cluster has, as the console shows it.

    :attr:`emit` gets every change; it may be replaced when the connection is made again.
    """

    def __init__(self, connection: str, emit: Callable[[Change], None]) -> None:
        self.connection = connection
        self.emit = emit
        self._resources: dict[str, dict[Key, Resource]] = {}
        self._wires: dict[Key, Any] = {}
        self._looked_at: dict[Key, set[Key]] = {}
        self._dependents: dict[Key, set[Key]] = {}
        self._operations: dict[Key, Operation | None] = {}
        self._told_whole: set[str] = set()

    def take(self, kind: Kind, wire: Any) -> Key:
        """An object appeared or changed."""
        meta: Meta = wire.metadata
        key = (kind.name, meta.namespace or "", meta.name)
        if kind.joined:
            self._wires[key] = wire
        self._convert(kind, key, wire)
        return key

    def drop(self, kind: Kind, meta: Meta) -> None:
        """An object is gone."""
        self._forget((kind.name, meta.namespace or "", meta.name))

    def listed(self, kind: Kind, namespace: str, present: set[Key]) -> None:
        """A list is complete: what isn't in it is gone. ``namespace`` is empty for a list of all namespaces."""
        for key in [key for key in self._resources.get(kind.name, ()) if not namespace or key[1] == namespace]:
            if key not in present:
                self._forget(key)

    def complete(self, kind: Kind, *, polled: bool = False) -> None:
        """All lists of a kind are complete: the first time say the whole set, so that rows of an earlier life go too."""
        if kind.name not in self._told_whole:
            self._told_whole.add(kind.name)
            self.emit(Listed(self.connection, kind.name, tuple(self._resources.get(kind.name, {}).values())))
        self.emit(KindState(self.connection, kind.name, "listed", polled=polled))

    def state(self, kind: Kind, state: str, detail: str = "") -> None:
        """Why rows of a kind are (not) there."""
        self.emit(KindState(self.connection, kind.name, state, detail))

    def clear(self, kind: Kind) -> None:
        """Nothing is known of this kind any more, since it isn't served or nobody looks."""
        for key in tuple(self._resources.get(kind.name, ())):
            self._forget(key, quietly=True)
        self.emit(Listed(self.connection, kind.name, ()))

    def _find(self, asker: Key) -> Callable[[str, str, str], Resource | None]:
        def find(kind: str, namespace: str, name: str) -> Resource | None:
            key = (kind, namespace, name)
            self._looked_at.setdefault(asker, set()).add(key)
            self._dependents.setdefault(key, set()).add(asker)
            return self._resources.get(kind, {}).get(key)

        return find

    def _convert(self, kind: Kind, key: Key, wire: Any) -> None:
        """Convert one object, then those that looked at it, as far as anything changes."""
        waiting: deque[tuple[Kind, Key, Any]] = deque([(kind, key, wire)])
        # Objects that name each other in a circle settle after one round; the bound only guards against a defect.
        rounds = 1000
        while waiting and rounds:
            rounds -= 1
            kind, key, wire = waiting.popleft()
            if self._convert_one(kind, key, wire):
                waiting.extend(self._asking(key))

    def _asking(self, key: Key) -> list[tuple[Kind, Key, Any]]:
        return [
            (KINDS[asker[0]], asker, self._wires[asker])
            for asker in self._dependents.get(key, ())
            if asker != key and asker in self._wires
        ]

    def _convert_one(self, kind: Kind, key: Key, wire: Any) -> bool:
        if kind.convert is None:
            return False
        if kind.joined:
            for other in self._looked_at.pop(key, ()):
                self._dependents[other].discard(key)
            scope = Scope(self.connection, self._find(key))
        else:
            scope = Scope(self.connection)
        resource = kind.convert(wire, scope)
        known = self._resources.setdefault(kind.name, {})
        before = known.get(key)
        if before is not None and before.ref != resource.ref:
            self.emit(Removed(before.ref))
            self._operations.pop(key, None)
        known[key] = resource
        if before != resource:
            self.emit(Upserted(resource))
        if kind.operation is not None:
            self._show_operation(key, resource, kind.operation(wire, resource, scope))
        return before != resource

    def _show_operation(self, key: Key, resource: Resource, operation: Operation | None) -> None:
        if key in self._operations and self._operations[key] == operation:
            return
        self._operations[key] = operation
        # A connection made anew does not know what it showed before: what isn't there is taken back once.
        self.emit(Removed(seen_on(resource.ref)) if operation is None else Upserted(operation))

    def _forget(self, key: Key, *, quietly: bool = False) -> None:
        resource = self._resources.get(key[0], {}).pop(key, None)
        self._wires.pop(key, None)
        for other in self._looked_at.pop(key, ()):
            self._dependents[other].discard(key)
        if resource is None:
            return
        if self._operations.pop(key, None) is not None:
            self.emit(Removed(seen_on(resource.ref)))
        if not quietly:
            self.emit(Removed(resource.ref))
        for kind, asker, wire in self._asking(key):
            self._convert(kind, asker, wire)
