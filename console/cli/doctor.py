"""``quarterdeck doctor``: what was tried on each connection, what failed, what to do."""

from __future__ import annotations

import argparse

from console.cli.command import Command, Options, Outside
from console.cli.exits import Exit


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="how to print")
    parser.add_argument("-c", "--connection", action="append", metavar="NAME", help="only this connection (repeatable)")
    parser.add_argument("--timeout", type=float, default=20.0, metavar="SECONDS", help="how long to wait for answers (20)")


async def _run(options: Options, outside: Outside) -> Exit:
    from console.cli.checkup import checkup

    return await checkup(options, outside)


COMMAND = Command(
    name="doctor",
    help="check every connection and say what to do",
    description="Connect to everything once and report: which files were read, what each connection is, what it can't do, and "
    "what would help. The exit code is 1 if anything is wrong.",
    arguments=_arguments,
    run=_run,
    examples=("quarterdeck doctor", "quarterdeck doctor -c prod-eu -o json"),
)
