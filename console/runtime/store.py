"""The one place where the present state of all targets lies: rows by kind, what is known about each kind, who wants to hear.

Rows are frozen and shared, never copied. A connection that goes away takes no row with it: its ``Connection`` resource says
that the rows are stale. Only the platform's own word (:class:`~console.model.resource.Removed`, or a complete
:class:`~console.model.resource.Listed` without the object) removes a row. All calls are made on the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from console.model.refs import Ref
from console.model.resource import Change, KindState, Listed, Removed, Resource, Upserted

Callback = Callable[[frozenset[Ref]], None]

_NONE: Mapping[Ref, Resource] = MappingProxyType({})


class Subscription:
    """One listener: the kinds it wants, and the references that changed since it was last told."""

    __slots__ = ("_callback", "_dirty", "_handle", "kinds")

    def __init__(self, kinds: frozenset[str], callback: Callback) -> None:
        self.kinds = kinds
        self._callback = callback
        self._dirty: set[Ref] = set()
        self._handle: asyncio.Handle | None = None

    def mark(self, refs: Iterable[Ref]) -> None:
        """Remember these as changed and make sure that the callback runs once, in the loop's next turn."""
        self._dirty.update(refs)
        if self._handle is None:
            self._handle = asyncio.get_running_loop().call_soon(self._tell)

    def cancel(self) -> None:
        """Never call again, not even for what is marked already."""
        if self._handle is not None:
            self._handle.cancel()

    def _tell(self) -> None:
        self._handle = None
        dirty, self._dirty = frozenset(self._dirty), set()
        self._callback(dirty)


class Store:
    """Rows of all kinds on all connections, and the state of each (connection, kind)."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[Ref, Resource]] = {}
        self._views: dict[str, Mapping[Ref, Resource]] = {}
        self._refs: dict[tuple[str, str], set[Ref]] = {}
        self._names: dict[tuple[str, str], dict[tuple[str, str], Ref]] = {}
        self._states: dict[tuple[str, str], KindState] = {}
        self._revisions: dict[str, int] = {}
        self._subscriptions: dict[str, list[Subscription]] = {}

    def apply(self, change: Change) -> None:
        """Take one change in. What says nothing new (an equal object, a known state) is ignored."""
        match change:
            case Upserted(resource):
                self._upsert((resource,))
            case Removed(ref):
                self._remove(ref)
            case Listed():
                self._list(change)
            case KindState():
                self._note_state(change)

    def of(self, kind: str) -> Mapping[Ref, Resource]:
        """All rows of a kind on all connections: a read-only view that stays current, in the order of arrival."""
        view = self._views.get(kind)
        if view is None:
            view = self._views[kind] = MappingProxyType(self._rows.setdefault(kind, {}))
        return view

    def on(self, connection: str, kind: str) -> Iterator[Resource]:
        """The rows of a kind on one connection; not to be held across an ``await``."""
        rows = self._rows.get(kind, _NONE)
        return (rows[ref] for ref in self._refs.get((connection, kind), ()))

    def get(self, ref: Ref) -> Resource | None:
        """The row with exactly this reference; with an empty ``uid`` the one that has the name now."""
        found = self._rows.get(ref.kind, _NONE).get(ref)
        if found is None and not ref.uid:
            named = self._named(ref.connection, ref.kind).get((ref.namespace, ref.name))
            return None if named is None else self._rows[ref.kind][named]
        return found

    def kind_state(self, connection: str, kind: str) -> KindState:
        """Why rows of this kind are (not) there; "syncing" while nobody has said anything."""
        known = self._states.get((connection, kind))
        return known if known is not None else KindState(connection, kind, "syncing")

    def kind_states(self, connection: str) -> tuple[KindState, ...]:
        """Everything known about the kinds of one connection, by kind."""
        return tuple(sorted((s for (c, _), s in self._states.items() if c == connection), key=lambda state: state.kind))

    def revision(self, kind: str) -> int:
        """Grows with every change of a row or a state of this kind: equal numbers mean that nothing changed."""
        return self._revisions.get(kind, 0)

    def subscribe(self, kinds: Iterable[str], callback: Callback) -> Callable[[], None]:
        """Hear about changes of these kinds, all of one loop turn at once.

        The callback gets the references that appeared, changed or went; an empty set means that only a :class:`KindState`
        changed. It runs on the loop and must be quick. Returns the function that ends the subscription.
        """
        subscription = Subscription(frozenset(kinds), callback)
        for kind in subscription.kinds:
            self._subscriptions.setdefault(kind, []).append(subscription)

        def unsubscribe() -> None:
            subscription.cancel()
            for kind in subscription.kinds:
                if subscription in self._subscriptions.get(kind, ()):
                    self._subscriptions[kind].remove(subscription)

        return unsubscribe

    def _upsert(self, resources: Iterable[Resource]) -> None:
        changed: dict[str, list[Ref]] = {}
        for resource in resources:
            ref = resource.ref
            rows = self._rows.setdefault(ref.kind, {})
            before = rows.get(ref)
            if before is resource or before == resource:
                continue
            rows[ref] = resource
            if before is None:
                self._refs.setdefault((ref.connection, ref.kind), set()).add(ref)
                self._names.pop((ref.connection, ref.kind), None)
            changed.setdefault(ref.kind, []).append(ref)
        for kind, refs in changed.items():
            self._changed(kind, refs)

    def _remove(self, ref: Ref) -> None:
        known = self.get(ref)
        if known is not None:
            self._drop(known.ref.connection, known.ref.kind, (known.ref,))

    def _drop(self, connection: str, kind: str, refs: Iterable[Ref]) -> None:
        gone = tuple(refs)
        if not gone:
            return
        rows = self._rows[kind]
        for ref in gone:
            del rows[ref]
        self._refs[connection, kind].difference_update(gone)
        self._names.pop((connection, kind), None)
        self._changed(kind, gone)

    def _list(self, listed: Listed) -> None:
        self._upsert(listed.resources)
        present = {resource.ref for resource in listed.resources}
        known = self._refs.get((listed.connection, listed.kind), set())
        self._drop(listed.connection, listed.kind, known - present)
        self._note_state(KindState(listed.connection, listed.kind, "listed"))

    def _note_state(self, state: KindState) -> None:
        if self._states.get((state.connection, state.kind)) != state:
            self._states[state.connection, state.kind] = state
            self._changed(state.kind, ())

    def _named(self, connection: str, kind: str) -> dict[tuple[str, str], Ref]:
        names = self._names.get((connection, kind))
        if names is None:
            names = {(ref.namespace, ref.name): ref for ref in self._refs.get((connection, kind), ())}
            self._names[connection, kind] = names
        return names

    def _changed(self, kind: str, refs: Iterable[Ref]) -> None:
        self._revisions[kind] = self._revisions.get(kind, 0) + 1
        for subscription in self._subscriptions.get(kind, ()):
            subscription.mark(refs)
