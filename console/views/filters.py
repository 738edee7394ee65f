"""The filter line: what is typed after ``/`` narrows a table.

Words are joined by "and": ``web`` is text anywhere in the row (case does not matter), ``!web`` keeps rows without it,
``-l app=web,tier!=db`` asks for labels, ``~wbsrv`` matches letters of the name in order. ``"two words"`` keeps a space.
Half-typed input never fails: what can't be understood yet is left out and named in :attr:`Filter.problem`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from console.model.resource import Resource
from console.views import words
from console.views.cells import Cell

_TOKEN = re.compile(r'-l\s+(?P<labels>\S+)|(?P<bare>-l\Z)|(?P<sign>[!~]?)(?:"(?P<quoted>[^"]*)"?|(?P<word>\S+))')
_LABEL = re.compile(r"(?P<key>[A-Za-z0-9._/-]+)(?:(?P<op>==?|!=)(?P<value>.*))?")


class Term(msgspec.Struct, frozen=True):
    """One condition. ``kind``: "text", "fuzzy", "label"; for a label, ``text`` is its key and ``value`` None asks for any."""

    kind: str
    text: str
    value: str | None = None
    negated: bool = False


class Filter(msgspec.Struct, frozen=True):
    """A parsed filter line. An empty one keeps everything."""

    terms: tuple[Term, ...] = ()
    problems_only: bool = False
    problem: str = ""

    def __bool__(self) -> bool:
        """Whether it can hide anything."""
        return bool(self.terms) or self.problems_only

    def keeps(self, resource: Resource, cells: Iterable[Cell] = ()) -> bool:
        """Whether the row stays. ``cells`` are what the row shows: text is looked for there and in the object's identity."""
        if self.problems_only and not resource.health.needs_attention:
            return False
        return not self.terms or self._keeps_text(resource, cells)

    def narrows(self, other: Filter) -> bool:
        """Whether this one certainly keeps nothing that ``other`` hides, as when a letter more is typed."""
        if other.problems_only and not self.problems_only:
            return False
        return all(any(_implies(mine, theirs) for mine in self.terms) for theirs in other.terms)

    def _keeps_text(self, resource: Resource, cells: Iterable[Cell]) -> bool:
        row, name = "", resource.ref.name.lower()
        for term in self.terms:
            # Most of what is looked for is in the name; the whole row is put together only for what is not.
            if term.kind == "text" and term.text in name:
                holds = True
            else:
                row = row or _row(resource, cells)
                holds = _holds(term, resource, row)
            if holds == term.negated:
                return False
        return True


def _row(resource: Resource, cells: Iterable[Cell]) -> str:
    """All text of a row, in small letters."""
    ref = resource.ref
    parts = (ref.connection, ref.kind, ref.path, words.title(resource), resource.reason, *(cell.text for cell in cells))
    return "\n".join(parts).lower()


def _implies(mine: Term, theirs: Term) -> bool:
    if mine == theirs:
        return True
    if mine.kind != theirs.kind or mine.kind == "label" or mine.negated or theirs.negated:
        return False
    return theirs.text in mine.text if mine.kind == "text" else is_subsequence(theirs.text, mine.text)


def _holds(term: Term, resource: Resource, row: str) -> bool:
    if term.kind == "label":
        value = resource.labels.get(term.text)
        return value is not None if term.value is None else value == term.value
    if term.kind == "fuzzy":
        return is_subsequence(term.text, words.title(resource).lower()) or is_subsequence(term.text, resource.ref.path.lower())
    return term.text in row


def is_subsequence(letters: str, text: str) -> bool:
    """Whether all letters occur in the text in this order."""
    rest = iter(text)
    return all(letter in rest for letter in letters)


def parse(line: str, *, problems_only: bool = False) -> Filter:
    """The filter that a line means; never raises."""
    terms: list[Term] = []
    problems: list[str] = []
    for match in _TOKEN.finditer(line):
        if match["bare"]:
            problems.append("-l wants key=value")
        elif match["labels"]:
            for part in match["labels"].split(","):
                label = _LABEL.fullmatch(part)
                if label:
                    terms.append(Term("label", label["key"], label["value"], label["op"] == "!="))
                elif part:
                    problems.append(f"{part} is no label: key=value, key!=value or key")
        else:
            text = (match["quoted"] if match["quoted"] is not None else match["word"]).lower()
            sign = match["sign"]
            if text and (sign or text not in ("!", "~")):
                terms.append(Term("fuzzy" if sign == "~" else "text", text, None, sign == "!"))
    return Filter(tuple(terms), problems_only, "; ".join(problems))
