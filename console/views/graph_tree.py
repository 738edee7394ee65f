"""A plan of the graph engine and its progress as a tree of lines: what is made, then what is deleted, each in its order."""

from __future__ import annotations

from datetime import datetime

from console.model.graph import Action, Identity, Outcome, Plan, PlannedStep
from console.model.graph_progress import GraphProgress, StepProgress, StepState
from console.model.health import Health
from console.views.cells import Cell, Tone, prose
from console.views.formats import counted, duration
from console.views.glyphs import GLYPHS
from console.views.waves import Leaf, Line, side_by_side

_VERBS: dict[Action, str] = {
    Action.NONE: "keep",
    Action.CREATE: "create",
    Action.UPDATE: "update",
    Action.MAYBE_UPDATE: "update?",
    Action.REPLACE: "replace",
    Action.RECORD: "record",
    Action.DELETE: "delete",
}
_SIGNS: dict[Action, tuple[str, Tone]] = {
    Action.NONE: ("=", "muted"),
    Action.CREATE: ("+", "ok"),
    Action.UPDATE: ("~", "warn"),
    Action.MAYBE_UPDATE: ("?", "muted"),
    Action.REPLACE: ("±", "warn"),
    Action.RECORD: ("=", "muted"),
    Action.DELETE: ("-", "bad"),
}
_OUTCOMES: dict[Outcome, tuple[Health, Tone]] = {
    Outcome.CREATED: (Health.OK, "ok"),
    Outcome.UPDATED: (Health.OK, "ok"),
    Outcome.UNCHANGED: (Health.OK, "muted"),
    Outcome.DELETED: (Health.OK, "ok"),
    Outcome.REPLACED: (Health.OK, "ok"),
    Outcome.FAILED: (Health.BAD, "bad"),
    Outcome.SKIPPED: (Health.UNKNOWN, "muted"),
    Outcome.CANCELLED: (Health.WARN, "warn"),
}


def tree_lines(plan: Plan, progress: GraphProgress | None = None, *, now: datetime, width: int = 80) -> tuple[Line, ...]:
    """The whole tree: what is made, then what is deleted, under a heading each. ``width`` is in terminal cells."""
    lines: list[Line] = []
    for title, steps in (("make", plan.steps), ("delete", plan.deletes)):
        if steps:
            lines.append((Cell(f"{title} {counted(len(steps), 'resource')}", "accent"),))
            lines.extend(side_by_side((_leaf(step, progress, now) for step in steps), width))
    if not lines:
        lines.append((Cell("nothing to do", "muted"),))
    return tuple(lines)


def summary_line(plan: Plan) -> Line:
    """The plan's totals in one line: ``2 to create · 1 to delete``."""
    parts: list[Cell] = []
    for action, (sign, tone) in _SIGNS.items():
        number = plan.totals.get(action.value, 0)
        if number and action.writes:
            parts += [Cell(" · ", "muted")] if parts else []
            parts.append(Cell(f"{sign}{number} {_VERBS[action]}", tone))
    return tuple(parts) or (Cell("no changes", "muted"),)


def _leaf(step: PlannedStep, progress: GraphProgress | None, now: datetime) -> Leaf:
    known = progress.of(step.identity, step.version) if progress is not None else None
    pieces = tuple(_pieces(step, known, now))
    return Leaf(wave=step.wave, parents=step.parents, key=step.identity, pieces=pieces, note=_note(step, known))


def _pieces(step: PlannedStep, known: StepProgress | None, now: datetime) -> list[Cell]:
    """Shape, name, and what is being or has been done, with time and tries once there are any."""
    name = _name(step.identity)
    if known is None:
        sign, tone = _SIGNS[step.action]
        return [Cell(f"{sign} ", tone), Cell(f"{name} ", "plain"), Cell(_VERBS[step.action], "muted")]
    health, tone, word = _state(known)
    took = known.elapsed(now)
    time = f" {duration(took)}" if took > 0 else ""
    tries = f" try {known.attempt}" if known.attempt > 1 else ""
    return [Cell(f"{GLYPHS[health]} ", tone), Cell(f"{name} ", "plain"), Cell(f"{word}{time}{tries}", tone)]


def _name(identity: Identity) -> str:
    return prose(str(identity)).text


def _state(known: StepProgress) -> tuple[Health, Tone, str]:
    if known.outcome is not None:
        health, tone = _OUTCOMES[known.outcome]
        return health, tone, known.outcome.value
    if known.state is StepState.RETRYING:
        return Health.WARN, "warn", known.state.value
    if known.state.active:
        return Health.BUSY, "busy", known.state.value
    return Health.UNKNOWN, "muted", known.state.value


def _note(step: PlannedStep, known: StepProgress | None) -> Cell | None:
    """What has to be read beside the step, if anything."""
    if known is None:
        return prose(step.reason, "muted") if step.reason and step.action.writes else None
    if not known.note:
        return None
    if known.outcome is Outcome.FAILED:
        return prose(known.note, "bad")
    return prose(known.note, "warn" if known.state is StepState.RETRYING else "muted")
