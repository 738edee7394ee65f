"""What is meant by ``scale harbour SwarmService/shop_web replicas=4``: an intent on objects that are there now."""

from __future__ import annotations

import argparse
from typing import Any

import msgspec

from console.cli.command import Options, UsageError
from console.cli.compose import Opened
from console.config.problems import nearest
from console.errors import NotFound, Unreachable
from console.model.plan import Intent, Plan
from console.model.refs import Ref
from console.model.resource import Resource
from console.views import tables


def intent_arguments(parser: argparse.ArgumentParser) -> None:
    """The words of an intent, and how long to wait for what they name."""
    parser.add_argument("verb", metavar="VERB", help="what to do: scale, restart, suspend, resume, reconcile, sync, drain, ...")
    parser.add_argument("connection", metavar="CONNECTION", help="on which connection")
    parser.add_argument(
        "words",
        metavar="OBJECT|KEY=VALUE",
        nargs="+",
        help="objects as KIND/[NAMESPACE/]NAME, and the verb's own arguments as key=value",
    )
    parser.add_argument("--why", metavar="TEXT", default="", help="the reason, for the journal")
    parser.add_argument("--timeout", type=float, default=20.0, metavar="SECONDS", help="how long to wait for the target (20)")


def read_words(words: list[str]) -> tuple[list[tuple[str, str, str]], dict[str, str]]:
    """Objects as (kind, namespace, name), and arguments. A word with ``=`` before any ``/`` is an argument.

    :raises UsageError: a word is neither.
    """
    objects: list[tuple[str, str, str]] = []
    arguments: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if equals and "/" not in key:
            arguments[key] = value
            continue
        parts = word.split("/")
        if len(parts) not in (2, 3) or not all(parts):
            raise UsageError(
                f"{word!r} names no object.", "Write KIND/NAME or KIND/NAMESPACE/NAME, and arguments as KEY=VALUE."
            )
        objects.append((known_kind(parts[0]), parts[1] if len(parts) == 3 else "", parts[-1]))
    if not objects:
        raise UsageError("No object is named.", "Write KIND/NAME or KIND/NAMESPACE/NAME.")
    return objects, arguments


def known_kind(word: str) -> str:
    """The platform's own spelling of a kind, or of a table that shows one kind.

    :raises UsageError: no table shows such a kind.
    """
    kinds = {kind.lower(): kind for table in tables.TABLES.values() for kind in table.kinds}
    if found := kinds.get(word.lower()):
        return found
    shown = tables.table(word)
    if shown is not None and len(shown.kinds) == 1:
        return shown.kinds[0]
    near = nearest(word.lower(), kinds)
    raise UsageError(f"There is no kind {word}.", f"Did you mean {kinds[near]}?" if near else "")


async def find(at: Opened, connection: str, objects: list[tuple[str, str, str]], timeout: float) -> tuple[Ref, ...]:
    """The references, with uids, of objects that are there now.

    :raises Unreachable: the connection can't be read.
    :raises NotFound: an object isn't there, or its name is in several namespaces.
    """
    (name,) = at.names([connection])
    kinds = sorted({kind for kind, _, _ in objects})
    stop_looking = at.runtime.look(kinds, (name,))
    try:
        gaps = await at.runtime.settled(kinds, timeout, (name,))
        if gaps:
            gap = gaps[0]
            raise Unreachable(
                f"{gap.kind} of {name} can't be read: {gap.detail or gap.state}.", f"Try: quarterdeck doctor -c {name}"
            )
        return tuple(_one(at, name, *wanted) for wanted in objects)
    finally:
        stop_looking()


def _one(at: Opened, connection: str, kind: str, namespace: str, name: str) -> Ref:
    found = [
        row.ref
        for row in at.runtime.store.on(connection, kind)
        if row.ref.name == name and (not namespace or row.ref.namespace == namespace)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        places = ", ".join(sorted(ref.namespace for ref in found))
        raise NotFound(f"{kind} {name} is in several namespaces: {places}.", f"Write {kind}/NAMESPACE/{name}.")
    near = nearest(name, {row.ref.name: row for row in _rows(at, connection, kind)})
    raise NotFound(f"There is no {kind} {name} on {connection}.", f"Did you mean {near}?" if near else "")


def _rows(at: Opened, connection: str, kind: str) -> list[Resource]:
    return list(at.runtime.store.on(connection, kind))


async def plan_of(at: Opened, options: Options) -> Plan:
    """The plan that a command line asks for, made now.

    :raises QuarterdeckError: nothing such is there, or it is refused.
    """
    objects, arguments = read_words(options.words)
    targets = await find(at, options.connection, objects, options.timeout)
    intent = Intent(verb=options.verb, targets=targets, arguments=arguments, reason=options.why)
    return await at.runtime.commands.plan(intent)


def plan_document(plan: Plan) -> dict[str, Any]:
    """A plan as printed by ``plan -o json`` and read by ``run FILE``; everything beside ``plan`` is for people and scripts."""
    return {
        "hash": plan.hash,
        "confirmation": {"strength": plan.strength.value, "typed": plan.confirmation},
        "plan": msgspec.to_builtins(plan),
    }


def read_plan(text: str) -> Plan:
    """The plan of such a document.

    :raises UsageError: it is none, or its hash doesn't fit: it was edited by hand.
    """
    try:
        document = msgspec.json.decode(text, type=dict[str, Any])
        plan = msgspec.convert(document.get("plan"), Plan)
    except (msgspec.MsgspecError, TypeError) as error:
        raise UsageError("This is no plan.", "Make one with: quarterdeck plan ... -o json") from error
    if document.get("hash") != plan.hash:
        raise UsageError("The plan was changed after it was made.", "Make a new one; a plan is not for editing.")
    return plan
