"""Copying over ssh: OSC 52, wrapped so that tmux and screen let it through, and not longer than terminals take.

Sources: xterm control sequences (OSC 52); tmux(1), "allow-passthrough"; GNU screen manual, device control strings.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

MOST = 74_994
"""Encoded bytes that common terminals accept in one sequence."""
_SCREEN_CHUNK = 76
"""GNU screen cuts longer device control strings."""


def osc52(text: str, environment: Mapping[str, str]) -> str:
    """The bytes to write so that ``text`` lands in the clipboard of the terminal at the other end.

    :raises ValueError: it is too long, or the terminal can't do it; the message says so.
    """
    encoded = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    if len(encoded) > MOST:
        raise ValueError(f"Too long to copy: {len(encoded) // 1024} KiB of at most {MOST // 1024}.")
    term = environment.get("TERM", "")
    if term in ("dumb", "linux"):
        raise ValueError(f"The terminal ({term}) has no clipboard.")
    sequence = f"\x1b]52;c;{encoded}\x07"
    if environment.get("TMUX"):
        return f"\x1bPtmux;{sequence.replace(chr(27), chr(27) * 2)}\x1b\\"
    if term.startswith("screen"):
        chunks = (sequence[start : start + _SCREEN_CHUNK] for start in range(0, len(sequence), _SCREEN_CHUNK))
        return "".join(f"\x1bP{chunk}\x1b\\" for chunk in chunks)
    return sequence
