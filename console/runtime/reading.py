"""Answers about one object from what the store already has: its events, its operations, what it belongs to."""

from __future__ import annotations

from console.model.kubernetes import Event
from console.model.operations import Operation
from console.model.refs import Ref
from console.model.resource import Removed, Resource
from console.runtime.store import Store

# Kinds that speak about objects rather than being related to them; asked for by functions of their own.
_ABOUT = frozenset({"Event", "Operation", "Connection"})


def same(one: Ref, other: Ref) -> bool:
    """Whether both mean one object: equal, or equal by name where one of them has no uid."""
    if one == other:
        return True
    named = (one.connection, one.kind, one.namespace, one.name) == (other.connection, other.kind, other.namespace, other.name)
    return named and not (one.uid and other.uid)


def events_about(store: Store, ref: Ref) -> tuple[Event, ...]:
    """Events that speak of this object, newest first."""
    found = [event for event in store.on(ref.connection, "Event") if isinstance(event, Event) and same(event.about, ref)]
    return tuple(sorted(found, key=lambda event: event.at, reverse=True))


def operations_on(store: Store, ref: Ref) -> tuple[Operation, ...]:
    """Operations that act on this object, from here and from the target: those in flight first, then the newest."""
    found = [
        operation
        for operation in store.of("Operation").values()
        if isinstance(operation, Operation) and same(operation.target, ref)
    ]
    return tuple(
        sorted(found, key=lambda op: (not op.state.ended, op.started.timestamp() if op.started else 0.0), reverse=True)
    )


def drop_orphans(store: Store, connection: str, kind: str) -> None:
    """Remove operations that a target showed on objects of this kind which are gone: they have no list of their own."""
    gone = [
        operation.ref
        for operation in store.on(connection, "Operation")
        if isinstance(operation, Operation)
        and operation.origin == "target"
        and operation.target.kind == kind
        and store.get(operation.target) is None
    ]
    for ref in gone:
        store.apply(Removed(ref))


def related_to(store: Store, ref: Ref, kinds: frozenset[str]) -> tuple[Resource, ...]:
    """Objects that this one names and objects that name it, among ``kinds``; those it names first, each once."""
    found: dict[Ref, Resource] = {}
    this = store.get(ref)
    if this is not None:
        for named in _names(this):
            other = store.get(named)
            if other is not None:
                found.setdefault(other.ref, other)
    for kind in sorted(kinds - _ABOUT):
        for other in store.on(ref.connection, kind):
            if other.ref != ref and any(same(named, ref) for named in _names(other)):
                found.setdefault(other.ref, other)
    found.pop(ref, None)
    return tuple(found.values())


def _names(resource: Resource) -> tuple[Ref, ...]:
    applier = getattr(resource, "applier", None)
    return (*resource.related, applier) if isinstance(applier, Ref) else resource.related
