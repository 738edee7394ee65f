"""Reading JSON-like values that somebody else wrote: a missing or odd-shaped part is absent, never an exception."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def dig(value: Any, *path: str | int) -> Any:
    """The value at ``path`` (keys and list indexes), or None where the way ends early."""
    for part in path:
        if isinstance(part, int):
            if not isinstance(value, list) or not -len(value) <= part < len(value):
                return None
            value = value[part]
        elif isinstance(value, Mapping):
            value = value.get(part)
        else:
            return None
    return value


def text(value: Any, *path: str | int) -> str:
    """The string at ``path``; "" for what isn't one."""
    found = dig(value, *path)
    return found if isinstance(found, str) else ""


def number(value: Any, *path: str | int) -> int:
    """The whole number at ``path``; 0 for what isn't one."""
    found = dig(value, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def flag(value: Any, *path: str | int) -> bool:
    """Whether ``path`` holds exactly ``true``."""
    return dig(value, *path) is True


def mapping(value: Any, *path: str | int) -> dict[str, Any]:
    """The object at ``path``; empty for what isn't one."""
    found = dig(value, *path)
    return dict(found) if isinstance(found, Mapping) else {}


def items(value: Any, *path: str | int) -> list[Any]:
    """The list at ``path``; empty for what isn't one."""
    found = dig(value, *path)
    return found if isinstance(found, list) else []
