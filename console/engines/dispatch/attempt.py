"""One attempt: re-check, ask, and follow what was started until the applier says that it ended. Sections 7.3 to 7.6."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import msgspec

from console.engines.dispatch.constants import EventReason, Outcome, Reason, RequestOutcome
from console.engines.dispatch.desk import Desk, next_interval
from console.engines.dispatch.faults import DispatchError, RetryableError, StaleError
from console.engines.dispatch.records import told
from console.engines.dispatch.requests import ApplyRequest, Report
from console.engines.dispatch.revisions import describe_commit
from console.engines.dispatch.tokens import instant, written
from console.engines.dispatch.types import Ask, Guards, Operation, Progress, Recorded, Started, TriggerStatus
from console.engines.ports.applier import GIT_REPOSITORIES, KUSTOMIZATIONS
from console.engines.ports.dispatch import ApplierClient
from console.errors import QuarterdeckError
from console.kit.timing import Wakeable

_log = logging.getLogger(__name__)

_INSTANT = 1e-6
"""Loop time is a sum of floats; a poll meant for the very moment must not miss it by the last bit."""


class Attempt:
    """The course of one request. It owns its applier's slot until :meth:`release`."""

    def __init__(self, desk: Desk, request: ApplyRequest) -> None:
        self._desk = desk
        self.request = request
        self._targets = request.targets
        self._operation = request.recovered
        self._started: Started | None = None
        self._owns_slot = False
        self._abandoned = False
        self._unresolved = False
        self._over = False
        self._wake = Wakeable()

    @property
    def may_have_started(self) -> bool:
        """Whether a recorded operation may be running on the applier, unended."""
        return self._operation is not None and self._owns_slot and not self._over

    @property
    def _holds(self) -> bool:
        """Whether the applier must be taken into hold again at the end: a Kustomization, not an Application."""
        return self.request.key.kind == KUSTOMIZATIONS.kind

    def abandon(self) -> None:
        """No more reports. Before the starting write nothing is written; after it a Kustomization is still suspended."""
        self._abandoned = True
        self._wake.wake()

    def release(self) -> None:
        """Give up the slot, and follow nothing any more."""
        self._over = True
        if self._owns_slot:
            if self._operation is not None:
                self._desk.followed.discard((self.request.trigger.key, self._operation.token))
            self._desk.slots.discard(self.request.key)
            self._owns_slot = False

    def look(self, kind: str, namespace: str, name: str) -> None:
        """This object changed: read it now, not at the next poll, if it is what is waited for."""
        key = self.request.key
        fetching = self._started is None and kind == GIT_REPOSITORIES.kind
        if self._owns_slot and (fetching or (kind, namespace, name) == (key.kind, key.namespace, key.name)):
            self._wake.wake()

    async def run(self) -> None:
        """The whole attempt; ends when the operation did."""
        desk, request = self._desk, self.request
        if request.recovered is None and not desk.started.is_set():
            self._fail(RetryableError("the dispatcher is not started"))
            return
        if request.key in desk.slots:
            self._fail(RetryableError(f"{request.key} is busy with another operation"))
            return
        desk.slots.add(request.key)
        self._owns_slot = True
        if request.recovered is not None:
            desk.followed.add((request.trigger.key, request.recovered.token))
            await desk.started.wait()
            await self._follow(self._from_record(request.recovered))
        else:
            started = await self._ask()
            if started is not None:
                await self._follow(started)
        self.release()

    async def follow_again(self) -> None:
        """Go on following after the task before crashed, from its handle or from the record."""
        assert self._operation is not None
        self._desk.followed.add((self.request.trigger.key, self._operation.token))
        await self._wake.sleep(self._desk.timing.poll_interval)
        await self._follow(self._started or self._from_record(self._operation))
        self.release()

    def give_up(self, error: DispatchError) -> None:
        """Report that nothing was asked, after an unexpected end of the task."""
        self._fail(error)

    # Asking

    async def _ask(self) -> Started | None:
        desk, request = self._desk, self.request
        try:
            async with asyncio.timeout(desk.timing.attempt_timeout) as limit:

                def waited(seconds: float) -> None:
                    when = limit.when()
                    if when is not None and not limit.expired():
                        limit.reschedule(when + seconds)

                self._targets = await desk.triggers.still_asked(request)
                client = await desk.clients.client(request.key)
                started = await self._request(client, desk.tokens.new(), waited)
        except TimeoutError:
            self._fail(RetryableError(f"asking {request.key} did not end within {desk.timing.attempt_timeout:g} s"))
            return None
        except DispatchError as error:
            self._fail(error)
            return None
        except QuarterdeckError as error:
            failure = RetryableError(f"{request.key} could not be asked: {error}", error.hint)
            failure.__cause__ = error
            self._fail(failure)
            return None
        if desk.stopping:
            return None
        if started.outcome is RequestOutcome.CURRENT:
            self._report(Report(outcome=RequestOutcome.CURRENT))
            return None
        self._reached(started)
        return started

    async def _request(self, client: ApplierClient, token: str, waited: Callable[[float], None]) -> Started:
        desk, request = self._desk, self.request
        followed = (request.trigger.key, token)

        async def record(guards: Guards) -> Recorded:
            self._operation = Operation(
                token=token,
                commit=request.commit,
                reason=request.reason,
                outcome=Outcome.REQUESTED,
                requested_at=written(desk.clock.now()),
                applier_uid=guards.applier_uid,
                guard_resource_version=guards.resource_version,
                guard_generation=guards.generation,
            )
            return await desk.records.record(request.trigger, self._operation)

        async def held() -> None:
            await desk.triggers.require_held(request)

        ask = Ask(
            want=request.binding,
            commit=request.commit,
            reason=request.reason,
            token=token,
            current=self._current,
            record=record,
            held=held,
            waited=waited,
            pause=self._wake.sleep,
        )
        # Before the record, so that whoever sees the record also sees that it is followed.
        desk.followed.add(followed)
        started = None
        try:
            started = await client.request(request.key.ref, ask)
        finally:
            if started is None or started.outcome is RequestOutcome.CURRENT:
                desk.followed.discard(followed)
        if self._operation is not None:
            # A conflict may have made the starting write go by a later read than the record names.
            guard = started.guard_resource_version or self._operation.guard_resource_version
            self._operation = msgspec.structs.replace(self._operation, guard_resource_version=guard)
            started.requested_at = instant(self._operation.requested_at) or started.requested_at
        return started

    def _current(self) -> bool:
        desk, request = self._desk, self.request
        return not self._abandoned and not desk.stopping and desk.triggers.drives(request.trigger) and request.wanted()

    def _reached(self, started: Started) -> None:
        request = self.request
        message = f"{request.key} was asked to apply {describe_commit(request.commit)} ({request.reason})"
        if started.unconfirmed is not None:
            message += f"; whether the request arrived is not known yet: {started.unconfirmed}"
        self._event(EventReason.APPLY_REQUESTED, message)
        self._tell(Progress(Outcome.REQUESTED), started.outcome)

    def _fail(self, error: DispatchError) -> None:
        """Nothing was asked: take back the record if there is one, and say why."""
        if self._desk.stopping:
            return
        if self.may_have_started and self._operation is not None:
            withdrawn = TriggerStatus(withdrawn=(self._operation.token,))
            self._desk.records.publish(self.request.trigger, withdrawn)
        self.release()
        if not isinstance(error, StaleError):
            what = f"{self.request.key} could not be asked to apply {describe_commit(self.request.commit)}: {error}"
            self._event(EventReason.APPLY_REQUEST_FAILED, what)
        self._report(Report(error=error))

    # Following

    def _from_record(self, operation: Operation) -> Started:
        # A record without a time is taken as made now: nothing that ran before counts as evidence then.
        requested_at = instant(operation.requested_at) or instant(operation.token) or self._desk.clock.now()
        return Started(
            outcome=RequestOutcome.RESUMED,
            token=operation.token,
            commit=operation.commit,
            requested_at=requested_at,
            suspend_token=operation.suspend_token,
            recovered=True,
            applier_uid=operation.applier_uid,
            guard_resource_version=operation.guard_resource_version,
            guard_generation=operation.guard_generation,
        )

    async def _follow(self, started: Started) -> None:
        """Read the progress until it is complete. Time alone never ends it."""
        desk, loop = self._desk, asyncio.get_running_loop()
        self._started = started
        age = (desk.clock.now() - started.requested_at).total_seconds()
        began = loop.time() - max(age, 0.0)
        slow: float | None = None
        woken = False
        if not started.recovered:
            await self._wake.sleep(desk.timing.poll_interval)
        while not desk.stopping:
            if self._abandoned:
                if not self._holds:
                    return
                started.overdue = True
            elif not started.overdue and loop.time() - began >= desk.timing.unresolved_after - _INSTANT:
                self._become_unresolved(started)
            if not desk.triggers.drives(self.request.trigger):
                # As at a stop: the record stays, and the engine that is elected now recovers it.
                _log.warning("%s is left to the elected engine, which this console no longer is", self.request.key)
                return
            if await self._look(started):
                return
            if self._abandoned and not started.overdue:
                continue
            if self._unresolved and not woken:
                slow = next_interval(slow, desk.timing.poll_interval, desk.timing.unresolved_poll_max)
            woken = await self._wake.sleep(desk.timing.poll_interval if slow is None else slow)

    def _become_unresolved(self, started: Started) -> None:
        started.overdue = True
        self._unresolved = True
        seconds = self._desk.timing.unresolved_after
        message = (
            f"{self.request.key} did not finish applying {describe_commit(started.commit)} within {seconds:g} s; "
            "it is still followed"
        )
        _log.warning("%s", message)
        self._tell(Progress(Outcome.UNRESOLVED, suspend_token=started.suspend_token))
        self._event(EventReason.APPLY_UNRESOLVED, message)

    async def _look(self, started: Started) -> bool:
        """One read; True when the operation is complete. A failed read is logged and changes nothing."""
        desk, request = self._desk, self.request
        try:
            async with asyncio.timeout(desk.timing.attempt_timeout):
                client = await desk.clients.client(request.key)
                progress = await client.progress(request.key.ref, started)
            progress = msgspec.structs.replace(progress, message=told(progress.message))
        except TimeoutError:
            _log.warning("the progress of %s could not be read in time", request.key)
            return False
        except QuarterdeckError as error:
            _log.warning("the progress of %s could not be read: %s", request.key, error)
            return False
        if not progress.outcome.complete:
            self._tell(progress)
            return False
        self._finish(progress)
        return True

    def _finish(self, progress: Progress) -> None:
        request = self.request
        if progress.outcome is Outcome.SUCCEEDED:
            self._desk.succeeded(request.trigger)
        else:
            what = f"{request.key} failed to apply {describe_commit(request.commit)}: {progress.message}"
            self._event(EventReason.APPLY_FAILED, what)
        self._tell(progress)

    def _tell(self, progress: Progress, outcome: RequestOutcome | None = None) -> None:
        """Report the record as it stands, when it changed."""
        before = self._operation
        assert before is not None
        complete = progress.outcome.complete
        now = msgspec.structs.replace(
            before,
            # Once unresolved, only an end replaces it: the operation is not back on its way, it is just still watched.
            outcome=Outcome.UNRESOLVED if self._unresolved and not complete else progress.outcome,
            message=progress.message,
            suspend_token=progress.suspend_token or before.suspend_token,
            applied_revision=progress.applied_revision or before.applied_revision,
            completed_at=written(self._desk.clock.now()) if complete else "",
        )
        if now == before and outcome is None:
            return
        self._operation = now
        if self._abandoned:
            # Nobody listens, but a restart must find the suspend, and the next worker a record that has ended.
            self._desk.records.publish(self.request.trigger, TriggerStatus(operation=now))
        self._report(Report(outcome=outcome, operation=now))

    def _report(self, report: Report) -> None:
        if not self._abandoned and not self._desk.stopping:
            self.request.report(report)

    def _event(self, reason: EventReason, message: str) -> None:
        if self.request.reason is not Reason.EXTERNAL and not self._desk.stopping:
            self._desk.emit(self.request.trigger, self._targets, reason, told(message))
