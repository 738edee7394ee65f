"""How far a graph run has come, folded from its events: what a screen draws and redraws."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from console.model.graph import Action, Identity, Outcome, RunReport
from console.model.graph_events import (
    Finished,
    GateWaiting,
    GraphEvent,
    PhaseStarted,
    Progress,
    Queued,
    Retrying,
    RunFinished,
    RunStarted,
    Skipped,
    Started,
    Waiting,
)


class StepState(StrEnum):
    """Where one resource stands."""

    QUEUED = "queued"
    WAITING = "waiting"
    RUNNING = "running"
    RETRYING = "retrying"
    GATE = "waiting until ready"
    DONE = "done"

    @property
    def active(self) -> bool:
        """Whether something is being done about it now."""
        return self in (StepState.RUNNING, StepState.RETRYING, StepState.GATE)


class StepProgress(msgspec.Struct, frozen=True, kw_only=True):
    """One resource of a run. ``note`` is the last word about it: progress, an error, or why it was skipped.

    ``began`` is None until it is worked on; ``duration`` is in seconds and set at the end.
    """

    identity: Identity
    version: str = ""
    state: StepState = StepState.QUEUED
    action: Action | None = None
    attempt: int = 0
    parents: tuple[Identity, ...] = ()
    began: datetime | None = None
    duration: float = 0.0
    outcome: Outcome | None = None
    note: str = ""

    def elapsed(self, now: datetime) -> float:
        """Seconds that it has taken so far, or in all."""
        if self.state is StepState.DONE:
            return self.duration
        return max(0.0, (now - self.began).total_seconds()) if self.began is not None else 0.0


class GraphProgress:
    """The state of a run, kept up to date by :meth:`hear`. It can be given to the engine as its listener."""

    def __init__(self) -> None:
        self.run_id = ""
        self.phase = ""
        self.report: RunReport | None = None
        self._steps: dict[tuple[Identity, str], StepProgress] = {}

    def __call__(self, event: GraphEvent) -> None:
        """As :meth:`hear`."""
        self.hear(event)

    @property
    def steps(self) -> tuple[StepProgress, ...]:
        """All resources of the run in the order of their queueing."""
        return tuple(self._steps.values())

    def of(self, identity: Identity, version: str = "") -> StepProgress | None:
        """One resource; ``version`` for deletes. None if the run has not told of it."""
        return self._steps.get((identity, version))

    @property
    def done(self) -> int:
        """How many resources are settled."""
        return sum(1 for step in self._steps.values() if step.state is StepState.DONE)

    def hear(self, event: GraphEvent) -> None:
        """Take in one event; a new run starts afresh."""
        match event:
            case RunStarted():
                self.run_id, self.phase, self.report = event.run_id, "", None
                self._steps.clear()
            case PhaseStarted():
                self.phase = event.phase
            case RunFinished():
                self.report = event.report
            case _:
                self._hear_step(event)

    def _hear_step(self, event: GraphEvent) -> None:
        if event.identity is None:
            return
        key = (event.identity, event.version)
        step = self._steps.get(key) or StepProgress(identity=event.identity, version=event.version)
        began = step.began or event.at
        match event:
            case Queued():
                pass
            case Waiting():
                step = msgspec.structs.replace(step, state=StepState.WAITING, parents=event.parents)
            case Started():
                step = msgspec.structs.replace(
                    step, state=StepState.RUNNING, action=event.action, attempt=event.attempt, began=began
                )
            case Progress():
                counted = f" ({event.done}/{event.total})" if event.total else ""
                step = msgspec.structs.replace(step, note=event.text + counted)
            case Retrying():
                step = msgspec.structs.replace(step, state=StepState.RETRYING, note=event.error, began=began)
            case GateWaiting():
                step = msgspec.structs.replace(step, state=StepState.GATE, note="", began=began)
            case Finished():
                step = msgspec.structs.replace(
                    step, state=StepState.DONE, outcome=event.outcome, duration=event.duration, note=event.error
                )
            case Skipped():
                step = msgspec.structs.replace(step, state=StepState.DONE, outcome=Outcome.SKIPPED, note=event.reason)
        self._steps[key] = step
