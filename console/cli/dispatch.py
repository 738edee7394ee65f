"""``quarterdeck apply|hold|release``: the dispatch engine's verbs on a declared trigger, by the name it has in the fleet file.

A command is the engine while it runs, so it always follows an apply to its end: nobody else would hold the Kustomization again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from console.cli.command import Command, Options, Outside
from console.cli.exits import Exit
from console.cli.run import confirm_arguments
from console.cli.triggers import COMMIT_HELP, entry_of, trigger_argument


def _apply_arguments(parser: argparse.ArgumentParser) -> None:
    _trigger_arguments(parser)
    parser.add_argument("--commit", metavar="SHA", default="", help=COMMIT_HELP)
    parser.add_argument(
        "--because",
        choices=("CatchUp", "ForeignCommit", "Refusal", "Repair"),
        default="CatchUp",
        help="why: CatchUp and ForeignCommit ask nothing if it is applied already, Refusal and Repair apply it again",
    )


def _hold_arguments(parser: argparse.ArgumentParser) -> None:
    _trigger_arguments(parser)
    parser.add_argument(
        "--until", metavar="TIME", default="", help="for people: 2h, 30m, 14:00 (UTC); nothing is released by itself"
    )


def _trigger_arguments(parser: argparse.ArgumentParser) -> None:
    trigger_argument(parser)
    confirm_arguments(parser)


async def _carry_out(options: Options, outside: Outside, verb: str, arguments: dict[str, str]) -> Exit:
    from console.cli.carrying_out import carry_out
    from console.cli.compose import opened
    from console.cli.intents import find
    from console.cli.triggers import commit_of
    from console.model.plan import Intent

    entry = entry_of(options, outside)
    async with opened(options, outside.env, connect=[entry.connection]) as at:
        targets = await find(at, entry.connection, [(entry.applier_kind, entry.namespace, entry.object)], options.timeout)
        if arguments.get("commit"):
            arguments = {**arguments, "commit": await commit_of(at.runtime, targets[0], arguments["commit"])}
        given = {key: value for key, value in arguments.items() if value}
        plan = await at.runtime.commands.plan(Intent(verb=verb, targets=targets, arguments=given, reason=options.why))
        return await carry_out(at.runtime, plan, options, outside)


async def _apply(options: Options, outside: Outside) -> Exit:
    return await _carry_out(options, outside, "apply", {"commit": options.commit, "because": options.because})


async def _hold(options: Options, outside: Outside) -> Exit:
    return await _carry_out(options, outside, "hold", {"until": options.until})


async def _release(options: Options, outside: Outside) -> Exit:
    return await _carry_out(options, outside, "release", {})


def _command(name: str, words: str, description: str, example: str, more: Callable[[argparse.ArgumentParser], None]) -> Command:
    run = {"apply": _apply, "hold": _hold, "release": _release}[name]
    return Command(name=name, help=words, description=description, arguments=more, run=run, examples=(example,))


APPLY = _command(
    "apply",
    "make a trigger's applier apply exactly one commit",
    "Plan, confirm, ask, and follow the operation until the controller itself says that it ended. A Kustomization "
    "must be held.",
    "quarterdeck apply shop --commit 4be19d0c0ffee0ddba11ad5eedf00dfacade1234",
    _apply_arguments,
)
HOLD = _command(
    "hold",
    "keep a trigger's Kustomization suspended between applies",
    "Suspend it under this console's name, with your name, the reason and the time on it. It stays held when the command ends.",
    "quarterdeck hold shop --why 'incident 12' --until 2h",
    _hold_arguments,
)
RELEASE = _command(
    "release",
    "hand a held Kustomization back to Flux",
    "Take the hold away. Flux then applies at once whatever its source holds.",
    "quarterdeck release shop",
    _trigger_arguments,
)
