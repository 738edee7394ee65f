"""Answers that are chosen: one of few on one line (``Prune   ‹ no ›``), or any number out of a list (``[x] Service web``).

What is chosen shows as text, not by colour alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import OptionList


class Done(Message):
    """Enter was pressed on an answer: all of them have one."""


class Marks(OptionList, inherit_bindings=False):
    """Any number of a list. :attr:`marked` are the values of those chosen, in the list's order."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor_up", show=False),
        Binding("down,j", "cursor_down", show=False),
        Binding("space,x", "select", show=False),
        Binding("enter", "done", show=False),
    ]

    def __init__(self, options: Sequence[tuple[str, str]], *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        self._values = tuple(options)
        self._chosen: set[int] = set()
        super().__init__(*(f"[ ] {label}" for _, label in options), id=id, markup=False, compact=True)

    @property
    def marked(self) -> tuple[str, ...]:
        """The values of what is chosen."""
        return tuple(value for index, (value, _) in enumerate(self._values) if index in self._chosen)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Space, or a click: chosen, or no longer."""
        event.stop()
        index = event.option_index
        self._chosen ^= {index}
        mark = "x" if index in self._chosen else " "
        self.replace_option_prompt_at_index(index, f"[{mark}] {self._values[index][1]}")

    def action_done(self) -> None:
        """Every question has an answer."""
        self.post_message(Done())


class Choice(Widget, can_focus=True):
    """One of several answers. :attr:`value` is the chosen one's value.

    :param options: (value, label); the first is chosen at the beginning.
    :param room: cells that the question takes, so that answers stand under each other.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "turn(-1)", show=False),
        Binding("right,l,space", "turn(1)", show=False),
        Binding("up,k", "leave(-1)", show=False),
        Binding("down,j", "leave(1)", show=False),
        Binding("enter", "done", show=False),
    ]
    DEFAULT_CSS = """
    Choice { height: auto; min-height: 1; color: $foreground; }
    Choice:focus { background: $row-cursor; text-style: bold; }
    """

    def __init__(self, question: str, options: Sequence[tuple[str, str]], *, room: int = 0, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self._question = question
        self._options = tuple(options)
        self._room = max(room, len(question))
        self._at = 0

    @property
    def value(self) -> str:
        """The chosen answer's value."""
        return self._options[self._at][0]

    @property
    def label(self) -> str:
        """The chosen answer as it is shown."""
        return self._options[self._at][1]

    def render(self) -> Text:
        """The question, the answer, and how many there are where they aren't obvious."""
        shown = f"{self._question.ljust(self._room)}  ‹ {self.label} ›"
        many = f"  {self._at + 1} of {len(self._options)}" if len(self._options) > 2 else ""
        return Text(shown + many)

    def action_turn(self, by: int) -> None:
        """The next answer, or the one before."""
        self._at = (self._at + by) % len(self._options)
        self.refresh(layout=True)

    def action_leave(self, by: int) -> None:
        """To the next question, or the one before."""
        if by > 0:
            self.screen.focus_next()
        else:
            self.screen.focus_previous()

    def action_done(self) -> None:
        """Every question has an answer."""
        self.post_message(Done())

    def on_key(self, event: events.Key) -> None:
        """A letter chooses the only answer that begins with it: y and n for most."""
        found = [index for index, (_, label) in enumerate(self._options) if label[:1].lower() == event.character]
        if event.character and len(found) == 1 and event.character not in "hjkl":
            event.stop()
            self._at = found[0]
            self.refresh(layout=True)

    def on_click(self) -> None:
        """A click turns it."""
        self.focus()
        self.action_turn(1)
