"""The line at the bottom where one types: commands after ``:``, filters after ``/``, answers to questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input, Static

Completer = Callable[[str], Sequence[str]]


class _Completions(Suggester):
    """The first completion, shown faintly behind the cursor."""

    def __init__(self, complete: Completer) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._complete = complete

    async def get_suggestion(self, value: str) -> str | None:
        """The best completion of what is typed, if there is one."""
        return next(iter(self._complete(value)), None) if value else None


class PromptInput(Input):
    """An input whose keys are those of a command line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", show=False),
        Binding("tab", "complete", show=False),
        Binding("up", "earlier", show=False),
        Binding("down", "later", show=False),
        Binding("ctrl+c", "leave", show=False),
    ]

    def action_leave(self) -> None:
        """Give up."""
        self.post_message(Prompt.Left())

    def action_complete(self) -> None:
        """Complete, or go on to the next completion."""
        prompt = self.query_ancestor(Prompt)
        prompt.complete()

    def action_earlier(self) -> None:
        """An earlier line."""
        self.query_ancestor(Prompt).recall(-1)

    def action_later(self) -> None:
        """A later line."""
        self.query_ancestor(Prompt).recall(1)


class Prompt(Horizontal):
    """One line with a sign before it. Hidden until :meth:`ask`; then it takes the place of what it shares its line with."""

    DEFAULT_CSS: ClassVar[str] = """
    Prompt { height: 1; background: $panel; display: none; }
    Prompt > Static { width: auto; color: $tone-key; text-style: bold; padding: 0 0 0 1; }
    Prompt > Input { height: 1; border: none; padding: 0; background: $panel; width: 1fr; }
    Prompt > Input:focus { border: none; background: $panel; background-tint: $foreground 0%; }
    Prompt > .hint { color: $tone-muted; text-style: none; padding: 0 1; max-width: 60%; }
    """

    class Typed(Message):
        """The text changed."""

        def __init__(self, mode: str, value: str) -> None:
            super().__init__()
            self.mode = mode
            self.value = value

    class Entered(Message):
        """Enter was pressed."""

        def __init__(self, mode: str, value: str) -> None:
            super().__init__()
            self.mode = mode
            self.value = value

    class Left(Message):
        """Esc was pressed."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self.mode = ""
        self._complete: Completer = lambda _: ()
        self._history: Sequence[str] = ()
        self._at = 0
        self._cycle: tuple[str, ...] = ()
        self._expected = ""

    def compose(self) -> ComposeResult:
        """The sign, the input, and room for a hint."""
        yield Static("", markup=False, id="sign")
        yield PromptInput(compact=True, select_on_focus=False)
        yield Static("", markup=False, classes="hint")

    @property
    def input(self) -> PromptInput:
        """Where one types."""
        return self.query_one(PromptInput)

    def ask(
        self, mode: str, sign: str, value: str = "", *, complete: Completer | None = None, history: Sequence[str] = ()
    ) -> None:
        """Open the line. ``mode`` comes back with every message."""
        self.mode = mode
        self._complete = complete or (lambda _: ())
        self._history, self._at, self._cycle = history, len(history), ()
        self.query_one("#sign", Static).update(sign)
        self.hint("")
        self.input.suggester = _Completions(self._complete) if complete else None
        self._expected = value
        self.input.value = value
        self.input.cursor_position = len(value)
        self.display = True
        for other in self.siblings:
            other.display = False
        self.screen.set_focus(self.input)

    def take(self, character: str | None) -> bool:
        """Put a typed character in that was meant for this line, if it is open; whether it was."""
        if character is None or not self.mode:
            return False
        self.input.insert_text_at_cursor(character)
        return True

    def hint(self, text: str) -> None:
        """A word beside what is typed: what is wrong with it, how many match."""
        self.query_one(".hint", Static).update(text)

    def leave(self) -> None:
        """Hide the line."""
        self.display = False
        for other in self.siblings:
            other.display = True
        self.mode = ""

    def complete(self) -> None:
        """Put in the next completion of what was typed."""
        value = self.input.value
        if value not in self._cycle:
            self._cycle = tuple(self._complete(value))
            nxt = 0
        else:
            nxt = (self._cycle.index(value) + 1) % len(self._cycle)
        if not self._cycle:
            return
        if len(self._cycle) == 1:
            self._put(self._cycle[0] + " ")
            self._cycle = ()
        else:
            self._put(self._cycle[nxt])
            self.hint("  ".join(entry.rpartition(" ")[2] for entry in self._cycle[:8]))

    def recall(self, by: int) -> None:
        """A line from the history."""
        at = self._at + by
        if 0 <= at <= len(self._history):
            self._at = at
            self._put(self._history[at] if at < len(self._history) else "")

    def _put(self, value: str) -> None:
        self.input.value = value
        self.input.cursor_position = len(value)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Tell what is typed; what we put in ourselves at the beginning is no news."""
        event.stop()
        if self.mode and event.value != self._expected:
            self._expected = event.value
            self.post_message(self.Typed(self.mode, event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Tell that Enter was pressed."""
        event.stop()
        if self.mode:
            self.post_message(self.Entered(self.mode, event.value))

    def on_paste(self, event: events.Paste) -> None:
        """Pasting several lines into one line would run commands that nobody read."""
        if "\n" in event.text.strip():
            event.prevent_default()
            event.stop()
