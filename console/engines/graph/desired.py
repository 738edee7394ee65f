"""What is wanted: resources, the references between them, and the read-only graph that the engine works on.

A reference may stand anywhere inside a resource's input. :class:`DesiredGraph` lifts it out into a :class:`Dependency` and
leaves :data:`PENDING` in its place, so that the engine sees static input and dependencies apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, Protocol

import msgspec

from console.model.graph import Identity, Path


class _Pending(Enum):
    PENDING = "pending"


PENDING: Final = _Pending.PENDING
"""Stands in static input where a dependency will put a value."""


def as_path(path: str | Iterable[str | int]) -> Path:
    """A path from its dotted text, or from its parts where a key itself holds dots."""
    return tuple(path.split(".")) if isinstance(path, str) else tuple(str(part) for part in path)


def path_text(path: Path) -> str:
    """The path as a person reads it."""
    return ".".join(path)


class Reference(msgspec.Struct, frozen=True):
    """The value at ``path`` in the output of ``parent``."""

    parent: Identity
    path: Path

    def __str__(self) -> str:
        return f"{self.parent}:{path_text(self.path)}"


class Expression(msgspec.Struct, frozen=True):
    """Ordered pieces, each literal or reference. One reference alone keeps its type; several pieces are joined to text."""

    pieces: tuple[Any, ...]

    @property
    def references(self) -> tuple[Reference, ...]:
        """The references among the pieces, in order."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Reference))


class Desired(msgspec.Struct, frozen=True, kw_only=True):
    """A declared resource. ``input`` may hold :class:`Reference` and :class:`Expression` at any depth.

    ``after`` are ordering edges: parents without a value. ``sources`` are keys of content; their order does not matter.
    """

    kind: str
    name: str
    input: Mapping[str, Any] = {}
    sources: tuple[str, ...] = ()
    after: tuple[Identity, ...] = ()

    @property
    def identity(self) -> Identity:
        """Kind and name."""
        return Identity(self.kind, self.name)

    def ref(self, path: str | Iterable[str | int]) -> Reference:
        """A reference to a value in this resource's output."""
        return Reference(self.identity, as_path(path))


class Dependency(msgspec.Struct, frozen=True, kw_only=True):
    """A field of the child is computed from outputs of its parents. Without a field it is order only, after ``after``."""

    child: Identity
    field: Path | None = None
    expression: Expression | None = None
    after: Identity | None = None

    @property
    def parents(self) -> tuple[Identity, ...]:
        """Everything that has to be made before the child."""
        if self.after is not None:
            return (self.after,)
        return tuple(reference.parent for reference in self.expression.references) if self.expression else ()


class Graph(Protocol):
    """The three questions that the engine asks, plus the list of all resources for checks and counting."""

    def resources(self) -> list[Desired]:
        """All wanted resources, in any order. Duplicates are kept, for the checks to find."""
        ...

    def leaves(self) -> list[Desired]:
        """Resources that no other one depends on."""
        ...

    def parents(self, child: Desired) -> list[Desired]:
        """Resources of the graph that the child depends on, each once, in identity order."""
        ...

    def dependencies_of(self, child: Desired) -> list[Dependency]:
        """Value and ordering dependencies of the child."""
        ...


def ref(kind: str, name: str, path: str | Iterable[str | int]) -> Reference:
    """A reference to a value in the output of kind/name."""
    return Reference(Identity(kind, name), as_path(path))


def join(*pieces: Any) -> Expression:
    """Text made of literals and references."""
    return Expression(pieces)


def resource(
    kind: str,
    name: str,
    input: Mapping[str, Any] | msgspec.Struct | None = None,  # noqa: A002 - the word of the domain
    *,
    sources: Iterable[str] | None = None,
    after: Iterable[Desired | Identity | tuple[str, str]] = (),
) -> Desired:
    """Declare a resource. ``input`` may be a mapping with references in it, or a finished struct of the kind's input model."""
    values = msgspec.to_builtins(input) if isinstance(input, msgspec.Struct) else dict(input or {})
    edges = tuple(item.identity if isinstance(item, Desired) else Identity(*item) for item in after)
    return Desired(kind=kind, name=name, input=values, sources=tuple(sources or ()), after=edges)


class DesiredGraph:
    """The graph of these resources. Further ``dependencies`` may be given apart from the inputs they fill."""

    def __init__(self, resources: Iterable[Desired] = (), dependencies: Iterable[Dependency] = ()) -> None:
        self._resources: list[Desired] = []
        self._by_identity: dict[Identity, Desired] = {}
        self._dependencies: dict[Identity, list[Dependency]] = {}
        for declared in resources:
            found: list[Dependency] = []
            static = {key: _lift(value, (key,), declared.identity, found) for key, value in declared.input.items()}
            found += [Dependency(child=declared.identity, after=parent) for parent in declared.after]
            lifted = msgspec.structs.replace(declared, input=static)
            self._resources.append(lifted)
            if declared.identity not in self._by_identity:
                self._by_identity[declared.identity] = lifted
                self._dependencies[declared.identity] = found
        for dependency in dependencies:
            self._dependencies.setdefault(dependency.child, []).append(dependency)
        self._needed = {parent for found in self._dependencies.values() for edge in found for parent in edge.parents}

    def resources(self) -> list[Desired]:
        """All wanted resources as declared, duplicates included."""
        return list(self._resources)

    def leaves(self) -> list[Desired]:
        """Resources that no other one depends on."""
        return [item for item in self._resources if item.identity not in self._needed]

    def parents(self, child: Desired) -> list[Desired]:
        """Resources of the graph that the child depends on, each once, in identity order."""
        wanted = {parent for edge in self._dependencies.get(child.identity, ()) for parent in edge.parents}
        return [self._by_identity[parent] for parent in sorted(wanted) if parent in self._by_identity]

    def dependencies_of(self, child: Desired) -> list[Dependency]:
        """Value and ordering dependencies of the child."""
        return list(self._dependencies.get(child.identity, ()))

    def with_ancestors(self, chosen: Iterable[Identity | tuple[str, str]]) -> DesiredGraph:
        """The sub-graph of the chosen resources and all that they depend on. Reconcile it with ``prune=False``.

        Raises ``KeyError`` for a resource that is not in the graph.
        """
        open_ends = [self._by_identity[Identity(*item)] for item in chosen]
        kept: dict[Identity, Desired] = {}
        while open_ends:
            item = open_ends.pop()
            if item.identity not in kept:
                kept[item.identity] = item
                open_ends.extend(self.parents(item))
        part = DesiredGraph()
        part._resources = [item for item in self._resources if item.identity in kept]
        part._by_identity = kept
        part._dependencies = {identity: self._dependencies[identity] for identity in kept}
        part._needed = {parent for found in part._dependencies.values() for edge in found for parent in edge.parents}
        return part


EMPTY: Final = DesiredGraph()
"""Nothing is wanted: reconciling it deletes everything of the project."""


def _lift(value: Any, path: Path, child: Identity, found: list[Dependency]) -> Any:
    """A copy of the value with each reference replaced by PENDING and noted in ``found``."""
    if isinstance(value, Reference):
        value = Expression((value,))
    if isinstance(value, Expression):
        if not value.references:
            return "".join(as_text(piece) for piece in value.pieces)
        found.append(Dependency(child=child, field=path, expression=value))
        return PENDING
    if isinstance(value, Mapping):
        return {str(key): _lift(item, (*path, str(key)), child, found) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_lift(item, (*path, str(position)), child, found) for position, item in enumerate(value)]
    # Plain data from here on, so that a record reads back from any storage as it was written.
    return value if value is None or isinstance(value, str | bool | int | float) else msgspec.to_builtins(value)


def as_text(value: Any) -> str:
    """A piece of joined text: text as it is, other values as JSON writes them."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
