"""Declared triggers and their commits as a command line names them."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from console.cli.command import Options, Outside, UsageError
from console.config import paths
from console.config.fleet import load_fleet
from console.config.problems import nearest
from console.config.triggers import TriggerEntry
from console.model.refs import Ref

if TYPE_CHECKING:
    from console.runtime.runtime import Runtime

_WHOLE = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_PART = re.compile(r"[0-9a-f]{4,63}")
HEAD = "head"
COMMIT_HELP = "the full hash, the beginning of one that is offered, or “head” of the branch (default: what the source has now)"


def trigger_argument(parser: argparse.ArgumentParser) -> None:
    """The name of a trigger."""
    parser.add_argument("trigger", metavar="TRIGGER", help="its name in the fleet file")


def entry_of(options: Options, outside: Outside) -> TriggerEntry:
    """The trigger that is meant. :raises UsageError: none is declared under this name."""
    from console.cli.compose import demo_fleet

    file = options.fleet or paths.fleet_file(outside.env)
    fleet = demo_fleet() if options.demo and not options.fleet else load_fleet(file, required=options.fleet is not None)
    known = {entry.name: entry for entry in fleet.triggers}
    if options.trigger in known:
        return known[options.trigger]
    near = nearest(options.trigger, known)
    hint = f"Did you mean {near}?" if near else f"Declare it under triggers in {file}."
    raise UsageError(f"There is no trigger {options.trigger}.", hint)


async def commit_of(runtime: Runtime, ref: Ref, word: str) -> str:
    """The full hash behind a word; without one the commit that the source has, "" if that can't be told.

    :raises UsageError: no commit that is offered is meant, or several are.
    """
    if _WHOLE.fullmatch(word):
        return word
    offer = await runtime.apply_offer(ref)
    if not word:
        return offer.commits[0].commit.hash if offer.commits else ""
    if word.lower() == HEAD:
        found = [item.commit.hash for item in offer.commits if any(place.startswith("head of ") for place in item.places)]
        if not found:
            raise UsageError("Where the branch is can't be told.", " ".join(offer.notes) or "Give the full hash.")
        return found[0]
    found = [item.commit.hash for item in offer.commits if _PART.fullmatch(word) and item.commit.hash.startswith(word)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(item.commit.short for item in offer.commits) or "none"
    raise UsageError(f"{word} is no commit that is offered.", f"Give the full hash. There are: {known}.")
