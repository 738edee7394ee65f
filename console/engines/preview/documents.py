"""Kubernetes objects out of YAML that somebody else wrote, in bounded time and space.

Sources: YAML 1.1 as Kubernetes' own decoder reads it (a timestamp is text there); ``kind: List`` stands for its items.
"""

from __future__ import annotations

from typing import Any

import msgspec
import yaml

from console.errors import Invalid
from console.kit.dig import items, text
from console.kit.sanitize import sanitize

JsonObject = dict[str, Any]

MOST_BYTES = 8 * 1024 * 1024
"""Of all YAML of one commit that is read."""
MOST_NODES = 400_000
"""Values in one file, aliases counted as often as they are used: a small file can stand for a huge one."""
_DEEPEST = 100


class Identity(msgspec.Struct, frozen=True, order=True):
    """Which object: without the version, since one object is served in several."""

    group: str
    kind: str
    namespace: str
    name: str

    @property
    def words(self) -> str:
        """As people read it: ``Deployment shop/web``."""
        return sanitize(f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # the base is chosen at run time
    """The safe loader, with dates left as text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def identity(obj: JsonObject) -> Identity:
    """Who an object is."""
    group, slash, _ = text(obj, "apiVersion").rpartition("/")
    return Identity(
        group if slash else "", text(obj, "kind"), text(obj, "metadata", "namespace"), text(obj, "metadata", "name")
    )


def read_yaml(content: bytes, where: str) -> list[Any]:
    """All documents of a file that aren't empty. :raises Invalid: it is no YAML, or stands for too much."""
    if len(content) > MOST_BYTES:
        raise Invalid(f"{sanitize(where)} has more than {MOST_BYTES >> 20} MiB of YAML.")
    try:
        found = [document for document in yaml.load_all(content, Loader=_Loader) if document is not None]
        for document in found:
            _measure(document, where)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        problem = getattr(error, "problem", None) or type(error).__name__
        mark = getattr(error, "problem_mark", None)
        line = f" in line {mark.line + 1}" if mark is not None else ""
        raise Invalid(f"{sanitize(where)} is no YAML{line}: {sanitize(str(problem))}") from error
    return found


def objects_in(content: bytes, where: str, *, lenient: bool = False) -> list[JsonObject]:
    """The Kubernetes objects of a file, lists taken apart.

    :param lenient: leave out documents that don't even look like one (Argo CD does, Flux refuses them).
    :raises Invalid: as :func:`read_yaml`, or something in it is no object: what applies it would refuse all of it.
    """
    found: list[JsonObject] = []
    for document in read_yaml(content, where):
        if lenient and not (text(document, "kind") or text(document, "apiVersion")):
            continue
        if text(document, "kind").endswith("List") and isinstance(document, dict) and "items" in document:
            listed = items(document, "items")
        else:
            listed = [document]
        for obj in listed:
            if not (text(obj, "kind") and text(obj, "apiVersion") and text(obj, "metadata", "name")):
                raise Invalid(f"{sanitize(where)} has something that is no Kubernetes object: no kind, apiVersion or name.")
            found.append(obj)
    return found


def _measure(document: Any, where: str) -> None:
    """Raise for what is too deep or, with aliases counted as often as they are used, too big."""
    seen, todo = 0, [(document, 0)]
    while todo:
        value, depth = todo.pop()
        seen += 1
        if seen > MOST_NODES or depth > _DEEPEST:
            raise Invalid(f"{sanitize(where)} stands for more values than any manifest has.")
        if isinstance(value, dict):
            if not all(isinstance(key, str | int | float | bool | None) for key in value):
                raise Invalid(f"{sanitize(where)} has a key that is no text.")
            todo += [(item, depth + 1) for item in value.values()]
        elif isinstance(value, list):
            todo += [(item, depth + 1) for item in value]
        elif not isinstance(value, str | int | float | bool | None):
            raise Invalid(f"{sanitize(where)} has a value that JSON does not know.")
