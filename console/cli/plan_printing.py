"""A plan as plain text: what would be written to what, under which condition, with which effect."""

from __future__ import annotations

from console.kit.sanitize import sanitize
from console.model.operations import State
from console.model.plan import Plan, Strength


def plan_lines(plan: Plan) -> list[str]:
    """The whole plan, a line each, safe to print."""
    where = plan.intent.connection + (f" ({plan.environment})" if plan.environment not in ("", plan.intent.connection) else "")
    if not plan.steps:
        return [f"Nothing to do on {sanitize(where)}: {sanitize(plan.nothing)}."]
    lines = [f"Plan {plan.hash} on {where}{', protected' if plan.protected else ''}:"]
    for step in plan.steps:
        after = f" (after {', '.join(step.after)})" if step.after else ""
        lines.append(f"  {step.title}{after}")
        for change in step.changes:
            owner = f"  [{change.owner}]" if change.owner else ""
            lines.append(f"      {change.path}: {change.before} -> {change.after}{owner}")
        bound = ", ".join(f"{fact} {value}" for fact, value in step.precondition.items())
        if bound:
            lines.append(f"      only if: {bound}")
    lines += [f"  ! {effect}" for effect in plan.effects]
    if plan.instead is not None:
        lines.append(f"  better first: {plan.instead.verb}")
    if plan.undo is not None:
        words = " ".join(f"{key}={value}" for key, value in plan.undo.arguments.items())
        lines.append(f"  undo: {plan.undo.verb} {words}".rstrip())
    else:
        lines.append(f"  can't be undone: {plan.no_undo}")
    return [sanitize(line) for line in [*lines, _confirmation(plan)]]


def _confirmation(plan: Plan) -> str:
    match plan.strength:
        case Strength.REFUSED:
            return f"  refused: {plan.forbidden}"
        case Strength.KEY:
            return "  needs a plain yes"
        case Strength.COUNT:
            return f"  needs the number of objects: {plan.confirmation}"
        case _:
            return f"  needs the name: {plan.confirmation}"


def outcome(state: State) -> str:
    """How an operation ended, as a sentence's beginning."""
    return {State.SUCCEEDED: "Done", State.UNKNOWN: "Unclear"}.get(state, state.value.capitalize())
