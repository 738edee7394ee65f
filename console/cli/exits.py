"""Exit codes, the same for every command; scripts may rely on them."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What the end of a command means."""

    DONE = 0
    """Done, or there was nothing to do."""

    FAILED = 1
    """It could not be done, or what was printed is incomplete because a target could not be read."""

    USAGE = 2
    """The command line or a configuration file is wrong; no target was asked anything."""

    CHANGES = 3
    """A plan has changes; nothing was written."""

    INTERRUPTED = 130
    """Ctrl-C."""

    BROKEN_PIPE = 141
    """Whoever read our output went away (``| head``); as a shell reports it for other programs."""
