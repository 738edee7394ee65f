"""The widgets of the main screen, by name.

They are held, not looked up: a timer or a change that comes while the screen is being taken apart still finds them all, and
what it tells a widget that has gone does nothing.
"""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from console.ui.ports import ConsoleRuntime
from console.ui.widgets.bar import Bar
from console.ui.widgets.cards import Cards
from console.ui.widgets.detail import Detail
from console.ui.widgets.prompt import Prompt
from console.ui.widgets.resource_table import ResourceTable
from console.ui.widgets.text_pane import TextPane
from console.views.cells import Context


class Parts:
    """Title, views, list and pane, messages, prompt, footer."""

    def __init__(self, runtime: ConsoleRuntime, context: Context) -> None:
        self.title = Bar(id="title")
        self.views = Bar(id="views")
        self.cards = Cards(id="cards")
        self.table = ResourceTable(context, id="list")
        self.empty = TextPane(id="empty")
        self.empty.can_focus = False
        self.notes = Bar(id="notes")
        self.main = Vertical(self.cards, self.table, self.empty, self.notes, id="main")
        self.detail = Detail(runtime, id="detail")
        self.prompt = Prompt(id="prompt")
        self.footer = Bar(id="footer")
        self.message = Static("", markup=False, id="message")

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        yield self.title
        yield self.views
        yield Horizontal(self.main, self.detail, id="body")
        yield Vertical(self.prompt, self.footer, id="bottom")
        yield self.message
