"""The bridge: one list over clusters, swarms and hosts with trouble on top, and a card for each connection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from console.model.connections import Connection, Phase
from console.model.docker import Container, Stack, SwarmService
from console.model.health import Health
from console.model.kubernetes import TRIGGER_KINDS, Trigger
from console.model.operations import Operation
from console.model.refs import Ref
from console.model.resource import Resource
from console.views import columns, connections, formats, services, triggers, words
from console.views.cells import Cell, Column, Context, Table, cell, trouble_first
from console.views.glyphs import attention, glyph, phase_glyph

Place = tuple[str, str, str, str]
"""Connection, kind, namespace and name."""
_ALWAYS = (*TRIGGER_KINDS, "Stack", "Container")
_IN_TROUBLE = ("HelmRelease", *triggers.ARTIFACT_KINDS, "SwarmService", "SwarmNode")


def on_bridge(resource: Resource) -> bool:
    """Whether an object belongs on the bridge: what people deploy always, what supports it only in trouble.

    A Swarm service of a stack is spoken for by its stack; a connection shows once it is anything but fresh.
    """
    if isinstance(resource, Connection):
        return not resource.phase.fresh or resource.phase.health is not Health.OK
    if isinstance(resource, Container):
        return services.own_service(resource)
    if isinstance(resource, SwarmService) and resource.stack:
        return False
    return resource.ref.kind in _ALWAYS or (resource.ref.kind in _IN_TROUBLE and resource.health.needs_attention)


def trouble(resource: Resource) -> Health:
    """The health that decides an object's place: drift counts as a warning, a connection speaks its phase.

    Of an unreachable target nothing is known, which is not the same as knowing that it does badly.
    """
    if isinstance(resource, Connection):
        return Health.UNKNOWN if resource.phase is Phase.UNREACHABLE else resource.phase.health
    drifted = isinstance(resource, Stack | Container) and bool(resource.drift)
    if isinstance(resource, Trigger | Stack) and words.sync(resource).tone == "warn":
        drifted = True
    return Health.WARN if drifted and resource.health in (Health.OK, Health.HELD) else resource.health


def worst_first(resource: Resource) -> tuple[Any, ...]:
    """The order of the bridge: trouble first, then by place and name."""
    return (-trouble(resource).trouble, *trouble_first(resource)[1:])


def attention_list(resources: Iterable[Resource]) -> list[Resource]:
    """The bridge's rows, worst first."""
    return sorted(without_spoken_for([resource for resource in resources if on_bridge(resource)]), key=worst_first)


def without_spoken_for(resources: list[Resource]) -> list[Resource]:
    """Leave out appliers that another trigger in the list names."""
    hidden = spoken_for(resources)
    return [item for item in resources if place(item.ref) not in hidden]


def spoken_for(resources: Iterable[Resource]) -> frozenset[Place]:
    """The appliers that a trigger other than themselves names: it speaks for each of them.

    A Kustomization or Application is a trigger with itself as applier; it stays unless somebody else names it.
    """
    named = ((item.ref, item.applier) for item in resources if isinstance(item, Trigger) and item.applier is not None)
    return frozenset(place(applier) for ref, applier in named if place(applier) != place(ref))


def place(ref: Ref) -> Place:
    """What an object is known by when others name it: without its uid."""
    return (ref.connection, ref.kind, ref.namespace, ref.name)


def _mark(resource: Resource, _: Context) -> Cell:
    return phase_glyph(resource.phase) if isinstance(resource, Connection) else glyph(trouble(resource))


BRIDGE: Table[Resource] = Table(
    name="bridge",
    title="Bridge",
    kinds=(*_ALWAYS, *_IN_TROUBLE, "Connection"),
    one="thing",
    many="things",
    aliases=("home",),
    order=worst_first,
    keep=on_bridge,
    distinct=without_spoken_for,
    columns=(
        Column(key="mark", title="", width=1, cell=_mark, sort=lambda item: -trouble(item).trouble),
        columns.WHERE,
        columns.KIND,
        columns.PATH,
        columns.SYNC,
        columns.HEALTH,
        columns.OPERATION,
        columns.WHAT,
        columns.REVISION,
        columns.AGE,
    ),
)


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """A connection at a glance. ``lines`` are (label, cell) pairs; ``counts`` is trouble by health, worst first."""

    name: str
    mark: Cell
    phase: Cell
    group: str
    colour: str
    protected: bool
    guard: str
    lines: tuple[tuple[str, Cell], ...]
    counts: tuple[tuple[Health, int], ...]
    operations: int


def cards(found: Iterable[Connection], resources: Iterable[Resource], context: Context) -> tuple[Card, ...]:
    """A card for each connection, worst first, counting what the bridge lists of it."""
    tally: dict[str, dict[Health, int]] = {}
    running: dict[str, int] = {}
    for resource in without_spoken_for(list(resources)):
        name = resource.ref.connection
        if isinstance(resource, Operation):
            running[name] = running.get(name, 0) + (not resource.state.ended)
        elif not isinstance(resource, Connection) and on_bridge(resource):
            counts = tally.setdefault(name, {})
            state = trouble(resource)
            counts[state] = counts.get(state, 0) + 1
    return counted_cards(found, tally, running, context)


def counted_cards(
    found: Iterable[Connection], tally: Mapping[str, Mapping[Health, int]], running: Mapping[str, int], context: Context
) -> tuple[Card, ...]:
    """:func:`cards` where somebody has counted already: objects by state and running operations, by connection."""
    ordered = sorted(found, key=connections.CONNECTIONS.order)
    return tuple(_card(item, tally.get(item.ref.name, {}), running.get(item.ref.name, 0), context) for item in ordered)


def _card(connection: Connection, counts: Mapping[Health, int], running: int, context: Context) -> Card:
    state = connection.phase.health
    total = sum(counts.values())
    bad = sum(number for health, number in counts.items() if health.needs_attention)
    state_of_all = f"{total} watched, {bad} in trouble" if bad else f"{total} watched, all well"
    if not connection.phase.fresh:
        state_of_all = f"{total} known from then"
    holds = cell(state_of_all if total else "nothing watched yet")
    lines: list[tuple[str, Cell]] = [("holds", holds)]
    if connection.server:
        lines.append(("server", cell(connection.server, "muted")))
    if not connection.phase.fresh:
        data = f"from {formats.ago(connection.heard, context.now)}" if connection.heard else "none yet"
        lines.append(("data", cell(data, "warn")))
        why = " ".join(formats.sentence(part) for part in (connection.reason, connection.hint) if part)
        if why:
            lines.append(("why", cell(why, attention(state))))
    return Card(
        name=connection.ref.name,
        mark=phase_glyph(connection.phase),
        phase=cell(connections.phase_text(connection, context), attention(state)),
        group=connection.group,
        colour=connection.colour,
        protected=connection.protected,
        guard=connections.guard_text(connection, context),
        lines=tuple(lines),
        counts=tuple(sorted(counts.items(), key=lambda entry: -entry[0].trouble)),
        operations=running,
    )
