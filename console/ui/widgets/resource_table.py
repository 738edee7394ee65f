"""The table of resources: only lines on the screen are computed, only lines that changed are painted.

It knows columns, cells and references, and no kind. The cursor and the marks belong to objects, not to places: they stay
with their object while rows come, go and change order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip

from console.model.refs import Ref
from console.model.resource import Resource
from console.ui.tones import COMPONENTS, TONE_CSS, Tones
from console.ui.widgets.columns import Placed, fit, total_width
from console.ui.widgets.line_view import LineView
from console.ui.widgets.row_order import Keep, RowOrder
from console.ui.widgets.row_paint import header_segments, natural_widths, row_segments
from console.views.bridge import trouble
from console.views.cells import Cell, Column, Context, Table, row_cells

_HEADER = 1


class ResourceTable(LineView, can_focus=True, inherit_bindings=False):
    """A virtual table over objects of the model.

    :meth:`show` chooses the table, :meth:`replace` and :meth:`update` feed it, :meth:`tick` lets ages move on. Keys are bound
    by the screen (one registry of actions), which calls :meth:`move`, :meth:`mark` and :meth:`sort_by`.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = COMPONENTS | {"table--header", "table--cursor", "table--cursor-blurred"}
    DEFAULT_CSS = (
        """
    ResourceTable {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        background: $background;
        color: $foreground;
    & > .table--header { color: $tone-muted; text-style: bold; }
    & > .table--cursor { background: $row-cursor; }
    & > .table--cursor-blurred { background: $row-cursor-blurred; }
    """
        + TONE_CSS
        + "}"
    )

    @dataclass
    class Moved(Message):
        """The cursor is on another object (None: no rows)."""

        table: ResourceTable
        ref: Ref | None

    @dataclass
    class Chosen(Message):
        """A second click: go into this object."""

        table: ResourceTable
        ref: Ref

    @dataclass
    class Sorted(Message):
        """A click on a column's title asks to sort by it."""

        table: ResourceTable
        key: str

    def __init__(self, context: Context, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self.rows = RowOrder()
        self.marked: set[Ref] = set()
        self.columns: Sequence[Column[Any]] = ()
        self.all_columns = False
        self.sort_key, self.sort_reverse = "", False
        self._order: Callable[[Any], Any] | None = None
        self._cell_context = context
        self._tones = Tones(self)
        self._placed: tuple[Placed, ...] = ()
        self._cells: dict[Ref, tuple[Cell, ...]] = {}
        self._cursor: Ref | None = None
        self._place = 0
        self._steered = False
        self._natural: dict[str, int] = {}
        self._measured = 0

    # -- what is shown

    def show(self, table: Table[Any]) -> None:
        """Another table: its columns and its order; the rows are still to come."""
        self.columns, self._order = table.columns, table.order
        self.sort_key, self.sort_reverse = "", False
        self.marked.clear()
        self._cursor, self._place, self._steered = None, 0, False
        self.rows.replace({})
        self.rows.arrange(None, table.order)
        self._natural, self._measured = {}, 0
        self._fit()
        self.scroll_to(0, 0, animate=False, force=True)
        self._rows_changed()

    def replace(self, objects: Mapping[Ref, Resource]) -> None:
        """The complete set of objects."""
        self._cells.clear()
        self.rows.replace(objects)
        self.marked &= self.rows.objects.keys()
        self._measured = 0
        self._rows_changed()

    def update(self, changed: Iterable[Resource], removed: Iterable[Ref] = ()) -> None:
        """Some objects changed or went. The cursor stays with its object, on the same line of the screen."""
        changed, removed = list(changed), list(removed)
        for resource in changed:
            self._cells.pop(resource.ref, None)
        for ref in removed:
            self._cells.pop(ref, None)
            self.marked.discard(ref)
        self.rows.update(changed, removed)
        self._rows_changed()
        # Rows out of sight ask for no room: hundreds of them change in a second.
        seen = {self.rows.at(self.scroll_offset.y + y) for y in range(self.size.height)}
        self._widen(resource for resource in changed if resource.ref in seen)

    def filter(self, keep: Keep | None, *, narrower: bool = False) -> None:
        """Show only what ``keep`` lets through; ``narrower`` as for :meth:`RowOrder.filter`."""
        self.rows.filter(keep, narrower=narrower)
        self._rows_changed()

    def tick(self, context: Context) -> None:
        """The time (or a connection's state) moved on: compute the visible cells again, paint the lines that differ."""
        if context.stale != self._cell_context.stale:
            self._natural, self._measured = {}, 0  # Only while a target is gone, its rows need room to say how old they are.
        self._cell_context = context
        self._cells.clear()
        self._measure()
        self.paint_changes()

    def sort_by(self, key: str, reverse: bool = False) -> None:
        """Sort by a column's key; "" is the table's own order."""
        column = next((column for column in self.columns if column.key == key), None)
        self.sort_key, self.sort_reverse = (key if column else ""), reverse
        self.rows.arrange(column.sort if column else None, self._order or _by_name, reverse=reverse)
        self._rows_changed()

    def show_all_columns(self, everything: bool) -> None:
        """Hide no column (and scroll sideways), or fit the columns to the width again."""
        self.all_columns = everything
        self._fit()
        self.scroll_to(x=0, animate=False, force=True)
        self.paint_all()

    # -- the cursor and the marks

    @property
    def cursor(self) -> Ref | None:
        """The object under the cursor."""
        return self._cursor

    @property
    def subjects(self) -> tuple[Ref, ...]:
        """What an action is about: the marked objects, else the one under the cursor."""
        if self.marked:
            return tuple(ref for ref in self.rows if ref in self.marked) or tuple(sorted(self.marked))
        return (self._cursor,) if self._cursor else ()

    def select(self, ref: Ref) -> bool:
        """Put the cursor on this object; returns whether it is shown."""
        index = self.rows.index(ref)
        if index is None:
            return False
        self._go(index)
        return True

    def move(self, where: str) -> None:
        """``up``, ``down``, ``page_up``, ``page_down``, ``top``, ``bottom``, ``left``, ``right``."""
        page = max(self.size.height - _HEADER - 1, 1)
        match where:
            case "left" | "right":
                self.scroll_to(x=self.scroll_offset.x + (8 if where == "right" else -8), animate=False, force=True)
            case "top":
                self._go(0)
            case "bottom":
                self._go(len(self.rows) - 1)
            case _:
                self._go(self._place + {"up": -1, "down": 1, "page_up": -page, "page_down": page}[where])

    def mark(self) -> None:
        """Mark or unmark the object under the cursor and go down one."""
        if self._cursor is None:
            return
        self.marked ^= {self._cursor}
        self.paint_changes()
        self.move("down")

    def mark_all(self) -> None:
        """Mark every row that is shown; when all are, unmark all."""
        shown = set(self.rows)
        self.marked = set() if shown <= self.marked else shown
        self.paint_changes()

    def _go(self, index: int) -> None:
        index = max(0, min(len(self.rows) - 1, index))
        ref = self.rows.at(index)
        self._steered = True
        if ref is None:
            return
        changed, before = ref != self._cursor, self._place
        self._cursor, self._place = ref, index
        height = self.size.height - _HEADER
        top = self.scroll_offset.y
        if index < top:
            self.scroll_to(y=index, animate=False, force=True)
        elif height > 0 and index >= top + height:
            self.scroll_to(y=index - height + 1, animate=False, force=True)
        top = self.scroll_offset.y
        self.paint_changes({before - top + _HEADER, index - top + _HEADER})
        if changed:
            self.post_message(self.Moved(self, ref))

    def _measure(self) -> None:
        """Fit the columns to the texts when there are rows for the first time, and again when there are many more."""
        if len(self.rows) <= 2 * self._measured:
            return
        self._measured = len(self.rows)
        self._widen(self.rows.objects[ref] for ref in self.rows)

    def _widen(self, resources: Iterable[Resource]) -> None:
        """Give columns the room that these texts want, where there is room."""
        found = natural_widths(self.columns, resources, self._cell_context, self._natural)
        if found != self._natural:
            self._natural, before = found, self._placed
            if self._places() != before:
                self._fit()
                self.paint_all()

    def _rows_changed(self) -> None:
        self._measure()
        before, offset = self._cursor, self._place - self.scroll_offset.y
        index = self.rows.index(before) if before is not None and self._steered else None
        if index is None:
            index = max(0, min(self._place if self._steered else 0, len(self.rows) - 1))
        self._cursor, self._place = self.rows.at(index), index
        self._resize_canvas()
        if self._steered and 0 <= offset < self.size.height - _HEADER:
            self.scroll_to(y=max(index - offset, 0), animate=False, force=True)
        self.paint_changes()
        if self._cursor != before:
            self.post_message(self.Moved(self, self._cursor))

    # -- geometry

    def _fit(self) -> None:
        self._placed, self._cells = self._places(), {}
        self._resize_canvas()

    def _places(self) -> tuple[Placed, ...]:
        # One cell is always left for the scrollbar, so that columns don't move when it comes.
        width = self.outer_size.width - 1 if self.size.width else 0
        return fit(self.columns, width, everything=self.all_columns, natural=self._natural) if width else ()

    def _resize_canvas(self) -> None:
        self.set_canvas(total_width(self._placed), len(self.rows) + _HEADER)

    def on_resize(self) -> None:
        """Choose the columns again for the new width and keep the cursor on the screen."""
        self._fit()
        if self._cursor is not None and self._steered:
            self._go(self._place)
        self.paint_all()

    # -- painting

    def notify_style_update(self) -> None:
        """Paint everything again in the new theme."""
        self._tones.forget()
        super().notify_style_update()

    def watch_has_focus(self, _focused: bool) -> None:
        """The cursor line looks different with and without the focus."""
        self.paint_changes()

    def make_line(self, y: int, width: int) -> Strip:
        """One line, counted from the top of the table."""
        ground = self.ground
        if y < _HEADER:
            style = ground + self.get_component_rich_style("table--header", partial=True)
            titles = header_segments(self._placed, style, self.sort_key, self.sort_reverse, self._tones)
            return self._window(titles, width, ground)
        index = self.scroll_offset.y + y - _HEADER
        ref = self.rows.at(index)
        if ref is None:
            return Strip.blank(width, ground)
        if index == self._place:
            name = "table--cursor" if self.has_focus else "table--cursor-blurred"
            ground = ground + Style(bgcolor=self.get_component_rich_style(name).bgcolor)
        resource, under = self.rows.objects[ref], index == self._place
        bold = trouble(resource).trouble > 1 and self._cell_context.fresh(ref.connection)
        segments = row_segments(
            self._placed,
            self._cells_of(ref),
            ground,
            self._tones,
            cursor=under,
            marked=ref in self.marked,
            bold=bold,
            plain=under and self.has_focus and self.app.native_ansi_color,
        )
        return self._window(segments, width, ground)

    def _window(self, segments: list[Segment], width: int, ground: Style) -> Strip:
        left = self.scroll_offset.x
        return Strip(segments).crop_extend(left, left + width, ground)

    def _cells_of(self, ref: Ref) -> tuple[Cell, ...]:
        cells = self._cells.get(ref)
        if cells is None:
            columns = [placed.column for placed in self._placed]
            cells = self._cells[ref] = row_cells(columns, self.rows.objects[ref], self._cell_context)
        return cells

    # -- the mouse

    def on_click(self, event: events.Click) -> None:
        """A click selects, a double click opens, a click on a title asks to sort."""
        if event.y < _HEADER:
            x = event.x + self.scroll_offset.x
            for placed in self._placed:
                if placed.start <= x < placed.start + placed.width:
                    self.post_message(self.Sorted(self, placed.column.key))
            return
        ref = self.rows.at(self.scroll_offset.y + event.y - _HEADER)
        if ref is None:
            return
        self._go(self.scroll_offset.y + event.y - _HEADER)
        if event.chain > 1:
            self.post_message(self.Chosen(self, ref))


def _by_name(resource: Resource) -> Ref:
    return resource.ref
