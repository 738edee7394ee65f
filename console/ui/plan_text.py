"""A plan as lines to read: what is written where, field by field, what else will happen, how it can be undone."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len

from console.kit.sanitize import sanitize
from console.model.plan import FieldChange, Plan, PlanStep, Strength
from console.ui import verbs
from console.ui.text import Line, Part, line, set_line
from console.ui.text import width as cells
from console.views import formats, words
from console.views.step_tree import SIGNS, branches, plan_tree

_NAMES = {"create": "created", "update": "changed", "delete": "deleted", "action": "acted on"}
_MOST_VALUE = 120


def headline(plan: Plan) -> tuple[Part, ...]:
    """What the plan is about, in one line."""
    intent = plan.intent
    first = intent.targets[0] if intent.targets else None
    if first is None:
        about = ""
    elif len(intent.targets) == 1:
        about = f"{words.kind_word(first.kind)} {first.path}"
    else:
        about = f"{len(intent.targets)} objects"
    parts = [Part(f"{verbs.title(intent.verb)}: "), Part(sanitize(about), "plain", True)]
    parts += [Part(" on "), Part(sanitize(intent.connection), "warn" if plan.protected else "accent", True)]
    facts = [plan.environment if plan.environment != intent.connection else "", "protected" if plan.protected else ""]
    facts.append(f"plan {plan.hash[:4]}-{plan.hash[4:8]}")
    parts.append(Part("   " + " · ".join(sanitize(fact) for fact in facts if fact), "muted"))
    return tuple(parts)


def plan_lines(plan: Plan, width: int = 80) -> list[Line]:
    """Everything that must be read before confirming. Steps that wait for each other stand in their order first.

    :param width: of a line of such an order, in terminal cells.
    """
    lines: list[Line] = []
    if plan.forbidden:
        lines += [line(Part("■ Refused: ", "bad", True), Part(sanitize(plan.forbidden)), indent=2), Line()]
    if not plan.steps:
        lines.append(line(Part(sanitize(f"Nothing to do: {plan.nothing or 'it is as it should be'}."), "muted")))
    tree = branches(plan.steps)
    for kind in ("delete", "create", "update", "action"):
        steps = [step for step in plan.steps if step.kind == kind]
        if not steps:
            continue
        if len(plan.steps) > 1:
            sign, tone = SIGNS[kind]
            lines.append(line(Part(f"{sign} {len(steps)} {_NAMES[kind]}", tone, True)))
        if tree:
            lines += [set_line(pieces) for pieces in plan_tree(steps, width)]
            steps = [step for step in steps if step.changes or step.precondition]
            lines += [Line()] if steps else []
        for step in steps:
            lines += step_lines(step, width)
    lines.append(Line())
    lines += _closing(plan)
    return lines


def step_lines(step: PlanStep, width: int = 80) -> list[Line]:
    """One write: what it is, what must still hold, and each field before and after."""
    sign, tone = SIGNS.get(step.kind, ("»", "busy"))
    condition = ", ".join(f"{key} {_short(value)}" for key, value in step.precondition.items())
    head = [Part(f"  {sign} ", tone, True), Part(sanitize(step.title))]
    if condition:
        head.append(Part(f"   if {sanitize(condition)}", "faint"))
    return [line(*head, indent=4), *change_lines(step.changes, width)]


def _short(value: str) -> str:
    return value if len(value) <= 16 else f"{value[:8]}…"


def change_lines(changes: Iterable[FieldChange], width: int = 80) -> list[Line]:
    """Fields before and after. What does not fit beside its path stands below it, still to the right of the object."""
    changes = list(changes)
    room = min(max((cell_len(change.path) for change in changes), default=0), 36, max(width // 2 - 8, 12))
    lines = []
    for change in changes:
        path = sanitize(change.path)
        said: list[Part] = []
        if change.before:
            said += [Part(_value(change.before), "bad"), Part("  →  ", "faint")]
        said.append(Part(_value(change.after) if change.after else "(gone)", "ok" if change.after else "bad"))
        if change.owner:
            said.append(Part(f"   owned by {sanitize(change.owner)}", "held"))
        column = 8 + room
        if cell_len(path) <= room and column + cells(said) <= width:
            lines.append(Line((Part("      "), Part(path.ljust(room), "muted"), Part("  "), *said), column))
        elif 8 + cell_len(path) + cells(said) <= width:
            lines.append(line(Part("      "), Part(path, "muted"), Part("  "), *said, indent=8))
        else:
            lines.append(line(Part("      "), Part(path, "muted"), indent=8))
            lines.append(line(Part(" " * 8), *said, indent=10))
    return lines


def _value(text: str) -> str:
    return formats.clipped(sanitize(text), _MOST_VALUE)


def _closing(plan: Plan) -> list[Line]:
    lines = []
    for index, effect in enumerate(plan.effects):
        lines.append(line(Part("Also   " if index == 0 else "       ", "heading", True), Part(sanitize(effect)), indent=7))
    if plan.share >= 0.05:
        lines.append(line(Part("Share  ", "heading", True), Part(f"{plan.share:.0%} of the whole goes.", "bad"), indent=7))
    if plan.deletes_state:
        lines.append(line(Part("Data   ", "heading", True), Part("Stored data is deleted with it.", "bad"), indent=7))
    if plan.undo is not None:
        text, tone = f"possible: {verbs.title(plan.undo.verb).lower()}.", "plain"
    else:
        text, tone = f"not possible: {plan.no_undo or 'nothing takes this back'}", "warn"
    if plan.steps:
        lines.append(line(Part("Undo   ", "heading", True), Part(sanitize(text), tone), indent=7))
    if plan.intent.reason:
        lines.append(line(Part("Why    ", "heading", True), Part(sanitize(plan.intent.reason)), indent=7))
    return lines


def question(plan: Plan) -> tuple[Part, ...]:
    """What must be done to confirm, fitted to the blast radius."""
    match plan.strength:
        case Strength.REFUSED:
            return (Part("This can't be run.", "bad"),)
        case Strength.COUNT:
            return (Part("Tab, then type the number of objects, "), Part(plan.confirmation, "warn", True), Part(", to confirm"))
        case Strength.NAME:
            return (Part("Tab, then type "), Part(sanitize(plan.confirmation), "warn", True), Part(" to confirm"))
        case _:
            return (Part("y", "key", True), Part(" runs this plan"))
