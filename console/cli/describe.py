"""``quarterdeck describe``: one object in words, or whole."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from console.cli.command import Command, Options, Outside, UsageError
from console.cli.exits import Exit

if TYPE_CHECKING:
    from console.cli.compose import Opened
    from console.model.refs import Ref
    from console.views.describe import Section


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        metavar="OBJECT",
        nargs="+",
        help="CONNECTION KIND/[NAMESPACE/]NAME, or in one word as get -o name prints it: CONNECTION:KIND/[NAMESPACE/]NAME",
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=("text", "yaml", "json"),
        default="text",
        help="in words, the whole object, or as get prints it",
    )
    parser.add_argument("--timeout", type=float, default=20.0, metavar="SECONDS", help="how long to wait for the target (20)")


def split(words: list[str]) -> tuple[str, str]:
    """Connection and object of the two ways to write them.

    :raises UsageError: it is neither.
    """
    connection, colon, thing = words[0].partition(":")
    if len(words) == 1 and colon:
        return connection, thing
    if len(words) == 2:
        return words[0], words[1]
    raise UsageError(
        f"{' '.join(words)} names no object.", "Write CONNECTION KIND/NAME, or CONNECTION:KIND/NAME as get -o name prints it."
    )


async def _run(options: Options, outside: Outside) -> Exit:
    from console.cli.compose import opened
    from console.cli.intents import find, read_words

    connection, thing = split(options.words)
    objects, _ = read_words([thing])
    async with opened(options, outside.env, connect=[connection], only_reads=True) as at:
        (ref,) = await find(at, connection, objects, options.timeout)
        outside.out.write(await _shown(at, ref, options.output))
    return Exit.DONE


async def _shown(at: Opened, ref: Ref, output: str) -> str:
    from console.cli import documents
    from console.errors import NotFound
    from console.views.describe import as_text, describe, heading
    from console.views.yaml_text import yaml_text

    if output == "yaml":
        return yaml_text(await at.runtime.raw(ref))
    resource, context = at.runtime.store.get(ref), at.context()
    if resource is None:
        raise NotFound(f"{ref} went away while it was looked at.")
    if output == "json":
        return documents.text(documents.item(resource, context))
    first, second = heading(resource, context)
    top = f"{first.mark.text} {first.label.text}  {first.value.text}\n  {second.label.text}\n\n"
    sections = describe(
        resource,
        context,
        related=at.runtime.related(ref),
        operations_on=at.runtime.operations_on(ref),
        events=at.runtime.events_about(ref),
    )
    dispatch = await _dispatch(at, ref)
    return f"{top}{as_text((*sections[:1], *dispatch, *sections[1:]))}\n"


async def _dispatch(at: Opened, ref: Ref) -> tuple[Section, ...]:
    from console.errors import QuarterdeckError
    from console.views.describe import notes_section
    from console.views.trigger_sheet import sheet

    try:
        report = await at.runtime.trigger_report(ref)
    except QuarterdeckError as error:
        # The object itself can still be told; what could not be read is said in its place.
        return notes_section("Dispatch", (error.sentence(),))
    return sheet(report, at.runtime.store.get(ref), at.context(), 100) if report is not None else ()


COMMAND = Command(
    name="describe",
    help="say how one object is and why",
    description="Print one object in words: why it is as it is, its conditions, what belongs to it, what happened to it. With "
    "-o yaml the whole object as its server has it, secrets masked.",
    arguments=_arguments,
    run=_run,
    examples=("quarterdeck describe harbour Stack/market", "quarterdeck describe atlas:FluxTrigger/team-a/storefront -o yaml"),
)
