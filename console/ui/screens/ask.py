"""Questions before a plan is made: typed, or chosen among what the live object offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button, Input, Static

from console.ui.verbs import Field
from console.ui.widgets.choice import Choice, Done, Marks


class AskScreen(ModalScreen[dict[str, str] | None]):
    """Questions before a plan is made; dismissed with the answers, or None. Answers only go into the plan, nothing runs."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close"),
        Binding("ctrl+c", "leave", show=False),
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
        Binding("ctrl+enter,ctrl+j", "answer", show=False, priority=True),
    ]

    def __init__(self, title: str, fields: Sequence[Field]) -> None:
        super().__init__()
        self._title = title
        self._fields = fields

    def compose(self) -> ComposeResult:
        """One line or list for each question."""
        room = max((len(field.question) for field in self._fields if field.choices and not field.several), default=0)
        with Vertical(id="box", classes="small"):
            yield Static(self._title, markup=False, classes="title")
            with VerticalScroll(id="questions", can_focus=False):
                for field in self._fields:
                    yield from _question(field, room)
            with Horizontal(id="confirm"):
                yield Button("Esc  cancel", id="cancel", compact=True)
                yield Button("Enter  show the plan", id="run", compact=True)

    def on_mount(self) -> None:
        """The first question is answered first."""
        self._widget(self._fields[0]).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter goes on to the plan once nothing is missing, else to what is; Tab and the arrows move between questions."""
        event.stop()
        self._answer()

    def on_done(self, event: Done) -> None:
        """A choice always has an answer: Enter on one shows the plan."""
        event.stop()
        self._answer()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Cancel or go on."""
        event.stop()
        if event.button.id == "cancel":
            self.dismiss(None)
        else:
            self._answer()

    def action_leave(self) -> None:
        """Give up."""
        self.dismiss(None)

    def action_answer(self) -> None:
        """Show the plan, wherever the cursor is."""
        self._answer()

    def _widget(self, field: Field) -> Widget:
        return self.query_one(f"#field-{field.name}", Widget)

    def _answer(self) -> None:
        answers = {field.name: _value(self._widget(field)) for field in self._fields}
        typed = [field for field in self._fields if not field.choices]
        missing = next((field for field in typed if field.required and not answers[field.name]), None)
        if missing is not None:
            self._widget(missing).focus()
            return
        self.dismiss({name: value for name, value in answers.items() if value})


def _question(field: Field, room: int) -> ComposeResult:
    identity = f"field-{field.name}"
    if field.choices and not field.several:
        yield Choice(field.question, field.choices, room=room, id=identity)
        return
    yield Static(field.question, markup=False, classes="question")
    if field.several:
        yield Marks(field.choices, id=identity)
    else:
        yield Input(id=identity, compact=True)


def _value(widget: Widget) -> str:
    match widget:
        case Choice():
            return widget.value
        case Marks():
            return ",".join(widget.marked)
        case Input():
            return widget.value.strip()
        case _:
            return ""
