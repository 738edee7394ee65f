"""The one place where text from the wire becomes harmless: no control character, terminal escape or bidi override survives.

What was there stays visible: a control character becomes its Unicode control picture, everything else that could steer a
terminal or reorder a line becomes ``<U+202E>``. The result is one line unless ``multiline`` is asked for.
Sources: ECMA-48 (C0, C1, escape sequences), Unicode Standard Annex 9 (bidi controls).
"""

from __future__ import annotations

import re

_INVISIBLE = (
    "\u200b-\u200f"  # zero width characters and directional marks
    "\u2028-\u202e"  # line and paragraph separators, bidi embeddings and overrides
    "\u2060-\u206f"  # word joiner, bidi isolates, deprecated format characters
    "\ufeff\ufff9-\ufffb"  # byte order mark, interlinear annotation
    "\U000e0000-\U000e007f"  # tag characters
    "\ud800-\udfff"  # lone surrogates can't be encoded for a terminal
)
_UNSAFE = re.compile(f"[\\x00-\\x1f\\x7f-\\x9f\u061c{_INVISIBLE}]")
_UNSAFE_IN_LINES = re.compile(f"[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f\u061c{_INVISIBLE}]")
_TAB = " " * 4


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code == 0x7F:
        return "\u2421"
    if code < 0x20:
        return chr(0x2400 + code)
    return f"<U+{code:04X}>"


def sanitize(text: str, *, multiline: bool = False) -> str:
    """``text`` made safe to write to a terminal.

    :param multiline: keep line feeds (and turn tabs into four spaces) for logs and YAML; else both become pictures.
    """
    if text.isascii() and text.isprintable():
        return text
    if multiline:
        return _UNSAFE_IN_LINES.sub(_visible, text.replace("\r\n", "\n").replace("\t", _TAB))
    return _UNSAFE.sub(_visible, text)
