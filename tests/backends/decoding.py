"""Objects as a server sends them, through the very decoding that the backends use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from console.backends.kube_assembler import Assembler
from console.backends.kube_kinds import KINDS
from console.model.resource import Change, KindState, Listed, Removed, Resource, Upserted
from console.runtime.store import Store

Json = dict[str, Any]


class Cluster:
    """An assembler whose changes end in a store, fed with plain JSON objects."""

    def __init__(self, connection: str = "prod") -> None:
        self.store = Store()
        self.changes: list[Change] = []
        self.assembler = Assembler(connection, self._emit)
        self.connection = connection

    def _emit(self, change: Change) -> None:
        self.changes.append(change)
        self.store.apply(change)

    def put(self, *objects: Mapping[str, Any]) -> None:
        """Each as it would come in a list or a watch event."""
        for found in objects:
            kind = KINDS[found["kind"]]
            self.assembler.take(kind, msgspec.json.decode(msgspec.json.encode(found), type=kind.wire))

    def drop(self, found: Mapping[str, Any]) -> None:
        """As in a DELETED event."""
        kind = KINDS[found["kind"]]
        self.assembler.drop(kind, msgspec.json.decode(msgspec.json.encode(found), type=kind.wire).metadata)

    def one(self, kind: str, name: str = "") -> Resource:
        """The one row of a kind (of this name)."""
        (found,) = [row for row in self.store.on(self.connection, kind) if name in ("", row.ref.name)]
        return found


def condition(kind: str, status: str, reason: str = "", message: str = "", since: str = "2026-03-01T10:00:00Z") -> Json:
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since}


def kinds_of(changes: list[Change]) -> list[str]:
    """The changes as short words, to compare sequences; without taking back operations that were never there."""
    words = []
    for change in changes:
        match change:
            case Upserted(resource):
                words.append(f"+{resource.ref.kind}/{resource.ref.name}")
            case Removed(ref) if ref.kind != "Operation":
                words.append(f"-{ref.kind}/{ref.name}")
            case Listed(_, kind, resources):
                words.append(f"={kind}:{len(resources)}")
            case KindState():
                words.append(f"{change.kind} {change.state}")
    return words
