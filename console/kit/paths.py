"""Reaching into nested dicts and lists by a path of keys; list positions are decimal digits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

ABSENT: Final = msgspec.UNSET
"""What :func:`get_path` returns where there is nothing."""


def get_path(value: Any, path: Sequence[str]) -> Any:
    """The value at the path, or :data:`ABSENT`."""
    for part in path:
        if isinstance(value, Mapping):
            value = value.get(part, ABSENT)
        elif isinstance(value, list | tuple) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return ABSENT
    return value


def set_path(value: dict[str, Any], path: Sequence[str], new: Any) -> None:
    """Put a value into nested dicts and lists, making dicts on the way. The containers must be the caller's to change."""
    target: Any = value
    for part in path[:-1]:
        if isinstance(target, list):
            target = target[int(part)]
        else:
            inner = target.get(part)
            if not isinstance(inner, dict | list):
                inner = target[part] = {}
            target = inner
    last = path[-1]
    if isinstance(target, list):
        target[int(last)] = new
    else:
        target[last] = new


def copy_nested(value: Any) -> Any:
    """A copy of nested dicts and lists; other values are shared."""
    if isinstance(value, Mapping):
        return {key: copy_nested(item) for key, item in value.items()}
    return [copy_nested(item) for item in value] if isinstance(value, list | tuple) else value


def is_under(path: Sequence[str], top: Sequence[str]) -> bool:
    """Whether the path is ``top`` or lies inside it."""
    return path[: len(top)] == top
