"""The plan dialog: read everything, then confirm as hard as the blast radius asks.

Cancel has the focus. The key that opened the dialog never confirms it, nor does what was typed or pasted before it was on
the screen: input of the first moments is dropped, pasting into the confirmation is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Input

from console.errors import QuarterdeckError
from console.model.plan import Plan, Strength
from console.runtime.refusals import MovedOn
from console.ui.plan_text import headline, plan_lines, question
from console.ui.text import Line, Part, line
from console.ui.widgets.bar import Bar, Note
from console.ui.widgets.text_pane import TextPane

GRACE = 0.4
"""Seconds in which nothing confirms: keys that were on their way belong to the screen before."""

LOW = 16
"""Below this height the dialog gives its margins away: what must be read and the buttons come first."""

Confirm = Callable[[Plan, str], Awaitable[str]]


class TypedConfirmation(Input):
    """Must be typed by hand."""

    def on_paste(self, event: events.Paste) -> None:
        """Refuse: what was copied from the screen was not read."""
        event.prevent_default()
        event.stop()
        self.screen.query_one("#answer", Bar).put([Part("Pasting doesn't confirm; type it.", "warn")])


class PlanScreen(ModalScreen[str]):
    """Shows a plan; dismissed with the operation's id, or "" when nothing was done.

    :param confirm: begins the plan with what was typed; raises ``QuarterdeckError``. None only shows the plan.
    :param locked: says why writes can't leave now ("" when armed).
    :param arm: opens the lock of the plan's target; None where it can't be opened.
    :param note: what was meant to be shown before this plan and could not be, in a sentence.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel"),
        Binding("ctrl+c", "cancel", show=False),
        Binding("y", "run", "Run"),
        Binding("W", "arm", "Arm"),
        Binding("up,k", "scroll('up')", show=False),
        Binding("down,j", "scroll('down')", show=False),
        Binding("pageup", "scroll('page_up')", show=False),
        Binding("pagedown", "scroll('page_down')", show=False),
    ]
    AUTO_FOCUS: ClassVar[str | None] = "#cancel"

    def __init__(
        self,
        plan: Plan,
        confirm: Confirm | None,
        locked: Callable[[], str] = lambda: "",
        arm: Callable[[], None] | None = None,
        note: str = "",
    ) -> None:
        super().__init__()
        self.plan = plan
        self._confirm = confirm
        self._locked = locked
        self._arm = arm
        self._before = [line(Part(note, "muted")), Line()] if note else []
        self._opened = asyncio.get_running_loop().time()
        self._sent = False

    def compose(self) -> ComposeResult:
        """Headline, the plan, the question, two buttons."""
        with Vertical(id="box"):
            yield Note(id="headline")
            yield TextPane(id="steps")
            yield Note(id="answer")
            with Horizontal(id="confirm"):
                yield Bar(id="space")
                yield TypedConfirmation(compact=True, id="typed")
                yield Button("Esc  cancel", id="cancel", compact=True)
                yield Button("Run", id="run", compact=True)

    def on_mount(self) -> None:
        """Fill in the plan."""
        self.query_one("#steps", TextPane).can_focus = False
        self._show()

    def on_resize(self, event: events.Resize) -> None:
        """However long the plan is, the answer stays on the screen."""
        self._fit(event.size.height)
        self.call_after_refresh(self._lay_out)

    def _fit(self, height: int) -> None:
        notes = sum(note.rows(note.size.width) for note in self.query(Note))
        low = height < LOW
        self.set_class(low, "low")
        self.query_one("#steps", TextPane).leave_room(height, (3 if low else 8) + notes, least=1 if low else 3)

    @property
    def can_run(self) -> bool:
        """Whether this plan may be confirmed here at all."""
        return bool(self._confirm and self.plan.steps and self.plan.strength is not Strength.REFUSED and not self._locked())

    def _show(self, note: Line | None = None) -> None:
        plan = self.plan
        self.set_class(plan.protected, "protected")
        self.query_one("#headline", Note).put(headline(plan))
        pane = self.query_one("#steps", TextPane)
        pane.put([*self._before, *plan_lines(plan, max(pane.room, 30))])
        typed = bool(plan.confirmation) and self.can_run
        self.query_one("#typed").display = typed
        run = self.query_one("#run", Button)
        run.display = self.can_run
        run.label = "Enter  run" if typed else "y  run"
        run.disabled = typed
        self.query_one("#typed", Input).value = ""
        if note is None and self._confirm is not None and plan.steps:
            locked = self._locked()
            note = line(Part(locked, "warn"), Part("  W arms it." if self._arm and locked else "", "key")) if locked else None
        self.query_one("#answer", Note).put(note.parts if note else question(plan) if self.can_run else ())
        self._fit(self.size.height)

    def _lay_out(self) -> None:
        pane = self.query_one("#steps", TextPane)
        pane.put([*self._before, *plan_lines(self.plan, max(pane.room, 30))], keep_place=True)

    @property
    def _too_early(self) -> bool:
        return asyncio.get_running_loop().time() - self._opened < GRACE

    def on_input_changed(self, event: Input.Changed) -> None:
        """Run becomes possible when what is typed is exactly right."""
        event.stop()
        if self._too_early and event.value:
            event.input.value = ""
        else:
            self.query_one("#run", Button).disabled = event.value != self.plan.confirmation

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter behind the typed confirmation."""
        event.stop()
        self._begin(event.value)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Cancel, or run."""
        event.stop()
        if event.button.id == "cancel":
            self.action_cancel()
        else:
            self._begin(self.query_one("#typed", Input).value)

    def action_cancel(self) -> None:
        """Nothing is done."""
        if not self._sent:
            self.dismiss("")

    def action_run(self) -> None:
        """One key is enough for a plan of low blast radius only."""
        if not self.plan.confirmation:
            self._begin("")

    def action_arm(self) -> None:
        """Open the lock of this target, visibly."""
        if self._arm is None or not self._locked() or self._too_early:
            return
        try:
            self._arm()
        except QuarterdeckError as error:
            self._show(line(Part(error.sentence(), "bad")))
        else:
            self._show()

    def action_scroll(self, way: str) -> None:
        """Read the rest."""
        self.query_one("#steps", TextPane).move(way)

    def _begin(self, typed: str) -> None:
        if self._too_early or self._sent or not self.can_run:
            return
        if typed != self.plan.confirmation:
            self._show(line(Part(f"{typed!r} is not {self.plan.confirmation!r}.", "bad")))
            return
        self._sent = True
        self.run_worker(self._run(typed), group="run", exclusive=True, exit_on_error=False, description="the plan")

    async def _run(self, typed: str) -> None:
        if self._confirm is None:
            return
        try:
            identity = await self._confirm(self.plan, typed)
        except MovedOn as error:
            self._sent = False
            self.plan = error.fresh
            self._opened = asyncio.get_running_loop().time()
            self._show(line(Part(f"{error.message} This is the new plan.", "warn")))
        except QuarterdeckError as error:
            self._sent = False
            self._show(line(Part(error.sentence(), "bad")))
        else:
            self.dismiss(identity)
