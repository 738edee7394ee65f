"""Columns that many tables share, made by small factories so that each table says only what is its own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from console.model.connections import Connection
from console.model.health import Health
from console.model.kubernetes import KubeObject, Trigger
from console.model.resource import Resource
from console.views import formats, words
from console.views.cells import EMPTY, Cell, Column, Context, Tone, cell
from console.views.glyphs import attention, glyph

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

MARK: Column[Resource] = Column(
    key="mark",
    title="",
    width=1,
    cell=lambda resource, _: glyph(resource.health),
    sort=lambda resource: -resource.health.trouble,
)


def _where(resource: Resource, context: Context) -> Cell:
    name = resource.ref.connection
    if isinstance(resource, Connection) or context.fresh(name):
        return cell(name, "muted")
    old = formats.age(context.heard(name), context.now)
    return cell(f"{name} ({old} old)" if old else f"{name} (stale)", "warn")


WHERE: Column[Resource] = Column(
    key="where", title="WHERE", width=14, priority=2, cell=_where, sort=lambda resource: resource.ref.connection
)
NAMESPACE: Column[Resource] = Column(
    key="namespace",
    title="NAMESPACE",
    width=14,
    priority=3,
    cell=lambda resource, _: cell(resource.ref.namespace, "muted"),
    sort=lambda resource: resource.ref.namespace,
)
KIND: Column[Resource] = Column(
    key="kind",
    title="KIND",
    width=13,
    priority=4,
    cell=lambda resource, _: cell(words.short_kind(resource), "muted"),
    sort=words.short_kind,
)
SYNC: Column[Resource] = Column(
    key="sync", title="SYNC", width=13, cell=lambda resource, _: words.sync(resource), sort=lambda item: words.sync(item).text
)
HEALTH: Column[Resource] = Column(
    key="health",
    title="HEALTH",
    width=13,
    priority=3,
    cell=lambda resource, _: words.health(resource),
    sort=lambda resource: -resource.health.trouble,
)
OPERATION: Column[Resource] = Column(
    key="operation",
    title="OPERATION",
    width=18,
    priority=4,
    cell=lambda resource, _: words.operation(resource),
    sort=lambda resource: words.operation(resource).text,
)
WHAT: Column[Resource] = Column(
    key="what", title="WHAT", priority=2, cell=words.what, sort=lambda resource: words.what(resource).text
)
REVISION: Column[Resource] = Column(
    key="revision",
    title="REV",
    width=9,
    priority=4,
    cell=lambda resource, _: words.revision(resource),
    sort=lambda resource: words.revision(resource).text,
)


def named(tail: Callable[[Resource], str] = words.title, heading: str = "NAME", width: int | None = 24) -> Column[Resource]:
    """The column that names the row; it stands out where somebody should look. ``width`` None takes what is left."""

    def name_cell(resource: Resource, _: Context) -> Cell:
        quiet: Tone = "plain" if resource.health is not Health.UNKNOWN else "muted"
        return cell(tail(resource), quiet)

    return Column(key="name", title=heading, width=width, cell=name_cell, sort=tail)


NAME = named(lambda resource: resource.ref.name)
PATH = named()


def aged(heading: str = "AGE", at: Callable[[Any], datetime | None] = words.when) -> Column[Any]:
    """The age at the right; sorting by it puts the youngest first."""

    def age_cell(resource: Resource, context: Context) -> Cell:
        return cell(formats.age(at(resource), context.now), "muted")

    def youngest(resource: Resource) -> float:
        instant = at(resource)
        return -(instant or _EPOCH).timestamp()

    return Column(key="age", title=heading, width=4, align="right", cell=age_cell, sort=youngest)


AGE = aged()
CREATED = aged(at=lambda resource: resource.created)


def texted(
    key: str,
    heading: str,
    text: Callable[[Any], str],
    *,
    width: int | None = 12,
    priority: int = 3,
    tone: Tone = "muted",
    wide: bool = False,
    align: str = "left",
) -> Column[Any]:
    """A column of plain text in one tone, sorted by that text."""
    return Column(
        key=key,
        title=heading,
        width=width,
        priority=priority,
        wide=wide,
        align="right" if align == "right" else "left",
        cell=lambda resource, _: cell(text(resource), tone),
        sort=text,
    )


def numbered(key: str, heading: str, number: Callable[[Any], int], *, width: int = 8, priority: int = 3) -> Column[Any]:
    """A column of counts at the right; zero is left blank, largest first when sorted."""

    def number_cell(resource: Resource, _: Context) -> Cell:
        value = number(resource)
        return cell(str(value), "muted") if value else EMPTY

    return Column(
        key=key, title=heading, width=width, priority=priority, align="right", cell=number_cell, sort=lambda item: -number(item)
    )


def shared(key: str, heading: str, part: Callable[[Any], int], whole: Callable[[Any], int], *, width: int = 8) -> Column[Any]:
    """A column ``3/4``, in the tone of the row's health while something is missing; most missing first when sorted."""

    def shared_cell(resource: Resource, _: Context) -> Cell:
        done, wanted = part(resource), whole(resource)
        return cell(f"{done}/{wanted}", "muted" if done >= wanted else attention(resource.health))

    return Column(
        key=key,
        title=heading,
        width=width,
        priority=2,
        align="right",
        cell=shared_cell,
        sort=lambda item: part(item) - whole(item),
    )


def suspended(resource: Trigger | KubeObject, context: Context) -> Cell:
    """Whether somebody holds the object still, and who; first of all that they do so for longer than they meant to."""
    if isinstance(resource, Trigger) and resource.held:
        if words.overdue(resource, context.now):
            return cell(f"overdue, {resource.held_by}".rstrip(", "), "warn")
        return cell(words.holder(resource), "held")
    if resource.suspended:
        return cell(f"suspended by {resource.suspended_by}" if resource.suspended_by else "suspended", "held")
    return EMPTY
