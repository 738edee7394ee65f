"""``quarterdeck demo``: the screen over the demo fleet."""

from __future__ import annotations

import argparse

from console.cli.command import Command, Options, Outside


def _arguments(_: argparse.ArgumentParser) -> None:
    """Nothing of its own."""


async def _run(options: Options, outside: Outside) -> int:
    from console.cli.start import open_screen

    options.demo = True
    return await open_screen(options, outside)


COMMAND = Command(
    name="demo",
    help="open the screen over the built-in demo fleet",
    description="Open the screen over two simulated clusters, a Swarm and three hosts, served on this machine for as long as "
    "it runs. Nothing of yours is read or written.",
    arguments=_arguments,
    run=_run,
)
