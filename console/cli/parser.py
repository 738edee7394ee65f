"""The argument parser, built from the registry of commands.

Common options are accepted before and after the command's name; what is said later wins.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable
from pathlib import Path

from console import __version__
from console.cli.command import Command

_DEFAULTS = {"demo": False, "fleet": None, "read_only": False, "command": ""}


def build_parser(commands: Iterable[Command]) -> argparse.ArgumentParser:
    """The whole parser."""
    common = _common()
    parser = argparse.ArgumentParser(
        prog="quarterdeck",
        description="A terminal operations console for Kubernetes, Docker Swarm and Docker hosts. "
        "Without a command it opens the screen.",
        epilog="Exit codes: 0 done or nothing to do, 1 failed or incomplete, 2 usage or configuration, 3 a plan has changes.",
        parents=[common],
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"quarterdeck {__version__}")
    places = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for command in commands:
        examples = "\n".join(f"  {example}" for example in command.examples)
        place = places.add_parser(
            command.name,
            help=command.help,
            description=textwrap.fill(command.description, 88),
            epilog=f"examples:\n{examples}" if examples else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            parents=[common],
            allow_abbrev=False,
        )
        command.arguments(place)
    return parser


def parse(parser: argparse.ArgumentParser, arguments: list[str]) -> argparse.Namespace:
    """The options, with the defaults of the common ones filled in (``command`` is "" for the screen).

    :raises SystemExit: as argparse does, with code 2 for wrong arguments and 0 after ``--help`` and ``--version``.
    """
    options, rest = parser.parse_known_args(arguments)
    # argparse takes a list of words only in one piece; those after an option belong to it all the same.
    words = getattr(options, "filter", None)
    if rest and (not isinstance(words, list) or any(word.startswith("-") for word in rest)):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        options.filter = [*(words or []), *rest]
    for name, value in _DEFAULTS.items():
        if getattr(options, name, None) is None:
            setattr(options, name, value)
    return options


def _common() -> argparse.ArgumentParser:
    """Options of every command. Defaults are suppressed: a subparser's would overwrite what stood before its name."""
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    group = common.add_argument_group("common options")
    group.add_argument("--demo", action="store_true", help="use the built-in demo fleet instead of your own")
    group.add_argument("--fleet", type=Path, metavar="FILE", help="use this fleet file")
    group.add_argument("--read-only", action="store_true", help="refuse every write; can't be left")
    return common
