"""Trends in one line of text."""

from __future__ import annotations

from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"


def spark(values: Sequence[float], width: int, *, top: float = 0.0) -> str:
    """The last ``width`` values as bars, scaled to the largest of them (or to ``top``); dots where nothing was measured yet."""
    if width <= 0:
        return ""
    shown = list(values)[-width:]
    highest = max([top, *shown])
    if highest <= 0:
        bars = _BARS[0] * len(shown)
    else:
        bars = "".join(_BARS[min(int(value / highest * len(_BARS)), len(_BARS) - 1)] for value in shown)
    return "·" * (width - len(shown)) + bars
