"""What is wrong with a configuration file: every problem with its place, all told at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from console.errors import ConfigError
from console.kit.sanitize import sanitize

Key = tuple[str | int, ...]


def key_text(key: Key) -> str:
    """``connections[0].name``."""
    text = ""
    for part in key:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


class Problem(msgspec.Struct, frozen=True):
    """One problem. ``line`` counts from 1; 0 means the file as a whole. ``nearest`` is what was probably meant."""

    path: str
    line: int
    key: Key
    message: str
    nearest: str = ""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        named = f"{key_text(self.key)}: " if self.key else ""
        meant = f" (did you mean {self.nearest}?)" if self.nearest else ""
        return sanitize(f"{place}: {named}{self.message}{meant}")


class ConfigProblems(ConfigError):
    """A file that can't be used as it stands; :attr:`problems` has all of them, in the order of the file."""

    def __init__(self, path: Path, problems: Iterable[Problem]) -> None:
        self.path = path
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        count = len(self.problems)
        lines = "\n".join(f"  {problem}" for problem in self.problems)
        super().__init__(f"{path} has {count} {'problem' if count == 1 else 'problems'}:\n{lines}")


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that a mistyped one is closest to, or ""."""
    close = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.6)
    return close[0] if close else ""
