"""What this console can do with a cluster's own triggers: move the engine's Lease, and, while it leads, apply a commit.

Everything is read afresh: who leads, which targets name the trigger and may, what they write, what the applier applies.
"""

from __future__ import annotations

from typing import Any

from console.engines.dispatch.constants import DEFAULT_CLUSTER, Outcome
from console.engines.dispatch.faults import DispatchError, StaleError
from console.engines.dispatch.judgement import ReferenceState
from console.engines.dispatch.records import further
from console.engines.dispatch.resources import TriggerView
from console.engines.dispatch.revisions import describe_commit
from console.engines.dispatch.types import Binding, TargetRef, TriggerRef
from console.engines.ports.applier import APPLICATIONS, KUSTOMIZATIONS
from console.errors import NotFound, Refused, WorldMoved
from console.kit.dig import text
from console.kit.timing import Clock
from console.model.operations import State, StepView
from console.model.plan import FieldChange, Intent, Plan, PlanStep
from console.runtime.cluster_engine import ClusterEngine
from console.runtime.dispatch_phases import Seen, argo_phases, flux_phases
from console.runtime.dispatch_plans import (
    COMMIT,
    HINTS,
    WHY,
    applied_commit,
    apply_effects,
    asked_reason,
    fetched_first,
    read_source,
    refused,
    resolved,
    source_commit,
)
from console.runtime.dispatch_writer import DispatchWriter, ask
from console.runtime.lease_plans import LEASE_VERBS


class CustomWriter:
    """Satisfies :class:`console.runtime.ports.Writes` for one FluxTrigger or ArgoCDTrigger."""

    look_seconds = DispatchWriter.look_seconds

    def __init__(self, engine: ClusterEngine, ref: TriggerRef, clock: Clock, who: str) -> None:
        self._engine = engine
        self._ref = ref
        self._lease = DispatchWriter(engine, None, clock, who)
        self._seen = Seen()

    def verbs(self, kind: str) -> tuple[str, ...]:
        """What can be planned for the trigger."""
        return ("apply", *LEASE_VERBS)

    async def plan(self, intent: Intent) -> Plan:
        """Read the trigger, its targets and its applier, and say what would be done. :raises Refused: unlawful now."""
        if intent.verb != "apply":
            return await self._lease.plan(intent)
        if len(intent.targets) != 1:
            raise Refused("One trigger at a time.", "Each apply is followed to its end by itself.")
        if not self._engine.leadership.held:
            hint = "Take the engine's Lease over first, if no engine is alive (a)."
            raise Refused("This console is not the engine of this cluster's triggers: it only shows what they do.", hint)
        view = await self._view()
        targets, binding, consents = await self._eligible(view)
        reason = asked_reason(intent, consents=consents)
        client = await self._engine.custom_clients.client(view.key)
        verdict = await client.validate(view.key.ref)
        if not verdict.ok:
            raise Refused(f"{view.key} can't be driven: {verdict.message}", HINTS.get(verdict.reason, ""))
        raw = await self._applier(view)
        source = await read_source(self._engine, verdict)
        commit = intent.arguments.get("commit", "") or source_commit(raw, source)
        if not COMMIT.fullmatch(commit):
            raise Refused(f"{commit or 'nothing'!r} is no commit.", "Give the full hash, 40 or 64 hex digits.")
        flux = view.key.kind == KUSTOMIZATIONS.kind
        fetched = await fetched_first(self._engine, binding, commit, source) if flux else ()
        applied = applied_commit(raw, flux)
        operation = view.record.operation
        step = PlanStep(
            key="apply",
            title=f"Apply {commit[:7]} on {view.key.kind} {view.key.ref}",
            ref=intent.targets[0],
            kind="action",
            precondition={
                "uid": view.ref.uid,
                "applier": text(raw, "metadata", "uid"),
                "source": f"{binding.url}@{binding.branch}",
            },
            changes=(FieldChange(path="applied commit", before=applied or "none", after=commit),),
            request={
                "call": "apply",
                "commit": commit,
                "reason": reason.value,
                "before": operation.token if operation else "",
                "targets": [[target.namespace, target.name, target.uid] for target in targets],
                "binding": [binding.url, binding.branch],
            },
        )
        named = f"For {', '.join(str(target) for target in targets)}."
        return Plan(
            intent=resolved(intent, commit=commit, because=reason.value),
            steps=(step,),
            effects=(
                *fetched,
                *apply_effects(raw, flux, applied == commit),
                f"Reason {reason.value}: {WHY[reason]}.",
                named,
            ),
            no_undo="apply the commit of before to go back",
        )

    async def execute(self, step: PlanStep) -> str:
        """Make the one request, and return when it is on its way."""
        if step.request["call"] != "apply":
            return await self._lease.execute(step)
        view = await self._view()
        if view.ref.uid != step.precondition["uid"]:
            raise WorldMoved(f"{view.ref} was deleted and made again.", "Plan again.")
        url, branch = _texts(step.request["binding"])
        targets = tuple(TargetRef(*_texts(target)) for target in _listed(step.request["targets"]))
        try:
            return await ask(self._engine, view.ref, view.key, Binding(url, branch), step, targets)
        except StaleError as error:
            raise WorldMoved(f"The world moved: {error.message}", "Plan again.") from error
        except DispatchError as error:
            raise refused(error) from error

    async def applied(self, step: PlanStep) -> bool | None:
        """Whether the request of ``step`` is in the trigger's record."""
        if step.request["call"] != "apply":
            return await self._lease.applied(step)
        operation = (await self._view()).record.operation
        if operation is None or operation.token == step.request["before"]:
            return False
        return True if operation.commit == step.request["commit"] else None

    async def observe(self, plan: Plan) -> tuple[bool, str]:
        """How far it is, in words. :raises Refused: it ended badly."""
        step = plan.steps[0]
        if step.request["call"] != "apply":
            return await self._lease.observe(plan)
        view = await self._view(may_run=True)
        recorded = view.record.operation
        operation = further(self._engine.operations.get(self._ref.key), recorded)
        commit = str(step.request["commit"])
        if operation is None or operation.token == step.request["before"]:
            return True, f"{commit[:7]} is applied already"
        written = recorded is None or recorded.token != operation.token or not recorded.in_flight
        self._seen = Seen(operation, await self._applier(view), written)
        if operation.outcome.complete and not written:
            return False, "the outcome to be written on the trigger"
        if operation.outcome is Outcome.SUCCEEDED:
            return True, operation.message or f"{commit[:7]} is applied"
        if operation.outcome is Outcome.FAILED:
            raise Refused(f"{commit[:7]} was not applied: {operation.message}", "The last good commit still serves.")
        now = next((phase for phase in self.phases(step) if phase.depth == 1 and phase.state is State.RUNNING), None)
        return False, now.waiting_for if now is not None else "the apply to end"

    def phases(self, step: PlanStep) -> tuple[StepView, ...]:
        """Those of an apply; other requests have none."""
        if step.request["call"] != "apply":
            return ()
        return flux_phases(self._seen) if self._ref.kind == "FluxTrigger" else argo_phases(self._seen)

    async def _view(self, *, may_run: bool = False) -> TriggerView:
        """The trigger, read live, if it may be asked now."""
        try:
            view = await self._engine.references.trigger(self._ref)
        except NotFound as error:
            raise Refused(f"{self._ref} is gone.") from error
        if may_run:
            return view
        if view.key.cluster != DEFAULT_CLUSTER:
            hint = "Declare a local trigger on a connection to that cluster."
            raise Refused(f"{view.key} is in another cluster than its trigger.", hint)
        operation = view.record.operation
        if operation is not None and operation.in_flight:
            raise Refused(f"An operation with {describe_commit(operation.commit)} is in flight.", "Wait for its end.")
        return view

    async def _eligible(self, view: TriggerView) -> tuple[tuple[TargetRef, ...], Binding, bool]:
        """The targets that may ask, what they write, and whether one consents to have live edits reverted."""
        references = self._engine.references
        holder = await references.held_by_another(view)
        if holder is not None:
            raise Refused(f"{holder.ref} came first for {view.key}.", "One applier has one trigger: use that one.")
        targets = await references.naming_targets(view.ref)
        client = await self._engine.custom_clients.client(view.key)
        judgement = await references.judge(view, targets, (await client.validate(view.key.ref)).source)
        eligible = {item.target for item in judgement.references if item.state is ReferenceState.ELIGIBLE}
        chosen = [target for target in targets if target.ref in eligible]
        binding = await references.binding(chosen[0]) if chosen else None
        if binding is None:
            raise Refused(f"No GitTarget may ask {view.ref}: {judgement.message or 'none names it'}.")
        return tuple(target.ref for target in chosen), binding, any(target.consents for target in chosen)

    async def _applier(self, view: TriggerView) -> dict[str, Any]:
        kind = KUSTOMIZATIONS if view.key.kind == KUSTOMIZATIONS.kind else APPLICATIONS
        try:
            return await self._engine.objects.get(kind, view.key.namespace, view.key.name)
        except NotFound as error:
            raise Refused(f"{view.key} is gone.") from error


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in _listed(value))
