"""One line of the frame: parts on the left, parts on the right, painted only when they change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from console.ui.text import Line, Part, width, wrap
from console.ui.tones import COMPONENTS, TONE_CSS, Tones


class Bar(Widget):
    """A line of text of the frame. Parts with an action can be clicked."""

    COMPONENT_CLASSES: ClassVar[set[str]] = COMPONENTS
    DEFAULT_CSS = "Bar { height: 1; width: 1fr; background: $panel; color: $foreground; " + TONE_CSS + "}"

    class Pressed(Message):
        """A part with an action was clicked."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self._left: tuple[Part, ...] = ()
        self._right: tuple[Part, ...] = ()
        self._tones = Tones(self)

    def put(self, left: Sequence[Part], right: Sequence[Part] = ()) -> None:
        """Show these parts. The right ones win when there isn't room for all."""
        if (tuple(left), tuple(right)) != (self._left, self._right):
            self._left, self._right = tuple(left), tuple(right)
            self.refresh()

    @property
    def text(self) -> str:
        """What the bar says, for tests and copying."""
        return "".join(part.text for part in (*self._left, *self._right))

    def notify_style_update(self) -> None:
        """Use the new theme's tones."""
        super().notify_style_update()
        self._tones.forget()

    def render_line(self, y: int) -> Strip:
        """The only line."""
        ground = self.rich_style
        room = self.size.width
        if y > 0:
            return Strip.blank(room, ground)
        left, right = self._segments(self._left, ground), self._segments(self._right, ground)
        space = room - width(self._right)
        return Strip([*Strip(left).crop_extend(0, max(space, 0), ground), *right]).crop_extend(0, room, ground)

    def _segments(self, parts: Sequence[Part], ground: Style) -> list[Segment]:
        bold = Style(bold=True)
        return [
            Segment(part.text, ground + self._tones[part.tone] + bold if part.bold else ground + self._tones[part.tone])
            for part in parts
        ]

    def on_click(self, event: events.Click) -> None:
        """Tell which action was clicked."""
        start = 0
        right_start = self.size.width - width(self._right)
        parts = self._left if event.x < right_start else self._right
        start = 0 if event.x < right_start else right_start
        for part in parts:
            end = start + cell_len(part.text)
            if start <= event.x < end and part.action:
                self.post_message(self.Pressed(part.action))
                return
            start = end


class Note(Bar):
    """A sentence between other widgets: as many lines as it needs, so that the way out at its end is never cut off."""

    DEFAULT_CSS = "Note { height: auto; }"

    def put(self, left: Sequence[Part], right: Sequence[Part] = ()) -> None:
        """Show these parts; ``right`` ones follow the left ones."""
        before = self.rows(self.size.width)
        super().put((*left, *right))
        if self.rows(self.size.width) != before or not self.size.width:
            self.refresh(layout=True)

    def rows(self, room: int) -> int:
        """How many lines it takes in a width of ``room`` cells."""
        return len(self._wrapped(room))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Textual's question for ``height: auto``."""
        return self.rows(width)

    def render_line(self, y: int) -> Strip:
        """One of the lines."""
        ground, lines = self.rich_style, self._wrapped(self.size.width)
        parts = lines[y] if y < len(lines) else ()
        return Strip(self._segments(parts, ground)).crop_extend(0, self.size.width, ground)

    def _wrapped(self, room: int) -> list[tuple[Part, ...]]:
        return list(wrap(Line(self._left), room))
