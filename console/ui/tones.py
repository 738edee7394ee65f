"""The one place where a tone becomes a style: each tone is a component class that a theme colours."""

from __future__ import annotations

from typing import get_args

from rich.style import Style
from textual.widget import Widget

from console.views.cells import Tone

TONES: tuple[Tone, ...] = get_args(Tone)
_LOUD = frozenset({"bad", "warn", "busy", "held"})
COMPONENTS: set[str] = {f"tone--{tone}" for tone in TONES} | {"tone--heading", "tone--key", "tone--faint"}

TONE_CSS = """
    & > .tone--plain { color: $foreground; }
    & > .tone--ok { color: $tone-ok; }
    & > .tone--busy { color: $tone-busy; }
    & > .tone--warn { color: $tone-warn; }
    & > .tone--bad { color: $tone-bad; }
    & > .tone--held { color: $tone-held; }
    & > .tone--muted { color: $tone-muted; }
    & > .tone--accent { color: $tone-accent; }
    & > .tone--heading { color: $tone-heading; text-style: bold; }
    & > .tone--key { color: $tone-key; text-style: bold; }
    & > .tone--faint { color: $tone-faint; }
"""
"""Put into the CSS of each widget that paints tones (inside its own rule); variables come from the theme."""


class Tones:
    """The tones of one widget as styles, computed once. The widget calls :meth:`forget` from ``notify_style_update``."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._styles: dict[str, Style] = {}

    def __getitem__(self, name: str) -> Style:
        """The style of a tone on no particular ground (it is laid over the widget's own)."""
        style = self._styles.get(name)
        if style is None:
            style = self._widget.get_component_rich_style(f"tone--{name}", partial=True)
            if name in _LOUD and self._widget.app.no_color:
                # Without colour a red is a dark grey: what needs the eye must not be dimmer than what is well.
                style = self._widget.get_component_rich_style("tone--plain", partial=True) + Style(bold=True)
            self._styles[name] = style
        return style

    def forget(self) -> None:
        """The theme or a class changed: compute again."""
        self._styles.clear()
