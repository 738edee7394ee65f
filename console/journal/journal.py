"""The journal: what this console was asked to do, what it sent, and how it ended.

Record before write: :meth:`Journal.begin` and :meth:`Journal.step_started` return only when the record is on the disk; the call
to a server comes after. Nothing secret is stored: plans carry masked text, everything else passes the mask here.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from console.errors import JournalError
from console.journal.database import Database
from console.journal.lease import Lease
from console.journal.reading import read_operations
from console.journal.records import OperationRecord, Who
from console.kit.masking import mask_text
from console.kit.timing import Clock
from console.model.operations import State, StepView
from console.model.plan import Plan

_ANSWERED = (
    "UPDATE calls SET result = ?, seconds = ? WHERE rowid = (SELECT max(rowid) FROM calls WHERE operation = ? AND step = ?)"
)


def _masked(phase: StepView) -> StepView:
    return msgspec.structs.replace(phase, detail=mask_text(phase.detail), waiting_for=mask_text(phase.waiting_for))


class Journal:
    """One account's journal. All methods raise :class:`JournalError` only."""

    def __init__(self, database: Database, lease: Lease, clock: Clock, who: Who) -> None:
        self._database = database
        self.lease = lease
        self._clock = clock
        self.who = who

    @classmethod
    async def open(cls, path: Path, clock: Clock, who: Who, *, engines: bool = True) -> Journal:
        """Open ``path``; with ``engines`` also try for the lease that allows writing.

        :raises JournalError: see :meth:`Database.open`.
        """
        database = await Database.open(path)
        lease = Lease(path.with_suffix(".lock"))
        try:
            if engines:
                lease.acquire(f"{who}, process {who.pid}")
        except JournalError:
            await database.close()
            raise
        return cls(database, lease, clock, who)

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self._database.path

    def check_writable(self) -> None:
        """Raise unless this process may begin operations."""
        if not self.lease.held:
            holder = self.lease.holder() or "another process"
            raise JournalError(
                f"Another console of this account runs the engines: {holder}.",
                "This one only reads. Use that console, or close it and start this one again.",
            )

    async def begin(self, plan: Plan, why: str, *, state: State = State.RUNNING, message: str = "", undo_of: str = "") -> str:
        """Record an operation (and its steps as pending) and return its id. A refused one is recorded as ended."""
        if state is not State.REFUSED:
            self.check_writable()
        operation = uuid.uuid4().hex
        now = self._clock.now().timestamp()
        target = plan.intent.targets[0]

        def work(database: sqlite3.Connection) -> None:
            database.execute(
                "INSERT INTO operations (id, verb, connection, target, plan, plan_hash, undo, undo_of, who, why, state,"
                " message, started, ended) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    operation,
                    plan.intent.verb,
                    target.connection,
                    msgspec.json.encode(target),
                    msgspec.json.encode(plan),
                    plan.hash,
                    msgspec.json.encode(plan.undo) if plan.undo else None,
                    undo_of,
                    msgspec.json.encode(self.who),
                    mask_text(why),
                    state.value,
                    mask_text(message),
                    now,
                    now if state.ended else None,
                ),
            )
            database.executemany(
                "INSERT INTO steps (operation, key, title, state) VALUES (?, ?, ?, ?)",
                [
                    (operation, step.key, step.title, (State.SKIPPED if state.ended else State.PENDING).value)
                    for step in plan.steps
                ],
            )

        await self._database.write(work)
        return operation

    async def step_started(self, operation: str, step: str, request: str) -> None:
        """Record that a call is about to leave."""
        now = self._clock.now().timestamp()

        def work(database: sqlite3.Connection) -> None:
            database.execute(
                "UPDATE steps SET state = ?, started = coalesce(started, ?), attempts = attempts + 1"
                " WHERE operation = ? AND key = ?",
                (State.RUNNING.value, now, operation, step),
            )
            database.execute(
                "INSERT INTO calls (operation, step, request, started) VALUES (?, ?, ?, ?)",
                (operation, step, mask_text(request), now),
            )

        await self._database.write(work)

    async def step_ended(self, operation: str, step: str, state: State, detail: str, seconds: float | None) -> None:
        """Record what came of a step (``seconds``: how long its last call took, None if no call was made)."""
        now = self._clock.now().timestamp()

        def work(database: sqlite3.Connection) -> None:
            database.execute(
                "UPDATE steps SET state = ?, detail = ?, ended = ? WHERE operation = ? AND key = ?",
                (state.value, mask_text(detail), now, operation, step),
            )
            if seconds is not None:
                database.execute(_ANSWERED, (mask_text(detail) or state.value, seconds, operation, step))

        await self._database.write(work)

    async def step_tried(self, operation: str, step: str, result: str, seconds: float) -> None:
        """Record that the last call of a step failed and another follows; until then the step counts as under way."""

        def work(database: sqlite3.Connection) -> None:
            database.execute(
                "UPDATE steps SET detail = ? WHERE operation = ? AND key = ?", (mask_text(result), operation, step)
            )
            database.execute(_ANSWERED, (mask_text(result), seconds, operation, step))

        await self._database.write(work)

    async def end(self, operation: str, state: State, message: str, phases: tuple[StepView, ...] = ()) -> None:
        """Record how the operation ended; steps that never began are marked as skipped.

        :param phases: what its steps went through on the other side, for its timeline; each key begins with its step's.
        """
        now = self._clock.now().timestamp()
        views = msgspec.json.encode([_masked(phase) for phase in phases])

        def work(database: sqlite3.Connection) -> None:
            database.execute(
                "UPDATE operations SET state = ?, message = ?, ended = ? WHERE id = ?",
                (state.value, mask_text(message), now, operation),
            )
            database.execute(
                "UPDATE steps SET state = ? WHERE operation = ? AND state = ?",
                (State.SKIPPED.value, operation, State.PENDING.value),
            )
            if phases:
                database.execute("INSERT OR REPLACE INTO phases (operation, views) VALUES (?, ?)", (operation, views))

        await self._database.write(work)

    async def dispatched(self, applier: str, token: str, record: bytes) -> None:
        """Store what the dispatch engine is about to record on an applier: here first, so that nothing there is unknown here.

        :param record: the engine's record as JSON; a later one of the same token takes its place.
        """
        self.check_writable()
        now = self._clock.now().timestamp()

        def work(database: sqlite3.Connection) -> None:
            database.execute(
                "INSERT INTO dispatched (token, applier, record, written) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (token, applier) DO UPDATE SET record = excluded.record, written = excluded.written",
                (token, applier, record, now),
            )

        await self._database.write(work)

    async def operations(self, since: timedelta | None = None, *, ids: Iterable[str] = ()) -> tuple[OperationRecord, ...]:
        """Operations, newest first: those begun within ``since`` (None: all), or those whose id begins so."""
        oldest = (self._clock.now() - since).timestamp() if since else None
        return await self._database.read(lambda database: read_operations(database, oldest=oldest, ids=tuple(ids)))

    async def unfinished(self) -> tuple[OperationRecord, ...]:
        """Operations that no process ended: a crash, a kill, a power cut."""
        return await self._database.read(lambda database: read_operations(database, unfinished=True))

    async def version(self) -> int:
        """A number that changes when another process has written (SQLite: ``PRAGMA data_version``)."""
        changed: int = await self._database.read(lambda database: database.execute("PRAGMA data_version").fetchone()[0])
        return changed

    async def retain(self, days: int) -> str:
        """Drop ended operations older than ``days`` (0: keep all); returns a sentence about it, empty if nothing went."""
        if days <= 0 or not self.lease.held:
            return ""
        limit = self._clock.now() - timedelta(days=days)

        def work(database: sqlite3.Connection) -> str:
            dropped = database.execute(
                "DELETE FROM operations WHERE ended IS NOT NULL AND started < ?", (limit.timestamp(),)
            ).rowcount
            if not dropped:
                return ""
            text = f"Dropped {dropped} operations begun before {limit:%Y-%m-%d %H:%M} UTC (kept for {days} days)."
            database.execute("INSERT INTO notes (at, text) VALUES (?, ?)", (self._clock.now().timestamp(), text))
            return text

        return await self._database.write(work)

    async def notes(self) -> tuple[tuple[datetime, str], ...]:
        """What the journal says about itself: what retention dropped, and when."""
        rows = await self._database.read(lambda database: database.execute("SELECT at, text FROM notes ORDER BY at").fetchall())
        return tuple((datetime.fromtimestamp(at, UTC), text) for at, text in rows)

    async def close(self) -> None:
        """Close the file and give the lease back."""
        await self._database.close()
        self.lease.release()
