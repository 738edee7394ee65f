"""No command at all: open the screen."""

from __future__ import annotations

import asyncio
import gc
import importlib
import sys
from typing import TYPE_CHECKING

from console.cli.command import Command, Options, Outside, UsageError
from console.cli.exits import Exit
from console.views import formats

if TYPE_CHECKING:
    from console.runtime.runtime import Runtime


_WIRE = ("console.clients.http", "console.backends.kubernetes", "console.backends.docker")


async def open_screen(options: Options, outside: Outside) -> int:
    """Run the screen until the operator leaves it. The runtime outlives it, so that operations at hand are ended in order.

    :raises UsageError: there is no terminal to draw on.
    """
    _check_terminal(outside)
    from console.cli.compose import opened
    from console.config import paths
    from console.kit.supervisor import cancel
    from console.ui.app import ConsoleApp

    painted = asyncio.Event()
    async with opened(options, outside.env, demo_if_empty=True, later=True) as at:
        settings = at.settings
        app = ConsoleApp(
            at.runtime,
            keys=settings.keys,
            theme=settings.look.theme,
            theme_folder=paths.themes_dir(outside.env),
            state=at.state / "screen.json" if at.state else None,
            start=settings.start.view,
            low_bandwidth=settings.look.bandwidth == "low",
            on_painted=painted.set,
        )
        if at.runtime.only_reads:
            app.problems.insert(0, at.runtime.only_reads)
        if at.demo and not options.demo:
            # Before all else: what is shown must not be taken for real.
            app.problems.insert(0, "Nothing to connect to was found: this is the demo fleet.")
        app.problems += at.problems
        connecting = asyncio.create_task(_connect_when(painted, at.runtime, at.waiting), name="connect after the first paint")
        try:
            await app.run_async(mouse=settings.look.mouse)
        finally:
            await cancel((connecting,))
    if at.demo and not options.demo:
        outside.say(
            "Nothing to connect to was found, so this was the demo fleet. Run quarterdeck doctor to see what was tried."
        )
    # What a shell is told of a signal or of a failure of our own.
    return app.return_code or Exit.DONE


def _check_terminal(outside: Outside) -> None:
    """The screen is drawn on standard error (as Textual has it), and keys come from standard input.

    :raises UsageError: one of them is no terminal, or the terminal can't move its cursor.
    """
    streams = {"input": sys.stdin, "output": outside.out, "error": outside.err}
    missing = [name for name, stream in streams.items() if stream is None or not stream.isatty()]
    instead = "Use get, doctor and the other commands without one."
    if missing:
        raise UsageError(f"The screen needs a terminal; standard {formats.listed(missing)} goes elsewhere.", instead)
    if outside.env.get("TERM") == "dumb":
        raise UsageError("No screen can be drawn on a terminal of the kind dumb.", f"Set TERM to what it is. {instead}")


async def _connect_when(painted: asyncio.Event, runtime: Runtime, names: tuple[str, ...] | None) -> None:
    """Connect once there is something to look at. Loading the wire takes longer than a frame, so a thread does that."""
    await painted.wait()
    for module in _WIRE:
        await asyncio.to_thread(importlib.import_module, module)
    # What the program itself is made of never becomes garbage; looking through it again and again would stop the screen.
    gc.freeze()
    runtime.connect(names)


START = Command(
    name="",
    help="open the screen",
    description="Open the screen over everything that is found.",
    arguments=lambda _: None,
    run=open_screen,
)
