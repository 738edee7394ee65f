"""Keeps the frame of the main screen true: title, views, cards, notes and footer, from what the store says now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.model.connections import Connection
from console.ui import frame
from console.ui.rows import Rows
from console.ui.tally import Tally
from console.ui.text import Part, line
from console.views import bridge as bridge_view
from console.views import formats, tables
from console.views.emptiness import why_empty

if TYPE_CHECKING:
    from console.ui.screens.main import MainScreen


class Framing:
    """The frame of one main screen."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self.tally = Tally(screen.runtime.store, (tables.TABLES[name] for name in tables.MAIN))

    def refresh(self, rows: Rows | None) -> None:
        """Everything around the list."""
        screen = self._screen
        connections, room = screen.connections(), screen.size.width
        self.refresh_title(connections)
        keys = {name: screen.registry.key(f"view.{name}") for name in tables.MAIN}
        counts = {name: self.tally.count(name) for name in tables.MAIN}
        screen.parts.views.put(frame.view_tabs(screen.place, counts, keys, room))
        self._refresh_cards(connections)
        if rows is not None:
            self._refresh_notes(rows, connections)
        self.refresh_footer()

    def refresh_title(self, connections: list[Connection]) -> None:
        """Where one is, what is fresh, whether one is armed; tinted where the object at hand is protected."""
        screen = self._screen
        now, room = screen.runtime.clock.now(), screen.size.width
        state = frame.lock(connections, now, read_only=screen.runtime.commands.arming.read_only)
        notes = [Part("slow line  ", "held")] if screen.low_bandwidth else []
        subjects = {ref.connection for ref in screen.subjects}
        protected = next((item.ref.name for item in connections if item.protected and item.ref.name in subjects), "")
        title = screen.parts.title
        title.put(*frame.title(screen.place, connections, now, state, room, notes, protected))
        title.set_class(bool(protected), "protected")
        title.set_class(state.armed, "armed")

    def refresh_footer(self) -> None:
        """Which keys are possible now."""
        screen = self._screen
        situation = screen.situation()
        room, marks = screen.size.width, len(screen.table.marked)
        screen.parts.footer.put(*frame.footer(screen.registry, situation, room, marks))
        screen.detail.next_steps = tuple(frame.next_steps(screen.registry, situation))

    def _refresh_cards(self, connections: list[Connection]) -> None:
        screen = self._screen
        cards = screen.parts.cards
        if cards.display:
            height = screen.size.height
            found = bridge_view.counted_cards(connections, self.tally.places, self.tally.running, screen.context())
            cards.put(found, max(min((height - 14) // 9, 3), 1), brief=height < 30 or screen.has_class("below"))

    def _refresh_notes(self, rows: Rows, connections: list[Connection]) -> None:
        screen = self._screen
        table, place, context = screen.table, screen.place, screen.context()
        empty = not len(table.rows)
        screen.parts.main.set_class(empty, "empty")
        scope = [item for item in connections if not place.target or place.target in (item.ref.name, item.group)]
        if empty:
            found = why_empty(rows.table, scope, screen.runtime.store.kind_state, context, table.rows.hidden)
            screen.parts.empty.put([line(Part(reason.text, "muted")) for reason in found], keep_place=True)
        parts: list[Part] = []
        for item in scope:
            if not item.phase.fresh and item.heard is not None:
                at = formats.clock_time(item.heard, context.now)
                parts.append(Part(f" ○ {item.ref.name} as of {at} ({item.phase.value}) ", "warn"))
        if table.rows.hidden and not empty:
            parts.append(Part(f" {rows.table.counted(len(table.rows))} shown, {table.rows.hidden} hidden", "muted"))
        notes = screen.parts.notes
        notes.display = bool(parts)
        notes.put(parts)
