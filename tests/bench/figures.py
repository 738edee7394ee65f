"""A figure: what was measured, its values, and what is demanded of it. Printed as a table; nothing here asserts anything."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Figure(NamedTuple):
    """One line of the table. ``values`` are all in ``unit``; ``demand`` is the target in words ("" where there is none)."""

    what: str
    values: Sequence[float]
    unit: str
    demand: str = ""


class Bench(NamedTuple):
    """A named group of figures that need the same servers."""

    name: str
    about: str
    run: Callable[[], Sequence[Figure]]


def show(number: float) -> str:
    """Three digits that matter, whole above a hundred."""
    return f"{number:,.0f}" if abs(number) >= 100 or number == 0 else f"{number:.3g}"


def percentile(values: Sequence[float], part: float) -> float:
    """The value below which so many (0 to 1) of them lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(part * (len(ordered) - 1)))]


def spread(what: str, values: Sequence[float], unit: str, median: str, high: str, worst: str) -> list[Figure]:
    """Median, 95th percentile and greatest value of many."""
    return [
        Figure(f"{what}, median of {len(values)}", [statistics.median(values)], unit, median),
        Figure(f"{what}, 95th percentile", [percentile(values, 0.95)], unit, high),
        Figure(f"{what}, worst", [max(values)], unit, worst),
    ]


def line(figure: Figure) -> str:
    """One line: what, median, least and greatest of how many runs, the demand."""
    if not figure.values:
        return f"{figure.what:<62}{'not measured: ' + figure.unit:>14}"
    middle, low, high = statistics.median(figure.values), min(figure.values), max(figure.values)
    runs = f"{show(low)}..{show(high)} of {len(figure.values)}" if len(figure.values) > 1 else ""
    return f"{figure.what:<62}{show(middle):>9} {figure.unit:<11}{runs:<22}{figure.demand}".rstrip()


def load() -> str:
    """How busy the machine is, for reading the figures."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
