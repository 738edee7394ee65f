"""The objects of one simulated cluster, their versions, and what happened to them.

Stored objects are never changed in place: a write replaces the whole dict, so watch events and list snapshots can share it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from console.demo.clockwork import Bell, Names, WorldClock, rfc3339
from console.demo.kube_kinds import Kind

Object = dict[str, Any]
Key = tuple[str, str]


class Occurrence(msgspec.Struct, frozen=True):
    """One entry of a kind's history. ``type`` is ADDED, MODIFIED or DELETED; ``before`` the object it replaced."""

    version: int
    type: str
    object: Object
    before: Object | None


class KubeStore:
    """Objects by kind, with one counter of resourceVersions for all of them.

    :param history: how many occurrences a kind remembers; a watch from before them is answered with 410.
    """

    def __init__(self, kinds: Iterable[Kind], clock: WorldClock, names: Names, history: int = 5000) -> None:
        self.kinds: Mapping[tuple[str, str], Kind] = {(kind.group, kind.plural): kind for kind in kinds}
        self.by_word: Mapping[str, Kind] = {kind.kind: kind for kind in self.kinds.values()}
        self.clock = clock
        self.names = names
        self.bell = Bell()
        self.version = 1000
        self._history_size = history
        self._objects: dict[str, dict[Key, Object]] = defaultdict(dict)
        self._history: dict[str, list[Occurrence]] = defaultdict(list)
        self._forgotten: dict[str, int] = defaultdict(int)
        self._generation_of_names: dict[tuple[str, Key], int] = defaultdict(int)

    def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """One object, or None."""
        return self._objects[kind.kind].get((namespace, name))

    def find(self, word: str, namespace: str, name: str) -> Object | None:
        """One object by its kind's word, or None."""
        return self._objects[word].get((namespace, name))

    def all(self, word: str, namespace: str = "") -> list[Object]:
        """All objects of a kind, sorted by namespace and name as the real store lists them."""
        objects = self._objects[word]
        keys = [key for key in objects if key[0] == namespace] if namespace else objects
        return [objects[key] for key in sorted(keys)]

    def count(self, word: str) -> int:
        """How many objects of a kind there are."""
        return len(self._objects[word])

    def put(self, kind: Kind, obj: Object) -> Object:
        """Store a new object or a new version of one; gives it its resourceVersion, and uid and times when new.

        Deletion finishes here: an object that is being deleted and has no finalizer left goes.
        """
        meta = obj["metadata"]
        key = (meta.get("namespace", ""), meta["name"])
        before = self._objects[kind.kind].get(key)
        self.version += 1
        meta = {**meta, "resourceVersion": str(self.version)}
        if before is None:
            self._generation_of_names[(kind.kind, key)] += 1
            word = f"{kind.kind}/{key[0]}/{key[1]}/{self._generation_of_names[(kind.kind, key)]}"
            meta.setdefault("uid", self.names.uid(word))
            meta.setdefault("creationTimestamp", rfc3339(self.clock.now()))
            if kind.kind not in ("Event", "ConfigMap", "Secret", "Namespace", "Pod", "Node"):
                meta.setdefault("generation", 1)
        stored = {**obj, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta}
        if before is not None and meta.get("deletionTimestamp") and not meta.get("finalizers"):
            del self._objects[kind.kind][key]
            self._remember(kind, Occurrence(self.version, "DELETED", stored, before))
            return stored
        self._objects[kind.kind][key] = stored
        self._remember(kind, Occurrence(self.version, "ADDED" if before is None else "MODIFIED", stored, before))
        return stored

    def remove(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """Delete an object: at once, or by marking it when finalizers hold it. Returns what is left or was."""
        obj = self.get(kind, namespace, name)
        if obj is None:
            return None
        meta = obj["metadata"]
        if meta.get("finalizers"):
            if meta.get("deletionTimestamp"):
                return obj
            marked = {**meta, "deletionTimestamp": rfc3339(self.clock.now()), "deletionGracePeriodSeconds": 0}
            if "generation" in marked:
                marked["generation"] += 1
            return self.put(kind, {**obj, "metadata": marked})
        self.version += 1
        del self._objects[kind.kind][(namespace, name)]
        gone = {**obj, "metadata": {**meta, "resourceVersion": str(self.version)}}
        self._remember(kind, Occurrence(self.version, "DELETED", gone, obj))
        return gone

    def since(self, word: str, version: int) -> list[Occurrence] | None:
        """What happened to a kind after a resourceVersion; None when that was forgotten (410)."""
        if version < self._forgotten[word]:
            return None
        history = self._history[word]
        return history[bisect_right(history, version, key=lambda occurrence: occurrence.version) :]

    def compact(self) -> None:
        """Forget all history: every watch or continue token from before now is too old."""
        self.version += 1
        for word in tuple(self._history) + tuple(kind.kind for kind in self.kinds.values()):
            self._history[word] = []
            self._forgotten[word] = self.version

    def _remember(self, kind: Kind, occurrence: Occurrence) -> None:
        history = self._history[kind.kind]
        history.append(occurrence)
        if len(history) > 2 * self._history_size:
            self._forgotten[kind.kind] = history[-self._history_size - 1].version
            del history[: -self._history_size]
        self.bell.ring()
