"""The command line: asks, completes, and does what was typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from console.model.connections import Phase
from console.model.resource import Resource
from console.ui.command_line import Do, Go, World, Wrong, complete, parse

if TYPE_CHECKING:
    from console.ui.controls.changing import Changing
    from console.ui.controls.listing import Listing
    from console.ui.screens.main import MainScreen

_NAMES_FROM = ("Namespace", "FluxTrigger", "ArgoCDTrigger", "Kustomization", "Application", "HelmRelease", "Pod")


class Commanding:
    """``:`` and everything behind it.

    :param app_commands: commands that belong to the whole app: theme, low, help, quit.
    """

    def __init__(
        self,
        screen: MainScreen,
        listing: Listing,
        changing: Changing,
        app_commands: dict[str, Callable[[tuple[str, ...]], None]],
    ) -> None:
        self._screen = screen
        self._listing = listing
        self._changing = changing
        self._themes: Callable[[], tuple[str, ...]] = lambda: ()
        self._commands: dict[str, Callable[[tuple[str, ...]], None]] = {
            "filter": self._filter,
            "keep": self._keep,
            "forget": self._forget,
            "sort": lambda words: listing.sort_by(words[0] if words else ""),
            "write": changing.write,
            "read": changing.read,
            "do": self._do,
            "undo": lambda _: changing.undo() if screen.subjects else screen.say("There is no row to do this with.", "warn"),
            "reconnect": self._reconnect,
            "accept": self._accept,
            **app_commands,
        }

    def handlers(self) -> dict[str, Callable[[], None]]:
        """Action id to function."""
        return {"command": self.open, "reconnect": lambda: self._reconnect(())}

    def know_themes(self, themes: Callable[[], tuple[str, ...]]) -> None:
        """Where the names of themes come from, for completion."""
        self._themes = themes

    def open(self) -> None:
        """Ask for a command."""
        screen = self._screen
        world = self.world()
        screen.prompt.ask(
            "command", ":", complete=lambda line: complete(line, world), history=tuple(screen.memory.now.commands)
        )

    def world(self) -> World:
        """The names that can be typed now."""
        store, screen = self._screen.runtime.store, self._screen
        connections = screen.connections()

        def names(kind: str, of: Callable[[Resource], str]) -> set[str]:
            return {of(item) for item in store.of(kind).values()} - {""}

        return World(
            targets=tuple(sorted(item.ref.name for item in connections)),
            groups=tuple(sorted({item.group for item in connections if item.group})),
            namespaces=tuple(sorted({ref.namespace for kind in _NAMES_FROM for ref in store.of(kind) if ref.namespace})),
            stacks=tuple(sorted(names("Stack", lambda item: item.ref.name))),
            apps=tuple(sorted(names("Container", lambda item: getattr(item, "app", "")))),
            themes=self._themes(),
            filters=tuple(sorted(screen.memory.now.filters)),
            columns=tuple(column.key for column in screen.table.columns if column.title),
            verbs=tuple(sorted(screen.situation().verbs)),
        )

    def run(self, line: str) -> None:
        """Do what a line says; what it does not understand is answered in the message line."""
        screen = self._screen
        parsed = parse(line, screen.place, self.world())
        screen.table.focus()
        match parsed:
            case Wrong(why):
                screen.say(why, "warn")
                return
            case Go(place):
                screen.pane_opened = False
                screen.go(place)
            case Do(command, words):
                handler = self._commands.get(command)
                if handler is not None:
                    handler(words)
        if line.strip():
            screen.memory.add_command(line.strip())

    def _filter(self, words: tuple[str, ...]) -> None:
        screen = self._screen
        kept = screen.memory.now.filters.get(words[0], "") if words else ""
        if words and not kept:
            known = ", ".join(sorted(screen.memory.now.filters)) or "none yet; ctrl+s keeps one"
            screen.say(f"There is no kept filter {words[0]!r}. Known: {known}.", "warn")
            return
        screen.narrow(msgspec.structs.replace(screen.place, filter=kept))

    def _keep(self, words: tuple[str, ...]) -> None:
        screen = self._screen
        if not words or not screen.place.filter:
            screen.say("Filter first (/), then :keep NAME.", "warn")
            return
        screen.memory.keep_filter(words[0], screen.place.filter)
        screen.say(f"Kept: :filter {words[0]} brings it back.")

    def _forget(self, words: tuple[str, ...]) -> None:
        for word in words:
            self._screen.memory.keep_filter(word, "")

    def _do(self, words: tuple[str, ...]) -> None:
        screen = self._screen
        offered = screen.situation().verbs
        if not words or words[0] not in offered:
            said = ", ".join(sorted(offered)) or "nothing"
            screen.say(f"Possible with this object: {said}.", "warn")
            return
        pairs = [word.partition("=") for word in words[1:]]
        wrong = next((pair[0] for pair in pairs if not pair[1]), "")
        if wrong:
            screen.say(f"{wrong!r} is no argument; write name=value.", "warn")
            return
        self._changing.ask(words[0], {name: value for name, _, value in pairs} if pairs else None)

    def _accept(self, words: tuple[str, ...]) -> None:
        screen = self._screen
        changed = {item.ref.name for item in screen.connections() if item.phase is Phase.IDENTITY_CHANGED}
        if len(words) != 1 or words[0] not in changed:
            said = f"Say which: {', '.join(sorted(changed))}." if changed else "No target has another identity than before."
            screen.say(said, "warn")
            return
        screen.runtime.accept_identity(words[0])
        screen.say(f"{words[0]} is taken as it is now.")

    def _reconnect(self, words: tuple[str, ...]) -> None:
        screen = self._screen
        names = words or tuple({ref.connection for ref in screen.subjects})
        known = {item.ref.name for item in screen.connections()}
        for name in names:
            if name in known:
                screen.runtime.reconnect(name)
                screen.say(f"Trying {name} again …")
            else:
                screen.say(f"There is no target {name!r}.", "warn")
