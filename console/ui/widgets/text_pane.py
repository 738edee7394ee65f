"""A long text: scrolled, wrapped or not, searched. Only visible lines are painted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from console.ui.text import Line, Part, plain, width, wrap
from console.ui.tones import COMPONENTS, TONE_CSS, Tones
from console.ui.widgets.line_view import LineView


class TextPane(LineView, can_focus=True, inherit_bindings=False):
    """Lines of styled text.

    :param most: how many lines are kept; the oldest go first (0: all).
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = COMPONENTS | {"text--match"}
    DEFAULT_CSS = (
        """
    TextPane {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        background: $background;
        color: $foreground;
        padding: 0 1;
    & > .text--match { background: $tone-warn; color: $background; }
    """
        + TONE_CSS
        + "}"
    )

    def __init__(self, *, most: int = 0, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self.lines: list[Line] = []
        self.wrapped = True
        self.following = False
        self.needle = ""
        self._most = most
        self._pieces: list[tuple[Part, ...]] = []
        self._widest = 0
        self._wrapped_for = (-1, True)
        self._tones = Tones(self)

    @property
    def text(self) -> str:
        """The bare text, for copying."""
        return plain(self.lines)

    def put(self, lines: Sequence[Line], *, keep_place: bool = False) -> None:
        """Show another text; ``keep_place`` is for a newer version of the same one."""
        if keep_place and list(lines) == self.lines:
            return
        self.lines = list(lines)
        self._wrap_all()
        if not keep_place and (self.scroll_offset.x or self.scroll_offset.y):
            self.scroll_to(0, 0, animate=False, force=True)
        self.paint_changes()

    def leave_room(self, height: int, around: int, least: int = 3) -> None:
        """In a dialog on a screen of this height: never so high that the ``around`` lines of the dialog's rest don't fit."""
        self.styles.max_height = max((height if least < 3 else int(height * 0.92)) - around, least)

    def add(self, lines: Iterable[Line]) -> None:
        """Append lines (a log); follows them if :attr:`following`."""
        new = list(lines)
        self.lines += new
        if self._most and len(self.lines) > self._most + self._most // 10:
            del self.lines[: len(self.lines) - self._most]
            self._wrap_all()
        else:
            for entry in new:
                self._take(entry, self.room)
            self._resize_canvas()
        if self.following:
            self.scroll_to(y=self.last_line, animate=False, force=True)
        self.paint_changes()

    def move(self, where: str) -> None:
        """As :meth:`ResourceTable.move`. Going up stops following, going to the bottom begins again."""
        page = max(self.size.height - 1, 1)
        if where in ("left", "right"):
            self.scroll_to(x=self.scroll_offset.x + (8 if where == "right" else -8), animate=False, force=True)
            return
        if where in ("up", "page_up", "top"):
            self.following = False
        steps = {"up": -1, "down": 1, "page_up": -page, "page_down": page}
        target = {"top": 0, "bottom": self.last_line}.get(where, self.scroll_offset.y + steps.get(where, 0))
        self.scroll_to(y=min(target, self.last_line), animate=False, force=True)

    def toggle_wrap(self) -> bool:
        """Wrap long lines or scroll sideways; returns what it is now."""
        self.wrapped = not self.wrapped
        self.scroll_to(x=0, animate=False, force=True)
        self._wrap_all()
        self.paint_changes()
        return self.wrapped

    # -- searching

    def search(self, needle: str) -> int:
        """Mark all places of ``needle`` (case does not matter) and go to the first at or below; returns their number."""
        self.needle = needle.lower()
        found = self._matches()
        if found:
            here = self.scroll_offset.y
            self._go_to(next((index for index in found if index >= here), found[0]))
        self.paint_changes()
        return len(found)

    def search_again(self, *, backwards: bool = False) -> bool:
        """The next (or previous) place; False if there is none."""
        found = self._matches()
        if not found:
            return False
        here = self.scroll_offset.y
        if backwards:
            self._go_to(next((index for index in reversed(found) if index < here), found[-1]))
        else:
            self._go_to(next((index for index in found if index > here), found[0]))
        return True

    def _matches(self) -> list[int]:
        if not self.needle:
            return []
        return [i for i, piece in enumerate(self._pieces) if self.needle in "".join(part.text for part in piece).lower()]

    def _go_to(self, index: int) -> None:
        self.following = False
        self.scroll_to(y=index, animate=False, force=True)

    # -- painting

    @property
    def room(self) -> int:
        """Cells for text; one is left free before the scrollbar."""
        return max(self.outer_size.width - self.gutter.width - 2, 1)

    @property
    def last_line(self) -> int:
        """The line at the top when the end is in view."""
        return max(len(self._pieces) - self.size.height, 0)

    def _take(self, entry: Line, room: int) -> None:
        if self.wrapped:
            self._pieces.extend(wrap(entry, room))
        else:
            self._pieces.append(entry.parts)
            self._widest = max(self._widest, width(entry.parts))

    def _wrap_all(self) -> None:
        room = self.room
        self._wrapped_for = (room, self.wrapped)
        self._pieces, self._widest = [], 0
        for entry in self.lines:
            self._take(entry, room)
        self._resize_canvas()

    def _resize_canvas(self) -> None:
        self.set_canvas(self._widest if not self.wrapped else 0, len(self._pieces))

    def on_resize(self) -> None:
        """Wrap for the new width, keeping the end in view if it is followed."""
        if self._wrapped_for != (self.room, self.wrapped):
            self._wrap_all()
        if self.following:
            self.scroll_to(y=self.last_line, animate=False, force=True)
        self.paint_changes()

    def notify_style_update(self) -> None:
        """Use the new theme's tones."""
        self._tones.forget()
        super().notify_style_update()

    def make_line(self, y: int, width: int) -> Strip:
        """One line of the screen."""
        ground = self.ground
        index = self.scroll_offset.y + y
        if index >= len(self._pieces):
            return Strip.blank(width, ground)
        bold = Style(bold=True)
        segments = [
            Segment(part.text, ground + self._tones[part.tone] + (bold if part.bold else Style.null()))
            for part in self._pieces[index]
        ]
        if self.needle:
            segments = list(self._marked(segments))
        left = self.scroll_offset.x
        return Strip(segments).crop_extend(left, left + width, ground)

    def _marked(self, segments: Sequence[Segment]) -> Iterable[Segment]:
        match = self.get_component_rich_style("text--match", partial=True)
        for text, style, _ in segments:
            rest = text
            while self.needle and (at := rest.lower().find(self.needle)) >= 0:
                end = at + len(self.needle)
                yield Segment(rest[:at], style)
                yield Segment(rest[at:end], (style or Style.null()) + match)
                rest = rest[end:]
            yield Segment(rest, style)
