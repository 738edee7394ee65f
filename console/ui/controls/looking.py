"""Looking: the tabs of the pane, logs, searching, copying. Nothing here can write."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from console.ui.clipboard import osc52
from console.ui.widgets.resource_table import ResourceTable
from console.ui.widgets.text_pane import TextPane

if TYPE_CHECKING:
    from console.ui.screens.main import MainScreen


class Looking:
    """Actions of the group "Looking", and copying."""

    def __init__(self, screen: MainScreen, write: Callable[[str], None]) -> None:
        self._screen = screen
        self._write = write

    def handlers(self) -> dict[str, Callable[[], None]]:
        """Action id to function."""
        tabs = ("describe", "yaml", "events", "related", "logs", "timeline", "versions")
        found: dict[str, Callable[[], None]] = {f"look.{tab}": partial(self.look, tab) for tab in tabs}
        return found | {
            "pane.next": partial(self._step, 1),
            "pane.previous": partial(self._step, -1),
            "search.next": partial(self._search, False),
            "search.previous": partial(self._search, True),
            "text.wrap": self._wrap,
            "log.follow": self._follow,
            "log.previous": self._previous,
            "log.time": lambda: self._screen.detail.log_pane.toggle_times(),
            "log.since": self._since,
            "log.container": self._container,
            "copy": self.copy,
            "detail": self._toggle,
        }

    def look(self, tab: str) -> None:
        """Show a tab of the object at hand and go there."""
        screen = self._screen
        subject = screen.subjects[0]
        screen.pane_opened = True
        screen.arrange_panes()
        screen.show_detail(tab, subject)
        screen.detail.focus_active()
        screen.refresh_footer()

    def _step(self, by: int) -> None:
        self._screen.detail.step_tab(by)
        if self._screen.in_detail:
            self._screen.detail.focus_active()
        self._screen.refresh_footer()

    def _search(self, backwards: bool) -> None:
        active = self._screen.detail.active
        if not isinstance(active, TextPane) or not active.needle:
            self._screen.say("Search with / first.")
        elif not active.search_again(backwards=backwards):
            self._screen.say(f"{active.needle!r} isn't in this text.", "warn")

    def _wrap(self) -> None:
        focused = self._screen.focused
        if isinstance(focused, TextPane):
            self._screen.say("Long lines are wrapped." if focused.toggle_wrap() else "Long lines scroll sideways.")
        else:
            table = focused if isinstance(focused, ResourceTable) else self._screen.table
            table.show_all_columns(not table.all_columns)
            self._screen.say("All columns; left and right scroll." if table.all_columns else "Columns that fit.")

    def _follow(self) -> None:
        pane = self._screen.detail.log_pane
        if pane.following:
            pane.following = False
        else:
            pane.move("bottom")
            pane.following = True
        self._screen.say(pane.state)

    def _previous(self) -> None:
        pane = self._screen.detail.log_pane
        pane.ask(previous=not pane.query_now.previous, follow=pane.query_now.previous)
        self._screen.say(pane.state)

    def _since(self) -> None:
        pane = self._screen.detail.log_pane
        pane.next_since()
        self._screen.say(pane.state)

    def _container(self) -> None:
        pane = self._screen.detail.log_pane
        self._screen.say(pane.state if pane.next_container() else "There is only one container.")

    def _toggle(self) -> None:
        screen = self._screen
        screen.pane_wanted = not screen.detail.display
        screen.pane_opened = screen.pane_wanted and not screen.has_class("beside")
        screen.arrange_panes()
        if not screen.detail.display:
            screen.table.focus()
        screen.show_detail()

    def copy(self) -> None:
        """The text one reads, or the names of the rows at hand. What could not be copied is said."""
        screen = self._screen
        focused = screen.focused
        if isinstance(focused, TextPane):
            text, what = focused.text, f"{len(focused.lines)} lines"
        else:
            text = "\n".join(ref.path for ref in screen.subjects)
            what = text if len(screen.subjects) == 1 else f"{len(screen.subjects)} names"
        try:
            self._write(osc52(text, os.environ))
        except ValueError as problem:
            screen.say(str(problem), "warn")
        else:
            screen.say(f"Copied {what}, if your terminal allows it.")
