"""Small dialogs: all keys, a choice from a list, leaving while operations run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, OptionList, Static
from textual.widgets.option_list import Option

from console.ui.actions import GROUPS, Registry, show_key
from console.ui.text import Line, Part, line, width
from console.ui.widgets.bar import Bar
from console.ui.widgets.text_pane import TextPane

_LEAVE: list[BindingType] = [Binding("escape", "leave", "Close"), Binding("ctrl+c", "leave", show=False)]


class HelpScreen(ModalScreen[None]):
    """All keys, from the registry, in columns where there is room."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *_LEAVE,
        Binding("q,question_mark,enter", "leave", show=False),
        Binding("up,k", "scroll('up')", show=False),
        Binding("down,j", "scroll('down')", show=False),
        Binding("pageup", "scroll('page_up')", show=False),
        Binding("pagedown,space", "scroll('page_down')", show=False),
    ]

    def __init__(self, registry: Registry) -> None:
        super().__init__()
        self._catalogue = registry

    def compose(self) -> ComposeResult:
        """Title and text."""
        with Vertical(id="box", classes="tall"):
            yield Bar(id="headline")
            yield TextPane(id="steps")
            yield Bar(id="answer")

    def on_mount(self) -> None:
        """Fill in the keys."""
        self.query_one("#headline", Bar).put([Part(" Keys", "heading", True)])
        self.query_one("#answer", Bar).put(
            [Part(" Lower case reads, upper case opens a plan.  ", "muted"), Part("Esc", "key", True), Part(" close", "muted")]
        )
        self._fill()

    def on_resize(self) -> None:
        """Another width, other columns."""
        self._fill()

    def action_leave(self) -> None:
        """Close."""
        self.dismiss(None)

    def action_scroll(self, way: str) -> None:
        """Read the rest."""
        self.query_one("#steps", TextPane).move(way)

    def _fill(self) -> None:
        pane = self.query_one("#steps", TextPane)
        room = max(pane.room, 40)
        groups = [(name, help_lines(self._catalogue, name)) for name in GROUPS]
        pane.put(_columns(groups, room, 2 if room >= 110 else 1))


def help_lines(registry: Registry, group: str) -> list[Line]:
    """The keys of a group with what they do."""
    actions = [action for action in registry.all() if action.group == group]
    keys = {action.id: " ".join(show_key(key) for key in action.keys) or "(none)" for action in actions}
    room = max(len(text) for text in keys.values())
    return [
        line(Part(f"  {keys[action.id].ljust(room)}  ", "key", True), Part(f"{action.description}", "plain"), indent=room + 4)
        for action in actions
    ]


def _columns(groups: Sequence[tuple[str, list[Line]]], room: int, number: int) -> list[Line]:
    if number == 1:
        return [entry for name, lines in groups for entry in (line(Part(name, "heading", True)), *lines, Line())]
    each = room // 2 - 1
    halves: tuple[list[Line], list[Line]] = ([], [])
    for name, lines in groups:
        half = halves[0] if len(halves[0]) <= len(halves[1]) else halves[1]
        half += [line(Part(name, "heading", True)), *lines, Line()]
    rows = []
    for index in range(max(map(len, halves))):
        left, right = (half[index].parts if index < len(half) else () for half in halves)
        left = _cut(left, each)
        rows.append(Line((*left, Part(" " * (each + 2 - width(left))), *_cut(right, each))))
    return rows


def _cut(parts: Sequence[Part], room: int) -> tuple[Part, ...]:
    kept: list[Part] = []
    for part in parts:
        left = room - width(kept)
        if len(part.text) > left:
            kept.append(Part(part.text[: max(left - 1, 0)] + "…", part.tone, part.bold))
            break
        kept.append(part)
    return tuple(kept)


class ChooseScreen(ModalScreen[str]):
    """A choice by arrow keys; dismissed with its id, or "".

    :param choices: (id, text, possible); impossible ones are shown and can't be chosen.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *_LEAVE,
        Binding("q", "leave", show=False),
        Binding("j", "down", show=False),
        Binding("k", "up", show=False),
    ]

    def __init__(self, title: str, choices: Sequence[tuple[str, str, bool]]) -> None:
        super().__init__()
        self._title = title
        self._choices = choices

    def compose(self) -> ComposeResult:
        """Title and list."""
        with Vertical(id="box", classes="small"):
            yield Static(self._title, markup=False, classes="title")
            yield OptionList(
                *(Option(text, id=identity, disabled=not possible) for identity, text, possible in self._choices), markup=False
            )

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Chosen."""
        event.stop()
        self.dismiss(event.option.id or "")

    def action_leave(self) -> None:
        """Nothing was chosen."""
        self.dismiss("")

    def action_down(self) -> None:
        """One down."""
        self.query_one(OptionList).action_cursor_down()

    def action_up(self) -> None:
        """One up."""
        self.query_one(OptionList).action_cursor_up()


class QuitScreen(ModalScreen[bool]):
    """Leaving while operations run: says what goes on and what stops."""

    BINDINGS: ClassVar[list[BindingType]] = [*_LEAVE, Binding("y", "quit", "Leave")]
    AUTO_FOCUS: ClassVar[str | None] = "#cancel"

    def __init__(self, running: Sequence[str]) -> None:
        super().__init__()
        self._names = running

    def compose(self) -> ComposeResult:
        """The question."""
        many = len(self._names)
        text = "\n".join(
            (
                "One operation runs:" if many == 1 else f"{many} operations run:",
                *(f"  {name}" for name in self._names),
                "",
                "The step at hand is finished and journaled; steps that have not begun are not made.",
                "What the platforms do by themselves goes on. The next start offers to resume.",
            )
        )
        with Vertical(id="box", classes="small"):
            yield Static("Leave?", markup=False, classes="title")
            yield Static(text, markup=False, classes="question")
            with Horizontal(id="confirm"):
                yield Button("Esc  stay", id="cancel", compact=True)
                yield Button("y  leave", id="run", compact=True)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Stay or leave."""
        event.stop()
        self.dismiss(event.button.id == "run")

    def action_leave(self) -> None:
        """Stay."""
        self.dismiss(False)

    def action_quit(self) -> None:
        """Leave."""
        self.dismiss(True)
