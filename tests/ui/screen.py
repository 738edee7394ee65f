"""Running the app over the stand-in, and reading what the screen says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input, Static

from console.ui.app import ConsoleApp
from console.ui.text import plain
from console.ui.widgets.bar import Bar
from console.ui.widgets.resource_table import ResourceTable
from console.ui.widgets.text_pane import TextPane
from tests.ui.fleet import fill
from tests.ui.stand_in import StandIn

S = TypeVar("S", bound=Screen[Any])


class Shown:
    """The app, its runtime and its pilot."""

    def __init__(self, app: ConsoleApp, runtime: StandIn, pilot: Pilot[None]) -> None:
        self.app = app
        self.runtime = runtime
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        """Press keys and let everything settle."""
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def enter(self, text: str) -> None:
        """Type into whatever input has the focus, all at once, and let everything settle."""
        await self.until(lambda: isinstance(self.app.focused, Input))
        focused = self.app.focused
        assert isinstance(focused, Input)
        focused.insert_text_at_cursor(text)
        await self.pilot.pause()

    async def settle(self) -> None:
        """Let messages be handled and flushes happen."""
        for _ in range(3):
            await self.pilot.pause(0.04)

    async def until(self, so: Callable[[], bool]) -> None:
        """Wait until something is so; a generous while, since the machine may be busy."""
        for _ in range(1000):
            if so():
                return
            await self.pilot.pause(0.02)
        raise AssertionError("it never became so")

    async def dialog(self, kind: type[S]) -> S:
        """Wait for a dialog of this kind."""
        await self.until(lambda: isinstance(self.app.screen, kind) and self.app.screen.is_mounted)
        found = self.app.screen
        assert isinstance(found, kind)
        await self.pilot.pause()
        return found

    def bar(self, name: str) -> str:
        """What a bar of the main screen says."""
        return self.app.main.query_one(f"#{name}", Bar).text

    @property
    def message(self) -> str:
        """The message above the footer."""
        widget = self.app.main.query_one("#message", Static)
        return str(widget.render()) if widget.display else ""

    @property
    def on_main(self) -> bool:
        """Whether no dialog is open."""
        return self.app.screen.id == self.app.main.id and not self.app.screen.is_modal

    async def focus(self, selector: str) -> None:
        """Give the focus to a widget of the present screen."""
        self.app.screen.query_one(selector).focus()
        await self.pilot.pause()

    @property
    def table(self) -> ResourceTable:
        """The list."""
        return self.app.main.table

    @property
    def rows(self) -> list[str]:
        """The names of the rows of the list."""
        return [ref.path for ref in self.table.rows]

    def text(self, selector: str = "#text") -> str:
        """A text pane of the present screen."""
        return plain(self.app.screen.query_one(selector, TextPane).lines)

    def lines(self) -> str:
        """The list as painted."""
        return "\n".join(self.table.render_line(y).text for y in range(self.table.size.height))


@asynccontextmanager
async def shown(
    width: int = 120, height: int = 40, *, setup: Callable[[StandIn], None] = fill, **options: Any
) -> AsyncIterator[Shown]:
    """The app over a filled stand-in, in a terminal of this size."""
    runtime = StandIn()
    setup(runtime)
    app = ConsoleApp(runtime, **options)
    async with app.run_test(size=(width, height)) as pilot:
        await pilot.pause()
        yield Shown(app, runtime, pilot)
    runtime.commands.arming.close()
