"""Triggers that are custom resources: their record in their status, and the re-check before each request."""

from __future__ import annotations

import copy

from console.engines.dispatch.binding import binding_mismatch, same_repository
from console.engines.dispatch.clients import ClusterClients
from console.engines.dispatch.constants import FIELD_MANAGER, ConditionReason, Reason
from console.engines.dispatch.faults import RetryableError, StaleError
from console.engines.dispatch.records import write_operation
from console.engines.dispatch.references import References
from console.engines.dispatch.resources import (
    TRIGGER_KINDS,
    TargetView,
    TriggerView,
    held_message,
    names,
    trigger_record,
    trigger_view,
)
from console.engines.dispatch.types import ApplierKey, Consumer, ObjectName, Source, TargetRef, TriggerRecord, TriggerRef
from console.engines.ports.applier import FLUX_TRIGGERS, JsonObject, Objects
from console.engines.ports.dispatch import Decision, Stored
from console.errors import NotFound, NotServed, QuarterdeckError
from console.kit.dig import dig, number, text


class StatusStore:
    """Keeps the record in the trigger's status subresource; every other status field goes back as it was read."""

    on_applier = False

    def __init__(self, control: Objects, manager: str = FIELD_MANAGER) -> None:
        self._control = control
        self._manager = manager

    async def read(self, trigger: TriggerRef) -> Stored:
        """The trigger, read live."""
        obj = await self._control.get(TRIGGER_KINDS[trigger.kind], trigger.namespace, trigger.name)
        return Stored(
            document=obj,
            record=trigger_record(obj),
            version=text(obj, "metadata", "resourceVersion"),
            uid=text(obj, "metadata", "uid"),
            deleting=text(obj, "metadata", "deletionTimestamp") != "",
        )

    async def write(self, trigger: TriggerRef, stored: Stored, record: TriggerRecord) -> JsonObject:
        """Update the status, guarded by the resourceVersion that was read."""
        body = copy.deepcopy(stored.document)
        status = body.setdefault("status", {})
        present = status.pop("operation", None)
        if record.operation is not None:
            status["operation"] = write_operation(record.operation, present)
        status["repairPending"] = record.repair_pending
        return await self._control.replace(TRIGGER_KINDS[trigger.kind], body, manager=self._manager, subresource="status")


class CustomTriggers:
    """The re-checks of sections 7.3 and 7.7, by fresh reads of the custom resources.

    :param clients: of the clusters of the appliers, to ask who else consumes a source.
    """

    def __init__(self, control: Objects, clients: ClusterClients) -> None:
        self._references = References(control)
        self._clients = clients

    def drives(self, trigger: TriggerRef) -> bool:
        """Any custom trigger: whether this console is the elected engine is asked one level above, in ``routing``."""
        return trigger.kind in TRIGGER_KINDS

    async def still_asked(self, decision: Decision) -> tuple[TargetRef, ...]:
        """The targets for which the decision still holds."""
        try:
            return await self._still_asked(decision)
        except QuarterdeckError as error:
            if isinstance(error, StaleError | RetryableError):
                raise
            raise RetryableError(f"whether {decision.trigger} still asks could not be read: {error}") from error

    async def _still_asked(self, decision: Decision) -> tuple[TargetRef, ...]:
        trigger = await self._trigger(decision)
        holder = await self._references.held_by_another(trigger)
        if holder is not None:
            raise StaleError(held_message(trigger, holder))
        present = {target.ref: target for target in await self._references.naming_targets(trigger.ref)}
        kept: list[TargetView] = []
        dropped: list[str] = []
        for ref in decision.targets:
            target = present.get(ref)
            why = (
                "it is gone or names the trigger no longer"
                if target is None
                else await self._why_not(decision, trigger, target)
            )
            if target is None or why:
                dropped.append(f"{ref}: {why}")
            else:
                kept.append(target)
        if not kept:
            raise StaleError("no target asks any more: " + "; ".join(dropped))
        return tuple(target.ref for target in kept)

    async def _trigger(self, decision: Decision) -> TriggerView:
        try:
            trigger = await self._references.trigger(decision.trigger)
        except (NotFound, NotServed) as error:
            raise StaleError(f"{decision.trigger} does not exist any more") from error
        if trigger.deleting or (decision.trigger.uid and trigger.ref.uid != decision.trigger.uid):
            raise StaleError(f"{decision.trigger} was deleted or replaced")
        if trigger.key != decision.key:
            raise StaleError(f"{decision.trigger} names {trigger.key}, no longer {decision.key}")
        return trigger

    async def _why_not(self, decision: Decision, trigger: TriggerView, target: TargetView) -> str:
        """Why a present target carries the decision no longer; empty when it does."""
        if not names(target, trigger.ref):
            return "it names the trigger no longer"
        admitted = await self._references.admission(trigger, target)
        if not admitted.ok:
            return admitted.message
        want = await self._references.binding(target)
        if want is None:
            return f"GitProvider {target.provider} does not exist"
        if want.branch != decision.binding.branch or not same_repository(want.url, decision.binding.url):
            return "it writes " + (
                binding_mismatch(Source(decision.binding.url, decision.binding.branch), want) or "something else now"
            )
        if decision.reason is Reason.REFUSAL and not target.consents:
            return "it does not consent to have refused edits reverted"
        return ""

    async def require_held(self, decision: Decision) -> None:
        """Only what is held is resumed; Argo CD's Applications are not held at all."""
        if decision.trigger.kind != FLUX_TRIGGERS.kind:
            return
        try:
            trigger = await self._references.trigger(decision.trigger)
        except QuarterdeckError as error:
            raise RetryableError(f"whether {decision.trigger} holds its Kustomization could not be read: {error}") from error
        held: JsonObject = next(
            (condition for condition in dig(trigger.obj, "status", "conditions") or [] if condition.get("type") == "Held"),
            {},
        )
        if held.get("status") != "True" or held.get("reason") != ConditionReason.SUSPENDED:
            state = f"{held.get('status', 'Unknown')}/{held.get('reason', 'none')}"
            raise RetryableError(f"{decision.trigger} does not hold its Kustomization yet (Held is {state})")
        if number(held, "observedGeneration") != trigger.generation:
            raise RetryableError(f"{decision.trigger} changed since it was last seen to hold its Kustomization")

    async def prefetch_source(self, trigger: TriggerRef, key: ApplierKey) -> ObjectName | None:
        """The published source, when this Kustomization is its only consumer and nothing that reads it is resumed."""
        view = await self._references.trigger(trigger)
        if view.key != key or not view.prefetch or view.source is None or view.source.git_repository is None:
            return None
        repository = view.source.git_repository
        # Strictly: a record that can't be understood may be one in flight.
        for other in map(trigger_view, await self._references.objects(trigger.kind)):
            if (
                other.in_flight
                and other.key.cluster == key.cluster
                and other.source is not None
                and other.source.git_repository == repository
            ):
                return None
        # What was published may be minutes old, and a fetch ahead would have a new consumer apply ahead.
        flux = await self._clients.flux(key.cluster)
        alone = await flux.consumers(repository) == [Consumer(key.kind, key.namespace, key.name)]
        return repository if alone else None
