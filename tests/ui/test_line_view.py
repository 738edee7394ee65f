"""Which part of a line is painted again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.segment import Segment
from textual.strip import Strip

from console.ui.widgets.line_view import differing


def strip(*texts: str) -> Strip:
    return Strip([Segment(text) for text in texts])


@pytest.mark.parametrize(
    ("old", "new", "cells"),
    [
        (strip("ab", "cd", "ef"), strip("ab", "xx", "ef"), (2, 4)),
        (strip("ab", "cd"), strip("xx", "cd"), (0, 2)),
        (strip("ab", "cd"), strip("ab", "xx"), (2, 4)),
        (strip("ab", "cd", "cd"), strip("ab", "cd", "cx"), (4, 6)),
        (strip("界", "cd"), strip("界", "xx"), (2, 4)),
        (strip("ab", "cd"), strip("abc", "d"), (0, 4)),
        (strip("ab"), strip("abcd"), (0, 4)),
    ],
)
def test_only_from_the_first_to_the_last_piece_that_differs(old: Strip, new: Strip, cells: tuple[int, int]) -> None:
    assert differing(old, new) == cells


PIECES = st.lists(st.sampled_from(["a", "bb", "界"]), min_size=1, max_size=6)


@settings(derandomize=True, deadline=None)
@given(PIECES, PIECES)
def test_outside_of_it_both_lines_are_the_same(one: list[str], other: list[str]) -> None:
    old, new = strip(*one), strip(*other)
    if old.cell_length != new.cell_length or old == new:
        return
    start, end = differing(old, new)
    assert 0 <= start < end <= new.cell_length
    assert old.crop(0, start).text == new.crop(0, start).text
    assert old.crop(end).text == new.crop(end).text
