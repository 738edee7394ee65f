"""``quarterdeck journal``: what was done from here, by whom, and how it ended. Connects to nothing."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from datetime import timedelta

from console.cli.command import Command, Options, Outside, UsageError
from console.cli.exits import Exit

_DURATION = re.compile(r"(\d{1,6})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("operation", metavar="OPERATION", nargs="*", help="only these, by id or the beginning of it")
    parser.add_argument("--since", metavar="TIME", default="", help="only what began within this time: 90s, 30m, 2h, 7d")
    parser.add_argument("-o", "--output", choices=("table", "json", "md"), default="table", help="how to print")


def duration(text: str) -> timedelta:
    """``2h`` as a time span.

    :raises UsageError: it is none.
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        raise UsageError(f"{text!r} is no time.", "Write a number and s, m, h or d: 90s, 30m, 2h, 7d.")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


async def _run(options: Options, outside: Outside) -> Exit:
    from console.config import paths
    from console.journal.export import as_json, as_markdown
    from console.journal.journal import Journal
    from console.kit.timing import SystemClock
    from console.runtime.whoami import whoami

    since = duration(options.since) if options.since else None
    file = paths.state_dir(outside.env) / "journal.sqlite3"
    if not file.exists():
        outside.say(f"there is no journal yet at {file}: nothing was done from here")
        outside.out.write({"json": as_json([]), "md": as_markdown([])}.get(options.output, ""))
        return Exit.DONE
    # Without the lease: a console that runs stays the one that writes.
    journal = await Journal.open(file, SystemClock(), whoami(outside.env), engines=False)
    try:
        records = await journal.operations(since, ids=options.operation)
        notes = await journal.notes()
    finally:
        await journal.close()
    for _, note in notes[-1:]:
        outside.say(note)
    match options.output:
        case "json":
            outside.out.write(as_json(records) + "\n")
        case "md":
            outside.out.write(as_markdown(records))
        case _:
            rows = [
                (
                    record.id[:12],
                    f"{record.started:%Y-%m-%d %H:%M:%S}Z",
                    record.state.value + (", undone" if record.undone else ""),
                    record.target.connection,
                    f"{record.plan.intent.verb} {record.target.kind} {record.target.path}",
                    str(record.who),
                    record.message,
                )
                for record in records
            ]
            outside.out.writelines(_table([("OPERATION", "BEGUN", "STATE", "CONNECTION", "WHAT", "WHO", "OUTCOME"), *rows]))
    return Exit.DONE


def _table(rows: list[tuple[str, ...]]) -> Iterable[str]:
    from console.kit.sanitize import sanitize

    safe = [[sanitize(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in safe) for column in range(len(rows[0]))]
    for row in safe:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"


COMMAND = Command(
    name="journal",
    help="what was done from here, and how it ended",
    description="Print the journal of this account, newest first. Nothing is connected to, and a console that runs is not "
    "disturbed.",
    arguments=_arguments,
    run=_run,
    examples=("quarterdeck journal --since 2h", "quarterdeck journal --since 1d -o md > incident.md"),
)
