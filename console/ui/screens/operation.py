"""One operation: its steps as a tree or its phases on a time line, how long each took, and what it waits for now."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from console.errors import QuarterdeckError
from console.model.operations import Operation, StepView
from console.model.refs import Ref
from console.runtime.sync_waves import sync_waves
from console.ui.bridge import StoreBridge
from console.ui.operation_text import operation_headline, operation_lines
from console.ui.ports import ConsoleRuntime
from console.ui.text import Part, line
from console.ui.widgets.bar import Bar, Note
from console.ui.widgets.text_pane import TextPane

LOOK = 2.0
"""Seconds between two looks at a sync that runs."""


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
        self._waves: tuple[StepView, ...] = ()
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
        found = self._runtime.store.get(self._operation)
        if isinstance(found, Operation) and found.target.kind == "Application" and not found.steps:
            work = self._follow_waves(found.target)
            self.run_worker(work, group="waves", exclusive=True, exit_on_error=False, description="the waves")

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
        told = found if found.steps or not self._waves else msgspec.structs.replace(found, steps=self._waves)
        pane.put(operation_lines(told, now, room), keep_place=True)
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

    async def _follow_waves(self, target: Ref) -> None:
        """The waves and hooks of a sync that nobody asked for here: the Application tells them, no list carries them."""
        while isinstance(found := self._runtime.store.get(self._operation), Operation):
            try:
                raw = await self._runtime.raw(target)
            except QuarterdeckError:
                # Its target's own state says why; what the operation itself tells is still shown.
                return
            waves = sync_waves(raw, running=not found.state.ended)
            self._waves = tuple(msgspec.structs.replace(wave, depth=wave.depth - 2) for wave in waves)
            self.show_now()
            if found.state.ended:
                return
            await asyncio.sleep(LOOK)

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
