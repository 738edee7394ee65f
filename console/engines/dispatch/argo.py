"""The Argo CD client of one cluster: checks, asks and follows Applications.

The Application has no status subresource, so the one write is a whole PUT guarded by the resourceVersion. Nothing is ever
held: an Application with automated sync off applies only when asked.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

from console.engines.dispatch.argo_reading import (
    app_source,
    automated,
    fence,
    initiator,
    orphan,
    running,
    unsupported,
    with_operation,
)
from console.engines.dispatch.argo_step import argo_step
from console.engines.dispatch.binding import binding_mismatch
from console.engines.dispatch.constants import ARGOCD_INITIATOR, ConditionReason, Outcome, RequestOutcome, Timing
from console.engines.dispatch.faults import PermanentError, RetryableError, StaleError, WriteFate, read_fault
from console.engines.dispatch.flux import unreadable
from console.engines.dispatch.flux_reading import deleting, uid
from console.engines.dispatch.revisions import describe_commit
from console.engines.dispatch.starting import starting_write
from console.engines.dispatch.types import Ask, Guards, ObjectName, Progress, Started, Verdict
from console.engines.ports.applier import APPLICATIONS, JsonObject, Objects
from console.errors import NotFound, QuarterdeckError
from console.kit.dig import number, text
from console.kit.timing import Clock


class ArgoClient:
    """Applications of one cluster."""

    def __init__(self, objects: Objects, clock: Clock, timing: Timing | None = None, manager: str = ARGOCD_INITIATOR) -> None:
        self._objects = objects
        self._clock = clock
        self._timing = timing or Timing()
        self.manager = manager

    async def validate(self, ref: ObjectName) -> Verdict:
        """Whether the Application can be driven; never raises a dispatch error, the verdict says it. Reads only."""
        try:
            app = await self._objects.get(APPLICATIONS, ref.namespace, ref.name)
        except QuarterdeckError as error:
            return unreadable(error, f"Application {ref}", ConditionReason.APPLIER_NOT_FOUND)
        source = None if unsupported(app) else app_source(app)
        try:
            _check(ref, app)
        except PermanentError as error:
            return Verdict(False, error.reason, error.message, source)
        try:
            allowed = await self._objects.can_i("update", APPLICATIONS, ref.namespace, ref.name)
        except QuarterdeckError as error:
            message = f"the access review for Application {ref} failed: {error}"
            return Verdict(False, ConditionReason.FAILED, message, source, error)
        if not allowed:
            return Verdict(False, ConditionReason.FORBIDDEN, f"Application {ref} may not be updated", source)
        return Verdict(True, ConditionReason.SUCCEEDED, "", source)

    async def request(self, ref: ObjectName, ask: Ask) -> Started:
        """Set one operation on the Application, once nothing else runs there."""
        if not ask.commit:
            # Argo CD reports a missing branch by itself.
            return Started(outcome=RequestOutcome.CURRENT, token="", commit="", requested_at=self._clock.now())
        return await _ArgoRequest(self._objects, ref, ask, self._clock, self._timing, self.manager).run()

    async def progress(self, ref: ObjectName, started: Started) -> Progress:
        """One read (two before an unseen operation is given up), and no write but the fence that this may need.

        :raises RetryableError: the read failed; nothing is known to have changed, call again.
        """
        if started.outcome is RequestOutcome.CURRENT:
            return Progress(Outcome.SUCCEEDED)
        step = argo_step(await self._present(ref), started, self._clock.now(), self._timing)
        if step.look_again:
            # The first read may have been the moment between two writes.
            app = await self._present(ref)
            if app is not None and started.recovered:
                app = await self._fenced(ref, app, started)
            step = argo_step(app, started, self._clock.now(), self._timing)
        started.seen = started.seen or step.seen
        return step.progress

    async def _fenced(self, ref: ObjectName, app: JsonObject, started: Started) -> JsonObject:
        """The Application after a write of ours, which an update of a dead process can't land over.

        The version in a record is that of before the record. An update goes by a later one: that of a record kept on the
        Application itself, or that of a read after a conflict. Only another change makes sure that it comes too late.
        """
        body = fence(app, started.token)
        if body == app or argo_step(app, started, self._clock.now(), self._timing).seen:
            return app
        try:
            return await self._objects.replace(APPLICATIONS, body, manager=self.manager)
        except QuarterdeckError as error:
            if self._clock.now() >= started.requested_at + timedelta(seconds=self._timing.late_write_grace):
                return app
            message = f"whether an operation can still arrive at Application {ref} is not certain: {error}"
            raise RetryableError(message) from error

    async def _present(self, ref: ObjectName) -> JsonObject | None:
        try:
            return await self._objects.get(APPLICATIONS, ref.namespace, ref.name)
        except NotFound:
            return None
        except QuarterdeckError as error:
            raise RetryableError(f"Application {ref} could not be read: {error}") from error


class _ArgoRequest:
    """The course of one request (6.3). Used once."""

    def __init__(self, objects: Objects, ref: ObjectName, ask: Ask, clock: Clock, timing: Timing, manager: str) -> None:
        self._objects = objects
        self._ref = ref
        self._ask = ask
        self._clock = clock
        self._timing = timing
        self._manager = manager
        self._uid = ""
        self._waited = 0.0
        self._orphan: tuple[str, str] | None = None
        self._recorded = False

    async def run(self) -> Started:
        while True:
            app = await self._read()
            if running(app) and not await self._may_go_on(app):
                continue
            self._require_current()
            guarded = await self._record(app)
            if guarded is None:
                continue
            self._require_current()
            started = await self._set(guarded)
            if started is not None:
                return started

    async def _read(self) -> JsonObject:
        try:
            app = await self._objects.get(APPLICATIONS, self._ref.namespace, self._ref.name)
        except QuarterdeckError as error:
            raise read_fault(error, f"Application {self._ref}") from error
        if deleting(app):
            raise PermanentError(ConditionReason.APPLIER_NOT_FOUND, f"Application {self._ref} is being deleted")
        self._uid = self._uid or uid(app)
        if uid(app) != self._uid:
            raise StaleError(f"Application {self._ref} was replaced by another of its name")
        _check(self._ref, app)
        if mismatch := binding_mismatch(app_source(app), self._ask.want):
            raise PermanentError(ConditionReason.SOURCE_MISMATCH, mismatch)
        return app

    async def _may_go_on(self, app: JsonObject) -> bool:
        """Wait one poll for a running operation; True only for an orphan that stood still for the whole wait.

        Argo CD's own tools would overwrite an orphan at once; the wait lets a pass that was in flight write its last patch.
        """
        self._require_current()
        mark = orphan(app)
        if self._waited == 0:
            self._orphan = mark
        elif mark != self._orphan:
            self._orphan = None
        if self._waited >= self._timing.operation_wait:
            if self._orphan is not None and self._timing.operation_wait > 0:
                return True
            raise RetryableError(f"another operation of {initiator(app)} is running on Application {self._ref}")
        await asyncio.sleep(self._timing.poll_interval)
        self._waited += self._timing.poll_interval
        self._ask.waited(self._timing.poll_interval)
        return False

    def _require_current(self) -> None:
        if not self._ask.current():
            raise StaleError(f"{describe_commit(self._ask.commit)} is no longer what {self._ref} should apply")

    async def _record(self, app: JsonObject) -> JsonObject | None:
        """Record once; None when the Application changed meanwhile and must be read again."""
        if self._recorded:
            return app
        version = text(app, "metadata", "resourceVersion")
        recorded = await self._ask.record(Guards(uid(app), version, number(app, "metadata", "generation")))
        self._recorded = True
        if recorded.applier is None:
            return app
        return recorded.applier if recorded.replaced_version == version else None

    async def _set(self, app: JsonObject) -> Started | None:
        """The starting write; None on a conflict."""
        body = with_operation(app, self._ask.commit, self._ask.token)
        write = self._objects.replace(APPLICATIONS, body, manager=self._manager)
        written = await starting_write(write, self._timing.write_timeout)
        started = Started(
            outcome=RequestOutcome.SYNC_REQUESTED,
            token=self._ask.token,
            commit=self._ask.commit,
            requested_at=self._clock.now(),
            applier_uid=uid(app),
            guard_resource_version=text(app, "metadata", "resourceVersion"),
            guard_generation=number(app, "metadata", "generation"),
        )
        if written.obj is not None:
            return started
        error = written.error
        assert error is not None
        if written.fate is WriteFate.UNCONFIRMED:
            started.unconfirmed = error
            return started
        if written.fate is WriteFate.CONFLICT:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                # The deadline passed during the write, which was sheltered from it; nothing was started, so it counts now.
                raise asyncio.CancelledError
            return None
        if written.fate is WriteFate.FORBIDDEN:
            message = f"no operation may be set on Application {self._ref}: {error}"
            raise PermanentError(ConditionReason.FORBIDDEN, message, error.hint) from error
        if written.fate is WriteFate.GONE:
            raise read_fault(error, f"Application {self._ref}") from error
        raise RetryableError(f"no operation could be set on Application {self._ref}: {error}") from error


def _check(ref: ObjectName, app: JsonObject) -> None:
    if why := unsupported(app):
        raise PermanentError(ConditionReason.UNSUPPORTED_SOURCE, f"Application {ref}: {why}")
    if automated(app):
        raise PermanentError(
            ConditionReason.AUTOMATED_SYNC_ENABLED, f"Application {ref} syncs by itself (automated sync is on)"
        )
