"""``quarterdeck plan``: what would be done, and nothing else."""

from __future__ import annotations

import argparse

from console.cli.command import Command, Options, Outside
from console.cli.exits import Exit


def _arguments(parser: argparse.ArgumentParser) -> None:
    from console.cli.intents import intent_arguments

    intent_arguments(parser)
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="how to print")


async def _run(options: Options, outside: Outside) -> Exit:
    from console.cli import documents
    from console.cli.compose import opened
    from console.cli.intents import plan_document, plan_of
    from console.cli.plan_printing import plan_lines

    async with opened(options, outside.env, connect=[options.connection]) as at:
        plan = await plan_of(at, options)
    if options.output == "json":
        outside.out.write(documents.text(plan_document(plan)))
    else:
        outside.out.writelines(f"{line}\n" for line in plan_lines(plan))
    return Exit.CHANGES if plan.steps else Exit.DONE


COMMAND = Command(
    name="plan",
    help="show what would be done",
    description="Read the target and print each write that would be made, with its condition, its effects and how to undo it. "
    "Nothing is written. The exit code is 3 if there is something to do.",
    arguments=_arguments,
    run=_run,
    examples=(
        "quarterdeck plan scale harbour SwarmService/shop_web replicas=4",
        "quarterdeck plan suspend atlas Kustomization/flux-system/shop -o json > plan.json",
    ),
)
