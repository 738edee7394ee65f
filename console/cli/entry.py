"""From arguments to an exit code: the one place where errors become words on standard error."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress

from console.cli.command import Command, Options, Outside, UsageError
from console.cli.exits import Exit
from console.cli.parser import build_parser, parse
from console.cli.registry import COMMANDS
from console.cli.start import START
from console.errors import ConfigError, QuarterdeckError


def run(arguments: list[str], outside: Outside | None = None) -> int:
    """Run a command line; never raises for what an operator can cause."""
    outside = outside or Outside.real()
    try:
        options = parse(build_parser(COMMANDS), arguments)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else Exit.USAGE
    try:
        ended = asyncio.run(carry_out(options, outside))
        outside.out.flush()
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        _let_go_of(outside)
        return Exit.BROKEN_PIPE
    return ended


async def carry_out(options: Options, outside: Outside) -> Exit:
    """Run the command that was asked for, and say in words why it could not be done.

    :raises BrokenPipeError: whoever read our output went away.
    """
    command: Command = next((command for command in COMMANDS if command.name == options.command), START)
    try:
        return await command.run(options, outside)
    except (ConfigError, UsageError) as error:
        _tell(error, outside)
        return Exit.USAGE
    except QuarterdeckError as error:
        _tell(error, outside)
        return Exit.FAILED


def _tell(error: QuarterdeckError, outside: Outside) -> None:
    with suppress(BrokenPipeError):
        outside.say(error.message)
        if error.hint:
            outside.say(error.hint)


def _let_go_of(outside: Outside) -> None:
    """Point the broken stream at nothing, so that the interpreter's last flush doesn't complain."""
    with suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, outside.out.fileno())
        os.close(nothing)
