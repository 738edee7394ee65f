"""``config.toml``: how this console looks and behaves for this person. What it connects to stands in the fleet file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from console.config.checking import check
from console.config.located import read_toml
from console.config.problems import ConfigProblems
from console.errors import ConfigError

Minutes = Annotated[int, Meta(ge=1, le=240)]


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of all sections: unknown keys are refused, since a mistyped safety setting must not be silently off."""


class Start(Section, frozen=True, kw_only=True):
    """What is there when the console opens."""

    view: Literal["bridge", "triggers", "operations", "stacks", "services", "activity"] = "bridge"
    """The first screen. The bridge, because whoever is called at night does not know yet where the trouble is."""

    connect: Literal["all", "fleet", "none"] = "all"
    """Which targets are connected at once: everything found, only those of the fleet file, or none until one is opened.
    All, because a target that nobody connected can't show its trouble."""


class Look(Section, frozen=True, kw_only=True):
    """How it is drawn."""

    theme: str = ""
    """Name of a theme, shipped or in the ``themes`` folder beside this file. Empty means the one that was chosen last with
    ``:theme``, at first ``quarterdeck-dark``, since most terminals of on-call are dark."""

    bandwidth: Literal["auto", "low"] = "auto"
    """Low means few repaints and ages in steps of 10 s. Auto begins with full and goes to low when the terminal takes its time:
    the line tells better than a person."""

    mouse: bool = True
    """Take mouse events. On for clicking; off leaves the terminal's own selection alone."""


class Safety(Section, frozen=True, kw_only=True):
    """What stands between a key press and a write."""

    read_only: bool = False
    """Never write at all, as ``--read-only``. Off, because every target starts read-only anyway until it is armed."""

    arm_minutes: Minutes = 15
    """How long ``:write`` arms a target when no time is given. Enough for one incident's steps, too short to be forgotten."""

    arm_minutes_protected: Annotated[int, Meta(ge=1, le=60)] = 5
    """The same for protected targets, which can't be armed for more than an hour. Shorter, because a forgotten armed production
    is the accident to avoid."""


class Journal(Section, frozen=True, kw_only=True):
    """The record of what this console did."""

    keep_days: Annotated[int, Meta(ge=0, le=3_650)] = 365
    """Ended operations older than this are dropped at the next start; 0 keeps all. A year, because audits and reviews
    come late, and it costs a few MB."""

    shared_folder: str = ""
    """A folder in which the consoles of one bastion tell each other what they are doing (a ``chmod 1777`` one in ``/run``).
    Empty, because on a laptop there is nobody to tell."""


class Settings(Section, frozen=True, kw_only=True):
    """The whole of ``config.toml``. Every key may be left out."""

    start: Start = Start()
    """What is there when the console opens."""

    look: Look = Look()
    """How it is drawn."""

    safety: Safety = Safety()
    """What stands between a key press and a write."""

    journal: Journal = Journal()
    """The record of what this console did."""

    keys: dict[str, str] = {}
    """Action id to keys, several separated by commas; an empty text unbinds. Empty, since the defaults are in ``?``."""

    @property
    def presence_folder(self) -> Path | None:
        """The folder of :attr:`Journal.shared_folder`, or None."""
        return Path(self.journal.shared_folder).expanduser() if self.journal.shared_folder else None


def parse_settings(text: str, path: Path) -> Settings:
    """Settings from the text of a file.

    :raises ConfigProblems: with everything that is wrong in it.
    """
    tree, problems = read_toml(text, str(path))
    if problems:
        raise ConfigProblems(path, problems)
    settings, problems = check(tree, Settings, str(path))
    if settings is None:
        raise ConfigProblems(path, problems)
    return settings


def load_settings(path: Path) -> Settings:
    """The settings of a file; all defaults when there is none.

    :raises ConfigError: it can't be read or holds anything wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} can't be read: {error}.") from error
    return parse_settings(text, path)
