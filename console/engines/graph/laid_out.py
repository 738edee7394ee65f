"""The graph of one run in the shape the engine works with, made once after the checks."""

from __future__ import annotations

from typing import Any

from console.engines.graph.desired import Dependency, Desired, Graph
from console.engines.graph.providers import Registry, Traits
from console.model.graph import Identity


class Layout:
    """Resources, parents, children and dependencies by identity, and the traits of kinds.

    Edges to resources outside the graph are kept in ``dependencies`` but not among ``parents``; the checks report them.
    """

    def __init__(self, graph: Graph, registry: Registry) -> None:
        self._registry = registry
        self._traits: dict[str, Traits] = {}
        self.desired: dict[Identity, Desired] = {}
        self.dependencies: dict[Identity, list[Dependency]] = {}
        self.parents: dict[Identity, tuple[Identity, ...]] = {}
        self.children: dict[Identity, list[Identity]] = {}
        for item in graph.resources():
            self.desired[item.identity] = item
        for identity, item in self.desired.items():
            self.dependencies[identity] = graph.dependencies_of(item)
            named = {parent for edge in self.dependencies[identity] for parent in edge.parents}
            self.parents[identity] = tuple(sorted(parent for parent in named if parent in self.desired))
            for parent in self.parents[identity]:
                self.children.setdefault(parent, []).append(identity)

    def knows(self, kind: str) -> bool:
        """Whether a provider is registered for the kind."""
        return kind in self._traits or self._registry.provider(kind) is not None

    def traits(self, kind: str) -> Traits:
        """The provider of a kind and its attributes. Raises ``KeyError`` for an unknown kind."""
        known = self._traits.get(kind)
        if known is None:
            provider = self._registry.provider(kind)
            if provider is None:
                raise KeyError(kind)
            known = self._traits[kind] = Traits.of(provider)
        return known

    def output_model(self, kind: str) -> Any:
        """The type of the outputs of a kind."""
        return self.traits(kind).provider.output_model
