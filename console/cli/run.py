"""``quarterdeck run``: make a plan, have it confirmed, do it, follow it to its end."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from console.cli.command import Command, Options, Outside, UsageError
from console.cli.exits import Exit
from console.errors import ConfigError
from console.model.plan import Plan


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        metavar="PLAN | VERB CONNECTION OBJECT...",
        nargs="+",
        help="the file of a plan (- for standard input), or what to plan",
    )
    confirm_arguments(parser)


def confirm_arguments(parser: argparse.ArgumentParser) -> None:
    """How a plan is confirmed without a screen."""
    parser.add_argument("--why", metavar="TEXT", default="", help="the reason, for the journal")
    parser.add_argument("-y", "--yes", action="store_true", help="confirm without a question")
    parser.add_argument(
        "--plan-hash", metavar="HASH", default="", help="confirm exactly this plan; --yes needs it on a protected target"
    )
    parser.add_argument("--timeout", type=float, default=20.0, metavar="SECONDS", help="how long to wait for the target (20)")


async def _run(options: Options, outside: Outside) -> Exit:
    from console.cli.carrying_out import carry_out
    from console.cli.compose import opened
    from console.cli.intents import plan_of, read_plan

    given: Plan | None = None
    words: list[str] = options.words
    if len(words) == 1:
        # A file of some kilobytes, read before anything else goes on.
        given = read_plan(await asyncio.to_thread(_read, words[0]))
        options.connection = given.intent.connection
    elif len(words) < 3:
        example = "quarterdeck run scale harbour SwarmService/shop_web replicas=4"
        raise UsageError("A verb, a connection and an object are needed.", example)
    else:
        options.verb, options.connection, *options.words = words
    async with opened(options, outside.env, connect=[options.connection]) as at:
        if given is not None:
            await at.runtime.settled({ref.kind for ref in given.intent.targets}, options.timeout)
        return await carry_out(at.runtime, given or await plan_of(at, options), options, outside)


def _read(name: str) -> str:
    if name == "-":
        return sys.stdin.read()
    try:
        return Path(name).read_text()
    except OSError as error:
        hint = "Give a file made by: quarterdeck plan ... -o json"
        raise ConfigError(f"{name} can't be read: {error.strerror}.", hint) from error


COMMAND = Command(
    name="run",
    help="do what a plan says, once it is confirmed",
    description="Make a plan (or take one from a file), show it, ask for the confirmation that it needs, do it, and wait for "
    "the world to show the effect. Every step is journaled before it is made.",
    arguments=_arguments,
    run=_run,
    examples=(
        "quarterdeck run scale harbour SwarmService/shop_web replicas=4",
        "quarterdeck run plan.json --yes --plan-hash 0123456789abcdef",
    ),
)
