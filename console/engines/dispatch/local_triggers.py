"""Checks, holds and re-checks of local triggers, and what of an earlier process is still in flight. Section 10."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import NamedTuple

from console.engines.dispatch.binding import binding_mismatch
from console.engines.dispatch.clients import ClusterClients
from console.engines.dispatch.constants import ConditionReason, Reason
from console.engines.dispatch.external import ExternalApplies
from console.engines.dispatch.faults import DispatchError, PermanentError, RetryableError, StaleError
from console.engines.dispatch.flux_reading import read_suspension, suspend_owners
from console.engines.dispatch.holding import Following, followed, keep_held
from console.engines.dispatch.judgement import Condition
from console.engines.dispatch.local import LOCAL_KIND, AnnotationStore, Declarations, LocalTrigger, read_local
from console.engines.dispatch.many import Lists, Name
from console.engines.dispatch.resources import applier_key, trigger_ref
from console.engines.dispatch.types import ApplierKey, ObjectName, Operation, TargetRef, TriggerRecord, TriggerRef, Verdict
from console.engines.ports.applier import (
    APPLICATIONS,
    ARGOCD_TRIGGERS,
    FLUX_TRIGGERS,
    KUSTOMIZATIONS,
    ApiKind,
    JsonObject,
    Objects,
)
from console.engines.ports.dispatch import Clusters, Decision, Stored
from console.errors import Conflict, NotFound, NotServed, QuarterdeckError
from console.kit.dig import text


async def foreign_holder(objects: Objects, kind: str, applier: ObjectName) -> str:
    """The custom trigger of this cluster that names an applier; empty when there is none.

    Its ClusterProvider is not looked at: whether a name leads elsewhere can't be seen, and keeping off is the safe answer.
    """
    trigger_kind = FLUX_TRIGGERS if kind == KUSTOMIZATIONS.kind else ARGOCD_TRIGGERS
    try:
        triggers = await objects.list(trigger_kind)
    except NotServed:
        return ""
    for obj in triggers:
        named = {**obj, "kind": trigger_kind.kind}
        if applier_key(named).ref == applier:
            return str(trigger_ref(named))
    return ""


def _nobody(_: LocalTrigger, __: Operation) -> None:
    return None


class Kept(NamedTuple):
    """What one look at a hold came to: the condition ``Held``, whether to look again soon, and, when there was nothing to do,
    the version of the object of which that is true."""

    condition: Condition
    again: bool
    version: str


class LocalTriggers:
    """Satisfies :class:`~console.engines.ports.dispatch.Triggers` for local triggers, and keeps their holds."""

    def __init__(self, clusters: Clusters, clients: ClusterClients, declarations: Declarations, store: AnnotationStore) -> None:
        self._clusters = clusters
        self._clients = clients
        self._declarations = declarations
        self._store = store
        self._met: dict[TriggerRef, tuple[str, float]] = {}
        self.left: Callable[[LocalTrigger, Operation], None] = _nobody
        """Told of an operation that another console has left behind, to be followed to its end here."""
        self._external = ExternalApplies()
        self._lists = {kind.kind: Lists() for kind in (KUSTOMIZATIONS, APPLICATIONS)}

    async def validate(self, trigger: LocalTrigger) -> Verdict:
        """Whether the trigger may drive its applier. Reads only; the verdict says what stands in the way."""
        key = trigger.key
        try:
            objects = await self._clusters.objects(key.cluster)
            holder = await foreign_holder(objects, key.kind, key.ref)
            if holder:
                message = f"{key.kind} {key.ref} is held by {holder}"
                return Verdict(False, ConditionReason.HELD_BY_ANOTHER_TRIGGER, message)
            client = await self._clients.client(key)
            verdict = await client.validate(key.ref)
            if not verdict.ok:
                return verdict
            if mismatch := binding_mismatch(verdict.source, trigger.binding):
                return Verdict(False, ConditionReason.SOURCE_MISMATCH, mismatch, verdict.source)
            if why := await self._held_by_a_namesake(trigger):
                return Verdict(False, ConditionReason.HELD_BY_ANOTHER_TRIGGER, why, verdict.source)
        except QuarterdeckError as error:
            return Verdict(False, ConditionReason.FAILED, f"{key} could not be checked: {error}", None, error)
        return verdict

    async def _held_by_a_namesake(self, trigger: LocalTrigger) -> str:
        """Why a hold under our manager's name is not taken for ours: another engine may use the same name."""
        if trigger.kind != KUSTOMIZATIONS.kind or trigger.confirmed:
            return ""
        record = await self._store.local_record(trigger.ref)
        flux = await self._clients.flux(trigger.cluster)
        objects = await self._clusters.objects(trigger.cluster)
        kustomization = await objects.get(KUSTOMIZATIONS, trigger.namespace, trigger.name)
        if record.holding or not suspend_owners(kustomization, flux.manager).ours:
            return ""
        return (
            f"spec.suspend of {trigger.key} is already owned under the name {flux.manager}, by something that left no record; "
            "confirm that it is this console, or give this console another field manager"
        )

    def drives(self, trigger: TriggerRef) -> bool:
        """A local trigger needs no lead; even one that is no longer declared is followed to its end."""
        return trigger.kind == LOCAL_KIND

    async def still_asked(self, decision: Decision) -> tuple[TargetRef, ...]:
        """A declared trigger is its own single reference."""
        try:
            trigger = self._declarations.find(decision.trigger)
            objects = await self._clusters.objects(trigger.cluster)
            holder = await foreign_holder(objects, trigger.kind, trigger.key.ref)
        except NotFound as error:
            raise StaleError(f"{decision.trigger} is not declared any more") from error
        except QuarterdeckError as error:
            raise RetryableError(f"whether {decision.trigger} still asks could not be read: {error}") from error
        if holder:
            message = f"{trigger.key.kind} {trigger.key.ref} is held by {holder}"
            raise PermanentError(ConditionReason.HELD_BY_ANOTHER_TRIGGER, message)
        if trigger.key != decision.key or trigger.binding != decision.binding:
            raise StaleError(f"{decision.trigger} is declared otherwise since")
        if decision.reason is Reason.REFUSAL and not trigger.revert_refused_edits:
            raise StaleError(f"{decision.trigger} does not consent to have refused edits reverted")
        return (TargetRef(trigger.namespace, trigger.name),)

    async def require_held(self, decision: Decision) -> None:
        """One fresh look at the Kustomization itself: nobody else publishes whether we hold it."""
        trigger = self._declarations.find(decision.trigger)
        if trigger.kind != KUSTOMIZATIONS.kind:
            return
        flux = await self._clients.flux(trigger.cluster)
        suspension = await flux.suspension(trigger.key.ref)
        if not suspension.complete:
            raise RetryableError(f"{trigger.key} is not held: hold it before it is asked to apply")

    async def prefetch_source(self, trigger: TriggerRef, key: ApplierKey) -> ObjectName | None:
        """The source, when this Kustomization is its only consumer and holds nothing in flight."""
        if key.kind != KUSTOMIZATIONS.kind:
            return None
        record = await self._store.local_record(trigger)
        if record.operation is not None and record.operation.in_flight:
            return None
        flux = await self._clients.flux(key.cluster)
        verdict = await flux.validate(key.ref)
        if not verdict.ok or verdict.source is None or verdict.source.git_repository is None:
            return None
        consumers = await flux.consumers(verdict.source.git_repository)
        alone = [(c.kind, c.namespace, c.name) for c in consumers] == [(key.kind, key.namespace, key.name)]
        return verdict.source.git_repository if alone else None

    async def hold(self, trigger: LocalTrigger) -> str:
        """Take a Kustomization into our hold: note it durably, then suspend. Returns the token that must be handled.

        :raises PermanentError: the trigger may not hold it, or may not drive it at all.
        """
        if not trigger.hold:
            message = f"the declaration of {trigger.key} does not let the console hold it"
            raise PermanentError(ConditionReason.FORBIDDEN, message)
        verdict = await self.validate(trigger)
        if not verdict.ok:
            failed = verdict.reason is ConditionReason.FAILED
            raise RetryableError(verdict.message) if failed else PermanentError(verdict.reason, verdict.message)
        await self._note(trigger, holding=True)
        return await (await self._clients.flux(trigger.cluster)).suspend(trigger.key.ref)

    async def keep(self, trigger: LocalTrigger, following: Following) -> Kept:
        """Keep what is held suspended, whoever resumed it: one live read while there is nothing to do.

        Nothing is done for what this console does not hold. :raises NotFound: it is gone.
        :raises QuarterdeckError: a read or the suspend failed.
        """
        stored = await self._store.read(trigger.ref)
        record = read_local(stored.document)
        if not record.holding:
            self._external.forget(trigger.ref)
            return Kept(Condition("False", ConditionReason.RESUMED, "this console does not hold it"), False, stored.version)
        flux = await self._clients.flux(trigger.cluster)
        applying = followed(following, trigger.ref, record.operation)
        if not applying and record.operation is not None and record.operation.in_flight:
            applying = self._anothers(trigger.ref, record.operation)
            if not applying:
                self.left(trigger, record.operation)
        if applying:
            self._external.forget(trigger.ref)
        else:
            suspension = read_suspension(stored.document, flux.manager)
            found = self._external.look(trigger.ref, suspension, record.operation)
            if found is not None:
                return await self._record_found(trigger, stored, found)
            if suspension.complete:
                return Kept(Condition("True", ConditionReason.SUSPENDED), False, stored.version)
        condition, again = await keep_held(flux, trigger.key.ref, applying=applying, fresh=False)
        # What a second read found complete has another version than the first: the next look settles it.
        return Kept(condition, again, "")

    async def _record_found(self, trigger: LocalTrigger, stored: Stored, found: Operation) -> Kept:
        """Somebody else's apply goes onto the record; another look tells that nothing has changed since."""
        try:
            await self._store.write(
                trigger.ref, stored, TriggerRecord(operation=found, repair_pending=stored.record.repair_pending)
            )
        except Conflict:
            # It was changed in this moment, perhaps by a console that found it too; what is there then is read again.
            self._external.forget(trigger.ref)
        return Kept(Condition("True", ConditionReason.SUSPENDED), True, "")

    def _anothers(self, trigger: TriggerRef, operation: Operation) -> bool:
        """Whether an operation in flight that nobody here follows may be followed by another console.

        Suspending would spoil it: nothing would run. A console that died leaves it as it is, so it gets the time that an
        operation has before it is unresolved, by our own count: clocks of two machines differ.
        """
        now = asyncio.get_running_loop().time()
        token, since = self._met.get(trigger.key, ("", now))
        if token != operation.token:
            since = now
        self._met[trigger.key] = (operation.token, since)
        return now - since < self._clients.timing.unresolved_after

    async def release(self, trigger: LocalTrigger) -> str:
        """Hand a Kustomization back; returns the manager that still keeps it suspended, empty when it is resumed.

        :raises RetryableError: an operation is in flight: its end must be awaited first.
        """
        record = await self._store.local_record(trigger.ref)
        if record.operation is not None and record.operation.in_flight:
            raise RetryableError(f"{trigger.key} has an operation in flight; it can be released when that has ended")
        manager = await (await self._clients.flux(trigger.cluster)).release(trigger.key.ref)
        await self._note(trigger, holding=False)
        return manager

    async def in_flight(self) -> tuple[list[tuple[LocalTrigger, Operation]], list[LocalTrigger]]:
        """What earlier processes left behind, to be recovered; and the triggers of which that could not be read yet.

        Nothing may be asked for the latter before they have been read.
        """
        found: list[tuple[LocalTrigger, Operation]] = []
        unread: list[LocalTrigger] = []
        for kind in (KUSTOMIZATIONS, APPLICATIONS):
            triggers = [trigger for trigger in self._declarations.all() if trigger.kind == kind.kind]
            for cluster in sorted({trigger.cluster for trigger in triggers}):
                here = [trigger for trigger in triggers if trigger.cluster == cluster]
                records, missed = await self._records(kind, cluster, here)
                unread += missed
                found += [
                    (trigger, operation) for trigger, operation in records if operation is not None and operation.in_flight
                ]
        return found, unread

    async def _records(
        self, kind: ApiKind, cluster: str, triggers: list[LocalTrigger]
    ) -> tuple[list[tuple[LocalTrigger, Operation | None]], list[LocalTrigger]]:
        """The operations recorded on these appliers, and the triggers that could not be read: by lists where we may list."""
        names = {(trigger.namespace, trigger.name): trigger for trigger in triggers}

        async def fetch(namespace: str) -> Mapping[Name, JsonObject]:
            objects = await (await self._clusters.objects(cluster)).list(kind, namespace)
            return {(text(obj, "metadata", "namespace"), text(obj, "metadata", "name")): obj for obj in objects}

        try:
            listed, single = await self._lists[kind.kind].read(names, fetch)
        except QuarterdeckError:
            return [], triggers
        found: list[tuple[LocalTrigger, Operation | None]] = []
        unread: list[LocalTrigger] = []
        for name in listed.keys() | single:
            try:
                record = read_local(listed[name]) if name in listed else await self._store.local_record(names[name].ref)
            except NotFound:
                continue
            except QuarterdeckError:
                unread.append(names[name])
                continue
            found.append((names[name], record.operation))
        return found, unread

    async def _note(self, trigger: LocalTrigger, *, holding: bool) -> None:
        try:
            await self._store.set_holding(trigger.ref, holding)
        except NotFound:
            return
        except DispatchError:
            raise
        except QuarterdeckError as error:
            raise RetryableError(f"the hold could not be noted on {trigger.key}: {error}") from error


def delete_warning(kustomization: str, *, suspended: bool) -> str:
    """What must be said before a Kustomization is deleted; empty when nothing must."""
    if not suspended:
        return ""
    return (
        f"While Kustomization {kustomization} is suspended, deleting it leaves all its objects in the cluster. "
        "Release it first to have them collected."
    )
