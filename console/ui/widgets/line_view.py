"""A scrolled widget that remembers what it painted, and paints again only the lines that look different now."""

from __future__ import annotations

from collections.abc import Iterable

from rich.style import Style
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

_STEP = 16
"""Lines by which the canvas grows."""


def differing(old: Strip, new: Strip) -> tuple[int, int]:
    """The cells between the first and the last piece of text in which two different lines of one width differ."""
    mine, others = list(new), list(old)
    start, end, at = 0, new.cell_length, 0
    shared = min(len(mine), len(others))
    while at < shared and mine[at] == others[at]:
        start += mine[at].cell_length
        at += 1
    back = 1
    while back <= shared - at and mine[-back] == others[-back]:
        end -= mine[-back].cell_length
        back += 1
    return (start, end) if start < end and old.cell_length == new.cell_length else (0, new.cell_length)


class LineView(ScrollView):
    """Subclasses make lines (:meth:`make_line`) and say when something may have changed (:meth:`paint_changes`)."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self._painted: dict[int, Strip] = {}
        self._ground: Style | None = None

    @property
    def ground(self) -> Style:
        """The widget's own style, which costs too much to be worked out for each line."""
        if self._ground is None:
            self._ground = self.rich_style
        return self._ground

    def set_canvas(self, width: int, lines: int) -> None:
        """Say how large the whole is.

        Textual lays out the whole screen anew when that changes, so it is told in coarse steps, and not at all for what fits;
        exactly only where the widget is as high as its lines.
        """
        room = self.size
        height = lines
        if not self.styles.is_auto_height:
            height = room.height if lines <= room.height else -(-lines // _STEP) * _STEP
        size = Size(max(width, 1) if width > room.width else room.width, height)
        if size != self.virtual_size:
            self.virtual_size = size

    def make_line(self, y: int, width: int) -> Strip:
        """Line ``y`` of the screen as it should look now."""
        return Strip.blank(width, self.ground)

    def paint_all(self) -> None:
        """Everything looks different."""
        self._painted.clear()
        self.refresh()

    def paint_changes(self, lines: Iterable[int] | None = None) -> None:
        """Make the visible lines (or only these) and paint those that differ from what was painted last."""
        if not self.is_mounted:
            return
        width = self.size.width
        for y in range(self.size.height) if lines is None else lines:
            old = self._painted.get(y)
            if old is None:
                continue
            new = self.make_line(y, width)
            if new != old:
                self._painted[y] = new
                start, end = differing(old, new)
                self.refresh(Region(start, y, end - start, 1))

    def render_line(self, y: int) -> Strip:
        """What Textual asks for."""
        strip = self._painted.get(y)
        if strip is None or strip.cell_length != self.size.width:
            strip = self._painted[y] = self.make_line(y, self.size.width)
        return strip

    def notify_style_update(self) -> None:
        """Another theme: everything looks different."""
        super().notify_style_update()
        self._ground = None
        self.paint_all()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Every line shows another row now."""
        self._painted.clear()
        super().watch_scroll_y(old_value, new_value)

    def watch_scroll_x(self, old_value: float, new_value: float) -> None:
        """Every line shows another part now."""
        self._painted.clear()
        super().watch_scroll_x(old_value, new_value)
