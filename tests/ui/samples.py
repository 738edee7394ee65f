"""Objects and small tables for tests of the screen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from console.model.docker import Stack
from console.model.health import Health
from console.model.refs import Ref
from console.views.cells import Cell, Column, Context, Table

NOW = datetime(2026, 11, 30, 12, 4, 31, tzinfo=UTC)
CONTEXT = Context(NOW)


def stack(name: str, health: Health = Health.OK, connection: str = "swarm-a", **facts: Any) -> Stack:
    """A stack of three services, changed four minutes ago."""
    facts.setdefault("changed", NOW - timedelta(minutes=4))
    return Stack(ref=Ref(connection, "Stack", "", name, f"id-{name}"), health=health, services=3, services_ok=3, **facts)


def _cell(text: str) -> Cell:
    return Cell(text)


COLUMNS: tuple[Column[Stack], ...] = (
    Column(
        key="health",
        title="",
        cell=lambda o, c: Cell("■" if o.health is Health.BAD else "●"),
        sort=lambda o: o.health.trouble,
        width=1,
    ),
    Column(key="name", title="NAME", cell=lambda o, c: Cell(o.ref.name), sort=lambda o: o.ref.name, width=16),
    Column(
        key="where",
        title="WHERE",
        cell=lambda o, c: Cell(o.ref.connection, "muted"),
        sort=lambda o: o.ref.connection,
        width=12,
        priority=3,
    ),
    Column(key="what", title="WHAT", cell=lambda o, c: Cell(o.reason), sort=lambda o: o.reason, priority=2),
    Column(
        key="services",
        title="SERVICES",
        cell=lambda o, c: Cell(f"{o.services_ok}/{o.services}"),
        sort=lambda o: o.services_ok,
        width=8,
        align="right",
    ),
)
TABLE: Table[Stack] = Table(name="samples", title="Samples", kinds=("Stack",), columns=COLUMNS, one="stack", many="stacks")
