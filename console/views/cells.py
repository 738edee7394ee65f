"""What a table is made of: cells, columns, and the context a cell is computed in. Data and pure functions only.

A column turns one model object into one :class:`Cell`: text that is safe to print and a tone that is a word. Only a widget
turns a tone into a colour; the headless tables print the same text without any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Generic, Literal, TypeVar

import msgspec

from console.kit.masking import mask_text
from console.kit.sanitize import sanitize
from console.model.connections import Connection
from console.model.resource import Resource

Tone = Literal["plain", "ok", "busy", "warn", "bad", "held", "muted", "accent"]
Align = Literal["left", "right"]

T = TypeVar("T", bound=Resource, contravariant=True)


class Cell(msgspec.Struct, frozen=True):
    """One field of one row: a single line of sanitized text and how it should feel."""

    text: str
    tone: Tone = "plain"


EMPTY = Cell("", "muted")
ABSENT = Cell("—", "muted")


def cell(text: str, tone: Tone = "plain") -> Cell:
    """A cell from text of any origin: the place where wire text becomes safe to show."""
    return Cell(sanitize(text), tone) if text else EMPTY


def prose(text: str, tone: Tone = "plain") -> Cell:
    """A cell from free text (a message, a URL): credentials are masked as well, and only the first line is kept."""
    first, _, rest = text.strip().partition("\n")
    return cell(mask_text(first) + (" …" if rest.strip() else ""), tone)


class Context(msgspec.Struct, frozen=True):
    """What a cell may know besides its object: the present instant and the connections, by name, for freshness."""

    now: datetime
    connections: Mapping[str, Connection] = {}

    def fresh(self, connection: str) -> bool:
        """Whether rows of this connection may be shown as the present state. One that nobody knows is taken as fresh."""
        known = self.connections.get(connection)
        return known is None or known.phase.fresh

    @property
    def stale(self) -> frozenset[str]:
        """The connections whose rows are old."""
        return frozenset(name for name, known in self.connections.items() if not known.phase.fresh)

    def heard(self, connection: str) -> datetime | None:
        """When the server of this connection last said anything."""
        known = self.connections.get(connection)
        return known.heard if known else None


def now_context(connections: Iterable[Connection] = (), now: datetime | None = None) -> Context:
    """A context for the given instant (default: the machine's clock) over these connections."""
    return Context(now or datetime.now(UTC), {connection.ref.name: connection for connection in connections})


class Column(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """One column. ``cell`` and ``sort`` are pure.

    ``width`` is in terminal cells; None takes what is left (shared between such columns). ``priority`` 1 always stays; the
    higher the number, the earlier the column is hidden on a narrow screen. ``wide`` columns are only shown on request or
    where there is plenty of room. ``short`` says the same in fewer cells, where the column itself has no room.
    """

    key: str
    title: str
    cell: Callable[[T, Context], Cell]
    sort: Callable[[T], Any]
    width: int | None = None
    align: Align = "left"
    priority: int = 1
    wide: bool = False
    short: Column[T] | None = None


def trouble_first(resource: Resource) -> tuple[Any, ...]:
    """The usual order of a table: what needs a person first, then by place and name."""
    return (-resource.health.trouble, resource.ref.connection, resource.ref.namespace, resource.ref.name)


def everything(_resource: Resource) -> bool:
    """The usual membership of a table: every object of its kinds."""
    return True


def as_they_are(resources: list[Any]) -> list[Any]:
    """The usual :attr:`Table.distinct`: every object is a row of its own."""
    return resources


class Table(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A table as data: which kinds it shows (``keep`` narrows them, ``distinct`` leaves out rows that another one speaks for),
    in which columns, in which order at first.

    ``keyword`` is what is typed after ``:`` or after ``get`` and equals :attr:`name`; ``aliases`` are accepted too. ``one``
    and ``many`` are the words for its rows in sentences.
    """

    name: str
    title: str
    kinds: tuple[str, ...]
    columns: tuple[Column[T], ...]
    one: str
    many: str
    aliases: tuple[str, ...] = ()
    order: Callable[[T], tuple[Any, ...]] = trouble_first
    keep: Callable[[T], bool] = everything
    distinct: Callable[[list[Any]], list[Any]] = as_they_are

    @property
    def keyword(self) -> str:
        """The word that opens this table."""
        return self.name

    def column(self, key: str) -> Column[T] | None:
        """The column of this key, or None."""
        return next((column for column in self.columns if column.key == key), None)

    def counted(self, number: int) -> str:
        """``"1 stack"``, ``"3 stacks"``."""
        return f"{number} {self.one if number == 1 else self.many}"


def row_cells(columns: Iterable[Column[Any]], resource: Resource, context: Context) -> tuple[Cell, ...]:
    """The cells of one row. Rows of a connection that isn't fresh are muted as a whole: they are never shown as live."""
    cells = tuple(column.cell(resource, context) for column in columns)
    if isinstance(resource, Connection) or context.fresh(resource.ref.connection):
        return cells
    return tuple(Cell(entry.text, "muted") for entry in cells)


def arranged(table: Table[Any], resources: Iterable[Resource], sort: str = "", *, descending: bool = False) -> list[Resource]:
    """The rows of a table in order. ``sort`` is a column key; "" or an unknown key gives the table's own order.

    Sorting by a column keeps the table's own order among equals, whichever the direction.
    """
    rows = sorted(table.distinct([resource for resource in resources if table.keep(resource)]), key=table.order)
    column = table.column(sort) if sort else None
    if column is not None:
        rows.sort(key=column.sort, reverse=descending)
    elif descending:
        rows.reverse()
    return rows
