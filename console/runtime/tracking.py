"""The live picture of an operation: what the journal has on disk, kept in memory and published at each change."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec

from console.kit.timing import Clock
from console.model.operations import Operation, State, StepView
from console.model.plan import Plan
from console.model.refs import Ref


class Tracked:
    """One operation under way. ``publish`` gets a new :class:`Operation` after every change."""

    def __init__(
        self, identity: str, plan: Plan, who: str, why: str, clock: Clock, publish: Callable[[Operation], None]
    ) -> None:
        target = plan.intent.targets[0]
        self._clock = clock
        self._publish = publish
        self.operation = Operation(
            ref=Ref(target.connection, "Operation", target.namespace, f"{plan.intent.verb} {target.name}", identity),
            health=State.RUNNING.health,
            created=clock.now(),
            target=target,
            verb=plan.intent.verb,
            state=State.RUNNING,
            origin="journal",
            started=clock.now(),
            who=who,
            why=why,
            plan_hash=plan.hash,
            steps=tuple(StepView(key=step.key, title=step.title, after=step.after) for step in plan.steps),
        )
        publish(self.operation)

    def step(self, key: str, state: State, detail: str = "", waiting_for: str = "") -> None:
        """A step moved."""
        now = self._clock.now()
        steps = []
        for step in self.operation.steps:
            if step.key == key:
                begun = step.started or (now if state is not State.PENDING else None)
                step = msgspec.structs.replace(
                    step,
                    state=state,
                    detail=detail,
                    waiting_for=waiting_for,
                    started=begun,
                    ended=now if state.ended else None,
                    attempts=step.attempts + (state is State.RUNNING),
                )
            steps.append(step)
        running = next((step for step in steps if not step.state.ended and step.started), None)
        self._set(steps=tuple(steps), step=running.title if running else "", waiting_for=running.waiting_for if running else "")

    def phases(self, key: str, phases: tuple[StepView, ...]) -> None:
        """What a step goes through on the other side: shown under it, each with the times at which it was seen to change."""
        now = self._clock.now()
        before = {step.key: step for step in self.operation.steps}
        under = []
        for phase in phases:
            name = f"{key}/{phase.key}"
            known = before.get(name, phase)
            under.append(
                msgspec.structs.replace(
                    phase,
                    key=name,
                    started=known.started or (now if phase.state not in (State.PENDING, State.SKIPPED) else None),
                    ended=(known.ended or now) if phase.state.ended else None,
                )
            )
        steps: list[StepView] = []
        for step in self.operation.steps:
            if not step.key.startswith(f"{key}/"):
                steps += (step, *under) if step.key == key else (step,)
        if tuple(steps) != self.operation.steps:
            self._set(steps=tuple(steps))

    def phases_at_the_end(self, state: State) -> tuple[StepView, ...]:
        """What steps went through, as it will stand once the operation has ended in ``state``: for the journal."""
        now = self._clock.now()
        return tuple(_at_the_end(step, state, now) for step in self.operation.steps if step.depth > 0)

    def waiting(self, what: str) -> None:
        """All writes are made; now the world has to do ``what``."""
        if self.operation.waiting_for != what:
            self._set(state=State.WAITING, step="observe", waiting_for=what)

    def end(self, state: State, message: str, *, undoable: bool) -> None:
        """The operation is over."""
        steps = tuple(_at_the_end(step, state, self._clock.now()) for step in self.operation.steps)
        self._set(
            state=state,
            health=state.health,
            message=message,
            reason=message if state is not State.SUCCEEDED else "",
            ended=self._clock.now(),
            step="",
            waiting_for="",
            steps=steps,
            undoable=undoable and state is State.SUCCEEDED,
        )

    def _set(self, **fields: object) -> None:
        self.operation = msgspec.structs.replace(self.operation, changed=self._clock.now(), **fields)
        self._publish(self.operation)


def _at_the_end(step: StepView, state: State, now: datetime) -> StepView:
    """A step of an operation that ended in ``state``: what did not begin is skipped, what was under way shares the end."""
    if step.state is State.PENDING:
        return msgspec.structs.replace(step, state=State.SKIPPED)
    if step.state.ended or step.depth == 0:
        return step
    end = state if state in (State.SUCCEEDED, State.FAILED) else State.UNKNOWN
    return msgspec.structs.replace(step, state=end, waiting_for="", ended=now if step.started is not None else None)
