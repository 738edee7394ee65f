"""Step one: what exists. Storage is listed, creates that a crash cut short are repaired, and on request the world is read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

import msgspec

from console.engines.graph.context import RunContext
from console.engines.graph.deciding import Situation, merged_output
from console.engines.graph.driver import Lease
from console.engines.graph.errors import StateNotListed
from console.engines.graph.ledger import Ticket
from console.engines.graph.providers import Drifted
from console.engines.graph.values import builtins
from console.engines.ports.storage import KeepsIntents
from console.model.graph import Deployed, Identity, Intent
from console.model.graph_events import ListedExisting

T = TypeVar("T")
ReadKey = tuple[Identity, str]
Found = tuple[dict[str, Any], tuple[str, ...]] | None


async def survey(run: RunContext, *, refresh: bool) -> tuple[Situation, list[Deployed]]:
    """What exists, and the records as they were listed. Raises :class:`StateNotListed`; nothing has been done then."""
    records = await _listed(run, run.storage.list_resources(run.project))
    intents: list[Intent] = []
    if isinstance(run.storage, KeepsIntents):
        intents = await _listed(run, run.storage.list_intents(run.project))
    run.teller.tell(ListedExisting, existing=len(records))
    for record in records:
        run.learn_secrets(record)
    world = arrange(records)
    await _repair(run, world, records, intents)
    if refresh:
        await _refresh(run, world)
    return world, records


async def _listed(run: RunContext, listing: Awaitable[list[T]]) -> list[T]:
    """The list, or :class:`StateNotListed` whatever storage raised."""
    (result,) = await asyncio.gather(listing, return_exceptions=True)
    if isinstance(result, BaseException):
        raise StateNotListed(f"What exists in {run.project} could not be listed: {result}") from result
    return result


def arrange(records: list[Deployed]) -> Situation:
    """Tell each identity's current version from those it has replaced."""
    world = Situation()
    replaced = {record.replaces for record in records if record.replaces}
    for record in sorted(records, key=lambda record: (record.id not in replaced, record.id)):
        older = world.current.get(record.identity)
        if older is not None:
            world.superseded.append(older)
        world.current[record.identity] = record
    return world


async def _repair(run: RunContext, world: Situation, records: list[Deployed], intents: list[Intent]) -> None:
    """Deal with creates that may have happened although no record says so.

    Wanted and readable: adopt what is found, else create again with the same id. Not wanted: delete it like any other.
    """
    stored = {record.id for record in records}
    begun: dict[Identity, Intent] = {}
    for intent in sorted((intent for intent in intents if intent.id not in stored), key=lambda intent: intent.id):
        if intent.identity in run.layout.desired and intent.identity not in begun:
            begun[intent.identity] = intent
        else:
            world.superseded.append(_as_record(intent))
        run.learn_secrets(_as_record(intent))

    def found(key: ReadKey, seen: Found) -> None:
        intent = begun[key[0]]
        if seen is None:
            world.reuse[intent.identity] = intent.id
            return
        older = world.current.get(intent.identity)
        if older is not None:
            world.superseded.append(older)
        output, drifted = seen
        record = _as_record(intent)
        world.current[intent.identity] = msgspec.structs.replace(
            record, output=output, replaces=older.id if older is not None else ""
        )
        world.adopted.add(intent.identity)
        world.unsaved.add(intent.identity)
        world.reasons[intent.identity] = "adopted"
        if drifted:
            world.drifted[intent.identity] = drifted

    readable = {}
    for identity, intent in begun.items():
        if run.layout.traits(identity.kind).read is None:
            world.reuse[identity] = intent.id
        else:
            readable[identity, intent.id] = _as_record(intent)
    await _read(run, world, readable, found)


async def _refresh(run: RunContext, world: Situation) -> None:
    """Read every wanted resource that has a record and a kind that can read."""
    readable = {
        (identity, record.id): record
        for identity, record in world.current.items()
        if identity in run.layout.desired
        and identity not in world.adopted
        and run.layout.traits(identity.kind).read is not None
    }

    def found(key: ReadKey, seen: Found) -> None:
        identity = key[0]
        record = world.current[identity]
        if seen is None:
            del world.current[identity]
            world.reuse[identity] = record.id
            world.reasons[identity] = "vanished"
            return
        fresh = merged_output(record.output, seen[0])
        if fresh != record.output:
            world.current[identity] = msgspec.structs.replace(record, output=fresh)
            world.unsaved.add(identity)
            world.reasons[identity] = "output changed outside"
        if seen[1]:
            world.drifted[identity] = seen[1]
            world.reasons[identity] = "drift"

    await _read(run, world, readable, found)


async def _read(
    run: RunContext, world: Situation, records: dict[ReadKey, Deployed], found: Callable[[ReadKey, Found], None]
) -> None:
    """Read them all, side by side. A resource that can't be read is blocked: nobody knows what to do about it."""
    results: dict[ReadKey, Found] = {}

    async def work(key: ReadKey, lease: Lease) -> None:
        record = records[key]
        traits = run.layout.traits(record.kind)
        assert traits.read is not None
        # No counted ticket: reading comes before the resource's own operation and is not an attempt at it.
        ticket = Ticket(record.identity)
        read, request = traits.read, run.stored_request(ticket, record)
        answer = await run.call(ticket, traits, lease, lambda: read(request))
        if answer is None:
            results[key] = None
        elif isinstance(answer, Drifted):
            results[key] = (builtins(answer.output), answer.fields)
        else:
            results[key] = (builtins(answer), ())

    def settled(key: ReadKey, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            world.blocked[key[0]] = error
        else:
            found(key, results[key])

    if records:
        await run.drive(dict.fromkeys(records, ()), lambda key: partial(work, key), settled)


def _as_record(intent: Intent) -> Deployed:
    """What the record of a begun create would be, as far as it is known."""
    return Deployed(
        id=intent.id,
        kind=intent.kind,
        name=intent.name,
        input=intent.input,
        sources=intent.sources,
        deps=intent.deps,
        secret_paths=intent.secret_paths,
        run_id=intent.run_id,
    )
