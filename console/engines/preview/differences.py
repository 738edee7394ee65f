"""What differs between two states of an object, field by field, for a person to read: secrets masked, one line a value.

Lists of named things (containers, ports, environments) are compared by name, as people do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from console.engines.preview.documents import JsonObject
from console.kit.dig import mapping
from console.kit.masking import MASK, mask_object
from console.kit.sanitize import sanitize
from console.model.plan import FieldChange

ABSENT = "absent"
_NOISE = (
    "managedFields",
    "resourceVersion",
    "generation",
    "uid",
    "creationTimestamp",
    "selfLink",
    "deletionGracePeriodSeconds",
)
_BOOKKEEPING = ("kubectl.kubernetes.io/last-applied-configuration",)
_LONGEST = 160
_NAMES = ("name", "key", "mountPath", "containerPort", "port", "topologyKey")
Leaf = tuple[tuple[str, ...], Any]


def told(obj: JsonObject) -> JsonObject:
    """An object without what the server itself keeps in it."""
    metadata = {key: value for key, value in mapping(obj, "metadata").items() if key not in _NOISE}
    annotations = {key: value for key, value in mapping(metadata, "annotations").items() if key not in _BOOKKEEPING}
    if annotations:
        metadata["annotations"] = annotations
    else:
        metadata.pop("annotations", None)
    return {**{key: value for key, value in obj.items() if key != "status"}, "metadata": metadata}


def changes(before: JsonObject, after: JsonObject, hidden: Sequence[str] = ()) -> tuple[FieldChange, ...]:
    """The fields that differ, in the order of their paths.

    :param hidden: values that must not be shown wherever they stand (they came out of Secrets).
    """
    old, new = dict(_leaves(told(before), ())), dict(_leaves(told(after), ()))
    shown_old, shown_new = dict(_leaves(mask_object(told(before)), ())), dict(_leaves(mask_object(told(after)), ()))
    found = []
    for path in [*old, *(path for path in new if path not in old)]:
        was, now = old.get(path, ABSENT), new.get(path, ABSENT)
        if path in old and path in new and was == now:
            continue
        words = [
            _words(shown.get(path, ABSENT), path in there, hidden) for shown, there in ((shown_old, old), (shown_new, new))
        ]
        if words[0] == words[1]:
            words[1] = f"{words[1]} (another value)"
        found.append(FieldChange(path=sanitize(".".join(path).replace(".[", "[")), before=words[0], after=words[1]))
    return tuple(sorted(found, key=lambda change: change.path))


def without(words: str, hidden: Sequence[str]) -> str:
    """Text without values that must not be shown."""
    for secret in hidden:
        if secret:
            words = words.replace(secret, MASK)
    return words


def _words(value: Any, there: bool, hidden: Sequence[str]) -> str:
    if not there:
        return ABSENT
    words = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), sort_keys=True)
    words = without(words, hidden)
    if words == "":
        return '""'
    words = sanitize(words)
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"


def _leaves(value: Any, path: tuple[str, ...], named_by: str = "") -> Iterator[Leaf]:
    """Everything at the ends of a value. ``named_by``: the field that the path has already, which is not told twice."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            if key != named_by or len(value) == 1:
                yield from _leaves(item, (*path, str(key)))
    elif isinstance(value, list) and value:
        key = _naming(value)
        for index, item in enumerate(value):
            yield from _leaves(item, (*path, f"[{item[key] if key else index}]"), key)
    else:
        yield path, value


def _naming(value: list[Any]) -> str:
    """The field that tells all items of a list apart; "" where none does, and they are counted."""
    if all(isinstance(item, dict) for item in value):
        for key in _NAMES:
            names = {str(item[key]) for item in value if item.get(key) not in (None, "")}
            if len(names) == len(value):
                return key
    return ""
