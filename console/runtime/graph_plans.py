"""The graph engine's plans as plans of the one write path: a step for each write, waiting for those of its parents."""

from __future__ import annotations

from collections.abc import Mapping

from console.model.graph import Action, Identity, PlannedStep
from console.model.graph import Plan as GraphPlan
from console.model.plan import FieldChange, Intent, Plan, PlanStep
from console.model.refs import Ref
from console.views.formats import counted

Keys = Mapping[tuple[Identity, str], str]
"""From a resource (for deletes with its stored version, else "") to the key of its step."""

_VERBS = {
    Action.CREATE: "Create",
    Action.UPDATE: "Update",
    Action.MAYBE_UPDATE: "Update if needed",
    Action.REPLACE: "Replace",
    Action.DELETE: "Delete",
}
_KINDS = {Action.CREATE: "create", Action.DELETE: "delete"}


def keys_of(drawn: GraphPlan) -> Keys:
    """The keys of all steps that write. An old version that goes shares its name with the new one, not its key."""
    keys = {(step.identity, ""): str(step.identity) for step in drawn.steps if step.action.writes}
    taken = set(keys.values())
    for step in drawn.deletes:
        name = str(step.identity)
        keys[step.identity, step.version] = name if name not in taken else f"{name} {step.version}"
    return keys


def plan_of(intent: Intent, drawn: GraphPlan, *, undo: str = "", loses_data: bool = False) -> Plan:
    """What a person confirms.

    :param undo: the verb that takes everything back if all is made anew, "" if there is none.
    """
    keys = keys_of(drawn)
    target = intent.targets[0]
    writes = [step for step in drawn.steps if step.action.writes]
    kept = len(drawn.steps) - len(writes)
    steps = [_step(intent, drawn, step, "", keys, _parents(step, drawn, keys)) for step in writes]
    steps += [_step(intent, drawn, step, step.version, keys, _before(step, drawn, keys)) for step in drawn.deletes]
    there = kept + sum(step.action is not Action.CREATE for step in writes) + len(drawn.deletes)
    effects = [f"{counted(kept, 'resource')} {'stays' if kept == 1 else 'stay'} as they are."] if kept and steps else []
    if writes and drawn.deletes:
        effects.append("What is deleted goes last, and only if everything else was made.")
    undoable = bool(undo) and not there
    return Plan(
        intent=intent,
        steps=tuple(steps),
        effects=(*effects, *drawn.warnings),
        undo=Intent(verb=undo, targets=intent.targets) if undoable else None,
        no_undo="" if undoable else "what was there before is not kept",
        nothing="" if steps else (f"all of {target.name} is as it should be" if kept else f"{target.name} has nothing"),
        deletes_state=loses_data,
        share=len(drawn.deletes) / there if there else 0.0,
    )


def _step(intent: Intent, drawn: GraphPlan, step: PlannedStep, version: str, keys: Keys, after: tuple[str, ...]) -> PlanStep:
    target = intent.targets[0]
    reason = f" ({step.reason})" if step.reason and step.reason != "no longer wanted" else ""
    return PlanStep(
        key=keys[step.identity, version],
        title=f"{_VERBS[step.action]} {step.identity}{reason}",
        ref=Ref(target.connection, step.identity.kind, target.name, step.identity.name),
        kind=_KINDS.get(step.action, "update"),
        changes=tuple(FieldChange(path=change.path, before=change.before, after=change.after) for change in step.changes),
        request={"verb": intent.verb, "digest": drawn.digest, "resource": list(step.identity), "version": version},
        after=after,
    )


def _parents(step: PlannedStep, drawn: GraphPlan, keys: Keys) -> tuple[str, ...]:
    """The steps that come before this one: those of its parents; where a parent stays as it is, those of the parent's."""
    known = {item.identity: item for item in drawn.steps}
    found: set[str] = set()
    seen: set[Identity] = set()
    open_ends = list(step.parents)
    while open_ends:
        parent = open_ends.pop()
        if parent in seen or parent not in known:
            continue
        seen.add(parent)
        if (parent, "") in keys:
            found.add(keys[parent, ""])
        else:
            open_ends += known[parent].parents
    return tuple(sorted(found))


def _before(step: PlannedStep, drawn: GraphPlan, keys: Keys) -> tuple[str, ...]:
    """The deletes that come before this one: of everything that was made from it."""
    return tuple(sorted(keys[item.identity, item.version] for item in drawn.deletes if step.identity in item.parents))
