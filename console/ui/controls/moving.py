"""Moving: the cursor, in and out, back and forth, between panes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from console.model.operations import Operation
from console.model.refs import Ref
from console.ui.place import Place
from console.ui.rows import subject
from console.ui.screens.operation import OperationScreen
from console.ui.widgets.resource_table import ResourceTable
from console.ui.widgets.text_pane import TextPane
from console.views import tables

if TYPE_CHECKING:
    from console.ui.screens.main import MainScreen

_WAYS = ("up", "down", "page_up", "page_down", "top", "bottom", "left", "right")


class Moving:
    """Actions of the group "Moving" and the views on number keys."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen

    def handlers(self) -> dict[str, Callable[[], None]]:
        """Action id to function."""
        found: dict[str, Callable[[], None]] = {f"move.{way}": partial(self.move, way) for way in _WAYS}
        found |= {f"view.{name}": partial(self.view, name) for name in tables.MAIN}
        found |= {"view.connections": partial(self.view, "connections")}
        return found | {
            "open": self.open,
            "close": self.close,
            "history.back": self.back,
            "history.forward": self.forward,
            "focus.next": self.other_pane,
        }

    def move(self, way: str) -> None:
        """Move in whatever has the focus; the list if nothing has."""
        focused = self._screen.focused
        target = focused if isinstance(focused, ResourceTable | TextPane) else self._screen.table
        target.move(way)

    def view(self, name: str) -> None:
        """One of the six views, in the present scope."""
        screen, place = self._screen, self._screen.place
        self.leave_pane()
        if name == place.table:
            return
        screen.go(Place(table=name, target=place.target, namespace=place.namespace))

    def open(self) -> None:
        """Into the object under the cursor."""
        screen = self._screen
        if screen.in_detail:
            active = screen.detail.active
            if isinstance(active, ResourceTable) and active.cursor is not None:
                self.jump(active.cursor)
            return
        ref = screen.table.cursor
        if ref is not None:
            self.enter(ref)

    def enter(self, ref: Ref) -> None:
        """A connection becomes the scope, an operation shows its steps, anything else opens in the pane."""
        screen = self._screen
        resource = screen.resource(ref)
        if ref.kind == "Connection" and screen.place.table == "connections":
            screen.go(Place(table="bridge", target=ref.name))
            return
        if isinstance(resource, Operation):
            screen.app.push_screen(OperationScreen(screen.runtime, ref))
            return
        about = subject(resource) if resource is not None else ref
        known = screen.resource(about)
        screen.pane_opened = True
        screen.arrange_panes()
        screen.show_detail("", known.ref if known is not None else ref)
        screen.detail.focus_active()

    def jump(self, ref: Ref) -> None:
        """Go to another object: its own list, the cursor on it, its description beside it."""
        screen = self._screen
        resource = screen.resource(ref)
        if resource is not None:
            about = screen.resource(subject(resource))
            resource = about or resource
            ref = resource.ref
        home = tables.table_of(ref.kind)
        if home is None or resource is None:
            screen.say(f"{ref.kind} {ref.path} isn't known here.", "warn")
            return
        if isinstance(resource, Operation):
            screen.app.push_screen(OperationScreen(screen.runtime, ref))
            return
        screen.go(Place(table=home.name, cursor=ref))
        screen.table.select(ref)
        screen.show_detail("describe", ref)
        screen.detail.focus_active()

    def close(self) -> None:
        """One step out: pane, marks, filter, scope, earlier place."""
        screen, place = self._screen, self._screen.place
        if screen.in_detail or (screen.pane_opened and screen.detail.display):
            self.leave_pane()
            screen.say("")
        elif screen.table.marked:
            screen.table.marked.clear()
            screen.table.tick(screen.context())
            screen.refresh_footer()
        elif place.filter or place.problems:
            screen.narrow(msgspec.structs.replace(place, filter="", problems=False))
        elif (wider := place.wider()) is not None:
            screen.go(wider)
        elif screen.history.can_back:
            self.back()
        else:
            screen.say(f"This is the first place. {screen.registry.key('quit')} leaves.")

    def leave_pane(self) -> None:
        """Back to the list."""
        screen = self._screen
        screen.pane_opened = False
        screen.arrange_panes()
        screen.table.focus()
        screen.show_detail()

    def back(self) -> None:
        """The earlier place."""
        screen = self._screen
        screen.leave_place()
        screen.show_place(screen.history.back())

    def forward(self) -> None:
        """The later place."""
        screen = self._screen
        screen.leave_place()
        screen.show_place(screen.history.forward())

    def other_pane(self) -> None:
        """From the list to the pane and back."""
        screen = self._screen
        if screen.in_detail:
            screen.table.focus()
        elif screen.detail.display:
            screen.detail.focus_active()
        elif screen.table.cursor is not None:
            self.enter(screen.table.cursor)
