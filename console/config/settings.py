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

    problems_only: bool = False
    """Begin with well rows hidden. Off, because a list without them doesn't show that they are well."""

    connect: Literal["all", "fleet", "none"] = "all"
    """Which targets are connected at once: everything found, only those of the fleet file, or none until one is opened.
    All, because a target that nobody connected can't show its trouble."""


class Look(Section, frozen=True, kw_only=True):
    """Colours, shapes and motion."""

    theme: str = "quarterdeck-dark"
    """Name of a theme, shipped or in the ``themes`` folder beside this file. Dark, because most terminals of on-call are."""

    glyphs: Literal["unicode", "ascii"] = "unicode"
    """Shapes for health. Unicode, because these six are in all common fonts; ``ascii`` is for consoles without them."""

    bandwidth: Literal["auto", "full", "low"] = "auto"
    """Low means few repaints, no motion and ages every 10 s. Auto, because the link's delay tells better than a person."""

    motion: bool = True
    """Spinners and soft scrolling. On, because a spinner tells waiting from hanging; never used when bandwidth is low."""

    mouse: bool = True
    """Take mouse events. On for clicking; off leaves the terminal's own selection alone."""


class Safety(Section, frozen=True, kw_only=True):
    """What stands between a key press and a write."""

    read_only: bool = False
    """Never write at all, as ``--read-only``. Off, because every target starts read-only anyway until it is armed."""

    arm_minutes: Minutes = 15
    """How long ``:write`` arms a target. Long enough for one incident's steps, short enough not to be forgotten."""

    arm_minutes_protected: Minutes = 5
    """The same for protected targets. Shorter, because a forgotten armed production is the accident to avoid."""

    reason: Literal["never", "protected", "always"] = "never"
    """When a plan must be given a reason for the journal. Never, because at night a forced field is filled with a dot."""


class Logs(Section, frozen=True, kw_only=True):
    """The log viewer."""

    tail: Annotated[int, Meta(ge=1, le=100_000)] = 500
    """Lines fetched at first. Enough to see the last crash, few enough for a slow link."""

    keep: Annotated[int, Meta(ge=100, le=1_000_000)] = 20_000
    """Lines kept in memory for each open log. About 4 MB; older ones are dropped, and the viewer says so."""

    wrap: bool = False
    """Wrap long lines. Off, because wrapped lines hide the rhythm of a log."""


class Activity(Section, frozen=True, kw_only=True):
    """The activity axis."""

    minutes: Annotated[int, Meta(ge=1, le=10_080)] = 60
    """How far back it looks. "What changed in the last hour" is the first question of an incident."""


class Journal(Section, frozen=True, kw_only=True):
    """The record of what this console did."""

    keep_days: Annotated[int, Meta(ge=1, le=3_650)] = 365
    """Ended operations older than this are dropped. A year, because audits and reviews come late; it costs a few MB."""

    shared_folder: str = ""
    """A folder in which the consoles of one bastion tell each other what they are doing (a ``chmod 1777`` one in ``/run``).
    Empty, because on a laptop there is nobody to tell."""


class Engine(Section, frozen=True, kw_only=True):
    """Who this console is to other consoles and engines that act on the same targets."""

    id: Annotated[str, Meta(pattern=r"^[^/:\s]+$", extra={"means": "a name without spaces, “/” and “:”"})] = "default"
    """Stamped on what stack deployments own. Two consoles that deploy to one swarm must have different ids, or they would
    take each other's releases for their own; one console alone needs no other than the default."""


class Settings(Section, frozen=True, kw_only=True):
    """The whole of ``config.toml``. Every key may be left out."""

    start: Start = Start()
    """What is there when the console opens."""

    look: Look = Look()
    """Colours, shapes and motion."""

    safety: Safety = Safety()
    """What stands between a key press and a write."""

    logs: Logs = Logs()
    """The log viewer."""

    activity: Activity = Activity()
    """The activity axis."""

    journal: Journal = Journal()
    """The record of what this console did."""

    engine: Engine = Engine()
    """Who this console is to others."""

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
