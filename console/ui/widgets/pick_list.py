"""A list of a few things of which one is chosen, each told in one or more lines; some can't be taken and say why.

The cursor rests on those too: what is refused can still be looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from console.ui.text import Line, Part, plain, width, wrap
from console.ui.tones import COMPONENTS, TONE_CSS, Tones
from console.ui.widgets.line_view import LineView

_BAR = "▌"


class Pick(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to choose. ``refused`` says why it can't be taken ("" if it can)."""

    key: str
    lines: tuple[Line, ...]
    refused: str = ""


class PickList(LineView, can_focus=True, inherit_bindings=False):
    """Shows picks under each other; the one under the cursor is the one that is chosen.

    :attr:`brief`: only the pick under the cursor shows all its lines, the others their first.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "step(-1)", show=False),
        Binding("down,j", "step(1)", show=False),
        Binding("home,g", "step(-999)", show=False),
        Binding("end,G", "step(999)", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = COMPONENTS | {"pick--cursor", "pick--blurred"}
    DEFAULT_CSS = (
        """
    PickList {
        height: 1;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        background: $surface;
        color: $foreground;
    & > .pick--cursor { background: $row-cursor; }
    & > .pick--blurred { background: $row-cursor-blurred; }
    """
        + TONE_CSS
        + "}"
    )

    class Moved(Message):
        """The cursor rests on another pick."""

        def __init__(self, picks: PickList) -> None:
            super().__init__()
            self.picks = picks

        @property
        def control(self) -> PickList:
            """Whose cursor it is."""
            return self.picks

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self.picks: tuple[Pick, ...] = ()
        self.cursor = 0
        self.brief = False
        self._rows: list[tuple[int, tuple[Part, ...]]] = []
        self._tones = Tones(self)

    @property
    def chosen(self) -> Pick | None:
        """The pick under the cursor."""
        return self.picks[self.cursor] if self.picks else None

    @property
    def room(self) -> int:
        """Cells for the text of a pick."""
        return max(self.size.width - 3, 10)

    @property
    def text(self) -> str:
        """The bare text, for tests."""
        return plain([Line(parts) for _, parts in self._rows])

    def put(self, picks: Sequence[Pick], cursor: int | None = None) -> None:
        """Show these; the cursor stays where it is unless a place is given."""
        self.picks = tuple(picks)
        self.cursor = min(max(self.cursor if cursor is None else cursor, 0), max(len(self.picks) - 1, 0))
        self._lay_out()

    def choose(self, index: int) -> None:
        """Put the cursor there."""
        index = min(max(index, 0), max(len(self.picks) - 1, 0))
        if index != self.cursor:
            self.cursor = index
            self._lay_out()
            self.post_message(self.Moved(self))

    def action_step(self, by: int) -> None:
        """Some picks up or down."""
        self.choose(self.cursor + by)

    def on_click(self, event: events.Click) -> None:
        """A click chooses."""
        row = event.y + self.scroll_offset.y
        if 0 <= row < len(self._rows):
            self.choose(self._rows[row][0])

    def on_resize(self) -> None:
        """Wrap for the new width."""
        self._lay_out()

    def on_focus(self) -> None:
        """The cursor is where keys go."""
        self.paint_changes()

    def on_blur(self) -> None:
        """Keys go elsewhere."""
        self.paint_changes()

    def notify_style_update(self) -> None:
        """Use the new theme's tones."""
        self._tones.forget()
        super().notify_style_update()

    def _lay_out(self) -> None:
        rows: list[tuple[int, tuple[Part, ...]]] = []
        for index, pick in enumerate(self.picks):
            pieces = [piece for entry in pick.lines for piece in wrap(entry, self.room)]
            if self.brief and index != self.cursor and len(pieces) > 1:
                pieces = [(*pieces[0], Part(" …", "faint"))] if width(pieces[0]) <= self.room - 2 else pieces[:1]
            rows += [(index, piece) for piece in pieces]
        self._rows = rows
        if self.styles.height is None or self.styles.height.value != len(rows):
            self.styles.height = len(rows)
        self.set_canvas(0, len(rows))
        own = [row for row, (index, _) in enumerate(rows) if index == self.cursor]
        if own and self.size.height:
            top = self.scroll_offset.y
            if own[-1] >= top + self.size.height:
                top = own[-1] - self.size.height + 1
            self.scroll_to(y=min(top, own[0]), animate=False, force=True)
        self.paint_changes()

    def make_line(self, y: int, width_: int) -> Strip:
        """One line of the screen; the bar says without colour which pick is chosen."""
        at = self.scroll_offset.y + y
        if at >= len(self._rows):
            return Strip.blank(width_, self.ground)
        index, parts = self._rows[at]
        here = index == self.cursor
        ground = self.ground
        if here:
            name = "pick--cursor" if self.has_focus else "pick--blurred"
            ground = ground + self.get_component_rich_style(name, partial=True)
        bold = Style(bold=True)
        segments = [Segment(f"{_BAR if here else ' '} ", ground + self._tones["accent" if self.has_focus else "muted"])]
        segments += [
            Segment(part.text, ground + self._tones[part.tone] + (bold if part.bold else Style.null())) for part in parts
        ]
        segments.append(Segment(" " * max(width_ - 2 - width(parts), 0), ground))
        return Strip(segments).crop_extend(0, width_, ground)
