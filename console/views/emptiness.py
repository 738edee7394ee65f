"""Why a table is empty, and what a table that isn't empty may be missing: silence is never mistaken for health."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from console.kit.masking import mask_text
from console.model.connections import Connection, Phase
from console.model.resource import KindState
from console.views import formats, words
from console.views.cells import Context, Table

KindStates = Callable[[str, str], KindState]
_PLATFORM_OF = {
    "Stack": "swarm",
    "SwarmService": "swarm",
    "Task": "swarm",
    "SwarmNode": "swarm",
    "SwarmNetwork": "swarm",
    "SwarmConfig": "swarm",
    "SwarmSecret": "swarm",
    "Volume": "swarm",
    "Container": "host",
}
_OURS = ("Operation", "Connection", "Rehearsal")
_EVERYWHERE = ("Event", *_OURS)


class Absence(msgspec.Struct, frozen=True):
    """One reason why rows are missing. ``kind``: "filtered", "syncing", "restricted", "not served", "failed", "down",
    "nothing"; ``text`` is a sentence."""

    kind: str
    text: str


def concerns(connection: Connection, kind: str) -> bool:
    """Whether a connection could have objects of this kind at all; one whose platforms aren't known yet could."""
    if kind in _EVERYWHERE or not connection.platforms:
        return True
    wanted = _PLATFORM_OF.get(kind, "kubernetes")
    # Only an engine that has answered tells whether it manages a swarm.
    known = bool(connection.identity or connection.server)
    return wanted in connection.platforms or (not known and wanted == "swarm" and "host" in connection.platforms)


def absences(
    table: Table[Any], connections: Iterable[Connection], state: KindStates, context: Context, hidden: int = 0
) -> tuple[Absence, ...]:
    """All reasons why rows may be missing from a table, the most likely first.

    :param state: tells the state of a kind on a connection (connection name, kind).
    :param hidden: how many rows the filter hides.
    """
    found: list[Absence] = []
    if hidden:
        found.append(Absence("filtered", f"The filter hides {table.counted(hidden)}."))
    known = [item for item in connections if any(concerns(item, kind) for kind in table.kinds)]
    down = [item for item in known if not item.phase.fresh]
    found.extend(Absence("down", _down(item, context)) for item in down)
    by_state: dict[tuple[str, str], list[str]] = {}
    for item in known:
        if item in down:
            continue
        for kind in table.kinds:
            if kind in _OURS or not concerns(item, kind):
                continue
            entry = state(item.ref.name, kind)
            if entry.state != "listed":
                by_state.setdefault((entry.state, kind), []).append(item.ref.name)
    found.extend(
        _of_state(name, by_state) for name in ("syncing", "restricted", "failed") if any(k[0] == name for k in by_state)
    )
    not_served = _not_served(table, known, down, by_state)
    if not_served:
        found.append(not_served)
    return tuple(found)


def _down(connection: Connection, context: Context) -> str:
    name = connection.ref.name
    if connection.phase in (Phase.IDLE, Phase.CONNECTING):
        return f"{name} is not connected yet."
    since = (
        f"its data is from {formats.ago(connection.heard, context.now)}" if connection.heard else "nothing was read of it yet"
    )
    why = f" ({mask_text(connection.reason.rstrip('.'))})" if connection.reason else ""
    return f"{name} is {connection.phase.value}{why}; {since}."


def _of_state(name: str, by_state: dict[tuple[str, str], list[str]]) -> Absence:
    kinds = sorted({words.kind_word(kind) for state, kind in by_state if state == name})
    places = sorted({place for (state, _), places in by_state.items() if state == name for place in places})
    what, where = formats.listed(kinds), formats.listed(places)
    text = {
        "syncing": f"{what} not synced yet on {where}.",
        "restricted": f"These credentials may not list {what} on {where}.",
        "failed": f"{what} could not be listed on {where}.",
    }[name]
    return Absence(name, text)


def _not_served(
    table: Table[Any], known: list[Connection], down: list[Connection], by_state: dict[tuple[str, str], list[str]]
) -> Absence | None:
    """Said only where none of a table's kinds is served: an Argo-only cluster has no reason to serve Flux's kinds."""
    bare = [
        item.ref.name
        for item in known
        if item not in down
        and all(
            item.ref.name in by_state.get(("not served", kind), ())
            for kind in table.kinds
            if concerns(item, kind) and kind not in _EVERYWHERE
        )
        and any(concerns(item, kind) and kind not in _EVERYWHERE for kind in table.kinds)
    ]
    if not bare:
        return None
    verb = "does" if len(bare) == 1 else "do"
    return Absence("not served", f"{formats.listed(sorted(bare))} {verb} not serve {table.many}.")


def why_empty(
    table: Table[Any], connections: Iterable[Connection], state: KindStates, context: Context, hidden: int = 0
) -> tuple[Absence, ...]:
    """What to say in the place of rows; never empty."""
    known = tuple(connections)
    if not known:
        return (Absence("nothing", "No target is configured or found."),)
    reasons = absences(table, known, state, context, hidden)
    if reasons:
        return reasons
    places = [item.ref.name for item in known if any(concerns(item, kind) for kind in table.kinds)]
    if not places:
        names = formats.listed(sorted(item.ref.name for item in known))
        verb = "has" if len(known) == 1 else "have"
        return (Absence("nothing", f"{names} {verb} no such thing as {table.many}."),)
    return (Absence("nothing", f"There are no {table.many} on {formats.listed(places)}."),)
