"""Step two: create, update or replace everything wanted, parents first, storing each at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from console.engines.graph.context import RunContext
from console.engines.graph.deciding import Decision, Resolved, Situation, decide, merged_output, record_secrets, resolve
from console.engines.graph.driver import Lease, Work
from console.engines.graph.errors import GateClosed, UnresolvedReference
from console.engines.graph.ledger import Ticket
from console.engines.graph.planning import Forecast
from console.engines.graph.providers import Drifted, Traits
from console.engines.graph.values import builtins, convert
from console.model.graph import Action, Deployed, Identity, Intent, Outcome


class Applying:
    """Step two of one run. ``world.superseded`` gains the versions that were replaced, for step three to delete."""

    def __init__(self, run: RunContext, world: Situation, outlook: Forecast) -> None:
        self._run = run
        self._world = world
        self._outlook = outlook
        self._outputs: dict[Identity, Mapping[str, Any]] = {}
        self._closed: dict[Identity, str] = {}

    async def perform(self) -> None:
        """Work through the graph. Failures are in the ledger; cancellation and a stopped run are raised."""
        for identity, decision in self._outlook.decisions.items():
            self._run.ledger.of(identity).action = decision.action
        await self._run.drive(self._run.layout.parents, self._visit, self._settled)

    def _visit(self, identity: Identity) -> Work | None:
        run, ticket = self._run, self._run.ledger.of(identity)
        if (reason := self._reason_to_skip(identity)) is not None:
            run.ledger.skip(ticket, reason)
            return None
        if (blocked := self._world.blocked.get(identity)) is not None:
            run.fail(ticket, blocked)
            return None
        desired, traits = run.layout.desired[identity], run.layout.traits(identity.kind)
        record, parents = self._world.current.get(identity), run.layout.parents[identity]
        try:
            resolved = resolve(
                desired, run.layout.dependencies[identity], self._outputs.__getitem__, traits, run.layout.output_model
            )
            run.learn_values(resolved.values, resolved.secret)
            convert(resolved.values, traits.provider.input_model)
        except (UnresolvedReference, msgspec.ValidationError) as error:
            run.fail(ticket, error)
            return None
        decision = decide(desired, resolved, record, parents, traits, self._world)
        ticket.action, ticket.reason = decision.action, decision.reason
        if decision.action is not Action.NONE or record is None:
            return partial(self._work, ticket, traits, resolved, decision, record)
        self._outputs[identity] = record.output
        if self._gate_needed(identity, traits, touched=False):
            return partial(self._gate_only, ticket, traits, record)
        run.ledger.finish(ticket, Outcome.UNCHANGED)
        return None

    def _reason_to_skip(self, identity: Identity) -> str | None:
        for parent in self._run.layout.parents[identity]:
            if parent in self._closed:
                return f"parent {self._closed[parent]}"
            if not self._run.good(parent):
                failed = self._run.ledger.of(parent).outcome is Outcome.FAILED
                return f"parent {parent} {'failed' if failed else 'was not made'}"
        return None

    def _gate_needed(self, identity: Identity, traits: Traits, *, touched: bool) -> bool:
        """One that was not touched is only asked whether it is ready where a child is about to rely on it."""
        if traits.wait_ready is None:
            return False
        children = self._run.layout.children.get(identity, ())
        return touched or any(self._outlook.decisions[child].action.writes for child in children)

    async def _gate_only(self, ticket: Ticket, traits: Traits, record: Deployed, lease: Lease) -> None:
        lease.release()
        self._run.ledger.begin(ticket)
        ticket.reached = Outcome.UNCHANGED
        await self._run.wait_ready(ticket, traits, self._run.stored_request(ticket, record))

    async def _work(
        self, ticket: Ticket, traits: Traits, resolved: Resolved, decision: Decision, record: Deployed | None, lease: Lease
    ) -> None:
        run, identity = self._run, ticket.identity
        run.ledger.begin(ticket)
        made = _Making(run, self._world, ticket, traits, resolved, decision, lease)
        match decision.action:
            case Action.RECORD if record is not None:
                fresh = await made.record_again(record)
                ticket.reached = Outcome.CREATED if identity in self._world.adopted else Outcome.UNCHANGED
            case Action.UPDATE if record is not None:
                fresh = await made.update(record)
                ticket.reached = Outcome.UPDATED
            case Action.REPLACE if record is not None:
                fresh = await made.replace(record)
                ticket.reached = Outcome.REPLACED
            case _:
                fresh = await made.create()
                ticket.reached = Outcome.CREATED
        lease.release()
        self._outputs[identity] = fresh.output
        gated = self._gate_needed(identity, traits, touched=ticket.reached is not Outcome.UNCHANGED)
        if gated and not run.stopping:
            await run.wait_ready(ticket, traits, run.stored_request(ticket, fresh))

    def _settled(self, identity: Identity, task: asyncio.Task[None]) -> None:
        run, ticket = self._run, self._run.ledger.of(identity)
        if task.cancelled():
            run.ledger.finish(ticket, ticket.reached or Outcome.CANCELLED)
            return
        error = task.exception()
        if error is not None and not (isinstance(error, GateClosed) and ticket.reached):
            run.fail(ticket, error)
            return
        if error is not None:
            self._closed[identity] = ticket.reason = run.teller.mask(str(error))
        run.ledger.finish(ticket, ticket.reached or Outcome.UNCHANGED)


class _Making:
    """The operations on one resource, each ending with its stored record."""

    def __init__(
        self,
        run: RunContext,
        world: Situation,
        ticket: Ticket,
        traits: Traits,
        resolved: Resolved,
        decision: Decision,
        lease: Lease,
    ) -> None:
        self._run = run
        self._world = world
        self._ticket = ticket
        self._traits = traits
        self._resolved = resolved
        self._decision = decision
        self._lease = lease
        self._sources = run.layout.desired[ticket.identity].sources
        self._parents = run.layout.parents[ticket.identity]

    async def record_again(self, record: Deployed) -> Deployed:
        """Nothing to do outside; only what we know of it has changed."""
        return await self._store(record.id, record.output, record.replaces)

    async def create(self, replaces: str = "") -> Deployed:
        """Make it. An intent stands before the call, so that a crash leaves a trace."""
        run, identity, traits = self._run, self._ticket.identity, self._traits
        if run.stopping:
            # The old one went while the run was being cancelled; the new one is for the next run to make.
            raise asyncio.CancelledError
        new_id = self._world.reuse.pop(identity, "") or run.new_id()
        await run.saver.begin(
            Intent(
                id=new_id,
                kind=identity.kind,
                name=identity.name,
                input=self._resolved.values,
                input_hash=run.input_hash(self._resolved.values, traits),
                sources=self._sources,
                deps=self._parents,
                secret_paths=record_secrets(self._resolved, {}, traits),
                started=run.clock.now().isoformat(),
                run_id=run.run_id,
            )
        )
        request = run.request(
            self._ticket, traits, self._resolved.values, id=new_id, sources=self._sources, config_changed=True
        )
        read = traits.read

        async def make() -> Any:
            # A try whose answer was lost may have made the object all the same: a kind that can look does so before the next.
            found = await read(request) if read is not None and self._ticket.attempts > 1 else None
            if found is not None:
                return found.output if isinstance(found, Drifted) else found
            return await traits.provider.create(request)

        answer = await run.call(self._ticket, traits, self._lease, make, self._decision.action)
        return await self._store(new_id, builtins(answer), replaces)

    async def update(self, record: Deployed) -> Deployed:
        """Change it in place."""
        run, traits, decision = self._run, self._traits, self._decision
        request = run.request(
            self._ticket,
            traits,
            self._resolved.values,
            id=record.id,
            output=record.output,
            sources=self._sources,
            previous=record,
            config_changed=decision.config_changed,
            sources_changed=decision.sources_changed,
        )
        answer = await run.call(self._ticket, traits, self._lease, lambda: traits.provider.update(request), decision.action)
        return await self._store(record.id, merged_output(record.output, builtins(answer)), record.replaces)

    async def replace(self, record: Deployed) -> Deployed:
        """Make a new one beside the old, which goes in step three; or after it, where both can't be at once."""
        run, traits = self._run, self._traits
        if not traits.singleton_name:
            fresh = await self.create(replaces=record.id)
            self._world.superseded.append(record)
            return fresh
        request = run.stored_request(self._ticket, record)
        await run.call(self._ticket, traits, self._lease, lambda: traits.provider.delete(request), Action.DELETE)
        await run.saver.remove(record, absorb=False)
        self._world.current.pop(record.identity, None)
        self._ticket.attempts = 0
        return await self.create()

    async def _store(self, record_id: str, output: Mapping[str, Any], replaces: str) -> Deployed:
        identity = self._ticket.identity
        record = Deployed(
            id=record_id,
            kind=identity.kind,
            name=identity.name,
            input=self._resolved.values,
            output=dict(output),
            sources=self._sources,
            deps=self._parents,
            replaces=replaces,
            secret_paths=record_secrets(self._resolved, output, self._traits),
            run_id=self._run.run_id,
        )
        self._run.learn_secrets(record)
        await self._run.saver.put(record)
        return record
