"""The Textual app: themes, keys, screens. It knows no kinds and owns no connection; the runtime outlives it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import ClassVar

from rich.console import RenderableType
from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.command import CommandPalette

from console.ui import themes
from console.ui.actions import Registry
from console.ui.catalogue import ACTIONS
from console.ui.controls.changing import Changing
from console.ui.controls.commanding import Commanding
from console.ui.controls.listing import Listing
from console.ui.controls.looking import Looking
from console.ui.controls.moving import Moving
from console.ui.guard import GuardedDriver, driver_class, terminal_gone
from console.ui.memory import Memory
from console.ui.palette import Entry, Finder
from console.ui.place import Place
from console.ui.ports import ConsoleRuntime
from console.ui.screens.dialogs import HelpScreen, QuitScreen
from console.ui.screens.main import MainScreen
from console.ui.widgets.bar import Bar
from console.ui.widgets.cards import Cards
from console.ui.widgets.prompt import Prompt
from console.ui.widgets.resource_table import ResourceTable
from console.views import tables

_THEME_CHECK = 2.0
"""Seconds between two looks at the operator's theme folder."""
_SLOW = 0.35
"""A write to the terminal that takes longer than this means a slow line."""

_OPENS_LINE = ("command", "filter")
_NO_KEY = "none"
"""Stands in Textual's keymap for an action without a key; an empty text there would mean the usual key."""
_PROBLEMS = 3
"""So many problems of the start are said on the screen."""


class ConsoleApp(App[None], inherit_bindings=False):
    """The console over a runtime of the shape of :class:`~console.ui.ports.ConsoleRuntime`.

    :param keys: the operator's own keys by action id.
    :param theme: the theme to start with ("" for the remembered one, or the default).
    :param theme_folder: the operator's own themes.
    :param state: the file in which filters and commands are remembered.
    :param low_bandwidth: start with fewer updates.
    :param on_painted: called once when the first screen was painted: what takes long can begin then.
    """

    TITLE = "quarterdeck"
    CSS_PATH = Path(__file__).with_name("console.tcss")
    ENABLE_COMMAND_PALETTE = False
    # What opens the line to type into acts before the next key is looked at: it is meant for that line.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("colon", "run('command')", show=False, priority=True, id="command"),
        Binding("slash", "run('filter')", show=False, priority=True, id="filter"),
    ]
    COMMANDS = {Finder}

    def __init__(
        self,
        runtime: ConsoleRuntime,
        *,
        keys: Mapping[str, str] | None = None,
        theme: str = "",
        theme_folder: Path | None = None,
        state: Path | None = None,
        start: str = "bridge",
        low_bandwidth: bool = False,
        on_painted: Callable[[], None] = lambda: None,
    ) -> None:
        self.terminal: Callable[[str], None] | None = None
        self._driver_guarded: GuardedDriver | None = None
        super().__init__(driver_class=driver_class())
        self.animation_level = "none"
        self.runtime = runtime
        self.registry = Registry(ACTIONS, keys)
        self.memory = Memory(state)
        self.problems: list[str] = list(self.registry.problems)
        self._theme_folder = theme_folder
        self._theme_signature: tuple[tuple[str, int, int], ...] = ()
        self._theme_wanted = theme or self.memory.now.theme or themes.DEFAULT_THEME
        self.theme_titles: dict[str, str] = {}
        self._load_themes()
        self._start_low = low_bandwidth
        self._on_painted = on_painted
        table = tables.table(start)
        self.main = MainScreen(runtime, self.registry, self.memory, Place(table=table.name if table else "bridge"))
        self._handlers: dict[str, Callable[[], None]] = {}
        self._make_handlers()
        opening = {}
        for action in self.registry.all():
            if action.id in _OPENS_LINE:
                opening[action.id] = ",".join(action.keys) or _NO_KEY
                continue
            for key in action.keys:
                self.bind(key, f"run('{action.id}')", description=action.title, show=False)
        self.set_keymap(opening)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our own variables, for themes that don't know them."""
        return themes.DEFAULTS

    def _make_handlers(self) -> None:
        main = self.main
        self.listing = Listing(main)
        self.changing = Changing(main)
        self.moving = Moving(main)
        commands: dict[str, Callable[[tuple[str, ...]], None]] = {
            "theme": self._theme_command,
            "low": self._low_command,
            "help": lambda _: self._help(),
            "quit": lambda _: self._ask_quit(),
        }
        self.commanding = Commanding(main, self.listing, self.changing, commands)
        self.commanding.know_themes(lambda: tuple(sorted(self.theme_titles)))
        self._handlers = {
            **self.moving.handlers(),
            **Looking(main, self._write_raw).handlers(),
            **self.listing.handlers(),
            **self.changing.handlers(),
            **self.commanding.handlers(),
            "palette": self._palette,
            "help": self._help,
            "low_bandwidth": lambda: self._low_command(()),
            "quit": self._ask_quit,
        }

    # -- life

    def on_mount(self) -> None:
        """The first screen, and what must be seen to while it is shown."""
        self.push_screen(self.main)
        self.set_interval(_THEME_CHECK, self._check_themes)
        self.set_interval(0.5, self._check_line)
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None:
                # Not in a thread and not on Windows; there the default is all there is.
                with suppress(NotImplementedError, RuntimeError, ValueError):
                    asyncio.get_running_loop().add_signal_handler(number, self._signalled, 128 + int(number))
        self.call_after_refresh(self._started)

    def _started(self) -> None:
        self._on_painted()
        if self._start_low:
            self.main.set_low_bandwidth(True)
        if self.problems:
            more = len(self.problems) - _PROBLEMS
            said = [*self.problems[:_PROBLEMS], f"And {more} more."] if more > 0 else self.problems
            self.main.say(" · ".join(said), "warn")

    def exit(self, result: None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """Leave: nothing is drawn any more from here on."""
        self.main.hear_no_more()
        super().exit(result, return_code, message)

    def _signalled(self, code: int) -> None:
        """Leave in good order: the runtime finishes and journals the step at hand, the terminal is restored."""
        self.exit(return_code=code)

    def driver_ready(self, driver: GuardedDriver) -> None:
        """The terminal driver introduces itself."""
        self._driver_guarded = driver
        self.terminal = driver.write

    def _check_line(self) -> None:
        guard = self._driver_guarded.guard if self._driver_guarded is not None else None
        if guard is not None and terminal_gone():
            self._signalled(128 + int(signal.SIGHUP))
        elif guard is not None and guard.waited > _SLOW and not self.main.low_bandwidth:
            self._low_command(("on",))

    def repaint_all(self) -> None:
        """Frames were dropped and the line moves again: paint the present."""
        self.screen.refresh(layout=True)
        self._low_command(("on",))

    # -- actions

    def action_run(self, name: str) -> None:
        """Do an action of the registry, or say why it can't be done now."""
        if self.screen is not self.main:
            return
        action = self.registry[name]
        why = action.possible(self.main.situation())
        if why:
            self.main.say(f"{action.title}: {why}", "warn")
            return
        handler = self._handlers.get(name)
        if handler is not None:
            # One paint for one key, however many widgets change: over a slow line each paint counts.
            with self.batch_update():
                handler()

    def on_bar_pressed(self, event: Bar.Pressed) -> None:
        """A click on the frame is the same as the key."""
        kind, _, name = event.action.partition(":")
        if kind == "tab":
            self._handlers[f"look.{name}"]()
        elif event.action in self.registry or event.action in self._handlers:
            if event.action in self.registry:
                self.action_run(event.action)
            else:
                self._handlers[event.action]()

    def on_cards_picked(self, event: Cards.Picked) -> None:
        """A click on a card makes its connection the scope."""
        self.main.go(Place(table=self.main.place.table, target=event.connection))

    def on_resource_table_chosen(self, event: ResourceTable.Chosen) -> None:
        """A double click opens."""
        if event.table is self.main.table:
            self.moving.enter(event.ref)
        else:
            self.moving.jump(event.ref)

    def on_resource_table_sorted(self, event: ResourceTable.Sorted) -> None:
        """A click on a column's title sorts."""
        self.listing.title_clicked(event.table, event.key)

    def on_key(self, event: events.Key) -> None:
        """What was typed in one go with the key that opened the line went to the list before the line had the focus."""
        if self.screen is self.main and self.main.prompt.take(event.character if event.is_printable else None):
            event.prevent_default()
            event.stop()

    def on_prompt_typed(self, event: Prompt.Typed) -> None:
        """The filter follows every key."""
        self.listing.typed(event.mode, event.value)

    def on_prompt_entered(self, event: Prompt.Entered) -> None:
        """Enter in the prompt."""
        if event.mode == "command":
            self.main.prompt.leave()
            self.commanding.run(event.value)
        else:
            self.listing.entered(event.mode)

    def on_prompt_left(self, _: Prompt.Left) -> None:
        """Esc in the prompt."""
        self.listing.left(self.main.prompt.mode)

    def _palette(self) -> None:
        self.push_screen(CommandPalette(placeholder="Find an action, a view, a target, a theme"))

    def palette_entries(self) -> Iterable[Entry]:
        """Everything that the palette finds."""
        for name, table in tables.TABLES.items():
            yield f"Go to {table.title.lower()}", f":{name}", partial(self.commanding.run, name)
        for connection in self.main.connections():
            name = connection.ref.name
            yield (
                f"Only {name}",
                f"{connection.phase.value} {connection.group}".strip(),
                partial(self.commanding.run, f"ctx {name}"),
            )
        for action in self.registry.all():
            if not action.id.startswith("move."):
                key = self.registry.key(action.id)
                yield f"{action.title}{f'  ({key})' if key else ''}", action.description, partial(self.action_run, action.id)
        for name, title in sorted(self.theme_titles.items()):
            yield f"Theme {title}", f":theme {name}", partial(self._theme_command, (name,))

    def _help(self) -> None:
        self.push_screen(HelpScreen(self.registry))

    def _ask_quit(self) -> None:
        running = self.changing.running_names()
        if not running:
            self.exit()
            return

        def answered(leave: bool | None) -> None:
            if leave:
                self.exit()

        self.push_screen(QuitScreen(running), answered)

    # -- the line

    def _low_command(self, words: tuple[str, ...]) -> None:
        low = words[0] != "off" if words else not self.main.low_bandwidth
        if low != self.main.low_bandwidth:
            self.main.set_low_bandwidth(low)
            self.main.say("Slow line: fewer updates." if low else "All updates again.")

    def _write_raw(self, sequence: str) -> None:
        """Send a control sequence to the terminal past the painted screen (the clipboard)."""
        if self.terminal is None:
            raise ValueError("There is no terminal to copy through.")
        self.terminal(sequence)

    # -- themes

    def _load_themes(self) -> None:
        folders = [themes.packaged_folder(), *([self._theme_folder] if self._theme_folder else [])]
        loaded, bad = themes.load_themes(folders)
        if themes.DEFAULT_THEME not in loaded:
            self.register_theme(themes.FALLBACK_THEME)
        for entry in loaded.values():
            self.register_theme(entry.theme)
        self.theme_titles = {name: entry.title for name, entry in loaded.items()}
        self.problems += [f"Theme {entry.path.name}: {entry.problem}" for entry in bad]
        if self._theme_folder is not None:
            self._theme_signature = themes.signature(self._theme_folder)
        wanted = self._theme_wanted
        if wanted not in self.available_themes:
            self.problems.append(f"There is no theme {wanted!r}; :theme lists them.")
            wanted = themes.DEFAULT_THEME
        self.theme = wanted

    def _check_themes(self) -> None:
        if self._theme_folder is None or themes.signature(self._theme_folder) == self._theme_signature:
            return
        self.problems.clear()
        self._load_themes()
        self.refresh_css(animate=False)
        if self.problems:
            self.main.say(self.problems[0], "warn")

    def _theme_command(self, words: tuple[str, ...]) -> None:
        if not words or words[0] not in self.theme_titles:
            self.main.say(f"Themes: {', '.join(sorted(self.theme_titles))}", "muted" if not words else "warn")
            return
        self._theme_wanted = self.theme = words[0]
        self.memory.keep_theme(words[0])

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Our keys belong to the main screen; dialogs have their own."""
        if action != "run" or not self.screen_stack:
            return True
        typing = self.screen is self.main and parameters[0] in _OPENS_LINE and self.main.prompt.mode != ""
        return self.screen is self.main and not typing
