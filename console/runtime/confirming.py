"""Is this plan confirmed, and if the world moved: what moved, in words."""

from __future__ import annotations

from console.errors import Refused
from console.model.plan import Plan, PlanStep, Strength


def check_confirmation(plan: Plan, typed: str) -> None:
    """Raise :class:`Refused` unless ``typed`` is what this plan asks for."""
    if plan.strength is Strength.REFUSED:
        raise Refused(plan.forbidden)
    if typed.strip() != plan.confirmation:
        asked = "a plain confirmation" if not plan.confirmation else f"{plan.confirmation!r} to be typed"
        raise Refused(f"Not confirmed: this plan asks for {asked}.")


def what_moved(planned: Plan, fresh: Plan) -> str:
    """The first differences between two plans for one intent, for a person."""
    if not fresh.steps:
        return fresh.nothing or "there is nothing left to do"
    before = {step.key: step for step in planned.steps}
    after = {step.key: step for step in fresh.steps}
    said = [f"{before[key].ref.name} is no longer part of it" for key in before if key not in after]
    said += [f"{after[key].ref.name} is new in it" for key in after if key not in before]
    for key in before.keys() & after.keys():
        said += _step_moved(before[key], after[key])
    return "; ".join(said[:3]) or "the plan is not the one that was shown"


def _step_moved(before: PlanStep, after: PlanStep) -> list[str]:
    name = before.ref.name
    if before.ref.uid != after.ref.uid:
        return [f"{name} was deleted and made again"]
    old = {change.path: change for change in before.changes}
    new = {change.path: change for change in after.changes}
    said = [
        f"{name}: {path} is {new[path].before} now, it was {old[path].before}"
        for path in old.keys() & new.keys()
        if old[path].before != new[path].before
    ]
    for fact in before.precondition.keys() | after.precondition.keys():
        was, now = before.precondition.get(fact, "absent"), after.precondition.get(fact, "absent")
        if was != now and not said:
            said.append(f"{name} was changed by somebody else ({fact} {was}, now {now})")
    return said
