"""All tables by the word that opens them: for ``:`` in the console, and for ``get`` without it."""

from __future__ import annotations

import difflib
from types import MappingProxyType
from typing import Any

from console.views import activity, bridge, connections, operations, rehearsals, services, swarm, triggers, workloads
from console.views.cells import Table

_ALL: tuple[Table[Any], ...] = (
    bridge.BRIDGE,
    triggers.TRIGGERS,
    operations.OPERATIONS,
    swarm.STACKS,
    services.SERVICES,
    activity.ACTIVITY,
    connections.CONNECTIONS,
    triggers.KUSTOMIZATIONS,
    triggers.APPLICATIONS,
    triggers.HELMRELEASES,
    triggers.SOURCES,
    workloads.WORKLOADS,
    workloads.PODS,
    workloads.NAMESPACES,
    swarm.SWARM_SERVICES,
    swarm.TASKS,
    swarm.NODES,
    swarm.NETWORKS,
    swarm.CONFIGS,
    swarm.SECRETS,
    swarm.VOLUMES,
    services.CONTAINERS,
    rehearsals.REHEARSALS,
)
TABLES = MappingProxyType({table.name: table for table in _ALL})
MAIN = ("bridge", "triggers", "operations", "stacks", "services", "activity")
_BY_WORD = {word: table for table in _ALL for word in (table.name, *table.aliases)}


def table(word: str) -> Table[Any] | None:
    """The table that a keyword or alias opens, in any case; None if there is none."""
    return _BY_WORD.get(word.strip().lower())


def nearest(word: str) -> str:
    """The keyword that was probably meant, or ""."""
    close = difflib.get_close_matches(word.strip().lower(), _BY_WORD, n=1)
    return close[0] if close else ""


def words() -> tuple[str, ...]:
    """All keywords and aliases, for completion."""
    return tuple(_BY_WORD)


def table_of(kind: str) -> Table[Any] | None:
    """The table that a kind is at home in: the narrowest one that shows it."""
    homes = [entry for entry in _ALL if kind in entry.kinds and entry.name not in ("bridge", "activity")]
    return min(homes, key=lambda entry: len(entry.kinds), default=None)
