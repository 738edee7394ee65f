"""``quarterdeck completion``: completion for the shell at hand."""

from __future__ import annotations

import argparse

from console.cli.command import Command, Options, Outside
from console.cli.exits import Exit

SHELLS = ("bash", "zsh", "tcsh")


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell")


async def _run(options: Options, outside: Outside) -> Exit:
    import shtab

    from console.cli.parser import build_parser
    from console.cli.registry import COMMANDS
    from console.views import tables

    parser = build_parser(COMMANDS)
    _offer(parser, "table", tuple(tables.TABLES))
    outside.out.write(shtab.complete(parser, options.shell) + "\n")
    return Exit.DONE


def _offer(parser: argparse.ArgumentParser, name: str, words: tuple[str, ...]) -> None:
    """Let every argument of this name complete to these words, in all commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                _offer(inner, name, words)
        elif action.dest == name:
            action.choices = words


COMMAND = Command(
    name="completion",
    help="print the completion script of a shell",
    description="Print a script that completes commands, options and tables.",
    arguments=_arguments,
    run=_run,
    examples=(
        "quarterdeck completion bash > ~/.local/share/bash-completion/completions/quarterdeck",
        "quarterdeck completion zsh > ~/.zfunc/_quarterdeck",
    ),
)
