"""The steps of a plan, and of the operation that runs it, as a tree: what can go on at once stands side by side.

For plans whose steps wait for each other, whatever engine made them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from console.model.operations import State, StepView
from console.model.plan import PlanStep
from console.views.cells import Cell, Tone, cell, prose
from console.views.formats import duration
from console.views.glyphs import state_glyph
from console.views.waves import Leaf, Line, depths, side_by_side

SIGNS: dict[str, tuple[str, Tone]] = {
    "create": ("+", "ok"),
    "update": ("~", "warn"),
    "delete": ("−", "bad"),
    "action": ("»", "busy"),
}
"""What stands before a step, by its kind."""


def branches(steps: Sequence[PlanStep] | Sequence[StepView]) -> bool:
    """Whether these steps say more as a tree: some wait for others, and none is a mere phase of another."""
    return len(steps) > 2 and any(step.after for step in steps) and not any(getattr(step, "depth", 0) for step in steps)


def plan_tree(steps: Sequence[PlanStep], width: int) -> tuple[Line, ...]:
    """What is to be done, in its order. ``width`` is in terminal cells."""
    wave = depths({step.key: step.after for step in steps})

    def leaf(step: PlanStep) -> Leaf:
        sign, tone = SIGNS.get(step.kind, SIGNS["action"])
        pieces = (Cell(f"{sign} ", tone), cell(step.title))
        return Leaf(wave=wave[step.key], parents=tuple(sorted(step.after)), key=step.key, pieces=pieces)

    return tuple(side_by_side(map(leaf, steps), width))


def run_tree(steps: Sequence[StepView], now: datetime, width: int) -> tuple[Line, ...]:
    """How far an operation is, in the same places as in its plan."""
    wave = depths({step.key: step.after for step in steps})

    def leaf(step: StepView) -> Leaf:
        return Leaf(
            wave=wave[step.key],
            parents=tuple(sorted(step.after)),
            key=step.key,
            pieces=tuple(_pieces(step, now)),
            note=_note(step),
        )

    return tuple(side_by_side(map(leaf, steps), width))


def _pieces(step: StepView, now: datetime) -> list[Cell]:
    shape = state_glyph(step.state)
    quiet = step.state is State.PENDING or (step.state.ended and not step.state.health.needs_attention)
    pieces = [Cell(f"{shape.text} ", shape.tone), cell(step.title, "muted" if quiet else "plain")]
    if step.started is not None:
        took = duration(((step.ended or now) - step.started).total_seconds())
        pieces.append(Cell(f" {took}", "muted"))
    if step.attempts > 1:
        pieces.append(Cell(f" try {step.attempts}", "warn"))
    return pieces


def _note(step: StepView) -> Cell | None:
    """What has to be read beside the step: what it waits for, and what went wrong."""
    if step.state.ended:
        told = step.detail if step.state.health.needs_attention or step.state is State.SKIPPED else ""
        return prose(told, "muted" if step.state is State.SKIPPED else "bad") if told else None
    if step.state is State.PENDING or not step.waiting_for:
        return None
    told = f" · {step.detail}" if step.detail else ""
    return prose(f"waits for {step.waiting_for}{told}", "warn" if step.detail else "busy")
