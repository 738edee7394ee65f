"""Field ownership: what server-side apply and every other write do to an object and to its ``managedFields``.

The rules are those of the real API server, as measured: an apply is its manager's whole intent; fields that it no longer
names go when nobody else owns them; equal values are shared; a different value of an applied field is a conflict unless
forced; any other write takes what it changes and never conflicts.
"""

from __future__ import annotations

import copy
from typing import Any

import msgspec

from console.demo import kube_fields
from console.demo.kube_fields import NONE, Fields, Path
from console.demo.kube_status import Refusal

Object = dict[str, Any]


class Owner(msgspec.Struct, frozen=True, order=True):
    """Who owns fields: one entry of ``managedFields`` without its fields."""

    manager: str
    operation: str
    version: str
    subresource: str = ""


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """Who writes, in which version and to which subresource, and at what time (RFC 3339)."""

    manager: str
    version: str
    at: str
    subresource: str = ""


def owners_of(obj: Object) -> dict[Owner, Fields]:
    """The decoded ``managedFields`` of an object."""
    return {
        _entry_owner(entry): kube_fields.decode(entry.get("fieldsV1") or {})
        for entry in obj["metadata"].get("managedFields") or ()
    }


def apply(live: Object | None, config: Object, write: Write, *, force: bool) -> Object:
    """The object after a server-side apply.

    Raises a 409 :class:`Refusal` with one cause a conflicting field. An apply that changes neither values nor ownership
    returns ``live`` itself.
    """
    owner = Owner(write.manager, "Apply", write.version, write.subresource)
    built_in = kube_fields.is_built_in(config)
    wanted = kube_fields.own_fields(config, status_only=write.subresource == "status")
    named = kube_fields.field_set(wanted, built_in)
    base: Object = live if live is not None else {**config, "metadata": {}}
    owners = owners_of(base) if live is not None else {}
    last = owners.get(owner, NONE)
    owners[owner] = named
    after = _merge(copy.deepcopy(base), wanted, (), built_in)
    kept = frozenset().union(*owners.values())
    _remove(after, last - named - _with_parents(kept), built_in)
    _drop_empty_metadata(after)
    if live is None:
        after["metadata"] = {**config["metadata"], **after.get("metadata", {})}
    before_own = kube_fields.own_fields(live) if live is not None else {}
    change = kube_fields.difference(before_own, kube_fields.own_fields(after), built_in)
    owners = _resolve(owners, owner, change, force=force)
    return _finish(live, after, owners, write, owner)


def update(live: Object | None, new: Object, write: Write) -> Object:
    """The object after a create, PUT or patch by ``write.manager``: it owns what it changed.

    ``new`` may carry edited ``managedFields`` (that is how an entry is adopted); an empty list of them resets ownership.
    """
    owner = Owner(write.manager, "Update", write.version, write.subresource)
    built_in = kube_fields.is_built_in(new)
    before = kube_fields.own_fields(live) if live is not None else {}
    change = kube_fields.difference(before, kube_fields.own_fields(new), built_in)
    has_entries = "managedFields" in new["metadata"]
    owners = owners_of(new if has_entries or live is None else live)
    mine = owners.get(owner, NONE)
    owners = _resolve(owners, owner, change, force=True)
    owners[owner] = (mine - change.removed) | change.set
    return _finish(live, new, owners, write, owner)


def _resolve(owners: dict[Owner, Fields], writer: Owner, change: kube_fields.Difference, *, force: bool) -> dict[Owner, Fields]:
    changed = change.set
    conflicts = {owner: taken for owner, fields in owners.items() if owner != writer and (taken := fields & changed)}
    if conflicts and not force:
        raise _conflict(conflicts)
    return {
        owner: fields if owner == writer else fields - conflicts.get(owner, NONE) - change.removed
        for owner, fields in owners.items()
    }


def _conflict(conflicts: dict[Owner, Fields]) -> Refusal:
    causes = []
    for owner, fields in sorted(conflicts.items()):
        using = f' with subresource "{owner.subresource}"' if owner.subresource else ""
        if owner.operation == "Update":
            using += f" using {owner.version}"
        for path in sorted(fields):
            message = f'conflict with "{owner.manager}"{using}'
            causes.append({"reason": "FieldManagerConflict", "message": message, "field": _dotted(path)})
    count = len(causes)
    first = (
        f"{causes[0]['message']}: {causes[0]['field']}"
        if count == 1
        else "conflicts: " + "; ".join(f"{cause['message']}: {cause['field']}" for cause in causes)
    )
    message = f"Apply failed with {count} conflict{'s' if count > 1 else ''}: {first}"
    return Refusal(409, message, details={"causes": causes})


def _dotted(path: Path) -> str:
    text = ""
    for element in path:
        if element.startswith("f:"):
            text += f".{element[2:]}"
        elif element.startswith("k:"):
            keys = msgspec.json.decode(element[2:])
            text += "[" + ",".join(f"{key}={msgspec.json.encode(value).decode()}" for key, value in keys.items()) + "]"
        else:
            text += f"[={element[2:]}]"
    return text


def _finish(live: Object | None, after: Object, owners: dict[Owner, Fields], write: Write, writer: Owner) -> Object:
    old_entries = {} if live is None else {_entry_owner(entry): entry for entry in live["metadata"].get("managedFields") or ()}
    entries = []
    for owner, fields in owners.items():
        if not fields:
            continue
        encoded = kube_fields.encode(fields)
        old = old_entries.get(owner)
        unchanged = old is not None and old.get("fieldsV1") == encoded
        moved = owner == writer and not (unchanged and live is not None and _same_values(live, after))
        at = old.get("time", write.at) if old is not None and not moved else write.at
        entries.append(_entry(owner, encoded, at))
    entries.sort(key=lambda entry: (entry["operation"] != "Apply", entry["time"], entry["manager"]))
    meta = {**after["metadata"], "managedFields": entries}
    if not entries:
        del meta["managedFields"]
    result = {**after, "metadata": meta}
    return live if live is not None and _same_values(live, result) and _same_entries(live, entries) else result


def _same_values(live: Object, after: Object) -> bool:
    ignore = ("metadata",)
    if {k: v for k, v in live.items() if k not in ignore} != {k: v for k, v in after.items() if k not in ignore}:
        return False
    old = {key: value for key, value in live["metadata"].items() if key not in ("managedFields", "resourceVersion")}
    new = {key: value for key, value in after["metadata"].items() if key not in ("managedFields", "resourceVersion")}
    return old == new


def _same_entries(live: Object, entries: list[Object]) -> bool:
    def strip(items: Any) -> list[Object]:
        found = [{key: value for key, value in entry.items() if key != "time"} for entry in items or ()]
        return sorted(found, key=lambda entry: (entry["manager"], entry["operation"], entry.get("subresource", "")))

    return strip(live["metadata"].get("managedFields")) == strip(entries)


def _entry_owner(entry: Object) -> Owner:
    return Owner(
        entry.get("manager", ""), entry.get("operation", ""), entry.get("apiVersion", ""), entry.get("subresource", "")
    )


def _entry(owner: Owner, encoded: Object, at: str) -> Object:
    entry = {
        "manager": owner.manager,
        "operation": owner.operation,
        "apiVersion": owner.version,
        "time": at,
        "fieldsType": "FieldsV1",
        "fieldsV1": encoded,
    }
    return {**entry, "subresource": owner.subresource} if owner.subresource else entry


def _merge(base: Any, wanted: Any, path: Path, built_in: bool) -> Any:
    if isinstance(base, dict) and isinstance(wanted, dict):
        for key, value in wanted.items():
            base[key] = _merge(base.get(key), value, (*path, f"f:{key}"), built_in)
        return base
    new = kube_fields.children(wanted, path, built_in)
    old = kube_fields.children(base, path, built_in)
    if isinstance(wanted, list) and new is not None and isinstance(base, list) and old is not None:
        for element, item in new.items():
            old[element] = _merge(old.get(element), item, (*path, element), built_in)
        return list(old.values())
    return copy.deepcopy(wanted)


def _remove(obj: Any, gone: Fields, built_in: bool) -> None:
    for path in sorted(gone, key=len, reverse=True):
        _remove_one(obj, path, (), built_in)


def _remove_one(value: Any, path: Path, above: Path, built_in: bool) -> None:
    element, rest = path[0], path[1:]
    if isinstance(value, dict):
        key = element.removeprefix("f:")
        if rest:
            _remove_one(value.get(key), rest, (*above, element), built_in)
        else:
            value.pop(key, None)
    elif isinstance(value, list):
        parts = kube_fields.children(value, above, built_in) or {}
        if rest:
            _remove_one(parts.get(element), rest, (*above, element), built_in)
        elif element in parts:
            value.remove(parts[element])


def _with_parents(fields: Fields) -> Fields:
    return frozenset(path[:length] for path in fields for length in range(1, len(path) + 1))


def _drop_empty_metadata(obj: Object) -> None:
    meta = obj.get("metadata", {})
    for key in ("annotations", "labels", "finalizers"):
        if key in meta and not meta[key]:
            del meta[key]
