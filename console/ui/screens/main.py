"""The main screen: frame, list and detail pane. It shows a place and keeps it up to date; what keys do is in ``controls``."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.screen import Screen
from textual.timer import Timer
from textual.worker import Worker, WorkerState

from console.model.connections import Connection
from console.model.operations import Operation, State
from console.model.refs import Ref
from console.model.resource import Resource
from console.ui.actions import Registry, Situation
from console.ui.bridge import FLUSHES, FLUSHES_LOW, StoreBridge
from console.ui.memory import Memory
from console.ui.place import History, Place
from console.ui.ports import ConsoleRuntime
from console.ui.rows import Rows
from console.ui.screens.framing import Framing
from console.ui.screens.parts import Parts
from console.ui.widgets.detail import LOGGED, Detail
from console.ui.widgets.prompt import Prompt
from console.ui.widgets.resource_table import ResourceTable
from console.views import tables
from console.views.cells import Context, now_context

BESIDE = 140
"""From this width on the detail pane stands beside the list."""
BELOW = 34
"""From this height on it stands below, where there isn't the width; else it takes the list's place."""
_TICK, _TICK_LOW = 1.0, 10.0


class MainScreen(Screen[None]):
    """List and detail of one place."""

    AUTO_FOCUS: ClassVar[str | None] = "#list"

    def __init__(self, runtime: ConsoleRuntime, registry: Registry, memory: Memory, start: Place) -> None:
        super().__init__()
        self.runtime = runtime
        self.registry = registry
        self.memory = memory
        self.history = History(start)
        self.pane_wanted = True
        self.pane_opened = False
        self.low_bandwidth = False
        self._told: set[Ref] = set()
        self.rows: Rows | None = None
        self._bridge = StoreBridge(runtime.store, self._take)
        self._detail_bridge = StoreBridge(runtime.store, self._take_detail)
        self._detail_bridge.flushes_per_second = 4
        self._tally_bridge = StoreBridge(runtime.store, self._take_tally)
        self._tally_bridge.flushes_per_second = 2
        self._end_look: Callable[[], None] = lambda: None
        self.parts = Parts(runtime, self.context())
        self.framing = Framing(self)
        self._ticker: Timer | None = None
        self._quiet: Timer | None = None

    def compose(self) -> ComposeResult:
        """Title, views, list and pane, messages, prompt, footer."""
        yield from self.parts.compose()

    def on_mount(self) -> None:
        """Show the first place."""
        self._ticker = self.set_interval(_TICK, self.tick)
        self.framing.tally.count_all()
        self._tally_bridge.watch(self.framing.tally.kinds)
        self.show_place(self.history.here)

    def on_unmount(self) -> None:
        """Look at nothing any more."""
        self.hear_no_more()
        self._end_look()

    def hear_no_more(self) -> None:
        """Take no more changes: what they would be shown in is about to go, while the targets live on for a moment."""
        for bridge in (self._bridge, self._detail_bridge, self._tally_bridge):
            bridge.close()

    # -- the parts

    @property
    def table(self) -> ResourceTable:
        """The table of the place."""
        return self.parts.table

    @property
    def detail(self) -> Detail:
        """The pane about one object."""
        return self.parts.detail

    @property
    def prompt(self) -> Prompt:
        """The line to type in."""
        return self.parts.prompt

    @property
    def in_detail(self) -> bool:
        """Whether the focus is in the detail pane."""
        return self.focused is not None and self.focused in self.detail.query("*")

    @property
    def place(self) -> Place:
        """Where one is."""
        return self.history.here

    def connections(self) -> list[Connection]:
        """All connections, as they are now."""
        return [item for item in self.runtime.store.of("Connection").values() if isinstance(item, Connection)]

    def context(self) -> Context:
        """What cells may know: the time and the connections."""
        return now_context(self.connections(), self.runtime.clock.now())

    def resource(self, ref: Ref | None) -> Resource | None:
        """The object itself."""
        return self.runtime.store.get(ref) if ref is not None else None

    @property
    def subjects(self) -> tuple[Ref, ...]:
        """What an action is about: the object of the pane when one is in it, else marked rows or the row."""
        if self.in_detail and self.detail.ref is not None:
            return (self.detail.ref,)
        return self.table.subjects

    def situation(self) -> Situation:
        """The state of the screen, for actions to judge."""
        subjects = self.subjects
        context = self.context()
        commands = self.runtime.commands
        verbs = set(commands.verbs(subjects[0])) if subjects else set()
        for ref in subjects[1:]:
            verbs &= set(commands.verbs(ref))
        place = self.place
        return Situation(
            view=place.table,
            subjects=subjects,
            verbs=frozenset(verbs),
            fresh=all(context.fresh(ref.connection) for ref in subjects),
            armed=bool(subjects) and commands.arming.armed(subjects[0].connection),
            read_only=commands.arming.read_only,
            filtered=bool(place.filter),
            can_back=self.history.can_back,
            can_forward=self.history.can_forward,
            pane=self.detail.tab if self.detail.display else "",
            pane_focused=self.in_detail,
            has_logs=bool(subjects) and subjects[0].kind in LOGGED,
        )

    # -- showing a place

    def show_place(self, place: Place) -> None:
        """Show a place from scratch. Its history entry is made by the caller."""
        table = tables.table(place.table) or tables.TABLES["bridge"]
        rows = self.rows = Rows(self.runtime.store, table, place, self.context())
        end, self._end_look = self._end_look, self.runtime.look(table.kinds)
        end()
        widget = self.table
        widget.tick(self.context())
        widget.show(table)
        objects = rows.all()
        widget.rows.filter(rows.keeps(len(objects)))
        widget.replace(objects)
        if place.cursor is not None:
            widget.select(place.cursor)
        self._bridge.watch(rows.kinds)
        self.parts.cards.display = place.table == "bridge"
        self.arrange_panes()
        self.refresh_frame()
        self.show_detail()

    def narrow(self, place: Place) -> None:
        """The same table and scope under another filter: rows stay, the filter changes."""
        self.history.amend(place)
        if self.rows is None:
            return
        before, rows = self.rows, Rows(self.runtime.store, self.rows.table, place, self.context())
        self.rows = rows
        self.table.filter(rows.keeps(len(self.table.rows.objects)), narrower=rows.narrower(before))
        self.refresh_frame()

    def go(self, place: Place) -> None:
        """Go to another place and remember the way back."""
        self.leave_place()
        self.history.go(place)
        self.show_place(place)
        if not self.in_detail:
            self.table.focus()

    def leave_place(self) -> None:
        """Remember where the cursor was."""
        self.history.amend(msgspec.structs.replace(self.place, cursor=self.table.cursor))

    # -- keeping up

    def _take(self, dirty: frozenset[Ref]) -> None:
        rows = self.rows
        if rows is None:
            return
        connections_changed = any(ref.kind == "Connection" for ref in dirty)
        if rows.must_reload(dirty):
            self.table.replace(rows.all())
        else:
            changed, gone = rows.changes(dirty)
            if changed or gone:
                self.table.update(changed, gone)
        if connections_changed:
            self.table.tick(self.context())
        if connections_changed or not len(self.table.rows):
            self.refresh_frame()

    def _take_tally(self, dirty: frozenset[Ref]) -> None:
        self.framing.tally.take(dirty)
        self._tell_interrupted(dirty)
        if not self.low_bandwidth:
            self.refresh_frame()

    def _tell_interrupted(self, dirty: frozenset[Ref]) -> None:
        """Operations of an earlier console that nobody saw to their end are told once."""
        found = [self.runtime.store.get(ref) for ref in dirty if ref.kind == "Operation" and ref not in self._told]
        interrupted = {item.ref for item in found if isinstance(item, Operation) and item.state is State.INTERRUPTED}
        if interrupted:
            self._told |= interrupted
            one = len(interrupted) == 1
            many = "1 operation was" if one else f"{len(interrupted)} operations were"
            known = f"{self.registry.key('view.operations')} shows what is known of {'it' if one else 'them'}."
            self.say(f"{many} interrupted; {known}", "warn")

    def _take_detail(self, _dirty: frozenset[Ref]) -> None:
        if self.detail.display:
            self.detail.refresh_now(self.context())

    def tick(self) -> None:
        """Time moved on: ages, cards, counts and the frame."""
        context = self.context()
        if self.rows is not None:
            self.rows.context = context
        self.table.tick(context)
        if self.detail.display:
            self.detail.refresh_now(context)
        self.refresh_frame()

    def set_low_bandwidth(self, low: bool) -> None:
        """Fewer updates over a slow line, or the usual number."""
        self.low_bandwidth = low
        self._bridge.flushes_per_second = FLUSHES_LOW if low else FLUSHES
        self._detail_bridge.flushes_per_second = 1 if low else 4
        if self._ticker is not None:
            self._ticker.stop()
        self._ticker = self.set_interval(_TICK_LOW if low else _TICK, self.tick)
        self.refresh_frame()

    def refresh_frame(self) -> None:
        """Say again where one is, what is fresh and what can be pressed."""
        if self.is_mounted:
            self.framing.refresh(self.rows)

    def refresh_footer(self) -> None:
        """Which keys are possible now."""
        self.framing.refresh_footer()

    # -- the detail pane

    def arrange_panes(self) -> None:
        """Put the pane beside, below or in place of the list, as the terminal allows."""
        beside = self.size.width >= BESIDE
        shown = self.pane_opened or (beside and self.pane_wanted)
        below = shown and not beside and self.size.height >= BELOW
        self.detail.display = shown
        self.set_class(shown and beside, "beside")
        changed = below != self.has_class("below")
        self.set_class(below, "below")
        self.set_class(shown and not beside and not below, "instead")
        self.parts.main.display = not shown or beside or below
        if changed:
            self.refresh_frame()

    def show_detail(self, tab: str = "", ref: Ref | None = None) -> None:
        """Show the object under the cursor (or ``ref``) in the pane, if the pane is there."""
        if not self.detail.display:
            self._detail_bridge.close()
            self.detail.close()
            return
        wanted = ref or self.table.cursor
        self.detail.open(wanted, tab, self.context())
        kinds = {"Event", "Operation", "Connection"}
        if wanted is not None:
            kinds |= {wanted.kind, *(item.ref.kind for item in self.runtime.related(wanted))}
        self._detail_bridge.watch(kinds)

    def say(self, text: str, tone: str = "muted") -> None:
        """A message above the footer, until the next key that matters or for a while."""
        message = self.parts.message
        message.update(text)
        message.set_classes(f"tone-{tone}")
        message.display = bool(text)
        if self._quiet is not None:
            self._quiet.stop()
            self._quiet = None
        if text:
            self._quiet = self.set_timer(12, lambda: self.say(""))

    # -- what widgets tell

    def on_resize(self, _: events.Resize) -> None:
        """Another size arranges the panes in another way."""
        self.arrange_panes()
        self.call_after_refresh(self.refresh_frame)
        self.show_detail()

    def on_resource_table_moved(self, event: ResourceTable.Moved) -> None:
        """The pane follows the cursor of the list."""
        if event.table is self.table:
            self.framing.refresh_title(self.connections())
            self.refresh_footer()
            if not self.in_detail:
                self.show_detail()

    def on_descendant_focus(self) -> None:
        """Other keys are possible in the other pane."""
        self.refresh_footer()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A background task that broke is said, never silent."""
        if event.state is WorkerState.ERROR:
            error = event.worker.error
            self.say(f"{event.worker.description or 'A background task'} failed: {type(error).__name__}: {error}", "bad")
