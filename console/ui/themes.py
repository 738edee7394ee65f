"""Themes as data: one TOML file each, ours in ``themes/``, the operator's in a folder of the configuration.

A file says what colours *mean* here (``ok``, ``busy``, ``bad``, ``cursor``...); this module turns that into a Textual theme.
A file that can't be used is named with its reason, and the others still load.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from textual.theme import Theme

DEFAULT_THEME = "quarterdeck-dark"
LIGHT_THEME = "quarterdeck-light"

_COLOUR = re.compile(r"#[0-9a-fA-F]{6}|ansi_(default|(bright_)?(black|red|green|yellow|blue|magenta|cyan|white))")
_REQUIRED = ("background", "surface", "panel", "foreground", "muted", "accent", "ok", "busy", "warn", "bad", "held", "cursor")
_OPTIONAL = ("faint", "heading", "key", "border", "protected", "cursor_blurred", "selection", "on_accent")
_FIELDS = {"name", "title", "dark", "ansi", "colours"}


class LoadedTheme(msgspec.Struct, frozen=True):
    """A theme that can be used: Textual's object, the title for people, and the file it came from."""

    theme: Theme
    title: str
    path: Path


class BadTheme(msgspec.Struct, frozen=True):
    """A file that can't be used, and why, in one sentence."""

    path: Path
    problem: str


def packaged_folder() -> Path:
    """Where our own themes are: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "_themes"
    return inside if inside.is_dir() else package.parent / "themes"


def load_themes(folders: Iterable[Path]) -> tuple[dict[str, LoadedTheme], tuple[BadTheme, ...]]:
    """Read all ``*.toml`` files. A later folder's theme replaces an earlier one of the same name; bad files are returned."""
    themes: dict[str, LoadedTheme] = {}
    bad: list[BadTheme] = []
    for folder in folders:
        for path in sorted(folder.glob("*.toml")) if folder.is_dir() else ():
            try:
                loaded = read_theme(path)
            except (OSError, ValueError) as error:
                bad.append(BadTheme(path, str(error)))
            else:
                themes[loaded.theme.name] = loaded
    return themes, tuple(bad)


def read_theme(path: Path) -> LoadedTheme:
    """One theme file. Raises ``ValueError`` (also for broken TOML) or ``OSError`` with what is wrong with it."""
    raw = tomllib.loads(path.read_text(encoding="utf-8"))
    unknown = raw.keys() - _FIELDS
    if unknown:
        raise ValueError(f"unknown key {sorted(unknown)[0]!r}; known are {', '.join(sorted(_FIELDS))}")
    name = raw.get("name", path.stem)
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
        raise ValueError(f"name must be lower-case words joined by hyphens, not {name!r}")
    colours = _colours(raw.get("colours", {}))
    return LoadedTheme(
        theme=build_theme(name, colours, dark=_flag(raw, "dark", True), ansi=_flag(raw, "ansi", False)),
        title=str(raw.get("title", name)),
        path=path,
    )


def _flag(raw: Mapping[str, Any], key: str, default: bool) -> bool:
    value = raw.get(key, default)
    if not isinstance(value, bool):
        raise ValueError(f"{key} must be true or false")
    return value


def _colours(raw: object) -> dict[str, str]:
    if not isinstance(raw, dict):
        raise ValueError("colours must be a table of names and colours")
    unknown = raw.keys() - {*_REQUIRED, *_OPTIONAL}
    if unknown:
        raise ValueError(f"unknown colour {sorted(unknown)[0]!r}; known are {', '.join((*_REQUIRED, *_OPTIONAL))}")
    missing = [name for name in _REQUIRED if name not in raw]
    if missing:
        raise ValueError(f"colour {missing[0]!r} is missing")
    for name, value in raw.items():
        if not isinstance(value, str) or not _COLOUR.fullmatch(value):
            raise ValueError(f"colour {name!r} must be like '#1a2b3c' or 'ansi_bright_blue', not {value!r}")
    return dict(raw)


def build_theme(name: str, colours: Mapping[str, str], *, dark: bool, ansi: bool) -> Theme:
    """A Textual theme from what colours mean here; optional ones follow from the others."""
    on_accent = colours.get("on_accent", colours["background"])
    variables = {
        "tone-ok": colours["ok"],
        "tone-busy": colours["busy"],
        "tone-warn": colours["warn"],
        "tone-bad": colours["bad"],
        "tone-held": colours["held"],
        "tone-muted": colours["muted"],
        "tone-accent": colours["accent"],
        "tone-faint": colours.get("faint", colours["muted"]),
        "tone-heading": colours.get("heading", colours["accent"]),
        "tone-key": colours.get("key", colours["accent"]),
        "row-cursor": colours["cursor"],
        "row-cursor-blurred": colours.get("cursor_blurred", colours["surface"]),
        "frame-line": colours.get("border", colours["muted"]),
        "frame-protected": colours.get("protected", colours["bad"]),
        "on-accent": on_accent,
        "input-selection-background": colours.get("selection", colours["cursor"]),
        "input-cursor-background": colours["accent"],
        "input-cursor-foreground": on_accent,
        "scrollbar": colours.get("border", colours["muted"]),
        "scrollbar-hover": colours["muted"],
        "scrollbar-active": colours["accent"],
        "scrollbar-background": colours["background"],
        "scrollbar-background-hover": colours["background"],
        "scrollbar-background-active": colours["background"],
        "scrollbar-corner-color": colours["background"],
        "border": colours["accent"],
        "border-blurred": colours.get("border", colours["muted"]),
        "block-cursor-foreground": colours["foreground"] if not ansi else on_accent,
        "block-cursor-background": colours["cursor"],
        "block-cursor-text-style": "none",
    }
    if ansi:
        variables |= {"ansi-background": "ansi_black", "ansi-foreground": "ansi_white"}
    return Theme(
        name=name,
        primary=colours["accent"],
        secondary=colours["busy"],
        warning=colours["warn"],
        error=colours["bad"],
        success=colours["ok"],
        accent=colours["accent"],
        foreground=colours["foreground"],
        background=colours["background"],
        surface=colours["surface"],
        panel=colours["panel"],
        boost=colours["surface"],
        dark=dark,
        ansi=ansi,
        variables=variables,
    )


_FALLBACK = {
    "background": "#0f141f",
    "surface": "#141b2a",
    "panel": "#1a2335",
    "foreground": "#d6dcea",
    "muted": "#8089a4",
    "accent": "#7aa2f7",
    "ok": "#5fd7a0",
    "busy": "#6cb6ff",
    "warn": "#f2b14c",
    "bad": "#ff6b81",
    "held": "#bb9af7",
    "cursor": "#1f2c4a",
    "border": "#2a3550",
    "faint": "#4d566f",
}
DEFAULTS: dict[str, str] = build_theme(DEFAULT_THEME, _FALLBACK, dark=True, ansi=False).variables
"""Every variable that our styles use, so that a theme without one (Textual's own, say) can still be shown."""
FALLBACK_THEME: Theme = build_theme(DEFAULT_THEME, _FALLBACK, dark=True, ansi=False)
"""Used when no theme file at all can be read."""


def signature(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """What changes when a theme file is added, edited or removed: names, sizes and times. Empty without a folder."""
    found = []
    try:
        for path in sorted(folder.glob("*.toml")):
            status = path.stat()
            found.append((path.name, status.st_size, status.st_mtime_ns))
    except OSError:
        return ()
    return tuple(found)
