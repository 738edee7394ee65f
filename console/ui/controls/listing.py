"""Lists: filter, problems, sort, marks; and searching in texts, which uses the same key."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from console.ui.widgets.resource_table import ResourceTable
from console.ui.widgets.text_pane import TextPane
from console.views import filters

if TYPE_CHECKING:
    from console.ui.screens.main import MainScreen


class Listing:
    """Actions of the group "Lists"."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._before = ""

    def handlers(self) -> dict[str, Callable[[], None]]:
        """Action id to function."""
        return {
            "filter": self.filter,
            "problems": self.problems,
            "sort": self.sort,
            "mark": self._mark,
            "mark.all": self._mark_all,
            "filter.save": self._save,
        }

    def filter(self) -> None:
        """Open the filter bar, or the search bar when a text has the focus."""
        screen = self._screen
        if isinstance(screen.focused, TextPane):
            screen.prompt.ask("search", "/", screen.focused.needle)
            return
        self._before = screen.place.filter
        screen.prompt.ask("filter", "/", self._before, complete=self._kept, history=tuple(screen.memory.now.filters.values()))

    def typed(self, mode: str, value: str) -> None:
        """Each key in the bar narrows at once."""
        screen = self._screen
        if mode == "filter":
            screen.narrow(msgspec.structs.replace(screen.place, filter=value))
            shown, hidden = len(screen.table.rows), screen.table.rows.hidden
            problem = filters.parse(value).problem
            screen.prompt.hint(problem or f"{shown} shown, {hidden} hidden")
        elif mode == "search":
            pane = screen.detail.active
            if isinstance(pane, TextPane):
                number = pane.search(value)
                screen.prompt.hint(f"{number} lines" if value else "")

    def entered(self, mode: str) -> None:
        """Keep what was typed and go back to the list or the text."""
        screen = self._screen
        screen.prompt.leave()
        if mode == "search":
            screen.detail.focus_active()
        else:
            screen.table.focus()

    def left(self, mode: str) -> None:
        """Give up: as it was before."""
        screen = self._screen
        screen.prompt.leave()
        if mode == "search":
            pane = screen.detail.active
            if isinstance(pane, TextPane):
                pane.search("")
            screen.detail.focus_active()
            return
        if mode == "filter":
            screen.narrow(msgspec.structs.replace(screen.place, filter=self._before))
        screen.table.focus()

    def problems(self) -> None:
        """Only what needs a person, or everything again."""
        screen = self._screen
        screen.narrow(msgspec.structs.replace(screen.place, problems=not screen.place.problems))

    def sort(self) -> None:
        """Ask for the column."""
        screen = self._screen
        screen.prompt.ask("command", ":", "sort ", complete=self._columns)
        screen.prompt.hint("  ".join(column.key for column in screen.table.columns if column.title))

    def sort_by(self, word: str) -> None:
        """Sort by a column's key or title; a minus turns the order round, nothing gives the table's own order."""
        table = self._screen.table
        reverse, name = word.startswith("-"), word.removeprefix("-").lower()
        key = next((column.key for column in table.columns if name in (column.key, column.title.lower())), "")
        if name and not key:
            self._screen.say(f"There is no column {name!r} here.", "warn")
            return
        table.sort_by(key, reverse)

    def title_clicked(self, table: ResourceTable, key: str) -> None:
        """A click on a title sorts by it, a second one the other way round, a third one as before."""
        if table.sort_key != key:
            table.sort_by(key)
        elif not table.sort_reverse:
            table.sort_by(key, reverse=True)
        else:
            table.sort_by("")

    def _mark(self) -> None:
        self._screen.table.mark()
        self._screen.refresh_footer()

    def _mark_all(self) -> None:
        self._screen.table.mark_all()
        self._screen.refresh_footer()

    def _save(self) -> None:
        self._screen.prompt.ask("command", ":", "keep ")
        self._screen.prompt.hint("a name for this filter")

    def _kept(self, line: str) -> list[str]:
        return [kept for kept in self._screen.memory.now.filters.values() if kept.startswith(line) and kept != line]

    def _columns(self, line: str) -> list[str]:
        head, _, last = line.rpartition(" ")
        names = [column.key for column in self._screen.table.columns if column.title]
        return [
            f"{head} {name}" for name in (*names, *(f"-{name}" for name in names)) if name.startswith(last) and name != last
        ]
