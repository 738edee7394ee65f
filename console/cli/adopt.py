"""``quarterdeck adopt``: declare an applier as a local trigger, by writing it into the fleet file."""

from __future__ import annotations

import argparse

from console.cli.command import Command, Options, Outside, UsageError
from console.cli.exits import Exit


def _arguments(parser: argparse.ArgumentParser) -> None:
    from console.cli.run import confirm_arguments

    parser.add_argument("connection", metavar="CONNECTION", help="the connection to its cluster")
    parser.add_argument("applier", metavar="KIND/NAMESPACE/NAME", help="a Kustomization or an Application")
    parser.add_argument("--hold", action="store_true", help="let this console keep a Kustomization suspended between applies")
    parser.add_argument("--name", metavar="NAME", default="", help="what it is called in commands (default: its own name)")
    confirm_arguments(parser)


async def _run(options: Options, outside: Outside) -> Exit:
    from console.cli.carrying_out import carry_out
    from console.cli.compose import opened
    from console.cli.intents import find, read_words
    from console.model.plan import Intent

    objects, arguments = read_words([options.applier])
    if arguments or objects[0][0] not in ("Kustomization", "Application"):
        raise UsageError(f"{options.applier} can't be adopted.", "Name a Kustomization or an Application: KIND/NAMESPACE/NAME.")
    async with opened(options, outside.env, connect=[options.connection]) as at:
        (name,) = at.names([options.connection])
        targets = await find(at, name, objects, options.timeout)
        given = {"hold": "true" if options.hold else "", "name": options.name}
        given = {key: value for key, value in given.items() if value}
        plan = await at.runtime.commands.plan(Intent(verb="adopt", targets=targets, arguments=given, reason=options.why))
        return await carry_out(at.runtime, plan, options, outside)


COMMAND = Command(
    name="adopt",
    help="declare a Kustomization or an Application as a trigger",
    description="Plan the lines that declare it in the fleet file, have them confirmed, and write them: comments and all the "
    "rest stay as they are. Nothing is written to the cluster. Undo takes the lines out again.",
    arguments=_arguments,
    run=_run,
    examples=("quarterdeck adopt prod-eu Kustomization/flux-system/shop --hold",),
)
