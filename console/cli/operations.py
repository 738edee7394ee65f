"""``quarterdeck operations``: what runs now and what it waits for, then what ran; by whom, and how it ended."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from console.cli.command import Command, Options, Outside, UsageError
from console.cli.exits import Exit


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("filter", metavar="FILTER", nargs="*", help="only rows with this text; !text without it, ~text fuzzy")
    parser.add_argument(
        "--trigger", metavar="TRIGGER", default="", help="only on this trigger's applier, by its name or KIND/[NAMESPACE/]NAME"
    )
    parser.add_argument("--limit", type=int, default=0, metavar="NUMBER", help="at most so many, those in flight first")
    parser.add_argument(
        "-o", "--output", choices=("table", "wide", "json", "yaml", "name"), default="table", help="how to print"
    )
    parser.add_argument("-c", "--connection", action="append", metavar="NAME", help="only this connection (repeatable)")
    parser.add_argument("--problems", action="store_true", help="only what needs attention")
    parser.add_argument("-w", "--watch", action="store_true", help="go on printing rows as they change")
    parser.add_argument("--timeout", type=float, default=20.0, metavar="SECONDS", help="how long to wait for rows (20)")


async def _run(options: Options, outside: Outside) -> Exit:
    from console.cli.listing import Listing
    from console.model.operations import Operation
    from console.model.resource import Resource
    from console.views.operations import OPERATIONS

    if options.limit < 0:
        raise UsageError("--limit is less than nothing.", "Leave it out for all.")
    # What ``get`` can be told beside this makes no sense here: the order is what runs, then what ran.
    options.sort, options.reverse, options.selector = "", False, ""
    about = _about(options, outside)

    def wanted(row: Resource) -> bool:
        return isinstance(row, Operation) and about(str(row.target.kind), row.target.namespace, row.target.name)

    return await Listing(OPERATIONS, options, outside, wanted=wanted, limit=options.limit).run()


def _about(options: Options, outside: Outside) -> Callable[[str, str, str], bool]:
    """Whether an operation is on the object that ``--trigger`` names.

    :raises UsageError: there is no such trigger or kind.
    """
    word = options.trigger
    if not word:
        return lambda kind, namespace, name: True
    if "/" in word:
        from console.cli.intents import read_words

        ((kind, namespace, name),), _ = read_words([word])
        return lambda k, s, n: (k, n) == (kind, name) and namespace in ("", s)
    from console.cli.triggers import entry_of

    entry = entry_of(options, outside)
    options.connection = options.connection or [entry.connection]
    return lambda k, s, n: (k, s, n) == (entry.applier_kind, entry.namespace, entry.object)


COMMAND = Command(
    name="operations",
    help="what runs now, and what ran",
    description="Print operations: those in flight first, each with the step it is in and what would end it, then the past "
    "from the journal and the records in the targets.",
    arguments=_arguments,
    run=_run,
    examples=(
        "quarterdeck operations --trigger shop --limit 5",
        "quarterdeck operations -c prod-eu -o json | jq '.items[] | select(.state == \"failed\")'",
    ),
)
