"""What the journal holds, as frozen objects."""

from __future__ import annotations

from datetime import datetime

import msgspec

from console.model.operations import Operation, State, StepView
from console.model.plan import Intent, Plan
from console.model.refs import Ref


class Who(msgspec.Struct, frozen=True, kw_only=True):
    """Who acted: the account, the terminal, where the ssh session came from, and the process."""

    user: str
    host: str = ""
    tty: str = ""
    ssh_client: str = ""
    pid: int = 0

    def __str__(self) -> str:
        place = self.ssh_client or self.tty
        return f"{self.user}@{self.host}" + (f" ({place})" if place else "")


class StepRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A step as journaled. RUNNING in a file that nobody writes to means: the call may have left."""

    key: str
    title: str
    state: State
    detail: str = ""
    started: datetime | None = None
    ended: datetime | None = None
    attempts: int = 0


class CallRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One call to a server: what was sent (masked), what came back, how long it took in seconds (None: no answer recorded)."""

    step: str
    request: str
    result: str
    started: datetime
    seconds: float | None


class OperationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An operation as journaled, with the whole plan that was confirmed.

    ``phases`` are what steps went through on the other side, as they stood at the end; each key begins with its step's.
    """

    id: str
    plan: Plan
    plan_hash: str
    who: Who
    why: str
    state: State
    message: str
    started: datetime
    ended: datetime | None = None
    undo: Intent | None = None
    undo_of: str = ""
    undone: bool = False
    steps: tuple[StepRecord, ...] = ()
    calls: tuple[CallRecord, ...] = ()
    phases: tuple[StepView, ...] = ()

    @property
    def target(self) -> Ref:
        """The first object that was written to."""
        return self.plan.intent.targets[0]

    def view(self) -> Operation:
        """The record as the console shows it."""
        running = next((step for step in self.steps if not step.state.ended and step.started), None)
        after = {step.key: step.after for step in self.plan.steps}
        return Operation(
            ref=Ref(
                self.target.connection,
                "Operation",
                self.target.namespace,
                f"{self.plan.intent.verb} {self.target.name}",
                self.id,
            ),
            health=self.state.health,
            reason=self.message,
            created=self.started,
            target=self.target,
            verb=self.plan.intent.verb,
            state=self.state,
            origin="journal",
            step=running.title if running else "",
            started=self.started,
            ended=self.ended,
            who=str(self.who),
            why=self.why,
            message=self.message,
            steps=tuple(
                shown
                for step in self.steps
                for shown in (
                    StepView(
                        key=step.key,
                        title=step.title,
                        state=step.state,
                        after=after.get(step.key, ()),
                        started=step.started,
                        ended=step.ended,
                        attempts=step.attempts,
                        detail=step.detail,
                    ),
                    *(phase for phase in self.phases if phase.key.startswith(f"{step.key}/")),
                )
            ),
            undoable=self.undo is not None and self.state is State.SUCCEEDED and not self.undone,
            plan_hash=self.plan_hash,
        )
