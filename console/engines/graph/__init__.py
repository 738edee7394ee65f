"""Dependency-ordered create, update and delete of resources: one engine that makes the world match a graph.

Declare resources with :func:`resource` and references with :func:`ref`, register a provider for each kind, and call
:meth:`Reconciler.reconcile`. Knows no wire and no screen; what a resource is, its kind decides.
"""

from console.engines.graph.desired import (
    EMPTY,
    Dependency,
    Desired,
    DesiredGraph,
    Expression,
    Graph,
    Reference,
    join,
    ref,
    resource,
)
from console.engines.graph.errors import (
    Busy,
    GateClosed,
    GraphError,
    InvalidGraph,
    LockLost,
    PermanentError,
    PlanStale,
    ProviderFailed,
    ReconcileError,
    Retryable,
    SourceMissing,
    StateNotListed,
    StateNotSaved,
    UnresolvedReference,
)
from console.engines.graph.ids import IDGenerator, uuid7
from console.engines.graph.memory import InMemorySources, InMemoryStorage
from console.engines.graph.providers import Drifted, Kind, Kinds, Previous, Provider, Registry, Request
from console.engines.graph.reconciler import DEFAULT_CONCURRENCY, Reconciler
from console.engines.graph.retries import Backoff, BackoffFactory, Pauses
from console.engines.graph.telling import EventStream, Listener
from console.engines.graph.values import SECRET, Secret

__all__ = [
    "DEFAULT_CONCURRENCY",
    "EMPTY",
    "SECRET",
    "Backoff",
    "BackoffFactory",
    "Busy",
    "Dependency",
    "Desired",
    "DesiredGraph",
    "Drifted",
    "EventStream",
    "Expression",
    "GateClosed",
    "Graph",
    "GraphError",
    "IDGenerator",
    "InMemorySources",
    "InMemoryStorage",
    "InvalidGraph",
    "Kind",
    "Kinds",
    "Listener",
    "LockLost",
    "Pauses",
    "PermanentError",
    "PlanStale",
    "Previous",
    "Provider",
    "ProviderFailed",
    "ReconcileError",
    "Reconciler",
    "Reference",
    "Registry",
    "Request",
    "Retryable",
    "Secret",
    "SourceMissing",
    "StateNotListed",
    "StateNotSaved",
    "UnresolvedReference",
    "join",
    "ref",
    "resource",
    "uuid7",
]
