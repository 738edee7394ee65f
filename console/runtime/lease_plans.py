"""Plans to take the Lease of a cluster's dispatch engine over, and to hand it back. Read live; nothing here writes."""

from __future__ import annotations

from console.engines.dispatch.modes import lease_holder
from console.engines.ports.applier import LEASES, NAMESPACES
from console.errors import Forbidden, NotFound, Refused
from console.kit.timing import Clock
from console.model.plan import FieldChange, Intent, Plan, PlanStep
from console.model.refs import Ref
from console.runtime.cluster_engine import LEASE, ClusterEngine

LEASE_VERBS = ("take-over", "hand-back")


async def plan_lease(engine: ClusterEngine, intent: Intent, clock: Clock) -> Plan:
    """The plan to become, or to cease to be, the engine of this cluster's triggers.

    :raises Refused: another engine is alive.
    """
    try:
        lease = await engine.objects.get(LEASES, LEASE.namespace, LEASE.name)
    except NotFound:
        lease = None
        await _require_namespace(engine)
    holder = lease_holder(lease, clock.now())
    ours = engine.leadership.held
    if intent.verb == "hand-back":
        if not ours:
            return Plan(intent=intent, nothing="this console is not the engine")
        return _lease_plan(
            intent,
            "Hand the Lease back",
            "this console",
            "nobody",
            ("What is held stays held.", "The next engine goes on."),
            "take-over",
        )
    if ours:
        return Plan(intent=intent, nothing="this console is the engine already")
    if holder:
        raise Refused(f"{holder} is the engine, and it is alive.", "This console shows what it does. Stop that one first.")
    effects = (
        "This console becomes the engine: it follows what is in flight, keeps holds, and applies what you ask.",
        "It stays so until it hands the Lease back or ends; then the next engine goes on with the same records.",
    )
    return _lease_plan(intent, "Take the engine's Lease over", "nobody", "this console", effects, "hand-back")


async def _require_namespace(engine: ClusterEngine) -> None:
    """There is no Lease, so it would be made: into a namespace that must be there, which nobody but its installer makes."""
    try:
        await engine.objects.get(NAMESPACES, "", LEASE.namespace)
    except NotFound as error:
        raise Refused(
            f"The namespace {LEASE.namespace}, in which the engine's Lease lies, does not exist on {engine.name}.",
            f"Install GitOps Reverser there, or make its namespace first: kubectl create namespace {LEASE.namespace}",
        ) from error
    except Forbidden:
        # Only who may read namespaces can be told beforehand; for others the write itself will say it.
        return


def _lease_plan(intent: Intent, title: str, before: str, after: str, effects: tuple[str, ...], undo: str) -> Plan:
    ref = intent.targets[0]
    lease = Ref(ref.connection, "Lease", LEASE.namespace, LEASE.name)
    step = PlanStep(
        key=intent.verb,
        title=title,
        ref=lease,
        kind="action",
        precondition={"holder": before},
        changes=(FieldChange(path="spec.holderIdentity", before=before, after=after),),
        request={"call": intent.verb},
    )
    return Plan(intent=intent, steps=(step,), effects=effects, undo=Intent(verb=undo, targets=intent.targets))
