"""Who owns a field of a Kubernetes object: ``metadata.managedFields`` read back.

Source: Kubernetes API concepts, "Server-Side Apply"; the ``FieldsV1`` format (``f:name`` for a field, ``k:{...}`` and ``v:...``
for list items).
"""

from __future__ import annotations

from typing import Any

from console.kit.dig import items, mapping, text


def owners(raw: dict[str, Any], *path: str) -> tuple[str, ...]:
    """Names of the managers that own the field at ``path`` (plain field names), in the order of the object's own list."""
    found = []
    for entry in items(raw, "metadata", "managedFields"):
        owned: Any = mapping(entry, "fieldsV1")
        for part in path:
            owned = owned.get(f"f:{part}") if isinstance(owned, dict) else None
        if owned is not None and (manager := text(entry, "manager")) and manager not in found:
            found.append(manager)
    return tuple(found)


def owner(raw: dict[str, Any], *path: str) -> str:
    """The managers as one word for a person: "flux", "flux and quarterdeck", or ""."""
    return " and ".join(owners(raw, *path))
