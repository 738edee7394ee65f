"""No text from the wire can steer a terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.kit.sanitize import sanitize

DANGEROUS = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))]
REORDERING = list("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@pytest.mark.parametrize("character", [*DANGEROUS, *REORDERING], ids=lambda c: f"U+{ord(c):04X}")
def test_a_dangerous_character_is_shown_never_sent(character: str) -> None:
    shown = sanitize(f"a{character}b")
    assert character not in shown
    assert shown.startswith("a") and shown.endswith("b") and len(shown) >= 3, "what was there stays visible"


@given(st.text())
def test_whatever_comes_the_result_is_one_harmless_line(text: str) -> None:
    shown = sanitize(text)
    for character in shown:
        assert unicodedata.category(character) not in {"Cc", "Cs"}
        assert unicodedata.bidirectional(character) not in {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}
        assert character not in "\u2028\u2029"
    shown.encode()


@given(st.text())
def test_several_lines_stay_lines_and_are_as_harmless(text: str) -> None:
    for line in sanitize(text, multiline=True).split("\n"):
        assert sanitize(line) == line


@given(st.text())
def test_sanitizing_twice_changes_nothing(text: str) -> None:
    assert sanitize(sanitize(text)) == sanitize(text)


@pytest.mark.parametrize(
    "text", ["web-1", "数据库", "emoji 🚀 and é", "ñ combined e\u0301", "a b", "http://x/?q=1&b=2", "[bold]not markup[/x]"]
)
def test_ordinary_text_is_left_as_it_is(text: str) -> None:
    assert sanitize(text) == text


def test_a_terminal_escape_becomes_readable() -> None:
    assert sanitize("\x1b]52;c;aGk=\x07") == "\u241b]52;c;aGk=\u2407"
    assert sanitize("safe\r\nline\ttwo", multiline=True) == "safe\nline    two"
