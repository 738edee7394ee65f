"""What the screen remembers between runs: saved filters, the theme, typed commands. Nothing of it is needed to work."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec

_COMMANDS = 200


class Remembered(msgspec.Struct):
    """The file's content. ``filters`` are lines of the filter bar by name."""

    theme: str = ""
    filters: dict[str, str] = {}
    commands: list[str] = []


class Memory:
    """The remembered things and their file.

    :param path: None remembers nothing after the end. A file that can't be read counts as empty; one that can't be written is
        left alone: a full disk must not get in the way.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.now = Remembered()
        if path is not None:
            with contextlib.suppress(OSError, msgspec.MsgspecError):
                self.now = msgspec.json.decode(path.read_bytes(), type=Remembered)

    def add_command(self, line: str) -> None:
        """Remember a typed command as the newest; the same one is kept once."""
        commands = [known for known in self.now.commands if known != line]
        self.now.commands = [*commands, line][-_COMMANDS:]
        self.save()

    def keep_filter(self, name: str, line: str) -> None:
        """Keep a filter under a name; an empty line forgets it."""
        if line:
            self.now.filters[name] = line
        else:
            self.now.filters.pop(name, None)
        self.save()

    def keep_theme(self, name: str) -> None:
        """Use this theme the next time."""
        self.now.theme = name
        self.save()

    def save(self) -> None:
        """Write the file in one step, so that two consoles never leave half of it."""
        if self._path is None:
            return
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            draft = self._path.with_name(f".{self._path.name}.{os.getpid()}")
            draft.write_bytes(msgspec.json.encode(self.now))
            draft.replace(self._path)
