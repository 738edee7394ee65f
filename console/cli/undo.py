"""``quarterdeck undo``: take back one operation, as a plan."""

from __future__ import annotations

import argparse

from console.cli.command import Command, Options, Outside
from console.cli.exits import Exit
from console.errors import Refused


def _arguments(parser: argparse.ArgumentParser) -> None:
    from console.cli.run import confirm_arguments

    parser.add_argument("operation", metavar="OPERATION", help="its id, or the beginning of it (see: quarterdeck journal)")
    confirm_arguments(parser)


async def _run(options: Options, outside: Outside) -> Exit:
    from console.cli.carrying_out import carry_out
    from console.cli.compose import opened

    async with opened(options, outside.env, connect=[]) as at:
        journal = at.runtime.journal
        records = await journal.operations(ids=[options.operation]) if journal is not None else ()
        if len(records) != 1:
            found = "no operation" if not records else f"{len(records)} operations"
            raise Refused(f"{found.capitalize()} in the journal begins with {options.operation}.", "See: quarterdeck journal")
        (record,) = records
        names = at.names([record.target.connection])
        if not names:
            raise Refused(f"There is no connection {record.target.connection} any more.")
        at.runtime.connect(names)
        await at.runtime.settled({record.target.kind}, options.timeout, names)
        plan = await at.runtime.commands.plan_undo(record.view().ref)
        return await carry_out(at.runtime, plan, options, outside)


COMMAND = Command(
    name="undo",
    help="take back one operation",
    description="Plan what takes back an operation of the journal, from the state that was recorded before it; then as "
    "run does.",
    arguments=_arguments,
    run=_run,
    examples=("quarterdeck undo 3f2a",),
)
