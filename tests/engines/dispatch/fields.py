"""Field sets of a managedFields entry, as sets of paths. A path is a tuple of keys; lists are single values."""

from __future__ import annotations

from typing import Any

Path = tuple[str, ...]

_SERVERS_OWN = {
    ("apiVersion",),
    ("kind",),
    *(
        ("metadata", key)
        for key in (
            "name",
            "namespace",
            "uid",
            "resourceVersion",
            "generation",
            "creationTimestamp",
            "deletionTimestamp",
            "managedFields",
        )
    ),
}


def leaves(value: Any, prefix: Path = ()) -> dict[Path, Any]:
    """All values of an object that a manager can own."""
    if prefix in _SERVERS_OWN:
        return {}
    if isinstance(value, dict) and (value or not prefix):
        found: dict[Path, Any] = {}
        for key, item in value.items():
            found |= leaves(item, (*prefix, key))
        return found
    return {prefix: value}


def get(obj: Any, path: Path) -> Any:
    for key in path:
        if not isinstance(obj, dict) or key not in obj:
            return None
        obj = obj[key]
    return obj


def put(obj: dict[str, Any], path: Path, value: Any) -> None:
    for key in path[:-1]:
        child = obj.get(key)
        if not isinstance(child, dict):
            child = obj[key] = {}
        obj = child
    obj[path[-1]] = value


def drop(obj: dict[str, Any], path: Path) -> None:
    """Remove a value, and the maps that it leaves empty."""
    parents = []
    for key in path[:-1]:
        if not isinstance(obj.get(key), dict):
            return
        parents.append((obj, key))
        obj = obj[key]
    obj.pop(path[-1], None)
    for parent, key in reversed(parents):
        if not parent[key]:
            del parent[key]


def encode(paths: set[Path]) -> dict[str, Any]:
    """A field set as ``fieldsV1``."""
    out: dict[str, Any] = {}
    for path in sorted(paths):
        node = out
        for key in path:
            node = node.setdefault(f"f:{key}", {})
    return out


def decode(fields: dict[str, Any], prefix: Path = ()) -> set[Path]:
    found: set[Path] = set()
    for key, child in fields.items():
        path = (*prefix, key.removeprefix("f:"))
        found |= decode(child, path) if child else {path}
    return found
