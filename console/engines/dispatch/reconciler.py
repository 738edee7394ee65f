"""One pass over a custom trigger: judge it, publish what it is, and hold or hand back its Kustomization. Section 2.8.

It writes conditions, source and finalizer, never the operation: that is the status writer's, which it asks to record one that
was found. One pass at a time a trigger.
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable

from console.engines.dispatch.clients import ClusterClients
from console.engines.dispatch.conditions import with_conditions
from console.engines.dispatch.constants import FIELD_MANAGER, FINALIZER, ConditionReason, Timing
from console.engines.dispatch.external import ExternalApplies
from console.engines.dispatch.faults import RetryableError
from console.engines.dispatch.holding import Following, followed, keep_held
from console.engines.dispatch.judgement import Condition, Judgement, configured, ready
from console.engines.dispatch.references import References
from console.engines.dispatch.resources import TRIGGER_KINDS, TriggerView, held_message
from console.engines.dispatch.types import Consumer, Operation, Suspension, TriggerRef, Verdict
from console.engines.ports.applier import FLUX_TRIGGERS, JsonObject, Objects
from console.errors import NotFound
from console.kit.dig import dig, text
from console.kit.timing import Clock

_RELEASED = Condition("False", ConditionReason.RESUMED, "it was handed back")
"""Must replace a Held=True: requests go by it."""


Record = Callable[[TriggerRef, Operation], Awaitable[object]]
"""Puts an operation onto its trigger; raises while another one is in flight there."""


class TriggerReconciler:
    """Runs only in the elected engine.

    :param record: for an apply that was found on a held Kustomization and not asked for; None: it is not recorded.
    """

    def __init__(
        self,
        control: Objects,
        clients: ClusterClients,
        following: Following,
        clock: Clock,
        timing: Timing | None = None,
        manager: str = FIELD_MANAGER,
        record: Record | None = None,
    ) -> None:
        self._control = control
        self._references = References(control)
        self._clients = clients
        self._following = following
        self._clock = clock
        self._poll = (timing or Timing()).poll_interval
        self._manager = manager
        self._record = record
        self._external = ExternalApplies()

    async def reconcile(self, ref: TriggerRef) -> float:
        """One pass; returns seconds until the next one is needed (0: none before something changes).

        :raises QuarterdeckError: a read or a write failed; what was published stays, and the pass is to be repeated.
        """
        try:
            trigger = await self._references.trigger(ref)
        except NotFound:
            return 0.0
        targets = await self._references.naming_targets(trigger.ref)
        if trigger.deleting or not targets:
            return await self._idle(trigger)
        holder = await self._references.held_by_another(trigger)
        if holder is not None:
            judgement = await self._references.judge(trigger, targets, trigger.source)
            why = configured(judgement, held_message(trigger, holder), None)
            await self._publish(trigger, {"Configured": why, "Ready": ready(why)})
            return self._poll
        client = await self._clients.client(trigger.key)
        verdict = await client.validate(trigger.key.ref)
        if verdict.reason is ConditionReason.FAILED and trigger.source is not None:
            raise RetryableError(f"{trigger.ref} could not be checked: {verdict.message}")
        judgement = await self._references.judge(trigger, targets, verdict.source)
        return await self._carry_out(trigger, judgement, verdict)

    async def _idle(self, trigger: TriggerView) -> float:
        """Nobody names it, or it is being deleted: whatever it holds is handed back."""
        why = configured(Judgement(), "", None)
        if trigger.holding:
            kept, wait = await self._let_go(trigger)
            if wait:
                return wait
            why = Condition(why.status, why.reason, f"{why.message}{kept}")
        if not trigger.deleting:
            released = {"Held": _RELEASED} if trigger.holding else {}
            await self._publish(trigger, {"Configured": why, **released, "Ready": ready(why)})
        return 0.0

    async def _carry_out(self, trigger: TriggerView, judgement: Judgement, verdict: Verdict) -> float:
        why = configured(judgement, "", verdict)
        if trigger.ref.kind != FLUX_TRIGGERS.kind:
            await self._publish(trigger, {"Configured": why, "Ready": ready(why)}, await self._source(trigger, verdict))
            return 0.0
        conditions, wait = {"Configured": why}, 0.0
        if verdict.ok and judgement.eligible:
            conditions["Held"], wait = await self._hold(trigger)
        elif judgement.refused and trigger.holding:
            kept, wait = await self._let_go(trigger)
            conditions["Configured"] = Condition(why.status, why.reason, f"{why.message}{kept}")
            if not wait:
                conditions["Held"] = _RELEASED
        elif verdict.reason is ConditionReason.SUSPEND_OWNED_ELSEWHERE:
            conditions["Held"] = Condition("False", ConditionReason.RESUMED, verdict.message)
        held = [conditions["Held"]] if "Held" in conditions else []
        conditions["Ready"] = ready(conditions["Configured"], held)
        await self._publish(trigger, conditions, await self._source(trigger, verdict))
        return wait

    async def _hold(self, trigger: TriggerView) -> tuple[Condition, float]:
        """Keep the Kustomization suspended, except while an operation that somebody follows has it resumed."""
        if not trigger.holding:
            # Before the first suspend: a trigger deleted in between must still hand the Kustomization back.
            finalizers = [*(dig(trigger.obj, "metadata", "finalizers") or []), FINALIZER]
            await self._set_finalizers(trigger, finalizers)
        flux = await self._clients.flux(trigger.key.cluster)
        applying = followed(self._following, trigger.ref, trigger.record.operation)
        found: list[Operation] = []

        def seen(suspension: Suspension) -> None:
            operation = self._external.look(trigger.ref, suspension, trigger.record.operation)
            found.extend([operation] if operation is not None else [])

        if applying or not trigger.holding:
            self._external.forget(trigger.ref)
        condition, again = await keep_held(flux, trigger.key.ref, applying=applying, fresh=not trigger.holding, seen=seen)
        if found and self._record is not None:
            await self._record(trigger.ref, found[0])
        return condition, self._poll if again else 0.0

    async def _let_go(self, trigger: TriggerView) -> tuple[str, float]:
        """Release, then drop the finalizer; returns a note on who keeps it suspended, and seconds to wait if it must wait."""
        if followed(self._following, trigger.ref, trigger.record.operation):
            return "", self._poll
        self._external.forget(trigger.ref)
        flux = await self._clients.flux(trigger.key.cluster)
        manager = await flux.release(trigger.key.ref)
        rest = [name for name in dig(trigger.obj, "metadata", "finalizers") or [] if name != FINALIZER]
        await self._set_finalizers(trigger, rest)
        return (f"; {manager} keeps the Kustomization suspended" if manager else ""), 0.0

    async def _set_finalizers(self, trigger: TriggerView, finalizers: list[str]) -> None:
        metadata: JsonObject = {"resourceVersion": text(trigger.obj, "metadata", "resourceVersion"), "finalizers": finalizers}
        kind, ref = TRIGGER_KINDS[trigger.ref.kind], trigger.ref
        await self._control.merge(kind, ref.namespace, ref.name, {"metadata": metadata}, manager=self._manager)

    async def _source(self, trigger: TriggerView, verdict: Verdict) -> JsonObject | None:
        """``status.source``: for Flux with ``prefetch``, which says that nobody else applies it."""
        source = verdict.source
        if source is None:
            return None
        body: JsonObject = {"url": source.url, "revision": source.revision}
        if source.git_repository is None:
            return body
        body["gitRepository"] = {"namespace": source.git_repository.namespace, "name": source.git_repository.name}
        flux = await self._clients.flux(trigger.key.cluster)
        try:
            consumers = await flux.consumers(source.git_repository)
        except RetryableError:
            consumers = []
        body["prefetch"] = consumers == [Consumer(trigger.key.kind, trigger.key.namespace, trigger.key.name)]
        return body

    async def _publish(self, trigger: TriggerView, conditions: dict[str, Condition], source: JsonObject | None = None) -> None:
        """Update the status over a fresh read, since a hold may have changed the object; nothing is written if it is so."""
        kind, ref = TRIGGER_KINDS[trigger.ref.kind], trigger.ref
        try:
            fresh = await self._control.get(kind, ref.namespace, ref.name)
        except NotFound:
            return
        body = copy.deepcopy(fresh)
        status = body.setdefault("status", {})
        present = status.get("conditions") or []
        status["conditions"] = with_conditions(present, conditions, trigger.generation, self._clock.now())
        status["observedGeneration"] = trigger.generation
        if source is not None:
            status["source"] = source
        if body != fresh:
            await self._control.replace(kind, body, manager=self._manager, subresource="status")
