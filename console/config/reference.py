"""The reference parts of ``docs/configuration.md``, made from the types; ``python -m console.config.reference FILE`` renews.

A test compares, so that no key, default or reason can be forgotten or go stale.
"""

from __future__ import annotations

import re
import sys
import types
import typing
from pathlib import Path
from typing import Any, Literal

import msgspec

from console.config.fleet import Entry, Fleet, Group
from console.config.schema import attribute_docs
from console.config.settings import Section, Settings
from console.config.triggers import TriggerEntry

_PART = re.compile(r"(<!-- reference: (?P<name>\w+) -->\n).*?(<!-- end of reference -->)", re.DOTALL)


def settings_reference() -> str:
    """A table for each section of ``config.toml``."""
    parts = []
    for name, kind in typing.get_type_hints(Settings).items():
        if isinstance(kind, type) and issubclass(kind, Section):
            parts.append(f"### `[{name}]`\n\n{_intro(kind)}\n\n{_rows(kind)}")
    keys = attribute_docs(Settings)["keys"]
    parts.append(f"### `[keys]`\n\n{_prose(keys)}\n")
    return "\n".join(parts)


def fleet_reference() -> str:
    """Tables for the whole fleet file, a group and a connection."""
    parts = [f"### The file\n\n{_rows(Fleet)}", f"### A group: `groups.NAME`\n\n{_intro(Group)}\n\n{_rows(Group)}"]
    parts.append(f"### A connection: an item of `connections`\n\n{_intro(Entry)}\n\n{_rows(Entry)}")
    parts.append(f"### A local trigger: an item of `triggers`\n\n{_intro(TriggerEntry)}\n\n{_rows(TriggerEntry)}")
    return "\n".join(parts)


def renewed(text: str) -> str:
    """The document with its reference parts made anew."""
    made = {"settings": settings_reference, "fleet": fleet_reference}
    return _PART.sub(lambda match: f"{match[1]}\n{made[match['name']]()}\n{match[3]}", text)


def _rows(kind: type[msgspec.Struct]) -> str:
    docs = attribute_docs(kind)
    hints = typing.get_type_hints(kind, include_extras=True)
    lines = ["| key | value | default | what and why |", "| --- | --- | --- | --- |"]
    for field in msgspec.structs.fields(kind):
        default = "required" if field.required else _default(field.default)
        lines.append(f"| `{field.name}` | {_value(hints[field.name])} | {default} | {_prose(docs[field.name])} |")
    return "\n".join(lines) + "\n"


def _default(value: Any) -> str:
    if value is msgspec.NODEFAULT or value in ((), {}) or value is None:
        return "none"
    if isinstance(value, bool):
        return "`true`" if value else "`false`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def _value(hint: Any) -> str:
    """A type in words."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        meta = inner[1]
        said = (meta.extra or {}).get("means")
        bounds = f" from {meta.ge} to {meta.le}" if meta.ge is not None else ""
        return str(said) if said else f"{_value(inner[0])}{bounds}"
    if origin is Literal:
        return ", ".join(f"`{word}`" for word in inner)
    if origin in (types.UnionType, typing.Union):
        return _value(next(part for part in inner if part is not types.NoneType))
    if origin is tuple:
        return {Entry: "list of connections", TriggerEntry: "list of local triggers"}.get(inner[0], "list of texts")
    if origin is dict:
        return "groups by name" if inner[1] is Group else "text by name"
    return {bool: "`true`, `false`", int: "whole number", str: "text"}.get(hint, str(hint))


def _intro(kind: type) -> str:
    return _prose(" ".join((kind.__doc__ or "").split()))


def _prose(text: str) -> str:
    return text.replace("``", "`").replace("|", "\\|")


if __name__ == "__main__":
    document = Path(sys.argv[1])
    document.write_text(renewed(document.read_text(encoding="utf-8")), encoding="utf-8")
