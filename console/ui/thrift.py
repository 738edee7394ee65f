"""Fewer bytes for the same picture: a frame says each colour once instead of once for each piece of text.

Textual paints every piece of a line as style, text, reset. Over a slow line most bytes are colours that were set already. Here
only what differs is said, and the colour of letters is not said for blanks. The picture is the same on any terminal.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_STYLE = re.compile(r"\x1b\[([0-9;]*)m")
_MOVES = re.compile(r"\x1b\[[0-9;]*[A-Hdf]")
_NEWLINES = re.compile(r"\n(?=\x1b\[[0-9]+;[0-9]+H)")
"""Textual ends a line and then says where the next one begins."""
_FOREGROUND = frozenset(map(str, (*range(30, 38), *range(90, 98))))
_BACKGROUND = frozenset(map(str, (*range(40, 48), *range(100, 108))))
_SHOWS_ON_BLANKS = frozenset(["4", "7", "9", "21", "53"])
"""Underline, reverse, strike and the like: they show where there is no letter."""


class Look(NamedTuple):
    """What a style sets: attributes, colour of letters, colour behind them; "" is the terminal's own."""

    attributes: tuple[str, ...] = ()
    front: str = ""
    back: str = ""


_PLAIN = Look()


def thrifty(frame: str) -> str:
    """The frame with as few style sequences as show the same. It must begin and end as the terminal's own style does."""
    if frame.count("\x1b[0m") < 2:
        return frame
    parts = _STYLE.split(_NEWLINES.sub("", frame))
    out = [parts[0]]
    said = wanted = _PLAIN
    for index in range(1, len(parts), 2):
        wanted = _after(wanted, parts[index])
        text = parts[index + 1]
        if not text:
            continue
        if wanted != said and (letters := _MOVES.sub("", text)):
            look = _for_blanks(said, wanted) if letters.isspace() else wanted
            if look != said:
                out.append(_change(said, look))
                said = look
        out.append(text)
    if wanted != said:
        out.append(_change(said, wanted))
    return "".join(out)


@lru_cache(maxsize=4096)
def _after(look: Look, codes: str) -> Look:
    """The style after one more sequence."""
    attributes, front, back = look
    numbers = iter(codes.split(";"))
    for number in numbers:
        if number in ("", "0"):
            attributes, front, back = (), "", ""
        elif number in ("38", "48"):
            kind = next(numbers, "")
            colour = ";".join((number, kind, *(next(numbers, "") for _ in range(3 if kind == "2" else 1))))
            front, back = (colour, back) if number == "38" else (front, colour)
        elif number in _FOREGROUND:
            front = number
        elif number in _BACKGROUND:
            back = number
        elif number == "39":
            front = ""
        elif number == "49":
            back = ""
        else:
            attributes = (*attributes, number)
    return Look(attributes, front, back)


def _for_blanks(said: Look, wanted: Look) -> Look:
    """What must be said so that blanks look as wanted: only what is behind them, unless something shows without a letter."""
    if _SHOWS_ON_BLANKS.isdisjoint((*said.attributes, *wanted.attributes)):
        return Look(said.attributes, said.front, wanted.back)
    return wanted


@lru_cache(maxsize=4096)
def _change(old: Look, new: Look) -> str:
    """The shortest sequence from one style to another."""
    whole = ";".join(("0", *new.attributes, *filter(None, (new.front, new.back))))
    if new == _PLAIN:
        return "\x1b[0m"
    if old.attributes and old.attributes != new.attributes:
        return f"\x1b[{whole}m"
    codes = list(new.attributes) if old.attributes != new.attributes else []
    if old.front != new.front:
        codes.append(new.front or "39")
    if old.back != new.back:
        codes.append(new.back or "49")
    return f"\x1b[{';'.join(codes)}m"
