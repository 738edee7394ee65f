"""Descriptions as styled lines: sections of :mod:`console.views.describe`, YAML with its keys told apart, log lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from rich.cells import cell_len

from console.kit.sanitize import sanitize
from console.model.docker import Sample
from console.model.kubernetes import LogLine
from console.ui.spark import spark
from console.ui.text import Line, Part, line, width
from console.views import describe, formats
from console.views.cells import Cell

_MOST_LABEL = 24
_YAML = re.compile(r"(?P<indent>\s*(?:- )*)(?P<key>[^\s:#][^:#]*?:)(?P<value>\s.*|$)")
_LEVEL = re.compile(r"\b(?:(?P<bad>error|fatal|panic|exception|critical)|(?P<warn>warn(?:ing)?))\b", re.IGNORECASE)


def part(cell: Cell, *, bold: bool = False) -> Part:
    """A cell as a part of a line."""
    return Part(cell.text, cell.tone, bold)


def heading_lines(lines: Iterable[describe.Line]) -> list[tuple[Part, ...]]:
    """The lines above the tabs: the name stands out, the place is quiet."""
    found = []
    for index, entry in enumerate(lines):
        parts = [part(entry.mark), Part(" ")] if entry.mark.text else [Part("  ")]
        parts.append(part(entry.label, bold=index == 0))
        if entry.value.text:
            parts += [Part("  "), part(entry.value)]
        if entry.right.text:
            parts += [Part("  "), part(entry.right)]
        found.append(tuple(parts))
    return found


def section_lines(sections: Iterable[describe.Section], room: int) -> list[Line]:
    """Sections as lines: headings, labels in a column, times at the right edge of ``room`` cells."""
    lines: list[Line] = []
    for section in sections:
        if lines:
            lines.append(Line())
        lines.append(line(Part(section.title, "heading", True)))
        labels = [2 * entry.depth + cell_len(entry.label.text) for entry in section.lines if entry.value.text]
        column = min(max(labels, default=0), _MOST_LABEL)
        lines += [_section_line(entry, column, room) for entry in section.lines]
    return lines


def _section_line(entry: describe.Line, column: int, room: int) -> Line:
    parts = [Part("  ")]
    if entry.mark.text:
        parts += [part(entry.mark), Part(" ")]
    start = width(parts) + 2 * entry.depth
    parts.append(Part("  " * entry.depth))
    parts.append(part(entry.label))
    if entry.value.text:
        used = 2 * entry.depth + cell_len(entry.label.text)
        parts.append(Part(" " * max(column - used + 2, 2)))
        start = min(width(parts), room * 2 // 5)
        value = entry.value
        if entry.right.text or entry.ref is not None:
            left = room - width(parts) - (cell_len(entry.right.text) + 2 if entry.right.text else 0)
            value = Cell(formats.clipped(value.text, max(left, 8)), value.tone)
        parts.append(part(value))
    if entry.right.text:
        gap = room - width(parts) - cell_len(entry.right.text)
        parts += [Part(" " * max(gap, 2)), part(entry.right)]
    return Line(tuple(parts), start)


def yaml_lines(text: str) -> list[Line]:
    """YAML with quiet keys. The text is masked and sanitized already."""
    lines = []
    for row in text.rstrip("\n").split("\n"):
        match = _YAML.fullmatch(row)
        if match:
            lines.append(line(Part(match["indent"], "muted"), Part(match["key"], "accent"), Part(match["value"]), indent=4))
        else:
            lines.append(line(Part(row), indent=4))
    return lines


def log_lines(entry: LogLine, *, times: bool, now: datetime, origins: bool) -> list[Line]:
    """One log line for the screen: sanitized here, never taken as markup. Errors and warnings stand out by their own word."""
    lines = []
    for row in sanitize(entry.text.rstrip("\n"), multiline=True).split("\n"):
        parts = []
        if times and entry.at is not None:
            parts.append(Part(f"{formats.clock_time(entry.at, now)} ", "muted"))
        if origins and entry.origin:
            parts.append(Part(f"{sanitize(entry.origin)} ", "accent"))
        found = _LEVEL.search(row[:200])
        if entry.stream == "note":
            parts.append(Part(f"— {row} —", "held"))
        else:
            tone = "plain" if found is None else "bad" if found["bad"] else "warn"
            parts.append(Part(row, tone))
        lines.append(Line(tuple(parts), min(width(parts[:-1]), 24)))
    return lines


def stats_lines(samples: Sequence[Sample], room: int) -> list[Line]:
    """CPU and memory of a container as two trends with their present values; nothing for one that doesn't run."""
    if not samples or not samples[-1].memory:
        return []
    last = samples[-1]
    size = max(min(room - 34, 60), 8)
    limit = last.memory_limit
    of_limit = f" of {formats.size(limit)}" if limit else ""
    return [
        line(Part("Load", "heading", True)),
        line("  ", Part("cpu     ", "muted"), Part(spark([item.cpu for item in samples], size), "busy"), f" {last.cpu:.0f}%"),
        line(
            "  ",
            Part("memory  ", "muted"),
            Part(spark([float(item.memory) for item in samples], size, top=float(limit)), "busy"),
            f" {formats.size(last.memory)}{of_limit}",
        ),
        Line(),
    ]
