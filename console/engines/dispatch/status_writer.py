"""Writes what workers publish about their triggers: the operation, and whether a repair is pending. Nothing else.

One task writes, one write at a time. Section 8 of the specification.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from typing import NamedTuple

import msgspec

from console.engines.dispatch.constants import Timing
from console.engines.dispatch.faults import RetryableError, WriteFate, classify_write
from console.engines.dispatch.records import later, merged
from console.engines.dispatch.types import Operation, Recorded, TriggerRef, TriggerStatus
from console.engines.ports.applier import JsonObject
from console.engines.ports.dispatch import RecordStore, Stored
from console.errors import Conflict, NotFound, NotServed, QuarterdeckError
from console.kit.timing import Wakeable

_log = logging.getLogger(__name__)

_CONFLICT_TRIES = 6
"""The first try and five more, at once."""

_LONG = 3600.0
"""Nothing to do: any publication or record wakes the writer."""


class _Job(NamedTuple):
    trigger: TriggerRef
    operation: Operation
    answer: asyncio.Future[Recorded]


class StatusWriter:
    """The only writer of records. ``stop`` drops what is unwritten: the next process publishes again from the records."""

    def __init__(self, store: RecordStore, timing: Timing | None = None) -> None:
        self._store = store
        self._retry = (timing or Timing()).status_retry_interval
        self._held: dict[TriggerRef, TriggerStatus] = {}
        self._not_before: dict[TriggerRef, float] = {}
        self._jobs: deque[_Job] = deque()
        self._previous: dict[TriggerRef, dict[str, Operation | None]] = {}
        self._wake = Wakeable()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to write."""
        self._task = self._task or asyncio.get_running_loop().create_task(self._run(), name="dispatch status writer")

    async def stop(self) -> None:
        """End; whoever waits in :meth:`record` is told that it was not made."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self._task = None
        for job in self._jobs:
            _refuse(job, RetryableError("the status writer was stopped"))
        self._jobs.clear()
        self._held.clear()

    def publish(self, trigger: TriggerRef, status: TriggerStatus) -> None:
        """Have it written soon; a later publication takes the place of an unwritten one, but its withdrawals stay."""
        key = trigger.key
        if status.operation is not None:
            status = msgspec.structs.replace(status, operation=self._lasting(status.operation))
        held = self._held.get(key)
        self._held[key] = status if held is None else later(held, status)
        self._not_before.pop(key, None)
        self._wake.wake()

    async def record(self, trigger: TriggerRef, operation: Operation) -> Recorded:
        """Write an operation onto its trigger before anything is started.

        :raises RetryableError: it may not be, or could not be, written; then nothing may start.
        """
        if self._task is None or self._task.done():
            raise RetryableError("the status writer is not started")
        answer: asyncio.Future[Recorded] = asyncio.get_running_loop().create_future()
        self._jobs.append(_Job(trigger, self._lasting(operation), answer))
        self._wake.wake()
        return await answer

    def _lasting(self, operation: Operation) -> Operation:
        """What of an operation stays true once it is written: a record on the applier moves the very version that it names,
        and a restart would take the starting write for one that can't land any more."""
        return msgspec.structs.replace(operation, guard_resource_version="") if self._store.on_applier else operation

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            if self._jobs:
                job = self._jobs.popleft()
                try:
                    await self._do_record(job)
                finally:
                    # Cancelled in the middle: whoever waits must not wait for ever.
                    _refuse(job, RetryableError("the status writer was stopped"))
                continue
            due = next((key for key in self._held if self._not_before.get(key, 0.0) <= loop.time()), None)
            if due is not None:
                await self._write_due(due)
                continue
            pause = min((self._not_before[key] - loop.time() for key in self._held), default=_LONG)
            await self._wake.sleep(max(pause, 0.0))

    async def _write_due(self, key: TriggerRef) -> None:
        try:
            await self._write_held(key)
        except QuarterdeckError as error:
            _log.warning("the status of %s could not be written: %s", key, error)
            if key in self._held and key not in self._not_before:
                self._not_before[key] = asyncio.get_running_loop().time() + self._retry

    async def _write_held(self, key: TriggerRef) -> None:
        """Write what is held for a trigger; on failure it is held on, under any newer publication."""
        status = self._held.pop(key, None)
        if status is None:
            return
        self._not_before.pop(key, None)
        try:
            await self._write(key, status)
        except QuarterdeckError:
            newer = self._held.get(key)
            self._held[key] = status if newer is None else later(status, newer)
            if newer is not None:
                self._not_before[key] = 0.0
            raise

    async def _write(self, key: TriggerRef, status: TriggerStatus) -> None:
        remembered = self._previous.setdefault(key, {})
        for _ in range(_CONFLICT_TRIES):
            try:
                stored = await self._store.read(key)
                record = merged(stored.record, status, remembered)
                if record != stored.record:
                    await self._store.write(key, stored, record)
            except (NotFound, NotServed):
                break
            except Conflict as error:
                conflict = error
                continue
            break
        else:
            raise RetryableError(f"{key} changed during each try to write its status: {conflict}") from conflict
        for token in status.withdrawn:
            remembered.pop(token, None)
        if status.operation is not None and status.operation.outcome.complete:
            remembered.pop(status.operation.token, None)
        if not remembered:
            self._previous.pop(key, None)

    async def _do_record(self, job: _Job) -> None:
        if job.answer.cancelled():
            return
        try:
            await self._write_held(job.trigger.key)
            recorded = await self._record(job.trigger, job.operation)
        except RetryableError as error:
            _refuse(job, error)
        except QuarterdeckError as error:
            failure = RetryableError(f"the operation could not be recorded on {job.trigger}: {error}", error.hint)
            failure.__cause__ = error
            _refuse(job, failure)
        else:
            if not job.answer.done():
                job.answer.set_result(recorded)

    async def _record(self, trigger: TriggerRef, operation: Operation) -> Recorded:
        for _ in range(_CONFLICT_TRIES):
            stored = await self._store.read(trigger)
            _require_free(trigger, stored, operation)
            record = msgspec.structs.replace(stored.record, operation=operation)
            memory = self._previous.setdefault(trigger.key, {})
            if not operation.same_as(stored.record.operation):
                # What is replaced may have changed since the try before.
                memory[operation.token] = stored.record.operation
            try:
                written = await self._store.write(trigger, stored, record)
            except Conflict:
                continue
            except QuarterdeckError as error:
                if classify_write(error) is not WriteFate.UNCONFIRMED:
                    raise
                return await self._read_back(trigger, operation, error)
            return self._recorded(written, stored.version)
        raise RetryableError(f"{trigger} changed during each try to record the operation")

    async def _read_back(self, trigger: TriggerRef, operation: Operation, error: QuarterdeckError) -> Recorded:
        """A record of unknown fate: it counts when it can be read. If not, recovery settles what may be there."""
        stored = await self._store.read(trigger)
        if not operation.same_as(stored.record.operation):
            raise error
        # What it was written over is not known here, so a record on the applier makes the request look again.
        return self._recorded(stored.document, "")

    def _recorded(self, document: JsonObject, replaced: str) -> Recorded:
        return Recorded(document, replaced) if self._store.on_applier else Recorded()


def _refuse(job: _Job, error: RetryableError) -> None:
    if not job.answer.done():
        job.answer.set_exception(error)


def _require_free(trigger: TriggerRef, stored: Stored, operation: Operation) -> None:
    if stored.deleting:
        raise RetryableError(f"{trigger} is being deleted")
    if trigger.uid and stored.uid != trigger.uid:
        raise RetryableError(f"{trigger} was replaced by another of its name")
    present = stored.record.operation
    if present is not None and present.in_flight and not operation.same_as(present):
        raise RetryableError(f"{trigger} has another operation in flight ({present.reason}, {present.token})")
