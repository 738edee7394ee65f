"""``quarterdeck get``: any table, once or as it changes."""

from __future__ import annotations

import argparse
from typing import Any

from console.cli.command import Command, Options, Outside, UsageError
from console.cli.exits import Exit
from console.views import tables
from console.views.cells import Table


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", metavar="TABLE", help=f"one of {', '.join(tables.TABLES)}; short forms work too")
    parser.add_argument("filter", metavar="FILTER", nargs="*", help="only rows with this text; !text without it, ~text fuzzy")
    parser.add_argument(
        "-o", "--output", choices=("table", "wide", "json", "yaml", "name"), default="table", help="how to print"
    )
    parser.add_argument("-c", "--connection", action="append", metavar="NAME", help="only this connection (repeatable)")
    parser.add_argument("-l", "--selector", metavar="LABELS", default="", help="only rows with these labels: a=b,c!=d,e")
    parser.add_argument("--problems", action="store_true", help="only rows that need attention")
    parser.add_argument("--sort", metavar="COLUMN", default="", help="sort by this column, by its key or heading")
    parser.add_argument("-r", "--reverse", action="store_true", help="the other way round")
    parser.add_argument("-w", "--watch", action="store_true", help="go on printing rows as they change")
    parser.add_argument("--timeout", type=float, default=20.0, metavar="SECONDS", help="how long to wait for rows (20)")


def wanted_table(word: str) -> Table[Any]:
    """The table of a word on the command line.

    :raises UsageError: there is none; the hint names the nearest.
    """
    found = tables.table(word)
    if found is None:
        near = tables.nearest(word)
        hint = f"Did you mean {near}?" if near else f"There are: {', '.join(tables.TABLES)}."
        raise UsageError(f"There is no table {word}.", hint)
    return found


async def _run(options: Options, outside: Outside) -> Exit:
    table = wanted_table(options.table)
    from console.cli.listing import Listing

    return await Listing(table, options, outside).run()


COMMAND = Command(
    name="get",
    help="print any table",
    description="Print the rows of a table from all connections, worst first. Notes about connections go to standard error; "
    "the exit code is 1 if "
    "none of them could be read, or one that was named.",
    arguments=_arguments,
    run=_run,
    examples=(
        "quarterdeck get triggers --problems",
        "quarterdeck get stacks -o json | jq '.items[].ref.name'",
        "quarterdeck get pods -c prod-eu -l app=web --watch",
    ),
)
