"""What a command is, what it is told, and where it writes."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import TextIO

import msgspec

from console.errors import QuarterdeckError
from console.kit.sanitize import sanitize

Options = argparse.Namespace


class UsageError(QuarterdeckError):
    """The arguments make no sense together; ends with exit code 2."""


class Outside(msgspec.Struct, frozen=True, kw_only=True):
    """The world outside a command: its environment and its streams.

    ``out`` is only for the answer, ``err`` for everything said about it.
    """

    env: Mapping[str, str]
    out: TextIO
    err: TextIO

    @classmethod
    def real(cls) -> Outside:
        """This process's environment and standard streams. What a stream's encoding lacks is printed as ``?``."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
        return cls(env=dict(os.environ), out=sys.stdout, err=sys.stderr)

    def colours(self) -> bool:
        """Whether the answer may be coloured: to a terminal that can, and nobody asked for none (no-color.org)."""
        return self.out.isatty() and not self.env.get("NO_COLOR") and self.env.get("TERM", "") not in ("", "dumb")

    def say(self, text: str) -> None:
        """What goes on, harmless whoever said it: an error may quote what a controller or a server wrote."""
        self.err.write(f"quarterdeck: {sanitize(text, multiline=True)}\n")
        self.err.flush()


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One command. ``arguments`` adds its own to a parser that already has the common ones; ``run`` does it.

    ``run`` imports what it needs when it is called, so that ``--help`` and completion stay quick.
    """

    name: str
    help: str
    description: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[Options, Outside], Awaitable[int]]
    examples: tuple[str, ...] = ()
