"""One request to a Kustomization: bring the source to the commit, look again, record, resume (5.4)."""

from __future__ import annotations

from console.engines.dispatch.binding import binding_mismatch
from console.engines.dispatch.constants import ConditionReason, RequestOutcome, Timing
from console.engines.dispatch.faults import PermanentError, RetryableError, StaleError, WriteFate
from console.engines.dispatch.flux_objects import FluxObjects
from console.engines.dispatch.flux_reading import (
    already_applied,
    artifact_revision,
    deleting,
    handled,
    name_of,
    pin,
    ready_condition,
    repository_source,
    source_name,
    stood_in,
    suspend_owners,
    suspended,
    uid,
)
from console.engines.dispatch.revisions import describe_commit, holds
from console.engines.dispatch.starting import starting_write
from console.engines.dispatch.types import Ask, Guards, ObjectName, Started
from console.engines.ports.applier import JsonObject
from console.errors import QuarterdeckError
from console.kit.dig import number, text
from console.kit.supervisor import together
from console.kit.timing import Clock


class FluxRequest:
    """The course of one request. Used once."""

    def __init__(self, flux: FluxObjects, ref: ObjectName, ask: Ask, clock: Clock, timing: Timing) -> None:
        self._flux = flux
        self._ref = ref
        self._ask = ask
        self._clock = clock
        self._timing = timing

    async def run(self) -> Started:
        """All steps; raises exactly one of the dispatch errors when nothing was started."""
        ask = self._ask
        kustomization = await self._flux.kustomization(self._ref)
        if deleting(kustomization):
            raise PermanentError(ConditionReason.APPLIER_NOT_FOUND, f"Kustomization {self._ref} is being deleted")
        repository = await self._bound_repository(kustomization)
        self._refuse_foreign_owner(kustomization)
        if not ask.commit:
            await self._stamp(repository)
            return self._started(RequestOutcome.CURRENT, token="")
        if not holds(artifact_revision(repository), ask.commit):
            await self._fetch(repository)
        if ask.reason.may_be_current and already_applied(await self._flux.kustomization(self._ref), ask.commit):
            return self._started(RequestOutcome.CURRENT, token="")
        first = kustomization
        kustomization = await self._look_again(first, repository)
        self._require_current()
        await ask.held()
        return await self._resume(await self._record(kustomization))

    async def _bound_repository(self, kustomization: JsonObject) -> JsonObject:
        name = source_name(kustomization)
        if name is None:
            raise PermanentError(
                ConditionReason.UNSUPPORTED_SOURCE, f"Kustomization {self._ref} does not apply a GitRepository"
            )
        repository = await self._flux.repository(name)
        self._refuse_unbound(repository)
        return repository

    def _refuse_unbound(self, repository: JsonObject) -> None:
        if pinned := pin(repository):
            message = f"GitRepository {name_of(repository)} is pinned to {pinned}"
            raise PermanentError(ConditionReason.UNSUPPORTED_SOURCE, message)
        if mismatch := binding_mismatch(repository_source(repository), self._ask.want):
            raise PermanentError(ConditionReason.SOURCE_MISMATCH, mismatch)

    def _refuse_foreign_owner(self, kustomization: JsonObject) -> None:
        if appliers := suspend_owners(kustomization, self._flux.manager).appliers:
            raise PermanentError(
                ConditionReason.SUSPEND_OWNED_ELSEWHERE,
                f"spec.suspend of Kustomization {self._ref} is applied by {', '.join(appliers)}",
            )

    def _require_current(self) -> None:
        if not self._ask.current():
            raise StaleError(f"{describe_commit(self._ask.commit)} is no longer what {self._ref} should apply")

    async def _stamp(self, repository: JsonObject) -> str:
        try:
            return await self._flux.stamp(repository)
        except QuarterdeckError as error:
            raise RetryableError(f"the source of {self._ref} could not be asked to fetch: {error}") from error

    async def _fetch(self, repository: JsonObject) -> None:
        """Stamp the source and wait until it holds the commit; its own word on the stamp ends the wait."""
        stamp = await self._stamp(repository)
        name = name_of(repository)
        while True:
            await self._ask.pause(self._timing.poll_interval)
            repository = await self._flux.repository(name)
            if holds(artifact_revision(repository), self._ask.commit):
                return
            self._require_current()
            if handled(repository, stamp) or stood_in(repository, stamp):
                raise RetryableError(self._cannot_fetch(name, repository))

    def _cannot_fetch(self, name: ObjectName, repository: JsonObject) -> str:
        message = (
            f"GitRepository {name} cannot fetch {describe_commit(self._ask.commit)}: "
            f"it holds {artifact_revision(repository) or 'nothing'}"
        )
        if suspended(repository):
            return f"{message}; the source is suspended"
        ready = ready_condition(repository) or {}
        if ready.get("status") == "False":
            message += f"; {ready.get('reason', '')}: {ready.get('message', '')}"
        return message

    async def _look_again(self, first: JsonObject, repository: JsonObject) -> JsonObject:
        """The last reads before the decision is carried out: the same objects, the same source, the commit still there."""
        kustomization, now = await together(self._flux.kustomization(self._ref), self._flux.repository(name_of(repository)))
        if uid(kustomization) != uid(first) or deleting(kustomization):
            raise StaleError(f"Kustomization {self._ref} was replaced or is being deleted")
        if source_name(kustomization) != source_name(first):
            message = f"Kustomization {self._ref} applies another source since the commit was fetched"
            raise PermanentError(ConditionReason.SOURCE_MISMATCH, message)
        self._refuse_unbound(now)
        self._refuse_foreign_owner(kustomization)
        if uid(now) != uid(repository):
            raise StaleError(f"the source of Kustomization {self._ref} was replaced")
        if not holds(artifact_revision(now), self._ask.commit):
            raise StaleError(f"the source of Kustomization {self._ref} has moved on to {artifact_revision(now) or 'nothing'}")
        return kustomization

    async def _record(self, kustomization: JsonObject) -> JsonObject:
        """Record before the write: whatever the write does, a restart then finds it. Recording waits, so ask again after."""
        version = text(kustomization, "metadata", "resourceVersion")
        guards = Guards(uid(kustomization), version, number(kustomization, "metadata", "generation"))
        recorded = await self._ask.record(guards)
        self._require_current()
        if recorded.applier is None:
            return kustomization
        if recorded.replaced_version != version:
            raise StaleError(f"Kustomization {self._ref} changed just before it was to be resumed")
        return recorded.applier

    async def _resume(self, kustomization: JsonObject) -> Started:
        written = await starting_write(self._flux.resume(kustomization, self._ask.token), self._timing.write_timeout)
        started = self._started(RequestOutcome.RESUMED, token=self._ask.token)
        started.applier_uid = uid(kustomization)
        started.guard_resource_version = text(kustomization, "metadata", "resourceVersion")
        started.guard_generation = number(kustomization, "metadata", "generation")
        if written.obj is not None:
            started.resume_generation = number(written.obj, "metadata", "generation")
            return started
        error = written.error
        assert error is not None
        if written.fate is WriteFate.UNCONFIRMED:
            started.unconfirmed = error
            return started
        if written.fate in (WriteFate.CONFLICT, WriteFate.GONE):
            raise StaleError(f"Kustomization {self._ref} changed before it was resumed: {error}") from error
        if written.fate is WriteFate.FORBIDDEN:
            message = f"Kustomization {self._ref} may not be resumed: {error}"
            raise PermanentError(ConditionReason.FORBIDDEN, message, error.hint) from error
        raise RetryableError(f"Kustomization {self._ref} could not be resumed: {error}") from error

    def _started(self, outcome: RequestOutcome, token: str) -> Started:
        return Started(outcome=outcome, token=token, commit=self._ask.commit, requested_at=self._clock.now())
