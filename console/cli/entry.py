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
    command = next((command for command in COMMANDS if command.name == options.command), START)
    try:
        return _run(command, options, outside)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        _let_go_of(outside)
        return Exit.BROKEN_PIPE
    except (ConfigError, UsageError) as error:
        _tell(error, outside)
        return Exit.USAGE
    except QuarterdeckError as error:
        _tell(error, outside)
        return Exit.FAILED


def _run(command: Command, options: Options, outside: Outside) -> Exit:
    async def to_its_end() -> Exit:
        return await command.run(options, outside)

    ended = asyncio.run(to_its_end())
    outside.out.flush()
    return ended


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
