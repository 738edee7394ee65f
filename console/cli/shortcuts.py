"""``quarterdeck restart`` and ``quarterdeck rollback``: ``run`` with the verb in the command's name."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable

from console.cli.command import Command, Options, Outside
from console.cli.exits import Exit


def _arguments(parser: argparse.ArgumentParser) -> None:
    from console.cli.run import confirm_arguments

    parser.add_argument("connection", metavar="CONNECTION", help="on which connection")
    parser.add_argument(
        "words",
        metavar="OBJECT|KEY=VALUE",
        nargs="+",
        help="objects as KIND/[NAMESPACE/]NAME, and the verb's own arguments as key=value",
    )
    confirm_arguments(parser)


def _runs(verb: str) -> Callable[[Options, Outside], Awaitable[Exit]]:
    async def run(options: Options, outside: Outside) -> Exit:
        from console.cli.carrying_out import carry_out
        from console.cli.compose import opened
        from console.cli.intents import plan_of

        options.verb = verb
        async with opened(options, outside.env, connect=[options.connection]) as at:
            return await carry_out(at.runtime, await plan_of(at, options), options, outside)

    return run


RESTART = Command(
    name="restart",
    help="restart a service or a container",
    description="Plan a restart, have it confirmed, do it and follow it to its end: as run restart does.",
    arguments=_arguments,
    run=_runs("restart"),
    examples=("quarterdeck restart harbour SwarmService/shop_web", "quarterdeck restart edge-7 Container/shop-api-1 --yes"),
)
ROLLBACK = Command(
    name="rollback",
    help="go back to an earlier revision",
    description="Plan to go back to the revision before, or to the one that is named (of an Application: id=ENTRY of its "
    "history), have it confirmed, do it and follow it to its end: as run rollback does.",
    arguments=_arguments,
    run=_runs("rollback"),
    examples=("quarterdeck rollback harbour SwarmService/shop_web", "quarterdeck rollback prod Application/argocd/shop id=41"),
)
