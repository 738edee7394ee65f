"""Step three: delete what nothing asks for any more, children before parents."""

from __future__ import annotations

import asyncio
from functools import partial

from console.engines.graph.context import RunContext
from console.engines.graph.driver import Lease, Work
from console.engines.graph.ledger import Ticket
from console.engines.graph.ordering import RecordKey, delete_order
from console.errors import NotFound
from console.model.graph import Action, Deployed, Outcome


class Deleting:
    """Step three of one run, over the records given."""

    def __init__(self, run: RunContext, records: list[Deployed]) -> None:
        self._run = run
        self._records = {(record.identity, record.id): record for record in records}
        self._before, self.warnings = delete_order(self._records.values())

    def queue(self) -> None:
        """Open their tickets."""
        for identity, version in sorted(self._records):
            waits_for = tuple(sorted({child for child, _id in self._before[identity, version]}))
            self._run.ledger.queue(identity, version, waits_for).action = Action.DELETE

    def keep_all(self, reason: str) -> None:
        """Delete nothing, and say why."""
        for identity, version in sorted(self._records):
            self._run.ledger.skip(self._run.ledger.of(identity, version), reason)

    async def perform(self) -> None:
        """Delete them. Failures are in the ledger; cancellation and a stopped run are raised."""
        await self._run.drive(self._before, self._visit, self._settled)

    def _visit(self, key: RecordKey) -> Work | None:
        ticket = self._run.ledger.of(*key)
        for child in sorted(self._before[key]):
            ended = self._run.ledger.of(*child).outcome
            if ended is not Outcome.DELETED:
                self._run.ledger.skip(ticket, f"{child[0]} may still need it")
                return None
        return partial(self._work, ticket, self._records[key])

    async def _work(self, ticket: Ticket, record: Deployed, lease: Lease) -> None:
        run, traits = self._run, self._run.layout.traits(record.kind)
        run.ledger.begin(ticket)
        request = run.stored_request(ticket, record)

        async def delete() -> None:
            try:
                await traits.provider.delete(request)
            except NotFound:
                # What a delete does not find is as it should be.
                run.teller.log("%s was gone already", record.identity)

        await run.call(ticket, traits, lease, delete, Action.DELETE)
        await run.saver.remove(record)
        ticket.reached = Outcome.DELETED

    def _settled(self, key: RecordKey, task: asyncio.Task[None]) -> None:
        ticket = self._run.ledger.of(*key)
        if task.cancelled():
            self._run.ledger.finish(ticket, ticket.reached or Outcome.CANCELLED)
        elif (error := task.exception()) is not None:
            self._run.fail(ticket, error)
        else:
            self._run.ledger.finish(ticket, Outcome.DELETED)
