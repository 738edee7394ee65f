"""Frames with fewer bytes show exactly the same."""

from __future__ import annotations

from typing import Any

import pyte
from hypothesis import given, settings
from hypothesis import strategies as st

from console.ui.thrift import thrifty

CODES = ["1", "3", "4", "7", "9", "31", "97", "44", "103", "38;5;9", "48;5;200", "38;2;1;2;3", "48;2;1;2;3", "39", "49"]
STYLES = st.lists(st.sampled_from(CODES), min_size=1, max_size=4)
TEXTS = st.sampled_from(["", " ", "   ", "web", "a b", "│", "\x1b[2;5H", "\x1b[3;1H  ", "\x1b[1;1H\x1b[4;4Hx"])
PIECES = st.lists(st.tuples(STYLES, TEXTS), max_size=12)


def painted(frame: str) -> list[list[Any]]:
    screen: Any = pyte.Screen(20, 5)
    stream: Any = pyte.Stream(screen)
    stream.feed(frame + "end")
    return [[_visible(screen.buffer[y][x]) for x in range(20)] for y in range(5)]


def _visible(cell: Any) -> Any:
    """The colour of a blank's letter is seen by nobody, unless something is drawn with it."""
    return tuple(cell) if _seen(cell) else (cell.data, cell.bg)


def _seen(cell: Any) -> bool:
    return bool(cell.data.strip()) or cell.underscore or cell.reverse or cell.strikethrough


@settings(derandomize=True, deadline=None)
@given(PIECES)
def test_a_thrifty_frame_shows_the_same(pieces: list[tuple[list[str], str]]) -> None:
    frame = "".join(f"\x1b[{';'.join(style)}m{text}\x1b[0m" for style, text in pieces)
    assert painted(thrifty(frame)) == painted(frame)


@settings(derandomize=True, deadline=None)
@given(PIECES)
def test_sequences_that_add_up_are_understood(pieces: list[tuple[list[str], str]]) -> None:
    frame = "\x1b[0m".join(["".join(f"\x1b[{';'.join(style)}m{text}" for style, text in pieces), "", ""])
    assert painted(thrifty(frame)) == painted(frame)


def test_a_colour_that_stays_is_said_once() -> None:
    frame = "".join(f"\x1b[38;2;1;2;3;48;2;4;5;6m{text}\x1b[0m" for text in ("one", "  ", "two"))
    assert thrifty(frame) == "\x1b[38;2;1;2;3;48;2;4;5;6mone  two\x1b[0m"


def test_a_line_that_says_where_it_begins_needs_no_newline_before_it() -> None:
    rows = [f"\x1b[{y};1H\x1b[38;2;1;2;3;48;2;4;5;6mrow\x1b[0m" for y in (1, 2)]
    assert thrifty("\n".join(rows)) == "\x1b[1;1H\x1b[38;2;1;2;3;48;2;4;5;6mrow\x1b[2;1Hrow\x1b[0m"


def test_blanks_say_only_what_is_behind_them() -> None:
    frame = "\x1b[38;2;1;2;3;48;2;4;5;6mrow\x1b[0m\x1b[38;2;9;9;9;48;2;7;7;7m  \x1b[0m"
    assert thrifty(frame) == "\x1b[38;2;1;2;3;48;2;4;5;6mrow\x1b[48;2;7;7;7m  \x1b[0m"
