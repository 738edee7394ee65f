"""The dispatch engine as a target of the write path: its verbs are planned, confirmed, journaled and observed as all others."""

from __future__ import annotations

import asyncio
from typing import Any

from console.engines.dispatch.constants import Outcome, Reason, RequestOutcome
from console.engines.dispatch.faults import DispatchError, StaleError
from console.engines.dispatch.local import LocalTrigger, read_local
from console.engines.dispatch.records import further
from console.engines.dispatch.requests import Report
from console.engines.dispatch.types import ApplierKey, Binding, Operation, TargetRef, TriggerRef
from console.engines.ports.applier import APPLICATIONS, KUSTOMIZATIONS
from console.errors import NotFound, Refused, UnclearAnswer, WorldMoved
from console.kit.dig import text
from console.kit.timing import Clock
from console.model.holds import HoldNote
from console.model.operations import State, StepView
from console.model.plan import Intent, Plan, PlanStep
from console.runtime.cluster_engine import LOCAL_MANAGER, ClusterEngine
from console.runtime.dispatch_phases import Seen, argo_phases, flux_phases
from console.runtime.dispatch_plans import LOCAL_VERBS, plan_local, refused
from console.runtime.hold_notes import note_patch
from console.runtime.lease_plans import LEASE_VERBS, plan_lease


async def ask(
    engine: ClusterEngine, ref: TriggerRef, key: ApplierKey, binding: Binding, step: PlanStep, targets: tuple[TargetRef, ...]
) -> str:
    """Ask the dispatcher for the apply of ``step``; returns when it is on its way.

    :raises DispatchError: nothing was asked.
    """
    first: asyncio.Future[Report] = asyncio.get_running_loop().create_future()

    def heard(report: Report) -> None:
        if not first.done():
            first.set_result(report)

    engine.operations.pop(ref.key, None)
    commit, reason = str(step.request["commit"]), Reason(str(step.request["reason"]))
    engine.request(ref, key, binding, commit, reason, targets, report=heard)
    report = await first
    if report.error is not None:
        raise report.error
    if report.outcome is RequestOutcome.CURRENT:
        return "the commit is applied already; nothing was asked"
    return f"asked with the token {report.operation.token if report.operation else ''}"


class DispatchWriter:
    """Satisfies :class:`console.runtime.ports.Writes` for one object of one cluster.

    :param trigger: the declared trigger that drives the object; None for custom triggers, where only the Lease is moved.
    """

    look_seconds = 1.0

    def __init__(self, engine: ClusterEngine, trigger: LocalTrigger | None, clock: Clock, who: str) -> None:
        self._engine = engine
        self._trigger = trigger
        self._clock = clock
        self._who = who
        self._seen = Seen()

    def verbs(self, kind: str) -> tuple[str, ...]:
        """What can be planned for the object."""
        return LOCAL_VERBS.get(kind, ()) if self._trigger is not None else LEASE_VERBS

    async def plan(self, intent: Intent) -> Plan:
        """Read the applier and say what would be done. :raises Refused: unlawful now."""
        if len(intent.targets) != 1:
            raise Refused("One trigger at a time.", "Each apply is followed to its end by itself.")
        if self._trigger is None:
            return await plan_lease(self._engine, intent, self._clock)
        return await plan_local(self._engine, self._trigger, intent, self._clock)

    async def execute(self, step: PlanStep) -> str:
        """Make the one request, and return when it is on its way."""
        if not self._engine.running:
            # Nobody here would renew the Lease, keep the hold, or follow the apply to its end.
            raise Refused("Another console of this account runs the engines now.", "Do it there, or end that console first.")
        try:
            match step.request["call"]:
                case "apply":
                    return await self._apply(step)
                case "hold":
                    return await self._hold(step)
                case "release":
                    return await self._release()
                case "take-over":
                    return await self._take_over()
                case _:
                    await self._engine.hand_back()
                    return "the Lease is free"
        except StaleError as error:
            raise WorldMoved(f"The world moved: {error.message}", "Plan again.") from error
        except DispatchError as error:
            raise refused(error) from error

    async def applied(self, step: PlanStep) -> bool | None:
        """Whether the request of ``step`` left a trace, read live."""
        match step.request["call"]:
            case "apply":
                operation = await self._recorded()
                if operation is None or operation.token == step.request["before"]:
                    return False
                return True if operation.commit == step.request["commit"] else None
            case "hold" | "release":
                holding = read_local(await self._applier()).holding
                return holding is (step.request["call"] == "hold")
            case "take-over":
                # A Lease that may carry our name but is not renewed ends by itself.
                return self._engine.leadership.held or None
            case _:
                return not self._engine.leadership.held

    async def observe(self, plan: Plan) -> tuple[bool, str]:
        """How far it is, in words. :raises Refused: it ended badly."""
        step = plan.steps[0]
        match step.request["call"]:
            case "apply":
                return await self._observe_apply(step)
            case "hold":
                return await self._observe_hold()
            case "release":
                return True, f"{step.ref.path} is handed back"
            case _:
                return True, "this console is the engine" if step.request["call"] == "take-over" else "the Lease is free"

    def phases(self, step: PlanStep) -> tuple[StepView, ...]:
        """Those of an apply; other requests have none."""
        if step.request["call"] != "apply" or self._trigger is None:
            return ()
        return flux_phases(self._seen) if self._trigger.kind == KUSTOMIZATIONS.kind else argo_phases(self._seen)

    def takes_up(self, plan: Plan) -> bool:
        """An apply is followed to its end by whichever console of the account runs the engine."""
        return self._engine.running and plan.steps[0].request["call"] == "apply"

    async def _apply(self, step: PlanStep) -> str:
        trigger = self._declared()
        targets = (TargetRef(trigger.namespace, trigger.name),)
        return await ask(self._engine, trigger.ref, trigger.key, trigger.binding, step, targets)

    async def _hold(self, step: PlanStep) -> str:
        trigger = self._declared()
        note = HoldNote(by=self._who, why=str(step.request["why"]), until=str(step.request["until"]))
        # The note comes first: a hold without a name on it is what nobody can explain later.
        await self._note(note)
        try:
            await self._engine.hold(trigger)
        except DispatchError:
            await self._note(None)
            raise
        return "suspended under this console's name"

    async def _release(self) -> str:
        trigger = self._declared()
        keeper = await self._engine.release(trigger)
        await self._note(None)
        return f"handed back; {keeper} keeps it suspended" if keeper else "handed back and resumed"

    async def _take_over(self) -> str:
        if not await self._engine.claim():
            raise WorldMoved(
                "Another engine holds the Lease: it took or renewed it in this moment.",
                "This console shows what it does. Should that one seem dead, compare the clocks of both machines.",
            )
        return "the Lease is ours"

    async def _observe_apply(self, step: PlanStep) -> tuple[bool, str]:
        trigger = self._declared()
        applier = await self._applier()
        recorded = read_local(applier).operation
        operation = further(self._engine.operations.get(trigger.ref.key), recorded)
        commit = str(step.request["commit"])
        if operation is None or operation.token == step.request["before"]:
            return True, f"{commit[:7]} is applied already"
        written = recorded is None or recorded.token != operation.token or not recorded.in_flight
        self._seen = Seen(operation, applier, written)
        if operation.outcome.complete and not written:
            # A console that ended now would leave an operation in flight for the next one to find out about.
            return False, "the outcome to be written on the applier"
        if operation.outcome is Outcome.SUCCEEDED:
            return True, operation.message or f"{commit[:7]} is applied"
        if operation.outcome is Outcome.FAILED:
            raise Refused(f"{commit[:7]} was not applied: {operation.message}", "The last good commit still serves.")
        now = next((phase for phase in self.phases(step) if phase.depth == 1 and phase.state is State.RUNNING), None)
        return False, now.waiting_for if now is not None else "the apply to end"

    async def _observe_hold(self) -> tuple[bool, str]:
        trigger = self._declared()
        flux = await self._engine.clients.flux(trigger.cluster)
        suspension = await flux.suspension(trigger.key.ref)
        return suspension.complete, "held" if suspension.complete else "Flux to handle the suspend"

    async def _recorded(self) -> Operation | None:
        return read_local(await self._applier()).operation

    async def _applier(self) -> dict[str, Any]:
        trigger = self._declared()
        kind = KUSTOMIZATIONS if trigger.kind == KUSTOMIZATIONS.kind else APPLICATIONS
        try:
            return await self._engine.objects.get(kind, trigger.namespace, trigger.name)
        except NotFound as error:
            raise Refused(f"{trigger.key} is gone.") from error

    async def _note(self, note: HoldNote | None) -> None:
        trigger = self._declared()
        body = note_patch(note)
        # Bound to the object, not to its version: controllers report all the time, and nobody else writes this annotation.
        body["metadata"]["uid"] = text(await self._applier(), "metadata", "uid")
        kind = KUSTOMIZATIONS if trigger.kind == KUSTOMIZATIONS.kind else APPLICATIONS
        try:
            await self._engine.objects.merge(kind, trigger.namespace, trigger.name, body, manager=LOCAL_MANAGER)
        except UnclearAnswer:
            # The note is for people; whether it is there shows at the next look.
            return

    def _declared(self) -> LocalTrigger:
        if self._trigger is None:
            raise Refused("No declared trigger drives this object.")
        return self._trigger
