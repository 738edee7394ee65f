"""From arguments to an exit code: the one place where errors become words on standard error."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress

from console.cli.command import Command, Options, Outside, UsageError
from console.cli.exits import Exit
from console.cli.logs import said
from console.cli.parser import build_parser, parse
from console.cli.registry import COMMANDS
from console.cli.start import START
from console.errors import ConfigError, QuarterdeckError

_SCREENS = ("", "demo")
"""The commands that draw a screen."""


def run(arguments: list[str], outside: Outside | None = None) -> int:
    """Run a command line; never raises for what an operator can cause."""
    outside = outside or Outside.real()
    try:
        options = parse(build_parser(COMMANDS), arguments)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else Exit.USAGE
    stopped: list[int] = []
    try:
        ended = asyncio.run(_until_stopped(options, outside, stopped))
        outside.out.flush()
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except asyncio.CancelledError:
        return 128 + stopped[0] if stopped else Exit.INTERRUPTED
    except BrokenPipeError:
        _let_go_of(outside)
        return Exit.BROKEN_PIPE
    return ended


async def _until_stopped(options: Options, outside: Outside, stopped: list[int]) -> int:
    """Run the command so that being told to end (a dropped line, a service manager) still closes what is open.

    The screen sees to its own signals, since it has a terminal to restore.
    """
    task, loop = asyncio.current_task(), asyncio.get_running_loop()

    def stop(number: int) -> None:
        stopped.append(number)
        if task is not None:
            task.cancel()

    if options.command not in _SCREENS:
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, stop, number)
    return await carry_out(options, outside)


async def carry_out(options: Options, outside: Outside) -> int:
    """Run the command that was asked for, and say in words why it could not be done.

    :raises BrokenPipeError: whoever read our output went away.
    """
    command: Command = next((command for command in COMMANDS if command.name == options.command), START)
    try:
        with said(outside, later=command.name in _SCREENS):
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
