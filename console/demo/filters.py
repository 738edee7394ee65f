"""The list filters that the Docker Engine API has in common: labels and names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Object = dict[str, Any]
Filters = dict[str, list[str]]


def by_labels(objects: list[Object], chosen: Filters, labels_of: Callable[[Object], dict[str, str]]) -> list[Object]:
    """Those that carry all the labels asked for, as ``key`` or ``key=value``."""
    terms = [term.partition("=") for term in chosen.get("label", ())]

    def carries(obj: Object) -> bool:
        labels = labels_of(obj)
        return all(key in labels and (not equals or labels[key] == value) for key, equals, value in terms)

    return [obj for obj in objects if carries(obj)]


def by_name(objects: list[Object], chosen: Filters, name_of: Callable[[Object], str], *, prefix: bool = False) -> list[Object]:
    """Those whose name contains (in the Swarm's lists: begins with) one of the names asked for: the filter is never exact."""
    names = chosen.get("name", ())
    if not names:
        return objects
    if prefix:
        return [obj for obj in objects if any(name_of(obj).startswith(name) for name in names)]
    return [obj for obj in objects if any(name.removeprefix("^/").rstrip("$") in name_of(obj) for name in names)]


def by_id(objects: list[Object], chosen: Filters, key: str = "ID") -> list[Object]:
    """Those whose id begins with one of the ids asked for."""
    ids = chosen.get("id", ())
    return [obj for obj in objects if not ids or any(str(obj[key]).startswith(id_) for id_ in ids)]
