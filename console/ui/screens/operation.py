"""One operation: its steps as a tree, how long each took, and what it waits for now."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from console.kit.sanitize import sanitize
from console.model.operations import Operation, StepView
from console.model.refs import Ref
from console.ui.bridge import StoreBridge
from console.ui.ports import ConsoleRuntime
from console.ui.text import Line, Part, line, set_line
from console.ui.widgets.bar import Bar, Note
from console.ui.widgets.text_pane import TextPane
from console.views import formats
from console.views.glyphs import state_glyph
from console.views.operations import taken
from console.views.step_tree import branches, run_tree


class OperationScreen(ModalScreen[None]):
    """Follows an operation while it runs; closing the screen does not end it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "close", "Close"),
        Binding("ctrl+c", "close", show=False),
        Binding("T", "cancel", "Begin nothing new"),
        Binding("up,k", "scroll('up')", show=False),
        Binding("down,j", "scroll('down')", show=False),
        Binding("pageup", "scroll('page_up')", show=False),
        Binding("pagedown", "scroll('page_down')", show=False),
    ]

    def __init__(self, runtime: ConsoleRuntime, ref: Ref) -> None:
        super().__init__()
        self._runtime = runtime
        self._operation = ref
        self._cancelled = False
        self._bridge = StoreBridge(runtime.store, lambda _: self.show_now())

    def compose(self) -> ComposeResult:
        """Headline, steps, keys."""
        with Vertical(id="box"):
            yield Note(id="headline")
            yield TextPane(id="steps")
            yield Bar(id="answer")

    def on_mount(self) -> None:
        """Follow from now on."""
        self._bridge.watch({"Operation"})
        self.set_interval(1, self.show_now)
        self.show_now()

    def on_resize(self, event: events.Resize) -> None:
        """Durations stand at the right edge of the new width; the keys stay on the screen."""
        headline = self.query_one("#headline", Note)
        self.query_one("#steps", TextPane).leave_room(event.size.height, 7 + headline.rows(headline.size.width))
        self.call_after_refresh(self.show_now)

    def on_unmount(self) -> None:
        """Follow no more."""
        self._bridge.close()

    def show_now(self) -> None:
        """The operation as it stands."""
        found = self._runtime.store.get(self._operation)
        if not isinstance(found, Operation):
            self.query_one("#steps", TextPane).put([line(Part("Waiting for the first report …", "muted"))])
            return
        now = self._runtime.clock.now()
        self.query_one("#headline", Note).put(operation_headline(found, now))
        pane = self.query_one("#steps", TextPane)
        room = max(pane.room, 30)
        pane.put(operation_lines(found, now, room), keep_place=True)
        ours = found.ref.uid in self._runtime.commands.running
        keys = [
            Part(" Esc", "key", True),
            Part(" close; the operation goes on" if not found.state.ended else " close", "muted"),
        ]
        if ours and not self._cancelled:
            keys += [Part("   T", "key", True), Part(" begin nothing new", "muted")]
        elif self._cancelled and not found.state.ended:
            keys += [Part("   the step at hand ends, nothing new begins", "warn")]
        self.query_one("#answer", Bar).put(keys)

    def action_close(self) -> None:
        """Back to the list."""
        self.dismiss(None)

    def action_cancel(self) -> None:
        """Ask an operation of this console to begin nothing new."""
        if self._operation.uid in self._runtime.commands.running:
            self._runtime.commands.cancel(self._operation.uid)
            self._cancelled = True
            self.show_now()

    def action_scroll(self, way: str) -> None:
        """Read the rest."""
        self.query_one("#steps", TextPane).move(way)


def operation_headline(operation: Operation, now: datetime) -> tuple[Part, ...]:
    """What, on what, how it stands, how long."""
    shape = state_glyph(operation.state)
    parts = [Part(f" {shape.text} ", shape.tone), Part(sanitize(f"{operation.verb} {operation.target.path}"), "plain", True)]
    parts += [Part(f" on {sanitize(operation.target.connection)}"), Part(f"   {operation.state.value}", shape.tone)]
    facts = [taken(operation, now), f"by {operation.who}" if operation.who else "", formats.short_sha(operation.commit)]
    parts.append(Part("   " + " · ".join(sanitize(fact) for fact in facts if fact), "muted"))
    return tuple(parts)


def operation_lines(operation: Operation, now: datetime, room: int) -> list[Line]:
    """The steps, then what it waits for, then the message and the reason."""
    if branches(operation.steps):
        lines = [set_line(pieces) for pieces in run_tree(operation.steps, now, room)]
    else:
        lines = [_step(step, now, room) for step in operation.steps]
    if not operation.steps and operation.step:
        lines.append(line(Part("◐ ", "busy"), Part(sanitize(operation.step))))
    if operation.waiting_for and not operation.state.ended:
        lines += [Line(), line(Part("Waits for  ", "heading", True), Part(sanitize(operation.waiting_for), "busy"), indent=11)]
    if operation.message:
        tone = "bad" if operation.state.health.needs_attention else "plain"
        lines += [Line(), line(Part("Said       ", "heading", True), Part(sanitize(operation.message), tone), indent=11)]
    if operation.why:
        lines.append(line(Part("Why        ", "heading", True), Part(sanitize(operation.why)), indent=11))
    return lines or [line(Part("It tells no steps.", "muted"))]


def _step(step: StepView, now: datetime, room: int) -> Line:
    shape = state_glyph(step.state)
    indent = "  " * step.depth
    quiet = step.state.ended and not step.state.health.needs_attention
    text = formats.clipped(sanitize(step.title), max(room - 14 - len(indent), 10))
    parts = [Part(f" {indent}"), Part(f"{shape.text} ", shape.tone), Part(text, "muted" if quiet else "plain")]
    said = step.waiting_for if not step.state.ended and step.waiting_for else step.detail
    if said:
        label = "waits for " if said == step.waiting_for and not step.state.ended else ""
        parts.append(Part(f"  {label}{sanitize(said)}", "busy" if label else "muted"))
    if step.attempts > 1:
        parts.append(Part(f"  try {step.attempts}", "warn"))
    if step.started is not None:
        time = formats.duration(((step.ended or now) - step.started).total_seconds())
        used = sum(len(part.text) for part in parts)
        parts.append(Part(" " * max(room - used - len(time), 2) + time, "muted"))
    return Line(tuple(parts), 4 + len(indent))
