"""The Flux client of one cluster: checks, asks, follows, holds and hands back Kustomizations.

It reads live, watches nothing and keeps nothing between calls except what :class:`Started` carries.
"""

from __future__ import annotations

from console.engines.dispatch import flux_sources
from console.engines.dispatch.constants import FIELD_MANAGER, ConditionReason, Outcome, RequestOutcome, Timing
from console.engines.dispatch.faults import (
    DispatchError,
    NotPrefetchedError,
    PermanentError,
    PrefetchHeldError,
    RetryableError,
    read_fault,
)
from console.engines.dispatch.flux_objects import FluxObjects
from console.engines.dispatch.flux_reading import (
    artifact_revision,
    pin,
    read_suspension,
    repository_source,
    source_name,
    suspend_owners,
    suspended,
)
from console.engines.dispatch.flux_request import FluxRequest
from console.engines.dispatch.flux_step import flux_step
from console.engines.dispatch.revisions import holds
from console.engines.dispatch.tokens import Tokens
from console.engines.dispatch.types import Ask, Consumer, ObjectName, Progress, Source, Started, Suspension, Verdict
from console.engines.ports.applier import GIT_REPOSITORIES, KUSTOMIZATIONS, JsonObject, Objects
from console.errors import Conflict, Forbidden, LoginExpired, NotFound, NotServed, QuarterdeckError
from console.kit.dig import number
from console.kit.timing import Clock

_TAKE_BACK_TRIES = 5


class FluxClient:
    """Kustomizations of one cluster.

    :param manager: field manager of every write; two engines must not share one.
    """

    def __init__(
        self, objects: Objects, clock: Clock, tokens: Tokens, timing: Timing | None = None, manager: str = FIELD_MANAGER
    ) -> None:
        self._objects = objects
        self._flux = FluxObjects(objects, tokens, manager)
        self._clock = clock
        self._timing = timing or Timing()
        self.manager = manager

    async def validate(self, ref: ObjectName) -> Verdict:
        """Whether the Kustomization can be driven; never raises a dispatch error, the verdict says it. Reads only."""
        try:
            kustomization = await self._objects.get(KUSTOMIZATIONS, ref.namespace, ref.name)
        except QuarterdeckError as error:
            return unreadable(error, f"Kustomization {ref}", ConditionReason.APPLIER_NOT_FOUND)
        name = source_name(kustomization)
        if name is None:
            return Verdict(False, ConditionReason.UNSUPPORTED_SOURCE, f"Kustomization {ref} does not apply a GitRepository")
        try:
            repository = await self._objects.get(GIT_REPOSITORIES, name.namespace, name.name)
        except QuarterdeckError as error:
            return unreadable(error, f"GitRepository {name}", ConditionReason.UNSUPPORTED_SOURCE)
        source = repository_source(repository)
        if pinned := pin(repository):
            return Verdict(False, ConditionReason.UNSUPPORTED_SOURCE, f"GitRepository {name} is pinned to {pinned}", source)
        if appliers := suspend_owners(kustomization, self.manager).appliers:
            message = f"spec.suspend of Kustomization {ref} is applied by {', '.join(appliers)}"
            return Verdict(False, ConditionReason.SUSPEND_OWNED_ELSEWHERE, message, source)
        for kind, which in ((KUSTOMIZATIONS, ref), (GIT_REPOSITORIES, name)):
            try:
                allowed = await self._objects.can_i("patch", kind, which.namespace, which.name)
            except QuarterdeckError as error:
                message = f"the access review for {kind.kind} {which} failed: {error}"
                return Verdict(False, ConditionReason.FAILED, message, source, error)
            if not allowed:
                return Verdict(False, ConditionReason.FORBIDDEN, f"{kind.kind} {which} may not be patched", source)
        return Verdict(True, ConditionReason.SUCCEEDED, "", source)

    async def request(self, ref: ObjectName, ask: Ask) -> Started:
        """Start at most one operation; see :class:`FluxRequest`."""
        return await FluxRequest(self._flux, ref, ask, self._clock, self._timing).run()

    async def progress(self, ref: ObjectName, started: Started) -> Progress:
        """One read, at most one write (the suspend that ends the operation).

        :raises RetryableError: the read or the suspend failed; nothing is known to have changed, call again.
        """
        if started.outcome is RequestOutcome.CURRENT:
            return Progress(Outcome.SUCCEEDED)
        obj: JsonObject | None
        try:
            obj = await self._objects.get(KUSTOMIZATIONS, ref.namespace, ref.name)
        except NotFound:
            obj = None
        except QuarterdeckError as error:
            raise RetryableError(f"Kustomization {ref} could not be read: {error}") from error
        step = flux_step(obj, started, self._timing.record_clock_slack)
        started.seen = started.seen or step.seen
        started.verdict = step.verdict or started.verdict
        if obj is None or not step.suspend:
            return step.progress
        try:
            token, stored = await self._flux.suspend(obj)
        except QuarterdeckError as error:
            raise RetryableError(f"Kustomization {ref} could not be suspended after its apply: {error}") from error
        started.suspend_token = token
        started.suspend_generation = number(stored, "metadata", "generation")
        return Progress(Outcome.SETTLING, step.progress.message, suspend_token=token)

    async def suspend(self, ref: ObjectName) -> str:
        """Take the Kustomization into our hold; returns the token whose handling says that no reconcile runs any more."""
        kustomization = await self._flux.kustomization(ref)
        if appliers := suspend_owners(kustomization, self.manager).appliers:
            raise PermanentError(
                ConditionReason.SUSPEND_OWNED_ELSEWHERE,
                f"spec.suspend of Kustomization {ref} is applied by {', '.join(appliers)}",
            )
        try:
            token, _ = await self._flux.suspend(kustomization)
        except QuarterdeckError as error:
            raise _write_fault(error, f"Kustomization {ref} could not be suspended") from error
        return token

    async def suspension(self, ref: ObjectName) -> Suspension:
        """How it is held, by one read."""
        return read_suspension(await self._flux.kustomization(ref), self.manager)

    async def release(self, ref: ObjectName) -> str:
        """Hand the apply moments back to Flux; returns the manager that keeps it suspended, empty when it is resumed.

        Flux then applies whatever the artifact is at that moment. Never call it while an operation is followed.
        """
        for _ in range(_TAKE_BACK_TRIES):
            kustomization = await self._present(ref)
            if kustomization is None:
                return ""
            owners = suspend_owners(kustomization, self.manager)
            try:
                if suspended(kustomization) and owners.updaters and not owners.appliers:
                    # Dropping our share alone would leave the other owner's true in place.
                    kustomization = await self._flux.take_back(kustomization)
                await self._flux.give_up(kustomization)
                break
            except Conflict:
                continue
            except QuarterdeckError as error:
                raise _write_fault(error, f"Kustomization {ref} could not be released") from error
        else:
            raise RetryableError(f"Kustomization {ref} changed during each of {_TAKE_BACK_TRIES} tries to release it")
        kustomization = await self._present(ref)
        if kustomization is None or not suspended(kustomization):
            return ""
        owners = suspend_owners(kustomization, self.manager)
        return next(iter((*owners.appliers, *owners.updaters)), "")

    async def _present(self, ref: ObjectName) -> JsonObject | None:
        try:
            return await self._objects.get(KUSTOMIZATIONS, ref.namespace, ref.name)
        except (NotFound, NotServed):
            return None
        except QuarterdeckError as error:
            raise read_fault(error, f"Kustomization {ref}") from error

    async def consumers(self, source: ObjectName) -> list[Consumer]:
        """All objects that apply a GitRepository; an error means that they are unknown: treat the source as shared."""
        return await flux_sources.consumers(self._objects, source)

    async def prefetch(self, ref: ObjectName, checked: ObjectName, commit: str) -> str:
        """Let the source fetch ahead; returns the stamp and waits for nothing.

        :raises PrefetchHeldError: the Kustomization has another source than the one whose consumers were checked.
        :raises NotPrefetchedError: the artifact holds the commit already.
        """
        kustomization = await self._flux.kustomization(ref)
        name = source_name(kustomization)
        if name != checked:
            raise PrefetchHeldError(f"Kustomization {ref} applies {name or 'no GitRepository'}, not {checked} as checked")
        repository = await self._flux.repository(checked)
        if holds(artifact_revision(repository), commit):
            raise NotPrefetchedError(f"GitRepository {checked} holds the commit already")
        try:
            return await self._flux.stamp(repository)
        except QuarterdeckError as error:
            raise _write_fault(error, f"GitRepository {checked} could not be asked to fetch") from error


def unreadable(error: QuarterdeckError, what: str, missing: ConditionReason, source: Source | None = None) -> Verdict:
    """The verdict of a check whose read failed; ``missing`` is the reason when the object isn't there."""
    if isinstance(error, NotFound | NotServed):
        return Verdict(False, missing, f"{what} does not exist: {error}", source)
    if isinstance(error, Forbidden | LoginExpired):
        return Verdict(False, ConditionReason.FORBIDDEN, f"{what} may not be read: {error}", source)
    return Verdict(False, ConditionReason.FAILED, f"{what} could not be read: {error}", source, error)


def _write_fault(error: QuarterdeckError, what: str) -> DispatchError:
    if isinstance(error, Forbidden | LoginExpired):
        return PermanentError(ConditionReason.FORBIDDEN, f"{what}: {error}")
    return RetryableError(f"{what}: {error}")
