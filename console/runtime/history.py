"""Operations in the store: what the journal holds, what a crash left, what other consoles run.

This console's own operations are published by :mod:`console.runtime.tracking` as they move; here is everything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

import msgspec

from console.errors import JournalError, QuarterdeckError
from console.journal.journal import Journal
from console.model.connections import Connection
from console.model.operations import Operation, State
from console.model.refs import Ref
from console.model.resource import Removed, Upserted
from console.runtime.commands import resolver_for
from console.runtime.presence import Presence
from console.runtime.recovery import recover, unfinished
from console.runtime.store import Store

SHOWN = timedelta(days=7)
# How often other processes' records are looked for: an operator who waits for a colleague's operation looks that often.
LOOK_SECONDS = 2.0
# A target that can't be read now is asked again about a step in doubt.
RETRY_SECONDS = 15.0


class History:
    """Keeps operations that this process does not run itself in the store. ``run()`` never ends.

    :param running: ids of the operations that run in this process.
    """

    def __init__(
        self,
        journal: Journal,
        store: Store,
        writers: Callable[[Ref], tuple[object, ...]],
        running: Callable[[], tuple[str, ...]],
        presence: Presence | None = None,
    ) -> None:
        self._journal = journal
        self._store = store
        self._writers = writers
        self._running = running
        self._presence = presence
        self._company: set[Ref] = set()
        self._told: tuple[Operation, ...] | None = None
        self._followed: dict[str, Operation] = {}
        self.problem = ""

    async def run(self) -> None:
        """Publish the past once, then follow what changes."""
        # Asked first: what is written after this number is seen at the next look.
        version = await self._version()
        await self._publish_all()
        next_recovery, read = 0.0, frozenset[str]()
        loop = asyncio.get_running_loop()
        try:
            while True:
                fresh = self._fresh()
                if loop.time() >= next_recovery or not fresh <= read:
                    for name in fresh:
                        await self._recover(name)
                    next_recovery = loop.time() + (0 if self._followed else RETRY_SECONDS)
                read = fresh
                self._meet()
                await asyncio.sleep(LOOK_SECONDS)
                if (now := await self._version()) != version:
                    version = now
                    await self._publish_all()
        finally:
            if self._presence is not None:
                self._presence.leave()

    async def _version(self) -> int:
        try:
            return await self._journal.version()
        except JournalError as error:
            self.problem = error.sentence()
            return -1

    async def _publish_all(self) -> None:
        try:
            records = await self._journal.operations(SHOWN)
        except JournalError as error:
            self.problem = error.sentence()
            return
        running = set(self._running())
        for record in records:
            if record.id in running:
                continue
            view = record.view()
            if record.id in self._followed:
                view = self._followed[record.id]
            elif not record.state.ended and self._journal.lease.held:
                view = msgspec.structs.replace(
                    view,
                    state=State.INTERRUPTED,
                    health=State.INTERRUPTED.health,
                    reason="The console that ran it ended; what it left is read as soon as the target answers.",
                )
            self._store.apply(Upserted(view))

    def _fresh(self) -> frozenset[str]:
        """Connections that can be asked now."""
        found = self._store.of("Connection").values()
        return frozenset(row.ref.name for row in found if isinstance(row, Connection) and row.phase.fresh)

    async def _recover(self, connection: str) -> None:
        """End what a crash left on this connection."""
        try:
            left = await unfinished(self._journal, connection)
        except JournalError as error:
            self.problem = error.sentence()
            return
        for record in left:
            writer = resolver_for(self._writers(record.target), record.plan.intent)
            if record.id in self._running() or writer is None:
                continue
            try:
                view = await recover(self._journal, record, writer)
                self._followed.pop(record.id, None)
                if not view.state.ended:
                    self._followed[record.id] = view
                self._store.apply(Upserted(view))
            except QuarterdeckError as error:
                # Neither the target nor the journal is to be trusted now: the operation stays as it is and is found again.
                self.problem = error.sentence()

    def _meet(self) -> None:
        if self._presence is None:
            return
        running = set(self._running())
        own = tuple(
            operation
            for operation in self._store.of("Operation").values()
            if isinstance(operation, Operation) and operation.ref.uid in running
        )
        if own != self._told:
            self._told = own
            self.problem = self._presence.tell(own) or self.problem
        seen: set[Ref] = set()
        for present in self._presence.others():
            for operation in present.operations:
                shown = msgspec.structs.replace(operation, origin="console", who=str(present.who), undoable=False)
                seen.add(shown.ref)
                self._store.apply(Upserted(shown))
        for gone in self._company - seen:
            self._store.apply(Removed(gone))
        self._company = seen


def others_on(store: Store, ref: Ref) -> str:
    """A sentence about a colleague's operation on this object, empty if there is none."""
    for operation in store.of("Operation").values():
        if isinstance(operation, Operation) and operation.origin == "console" and operation.target == ref:
            return f"{operation.who} runs {operation.verb} on {ref.name} now."
    return ""
