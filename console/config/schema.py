"""JSON Schemas of both files, made from the types that also check them, with the docstrings as descriptions.

For editors: ``# yaml-language-server: $schema=...`` in the fleet file, ``#:schema ...`` in the settings.
"""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from typing import Any

import msgspec

from console.config import fleet, settings, triggers

FILES: dict[str, type[msgspec.Struct]] = {"config.schema.json": settings.Settings, "fleet.schema.json": fleet.Fleet}


def attribute_docs(kind: type) -> dict[str, str]:
    """The docstring under each attribute of a class, as one paragraph; reads the source, so not for hot paths."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    if not isinstance(body, ast.ClassDef):
        return {}
    docs: dict[str, str] = {}
    for statement, following in zip(body.body, body.body[1:], strict=False):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        if (
            isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
            and isinstance(following.value.value, str)
        ):
            docs[statement.target.id] = " ".join(following.value.value.split())
    return docs


def schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a file's type, self-contained."""
    (top,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    for module in (settings, fleet, triggers):
        for name, part in parts.items():
            owner = getattr(module, name, None)
            if isinstance(owner, type):
                for key, text in attribute_docs(owner).items():
                    part["properties"][key].setdefault("description", text)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **top, "$defs": dict(sorted(parts.items()))}


def schema_text(kind: type[msgspec.Struct]) -> str:
    """The schema as it is committed."""
    return json.dumps(schema(kind), indent=2, ensure_ascii=False) + "\n"
