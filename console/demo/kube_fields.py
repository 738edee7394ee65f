"""Sets of fields: which an object has, how two objects differ, and the ``fieldsV1`` form of a set.

A path is a tuple of elements as ``fieldsV1`` writes them: ``f:name`` for a field, ``k:{...}`` for an item of a keyed list,
``v:...`` for an item of a set. Lists without a declared key are one value. Source: structured-merge-diff, as the API server
uses it for server-side apply.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

Path = tuple[str, ...]
Fields = frozenset[Path]
NONE: Fields = frozenset()

# Keyed lists of the built-in kinds by the name of the field that holds them; custom resources have none that matter here.
_KEYED = {
    "containers": ("name",),
    "initContainers": ("name",),
    "env": ("name",),
    "ports": ("containerPort", "protocol"),
    "volumes": ("name",),
    "ownerReferences": ("uid",),
}
_SETS = ("finalizers",)
_BUILT_IN = ("v1", "apps/v1", "batch/v1")
_NOT_OWNED = ("apiVersion", "kind")
_META_NOT_OWNED = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
    "selfLink",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)


class Difference(msgspec.Struct, frozen=True):
    """How a second object differs from a first."""

    added: Fields
    modified: Fields
    removed: Fields

    @property
    def set(self) -> Fields:
        """Fields that have another value now than before, or that are new."""
        return self.added | self.modified


def own_fields(obj: dict[str, Any], *, status_only: bool = False) -> dict[str, Any]:
    """The part of an object that field managers can own: no identity, no bookkeeping, and not both spec and status."""
    if status_only:
        return {"status": obj["status"]} if "status" in obj else {}
    result = {key: value for key, value in obj.items() if key not in _NOT_OWNED}
    meta = {key: value for key, value in obj.get("metadata", {}).items() if key not in _META_NOT_OWNED}
    result.pop("metadata", None)
    return {**result, "metadata": meta} if meta else result


def field_set(value: dict[str, Any], built_in: bool = False) -> Fields:
    """The fields that an applied configuration speaks of: its leaves, empty maps, and items of keyed lists."""
    return frozenset(_walk(value, (), built_in))


def is_built_in(obj: dict[str, Any]) -> bool:
    """Whether an object's lists follow the built-in schemas."""
    return obj.get("apiVersion") in _BUILT_IN


def difference(before: Any, after: Any, built_in: bool = False) -> Difference:
    """Compare field by field; a map or keyed item that is new counts as a field itself, besides what is in it."""
    added: set[Path] = set()
    modified: set[Path] = set()
    removed: set[Path] = set()
    _compare(before, after, (), built_in, added, modified, removed)
    return Difference(frozenset(added), frozenset(modified), frozenset(removed))


def encode(fields: Fields) -> dict[str, Any]:
    """A set as ``fieldsV1``."""
    tree: dict[str, Any] = {}
    for path in sorted(fields):
        node = tree
        for element in path:
            node = node.setdefault(element, {})
        node["\0"] = True
    return _with_dots(tree)


def decode(tree: dict[str, Any]) -> Fields:
    """``fieldsV1`` as a set."""
    return frozenset(_members(tree, ()))


def children(value: Any, path: Path, built_in: bool) -> dict[str, Any] | None:
    """The parts of a value that are owned separately, by path element; None for a leaf."""
    if isinstance(value, dict):
        return {f"f:{key}": item for key, item in value.items()}
    if isinstance(value, list) and path:
        field = path[-1].removeprefix("f:")
        if field in _SETS and len(path) == 2:
            return {f"v:{_json(item)}": item for item in value}
        keys = _KEYED.get(field)
        if keys and (built_in or field == "ownerReferences") and all(isinstance(item, dict) for item in value):
            return {item_key(item, keys): item for item in value}
    return None


def item_key(item: dict[str, Any], keys: Iterable[str]) -> str:
    """The path element of an item of a keyed list."""
    found = {key: item.get(key, "TCP" if key == "protocol" else None) for key in keys}
    return f"k:{_json(found)}"


def _walk(value: Any, path: Path, built_in: bool) -> Iterator[Path]:
    parts = children(value, path, built_in)
    if not parts:
        if path:
            yield path
        return
    if path and path[-1].startswith("k:"):
        yield path
    for element, part in parts.items():
        if element.startswith("v:"):
            yield (*path, element)
        else:
            yield from _walk(part, (*path, element), built_in)


def _compare(
    before: Any, after: Any, path: Path, built_in: bool, added: set[Path], modified: set[Path], removed: set[Path]
) -> None:
    if before == after:
        return
    old = children(before, path, built_in)
    new = children(after, path, built_in)
    if old is None and new is None and before is not None and after is not None:
        modified.add(path)
        return
    if before is None and path:
        added.add(path)
    elif after is None and path:
        removed.add(path)
    elif (old is None) != (new is None):
        modified.add(path)
    old, new = old or {}, new or {}
    for element in old.keys() | new.keys():
        _compare(old.get(element), new.get(element), (*path, element), built_in, added, modified, removed)


def _members(tree: dict[str, Any], path: Path) -> Iterator[Path]:
    for element, below in tree.items():
        if element == ".":
            continue
        here = (*path, element)
        if not below or "." in below:
            yield here
        yield from _members(below, here)


def _with_dots(tree: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    if "\0" in tree and len(tree) > 1:
        result["."] = {}
    for element, below in tree.items():
        if element != "\0":
            result[element] = _with_dots(below)
    return result


def _json(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()
