"""The one path by which anything is ever written: plan, confirm, execute, observe, journal.

The screen, the headless commands and whatever comes later use this and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from console.errors import JournalError, QuarterdeckError, Refused
from console.journal.journal import Journal
from console.journal.records import OperationRecord
from console.kit.timing import Clock
from console.model.connections import Connection
from console.model.operations import Operation, State
from console.model.plan import Intent, Plan, Strength
from console.model.refs import Ref
from console.runtime.arming import Arming
from console.runtime.confirming import check_confirmation, what_moved
from console.runtime.execution import Execution
from console.runtime.ports import Resolves, Writes
from console.runtime.refusals import Busy, MovedOn
from console.runtime.tracking import Tracked

ENDING = frozenset({"terminate"})
"""Verbs that end an operation under way on the object, ours too: they can't wait for it."""


class Targets(Protocol):
    """What the write path needs to know of connections."""

    def connection(self, name: str) -> Connection | None:
        """The connection as it is shown now."""
        ...

    def writers(self, ref: Ref) -> tuple[object, ...]:
        """What may write to this object now: engines that drive it first, then its backend. Capabilities are asked by shape."""
        ...


def writer_for(writers: Iterable[object], intent: Intent) -> Writes | None:
    """The first writer that knows the intent's verb for its objects."""
    kind = intent.targets[0].kind
    return next((writer for writer in writers if isinstance(writer, Writes) and intent.verb in writer.verbs(kind)), None)


def resolver_for(writers: Iterable[object], intent: Intent) -> Writes | None:
    """Who can tell what came of an intent that was begun: the writer that offers its verb, or one that no longer does."""
    known = tuple(writers)
    resolving = (writer for writer in known if isinstance(writer, Resolves) and isinstance(writer, Writes))
    return writer_for(known, intent) or next((writer for writer in resolving if intent.verb in writer.resolves), None)


class Commands:
    """The write path.

    :param journal: None if it can't be used; ``journal_problem`` says why, and every write is refused with it.
    :param publish: gets each new picture of an operation.
    :param company: a sentence about somebody else's running operation on an object, or "".
    """

    def __init__(
        self,
        targets: Targets,
        journal: Journal | None,
        arming: Arming,
        clock: Clock,
        publish: Callable[[Operation], None],
        *,
        journal_problem: str = "",
        company: Callable[[Ref], str] = lambda ref: "",
        observe_seconds: float = 900,
    ) -> None:
        self._targets = targets
        self._journal = journal
        self.arming = arming
        self._clock = clock
        self._publish = publish
        self._journal_problem = journal_problem
        self._company = company
        self._observe_seconds = observe_seconds
        self._running: dict[str, tuple[Execution, asyncio.Task[State], frozenset[Ref]]] = {}

    def verbs(self, ref: Ref) -> tuple[str, ...]:
        """What can be planned for this object; empty where its backend can't write."""
        writers = [writer for writer in self._targets.writers(ref) if isinstance(writer, Writes)]
        return tuple(dict.fromkeys(verb for writer in writers for verb in writer.verbs(ref.kind)))

    async def plan(self, intent: Intent) -> Plan:
        """What would be done about ``intent`` now. Reading only: no arming is needed.

        :raises Refused: stale data, no such capability, or the backend says that it is unlawful in this state.
        """
        connection, backend = self._reach(intent)
        plan = await backend.plan(intent)
        return msgspec.structs.replace(
            plan, environment=connection.group or connection.ref.name, protected=connection.protected
        )

    async def run(self, plan: Plan, typed: str = "", *, why: str = "") -> str:
        """Begin a confirmed plan; returns the operation's id once it is recorded. Its life goes on in the background.

        :param typed: what the operator typed at the confirmation; must equal :attr:`Plan.confirmation`.
        :raises MovedOn: the world moved since the plan was made; carries the fresh plan.
        :raises Busy: an operation already writes to one of the objects.
        :raises Refused: not armed, not confirmed, forbidden, nothing to do, stale.
        :raises JournalError: it can't be recorded, so it isn't done.
        """
        journal = self._writable_journal()
        reason = why or plan.intent.reason
        try:
            backend = await self._admit(plan, typed)
        except Refused as refusal:
            await self._record_refusal(journal, plan, reason, refusal)
            raise
        refs = frozenset(step.ref for step in plan.steps)
        undo_of = await self._undoes(journal, plan.intent)
        # No await between this check and the entry below, except the journal's own: so check again after it.
        identity = await journal.begin(plan, reason, undo_of=undo_of)
        try:
            self._check_busy(plan)
        except Busy as refusal:
            await journal.end(identity, State.REFUSED, refusal.message)
            raise
        tracked = Tracked(identity, plan, str(journal.who), reason, self._clock, self._publish)
        execution = Execution(identity, plan, backend, journal, tracked, observe_seconds=self._observe_seconds)
        task = asyncio.create_task(execution.run(), name=f"operation {identity}")
        self._running[identity] = (execution, task, refs)
        task.add_done_callback(lambda _: self._running.pop(identity, None))
        return identity

    async def wait(self, identity: str) -> State:
        """The final state of an operation that runs here (from the journal if it has ended)."""
        if entry := self._running.get(identity):
            return await asyncio.shield(entry[1])
        records = await self._readable_journal().operations(ids=[identity])
        return records[0].state if records else State.UNKNOWN

    def cancel(self, identity: str) -> None:
        """Ask a running operation to begin nothing new."""
        if entry := self._running.get(identity):
            entry[0].cancel("Cancelled by the operator")

    @property
    def running(self) -> tuple[str, ...]:
        """Ids of the operations that run in this process now."""
        return tuple(self._running)

    async def undoable(self, ref: Ref) -> OperationRecord | None:
        """The newest operation on this object (an operation's own ref also counts) that can be undone."""
        for record in await self._readable_journal().operations():
            if ref.uid == record.id or (ref.kind != "Operation" and ref in record.plan.intent.targets):
                if record.view().undoable:
                    return record
                if record.state is State.SUCCEEDED and not record.undone:
                    return None
        return None

    async def plan_undo(self, ref: Ref) -> Plan:
        """The plan that takes back the newest undoable operation on ``ref``.

        :raises Refused: there is none, or it can't be undone (with the reason).
        """
        record = await self.undoable(ref)
        if record is None or record.undo is None:
            raise Refused(f"No operation of this console on {ref.name} can be undone.", "See :journal for what was done.")
        return await self.plan(msgspec.structs.replace(record.undo, reason=f"undo of {record.id[:12]}"))

    async def close(self, seconds: float = 30) -> None:
        """Let the calls at hand end and be journaled; begin nothing new. Never raises."""
        for execution, _, _ in self._running.values():
            execution.cancel("The console was closed")
        tasks = [task for _, task, _ in self._running.values()]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        self.arming.close()

    async def _admit(self, plan: Plan, typed: str) -> Writes:
        """Everything that must hold before a record is made; the plan is made again and must be the same."""
        connection, backend = self._reach(plan.intent)
        self.arming.check(connection.ref.name)
        if not plan.steps:
            raise Refused(f"Nothing to do: {plan.nothing or 'the plan is empty'}.")
        self._check_busy(plan)
        check_confirmation(plan, typed)
        fresh = await self.plan(plan.intent)
        if fresh.hash != plan.hash:
            raise MovedOn(f"The world moved: {what_moved(plan, fresh)}.", fresh)
        if fresh.strength is Strength.REFUSED:
            raise Refused(fresh.forbidden)
        return backend

    def _reach(self, intent: Intent) -> tuple[Connection, Writes]:
        if not intent.targets:
            raise Refused("Nothing was chosen.")
        if len({ref.connection for ref in intent.targets}) > 1:
            raise Refused("One plan writes to one target.", "Choose objects of one connection.")
        name = intent.connection
        connection = self._targets.connection(name)
        if connection is None:
            raise Refused(f"There is no connection {name}.")
        if not connection.phase.fresh:
            raise Refused(
                f"{name} is {connection.phase.value}: what is shown may be old.",
                connection.hint or "Wait until it is live again.",
            )
        writer = writer_for(self._targets.writers(intent.targets[0]), intent)
        if writer is None:
            first = intent.targets[0]
            offered = ", ".join(sorted(self.verbs(first)))
            raise Refused(
                f"{intent.verb} is not offered for {first.kind} {first.name} on {name}.",
                f"Offered: {offered}." if offered else "",
            )
        return connection, writer

    def _check_busy(self, plan: Plan) -> None:
        if plan.intent.verb in ENDING:
            return
        refs = frozenset(step.ref for step in plan.steps)
        for identity, (_, _, taken) in self._running.items():
            if both := refs & taken:
                raise Busy(f"Operation {identity[:12]} already writes to {min(both).name}.", identity)

    async def _undoes(self, journal: Journal, intent: Intent) -> str:
        wanted = msgspec.structs.replace(intent, reason="")
        for record in await journal.operations(
            ids=[intent.reason.rpartition(" ")[2]] if intent.reason.startswith("undo of ") else ["-"]
        ):
            if record.undo is not None and msgspec.structs.replace(record.undo, reason="") == wanted:
                return record.id
        return ""

    async def _record_refusal(self, journal: Journal, plan: Plan, why: str, refusal: QuarterdeckError) -> None:
        try:
            await journal.begin(plan, why, state=State.REFUSED, message=refusal.sentence())
        except JournalError:
            # The refusal itself is what the operator must see; the journal's trouble shows at the next write.
            return

    def _readable_journal(self) -> Journal:
        if self._journal is None:
            raise JournalError(self._journal_problem or "There is no journal.", "Nothing can be written without one.")
        return self._journal

    def _writable_journal(self) -> Journal:
        journal = self._readable_journal()
        journal.check_writable()
        return journal
