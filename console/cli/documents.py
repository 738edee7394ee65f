"""Model objects as JSON or YAML documents: stable keys, times in RFC 3339, secrets masked, and the age of everything.

Non-ASCII characters are escaped: the documents mean the same, and can't steer a terminal that they are printed on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec
import yaml

from console.kit.masking import mask_object
from console.model.connections import Connection
from console.model.resource import KindState, Resource
from console.views.cells import Context
from console.views.formats import timestamp


def item(resource: Resource, context: Context) -> dict[str, Any]:
    """One object with all that the model knows. ``fresh`` tells whether it may be taken as the present state."""
    fields = mask_object(msgspec.to_builtins(resource, builtin_types=(datetime,), enc_hook=_plain))
    document = {"id": str(resource.ref), **_times(fields)}
    if not isinstance(resource, Connection):
        document["fresh"] = context.fresh(resource.ref.connection)
    return document


def connection(found: Connection, context: Context) -> dict[str, Any]:
    """One connection's state, and the age of its data in seconds (null: nothing was ever read)."""
    age = (context.now - found.heard).total_seconds() if found.heard else None
    return {
        "name": found.ref.name,
        "state": found.phase.value,
        "fresh": found.phase.fresh,
        "heard": timestamp(found.heard) or None,
        "age_seconds": round(max(age, 0.0), 1) if age is not None else None,
        "platforms": list(found.platforms),
        "server": found.server,
        "protected": found.protected,
        "reason": mask_object(found.reason),
        "hint": mask_object(found.hint),
    }


def missing(state: KindState) -> dict[str, Any]:
    """Why rows of a kind are not there."""
    return {"connection": state.connection, "kind": state.kind, "state": state.state, "detail": mask_object(state.detail)}


def listing(
    table: str, rows: Iterable[Resource], connections: Iterable[Connection], gaps: Iterable[KindState], context: Context
) -> dict[str, Any]:
    """The whole answer of ``get``."""
    return {
        "table": table,
        "at": timestamp(context.now),
        "items": [item(row, context) for row in rows],
        "connections": [connection(found, context) for found in connections],
        "missing": [missing(state) for state in gaps],
    }


def text(document: dict[str, Any], *, line: bool = False) -> str:
    """The document with a line feed at its end; ``line``: on one line, for streams of them."""
    return json.dumps(document, indent=None if line else 2, ensure_ascii=True) + "\n"


def yaml_text(document: dict[str, Any], *, more: bool = False) -> str:
    """The document as YAML; ``more``: others follow, so it begins with the mark between documents."""
    return ("---\n" if more else "") + yaml.safe_dump(document, sort_keys=False, width=1000)


def _plain(value: Any) -> Any:
    """Labels may be any mapping."""
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError(f"{type(value).__name__} has no JSON form")


def _times(value: Any) -> Any:
    if isinstance(value, datetime):
        return timestamp(value)
    if isinstance(value, dict):
        return {key: _times(part) for key, part in value.items()}
    return [_times(part) for part in value] if isinstance(value, list) else value
