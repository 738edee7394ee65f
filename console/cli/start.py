"""No command at all: open the screen."""

from __future__ import annotations

from console.cli.command import Command, Options, Outside, UsageError
from console.cli.exits import Exit


async def open_screen(options: Options, outside: Outside) -> Exit:
    """Run the screen until the operator leaves it. The runtime outlives it, so that operations at hand are ended in order.

    :raises UsageError: there is no terminal to draw on.
    """
    if not outside.out.isatty():
        raise UsageError("The screen needs a terminal.", "Use get, doctor and the other commands without one.")
    from console.cli.compose import opened
    from console.config import paths
    from console.ui.app import ConsoleApp

    async with opened(options, outside.env, demo_if_empty=True) as at:
        settings = at.settings
        app = ConsoleApp(
            at.runtime,
            keys=settings.keys,
            theme=settings.look.theme,
            theme_folder=paths.themes_dir(outside.env),
            state=at.state / "screen.json" if at.state else None,
            start=settings.start.view,
            low_bandwidth=settings.look.bandwidth == "low",
        )
        app.problems += at.problems
        if at.demo and not options.demo:
            app.problems.append("Nothing to connect to was found: this is the demo fleet.")
        await app.run_async(mouse=settings.look.mouse)
    if at.demo and not options.demo:
        outside.say(
            "Nothing to connect to was found, so this was the demo fleet. Run quarterdeck doctor to see what was tried."
        )
    return Exit.DONE


START = Command(
    name="",
    help="open the screen",
    description="Open the screen over everything that is found.",
    arguments=lambda _: None,
    run=open_screen,
)
