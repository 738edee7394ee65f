"""Styled text as data: parts with a tone, lines of parts, and wrapping by terminal cells. No widget in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from rich.cells import cell_len

from console.ui.widgets.columns import wrap_cells
from console.views.cells import Cell


class Part(msgspec.Struct, frozen=True):
    """A run of text in one tone. ``action`` is what a click on it does ("" nothing)."""

    text: str
    tone: str = "plain"
    bold: bool = False
    action: str = ""


class Line(msgspec.Struct, frozen=True):
    """One line. When wrapped, its continuations begin ``indent`` cells to the right."""

    parts: tuple[Part, ...] = ()
    indent: int = 0

    @property
    def text(self) -> str:
        """The bare text."""
        return "".join(part.text for part in self.parts)


def line(*parts: Part | str, indent: int = 0) -> Line:
    """A line from parts; a bare string is a part in the plain tone."""
    return Line(tuple(part if isinstance(part, Part) else Part(part) for part in parts), indent)


def set_line(cells: Iterable[Cell]) -> Line:
    """A line of a view, piece by piece."""
    return Line(tuple(Part(piece.text, piece.tone) for piece in cells))


def width(parts: Iterable[Part]) -> int:
    """Terminal cells that these parts take."""
    return sum(cell_len(part.text) for part in parts)


def wrap(source: Line, room: int) -> Iterator[tuple[Part, ...]]:
    """The line in pieces of at most ``room`` cells, broken between words where that is possible."""
    if room < 4 or width(source.parts) <= room:
        yield source.parts
        return
    # So far in that hardly a word would fit: less far, but never back under what the line belongs to.
    indent = source.indent if source.indent < room // 2 else min(8, room // 4)
    current: list[Part] = []
    used = 0
    for part in source.parts:
        for word in _words(part.text):
            size = cell_len(word)
            if used + cell_len(word.rstrip()) > room and used > (indent if current else 0):
                yield tuple(current)
                current, used = ([Part(" " * indent)] if indent else []), indent
                word = word.lstrip() if not word.isspace() else ""
                size = cell_len(word)
            while used + cell_len(word.rstrip()) > room:
                head = wrap_cells(word, max(room - used, 2))[0]
                yield (*current, msgspec.structs.replace(part, text=head))
                current, used = ([Part(" " * indent)] if indent else []), indent
                word = word[len(head) :]
                size = cell_len(word)
            if word:
                current.append(msgspec.structs.replace(part, text=word))
                used += size
    yield tuple(current)


def _words(text: str) -> Iterator[str]:
    """The text in pieces that each end behind their blanks."""
    start = 0
    for index in range(1, len(text)):
        if text[index - 1] == " " and text[index] != " ":
            yield text[start:index]
            start = index
    if text:
        yield text[start:]


def plain(lines: Sequence[Line]) -> str:
    """The bare text of lines, for copying."""
    return "\n".join(entry.text.rstrip() for entry in lines)
