"""Activity: one time axis over all targets, newest first."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from console.model.kubernetes import Event
from console.model.operations import Operation
from console.model.refs import Ref
from console.model.resource import Resource
from console.views import columns, formats, words
from console.views.cells import Cell, Column, Context, Table, cell, prose
from console.views.glyphs import attention

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def at(resource: Resource) -> datetime:
    """When it happened, for the axis; what has no time is at the far end."""
    if isinstance(resource, Event):
        return resource.at
    return words.when(resource) or _EPOCH


def about(resource: Resource) -> Ref:
    """The object that the entry speaks of."""
    if isinstance(resource, Event):
        return resource.about
    return resource.target if isinstance(resource, Operation) else resource.ref


def happened(resource: Resource) -> str:
    """What happened, in the platform's own short word, or the verb and state of an operation."""
    if isinstance(resource, Event):
        return f"{resource.what} ×{resource.count}" if resource.count > 1 else resource.what
    return f"{resource.verb} {resource.state.value}" if isinstance(resource, Operation) else resource.ref.kind


def _message(resource: Resource, context: Context) -> Cell:
    if isinstance(resource, Event):
        return prose(resource.message, attention(resource.health) if resource.health.needs_attention else "plain")
    return words.what(resource, context)


def _source(resource: Resource) -> str:
    return resource.source if isinstance(resource, Event) else resource.who if isinstance(resource, Operation) else ""


def newest_first(resource: Resource) -> tuple[Any, ...]:
    """The order of the axis."""
    return (-at(resource).timestamp(), resource.ref)


ACTIVITY: Table[Resource] = Table(
    name="activity",
    title="Activity",
    kinds=("Event", "Operation"),
    one="entry",
    many="entries",
    aliases=("events", "event", "ev"),
    order=newest_first,
    columns=(
        columns.MARK,
        Column(
            key="time",
            title="TIME",
            width=11,
            priority=2,
            cell=lambda item, context: cell(formats.clock_time(at(item), context.now), "muted"),
            sort=lambda item: -at(item).timestamp(),
        ),
        columns.WHERE,
        columns.texted("kind", "KIND", lambda item: words.kind_word(about(item).kind), width=14, priority=4),
        columns.texted("name", "ABOUT", lambda item: about(item).path, width=26, priority=1, tone="plain"),
        Column(
            key="happened",
            title="HAPPENED",
            width=20,
            cell=lambda item, _: cell(happened(item), attention(item.health)),
            sort=happened,
        ),
        Column(key="what", title="WHAT", priority=2, cell=_message, sort=lambda item: words.what(item).text),
        columns.texted("source", "BY", _source, width=18, priority=5),
        columns.aged(at=at),
    ),
)
