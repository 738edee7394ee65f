"""Connections as rows: how each is reached, since when, and how old its data is."""

from __future__ import annotations

from console.model.connections import Connection, Phase
from console.views import columns, formats
from console.views.cells import EMPTY, Cell, Column, Context, Table, cell, prose
from console.views.glyphs import attention, phase_glyph


def phase_text(connection: Connection, context: Context) -> str:
    """The phase as the operator reads it: ``live``, ``stale 47s``, ``unreachable 3m``, ``connecting (3rd try)``."""
    if connection.phase in (Phase.STALE, Phase.UNREACHABLE):
        old = formats.age(connection.heard or connection.since, context.now)
        return connection.phase.value if old in ("", "now") else f"{connection.phase.value} {old}"
    if connection.phase is Phase.CONNECTING and connection.attempts > 1:
        return f"connecting, try {connection.attempts}"
    return connection.phase.value


def data_age(connection: Connection, context: Context) -> Cell:
    """How old the newest word of the server is."""
    if connection.heard is None:
        return cell("none", "muted")
    return cell(formats.age(connection.heard, context.now), "muted" if connection.phase.fresh else "warn")


def guard_text(connection: Connection, context: Context) -> str:
    """``protected``, ``armed 4m`` while writes are allowed, or nothing."""
    if connection.armed_until and connection.armed_until > context.now:
        return f"armed {formats.duration(round((connection.armed_until - context.now).total_seconds()))}"
    return "protected" if connection.protected else ""


def _trouble(connection: Connection, _: Context) -> Cell:
    text = " ".join(formats.sentence(part) for part in (connection.reason, connection.hint) if part)
    return prose(text, "plain" if not connection.phase.fresh else "muted")


def _latency(connection: Connection, _: Context) -> Cell:
    return cell(f"{connection.latency * 1000:.0f}ms", "muted") if connection.latency else EMPTY


CONNECTIONS: Table[Connection] = Table(
    name="connections",
    title="Connections",
    kinds=("Connection",),
    one="connection",
    many="connections",
    aliases=("connection", "conn", "targets", "contexts", "ctx"),
    order=lambda item: (-item.phase.health.trouble, item.group, item.ref.name),
    columns=(
        Column(
            key="mark",
            title="",
            width=1,
            cell=lambda item, _: phase_glyph(item.phase),
            sort=lambda item: -item.phase.health.trouble,
        ),
        columns.named(lambda item: item.ref.name, width=18),
        Column(
            key="phase",
            title="STATE",
            width=18,
            cell=lambda item, context: cell(phase_text(item, context), attention(item.phase.health)),
            sort=lambda item: item.phase.value,
        ),
        columns.texted("platforms", "PLATFORMS", lambda item: ", ".join(item.platforms), width=14),
        columns.texted("group", "GROUP", lambda item: item.group, width=10, priority=5),
        Column(
            key="guard",
            title="GUARD",
            width=12,
            priority=3,
            cell=lambda item, context: cell(guard_text(item, context), "warn"),
            sort=lambda item: not item.protected,
        ),
        columns.texted("server", "SERVER", lambda item: item.server, width=22, priority=4),
        columns.texted("endpoint", "ENDPOINT", lambda item: item.endpoint, width=32, priority=7, wide=True),
        Column(key="what", title="WHAT", priority=2, cell=_trouble, sort=lambda item: item.reason),
        Column(key="latency", title="PING", width=6, align="right", priority=6, cell=_latency, sort=lambda item: -item.latency),
        Column(
            key="age",
            title="DATA",
            width=4,
            align="right",
            cell=data_age,
            sort=lambda item: -(item.heard.timestamp() if item.heard else 0),
        ),
    ),
)
