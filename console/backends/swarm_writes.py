"""Swarm for daily use: scale, restart, roll back a service; drain and activate a node.

Sources (Docker Engine API 1.41): ``POST /services/{id}/update?version=N`` takes the whole spec and refuses when
``Version.Index`` is not N; raising ``TaskTemplate.ForceUpdate`` restarts tasks by the service's update policy;
``rollback=previous`` swaps ``Spec`` and ``PreviousSpec``; ``registryAuthFrom`` keeps the credentials of the last deployment.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from console.errors import Refused
from console.kit.dig import dig, items, mapping, number, text
from console.model.plan import FieldChange, Intent, Plan, PlanStep
from console.model.refs import Ref

SERVICE_VERBS = ("scale", "restart", "rollback")
NODE_VERBS = ("drain", "activate")
MOST_REPLICAS = 10_000


def plan_swarm(intent: Intent, objects: dict[Ref, dict[str, Any]], nodes: list[dict[str, Any]]) -> Plan:
    """The plan for services or nodes (raw, by reference).

    :param nodes: all nodes of the swarm, to see what a drain would leave.
    :raises Refused: unlawful in this state, with the reason.
    """
    match intent.verb:
        case "scale":
            return _scale(intent, objects)
        case "restart":
            return _restart(intent, objects)
        case "rollback":
            return _rollback(intent, objects)
        case _:
            return _availability(intent, objects, nodes)


def _step(ref: Ref, raw: dict[str, Any], title: str, change: FieldChange, request: dict[str, object]) -> PlanStep:
    index = number(raw, "Version", "Index")
    return PlanStep(
        key=f"{ref.kind}/{ref.name}",
        title=title,
        ref=ref,
        precondition={"id": text(raw, "ID"), "Version.Index": str(index)},
        changes=(change,),
        request=request,
    )


def replicas(raw: dict[str, Any]) -> int | None:
    """How many replicas the service's spec asks for; None for a mode that has no such number."""
    value = dig(raw, "Spec", "Mode", "Replicated", "Replicas")
    return value if isinstance(value, int) else None


def _scale(intent: Intent, objects: dict[Ref, dict[str, Any]]) -> Plan:
    asked = intent.arguments.get("replicas", "")
    if not asked.isascii() or not asked.isdigit() or int(asked) > MOST_REPLICAS:
        raise Refused(f"{asked!r} is no number of replicas.", f"A whole number from 0 to {MOST_REPLICAS}.")
    wanted = int(asked)
    steps, effects = [], []
    undo: Intent | None = None
    for ref, raw in objects.items():
        before = replicas(raw)
        if before is None:
            raise Refused(f"{ref.name} is no replicated service: there is nothing to scale.")
        if before == wanted:
            continue
        change = FieldChange(path="Spec.Mode.Replicated.Replicas", before=str(before), after=str(wanted))
        steps.append(
            _step(ref, raw, f"Scale {ref.name} from {before} to {wanted}", change, {"call": "scale", "replicas": wanted})
        )
        effects.append(
            f"Tasks of {ref.name} that are stopped: {before - wanted}."
            if wanted < before
            else f"Tasks of {ref.name} that start: {wanted - before}."
        )
        if wanted == 0:
            effects.append(f"{ref.name} serves nobody any more.")
        undo = Intent(verb="scale", targets=(ref,), arguments={"replicas": str(before)})
    several = len(steps) > 1
    return Plan(
        intent=intent,
        steps=tuple(steps),
        effects=tuple(effects),
        undo=None if several else undo,
        no_undo="the services had different numbers of replicas; scale each back" if several else "",
        nothing="" if steps else f"{'it has' if len(objects) == 1 else 'all have'} {wanted} replicas already",
    )


def _restart(intent: Intent, objects: dict[Ref, dict[str, Any]]) -> Plan:
    steps, effects = [], []
    for ref, raw in objects.items():
        if text(raw, "UpdateStatus", "State") in ("updating", "rollback_started"):
            raise Refused(f"{ref.name} is being updated now.", "Wait for it, or roll it back.")
        if not {"Replicated", "Global"} & mapping(raw, "Spec", "Mode").keys():
            raise Refused(f"{ref.name} is a job; its tasks run once and are not restarted.")
        before = number(raw, "Spec", "TaskTemplate", "ForceUpdate")
        change = FieldChange(path="Spec.TaskTemplate.ForceUpdate", before=str(before), after=str(before + 1))
        steps.append(_step(ref, raw, f"Restart {ref.name}", change, {"call": "force", "to": before + 1}))
        parallel = dig(raw, "Spec", "UpdateConfig", "Parallelism")
        at_once = "all tasks restart at once" if parallel == 0 else f"tasks restart {parallel or 1} at a time"
        effects.append(f"{ref.name}: {at_once}; {_order(raw)}.")
    return Plan(intent=intent, steps=tuple(steps), effects=tuple(effects), no_undo="a restart leaves nothing to take back")


def _order(raw: dict[str, Any]) -> str:
    first = text(raw, "Spec", "UpdateConfig", "Order") == "start-first"
    return "each new task starts before its old one stops" if first else "each old task stops before its new one starts"


def _rollback(intent: Intent, objects: dict[Ref, dict[str, Any]]) -> Plan:
    steps, effects = [], []
    undo: Intent | None = None
    for ref, raw in objects.items():
        if not isinstance(dig(raw, "PreviousSpec"), dict):
            raise Refused(f"{ref.name} has no previous specification: it was never updated, or was rolled back already.")
        now, then = image(raw, "Spec"), image(raw, "PreviousSpec")
        change = FieldChange(path="Spec", before=_summary(raw, "Spec"), after=_summary(raw, "PreviousSpec"))
        request: dict[str, object] = {"call": "rollback", "to": _digest(raw, "PreviousSpec")}
        steps.append(_step(ref, raw, f"Roll back {ref.name}", change, request))
        effects.append(
            f"{ref.name} goes back from {now} to {then}."
            if now != then
            else f"{ref.name} keeps its image and gets back its settings."
        )
    if len(steps) == 1:
        undo = Intent(verb="rollback", targets=(steps[0].ref,))
    return Plan(
        intent=intent, steps=tuple(steps), effects=tuple(effects), undo=undo, no_undo="" if undo else "undo each by itself"
    )


def image(raw: dict[str, Any], spec: str = "Spec") -> str:
    """The image of a service's ``Spec`` or ``PreviousSpec``, without its digest."""
    return text(raw, spec, "TaskTemplate", "ContainerSpec", "Image").partition("@")[0]


def _summary(raw: dict[str, Any], spec: str) -> str:
    count = dig(raw, spec, "Mode", "Replicated", "Replicas")
    return image(raw, spec) + (f", {count} replicas" if isinstance(count, int) else "")


def _digest(raw: dict[str, Any], spec: str) -> str:
    """A specification in one word; the specification itself may hold secrets in its environment."""
    return hashlib.sha256(msgspec.json.encode(mapping(raw, spec), order="deterministic")).hexdigest()[:16]


def _availability(intent: Intent, objects: dict[Ref, dict[str, Any]], nodes: list[dict[str, Any]]) -> Plan:
    wanted = "drain" if intent.verb == "drain" else "active"
    steps, effects = [], []
    befores = set()
    chosen = {text(raw, "ID") for raw in objects.values()}
    for ref, raw in objects.items():
        before = text(raw, "Spec", "Availability")
        if before == wanted:
            continue
        befores.add(before)
        change = FieldChange(path="Spec.Availability", before=before, after=wanted)
        steps.append(_step(ref, raw, f"{intent.verb.capitalize()} {ref.name}", change, {"call": "availability", "to": wanted}))
        effects.append(
            f"All tasks on {ref.name} are stopped and start elsewhere if there is room."
            if wanted == "drain"
            else f"{ref.name} takes new tasks; running ones stay where they are."
        )
    left = [
        node
        for node in nodes
        if text(node, "ID") not in chosen
        and text(node, "Spec", "Availability") == "active"
        and text(node, "Status", "State") == "ready"
    ]
    forbidden = ""
    if wanted == "drain" and steps and not left:
        forbidden = "No other node could take the tasks: everything in this swarm would stop."
    undo_verb = "activate" if wanted == "drain" else "drain"
    undo = Intent(verb=undo_verb, targets=tuple(step.ref for step in steps)) if befores in ({"active"}, {"drain"}) else None
    usable = [node for node in nodes if text(node, "Spec", "Availability") == "active"]
    return Plan(
        intent=intent,
        steps=tuple(steps),
        effects=tuple(effects),
        undo=undo,
        no_undo="" if undo else _no_way_back(befores),
        nothing=""
        if steps
        else f"{'it is' if len(objects) == 1 else 'all are'} {'drained' if wanted == 'drain' else 'active'} already",
        share=len(steps) / len(usable) if wanted == "drain" and usable else 0.0,
        forbidden=forbidden,
    )


def _no_way_back(befores: set[str]) -> str:
    if len(befores) > 1:
        return "the nodes were not all in one state before"
    return "it was paused before, and pausing is not offered here" if befores else "nothing is changed"


def updated_spec(raw: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """The whole spec to send: ``raw``'s own with the one planned change in it."""
    spec = mapping(raw, "Spec")
    match request["call"]:
        case "scale":
            spec["Mode"] = {**mapping(spec, "Mode"), "Replicated": {"Replicas": request["replicas"]}}
        case "force":
            spec["TaskTemplate"] = {**mapping(spec, "TaskTemplate"), "ForceUpdate": request["to"]}
        case "availability":
            spec["Availability"] = request["to"]
    return spec


def arrived(raw: dict[str, Any], step: PlanStep) -> bool | None:
    """Whether the write of ``step`` is in ``raw`` (read after an unclear answer); None if that can't be told."""
    moved = str(number(raw, "Version", "Index")) != step.precondition["Version.Index"]
    match step.request["call"]:
        case "scale":
            there = replicas(raw) == step.request["replicas"]
        case "force":
            there = number(raw, "Spec", "TaskTemplate", "ForceUpdate") == step.request["to"]
        case "availability":
            there = text(raw, "Spec", "Availability") == step.request["to"]
        case _:
            there = _digest(raw, "Spec") == step.request["to"]
    if there:
        # Without a new version it was so before, and our write isn't what made it so.
        return moved
    return None if moved else False


def progress(raw: dict[str, Any], tasks: list[dict[str, Any]], step: PlanStep) -> tuple[bool, str]:
    """Whether a service shows the whole effect of ``step``, and what it waits for.

    ``raw`` was read with ``status=true``: ``ServiceStatus`` counts its tasks. A restart is told by ``tasks``, those that shall
    run: between the write and the swarm's first move the counts and the update's state are those of before.

    :raises Refused: the update ended badly.
    """
    state = text(raw, "UpdateStatus", "State")
    why = text(raw, "UpdateStatus", "Message")
    if step.request["call"] != "scale" and state in ("paused", "rollback_paused"):
        raise Refused(f"The update of {step.ref.name} is {state}: {why}", "Look at its tasks; roll back or mend the cause.")
    if step.request["call"] == "force" and state in ("rollback_started", "rollback_completed"):
        raise Refused(f"{step.ref.name} was rolled back by the swarm: {why}")
    if step.request["call"] != "scale" and state in ("updating", "rollback_started"):
        return False, f"{step.ref.name}: {why or state}"
    old = [task for task in tasks if number(task, "Spec", "ForceUpdate") < number(step.request, "to")]
    if step.request["call"] == "force" and old:
        return False, f"{step.ref.name}: {len(old)} of {len(tasks)} tasks to be replaced"
    running, desired = number(raw, "ServiceStatus", "RunningTasks"), number(raw, "ServiceStatus", "DesiredTasks")
    if running != desired:
        return False, f"{step.ref.name}: {running} of {desired} tasks run"
    return True, f"{step.ref.name}: {running} of {desired} tasks run"


def drained(tasks: list[dict[str, Any]], step: PlanStep) -> tuple[bool, str]:
    """Whether a node shows the effect of a drain: none of its ``tasks`` still runs."""
    if step.request["to"] != "drain":
        return True, f"{step.ref.name} is active"
    left = [task for task in items({"tasks": tasks}, "tasks") if text(task, "Status", "State") == "running"]
    return not left, f"{len(left)} tasks still run on {step.ref.name}" if left else f"no task runs on {step.ref.name}"
