"""Whether a Swarm service has become what was asked for: the rules, over facts that somebody read.

Pure: the facts are a :class:`ServiceState`, made from one snapshot of nodes, services and tasks.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

import msgspec

SETTLE = 5.0
"""Seconds that the newest task must have lived, whatever the update's monitor time says."""


class Step(StrEnum):
    """How far a service is. The worst of several wins, in the order wedged, progressing, converged."""

    CONVERGED = "converged"
    PROGRESSING = "progressing"
    WEDGED = "wedged"

    @property
    def rank(self) -> int:
        """The larger, the worse."""
        return _RANKS[self]


_RANKS = {Step.CONVERGED: 0, Step.PROGRESSING: 1, Step.WEDGED: 2}


class ServiceState(msgspec.Struct, frozen=True, kw_only=True):
    """One service as read.

    ``running``, ``desired`` and ``completed`` count slots by their newest task only. ``job``: it is meant to end (a job mode,
    or a restart condition of "none" or "on-failure"); ``native_job``: a job mode. ``monitor`` and ``newest_task_age`` are in
    seconds, the age None without a counted task. ``dead_task``: the newest task ended badly and nothing will replace it,
    ``dead_task_reason`` is the engine's text. ``error`` is the latest active task error, ``exhausted`` that its restarts are
    used up.
    """

    name: str
    mode: str = "replicated"
    running: int = 0
    desired: int = 0
    completed: int = 0
    job: bool = False
    native_job: bool = False
    update_state: str = ""
    update_started_at: datetime | None = None
    monitor: float = SETTLE
    newest_task_age: float | None = None
    dead_task: bool = False
    dead_task_reason: str = ""
    error: str = ""
    exhausted: bool = False

    @property
    def done(self) -> int:
        """Slots that are as they should be."""
        return self.completed if self.native_job else self.running + self.completed


class Convergence(msgspec.Struct, frozen=True):
    """The verdict, why, and after how many seconds it may change by the mere passing of time (None: it won't)."""

    step: Step
    why: str = ""
    again_in: float | None = None


def converge(state: ServiceState) -> Convergence:
    """The verdict on one service; the first rule that fits decides."""
    done, update = state.done, state.update_state
    if state.dead_task and done < state.desired:
        return Convergence(Step.WEDGED, state.dead_task_reason or "its task ended and is not started again")
    if state.job and update == "paused":
        # A one-shot that exits inside the monitor window pauses its own update.
        if done < state.desired:
            return Convergence(Step.WEDGED, state.error or f"{done}/{state.desired} tasks completed, and nothing goes on")
        update = ""
    if update == "paused":
        return Convergence(Step.WEDGED, _because("the update was stopped by a failing task and waits for a person", state))
    if update == "rollback_paused":
        return Convergence(Step.WEDGED, _because("the roll back itself failed and needs a person", state))
    if update == "rollback_completed":
        return Convergence(Step.WEDGED, "the update failed, and the older version is back in force")
    if update == "updating":
        return Convergence(Step.PROGRESSING, _because("an update is under way", state))
    if update == "rollback_started":
        return Convergence(Step.PROGRESSING, _because("a roll back is under way", state))
    if done < state.desired:
        word = "completed" if state.native_job else "running"
        if state.exhausted:
            return Convergence(Step.WEDGED, state.error or f"{done}/{state.desired} tasks {word}, and no restart is left")
        return Convergence(Step.PROGRESSING, _because(f"{done}/{state.desired} tasks {word}", state))
    if state.newest_task_age is not None:
        left = max(state.monitor, SETTLE) - state.newest_task_age
        if left > 0:
            return Convergence(Step.PROGRESSING, f"its newest task must live for {left:.0f} s more", left)
    return Convergence(Step.CONVERGED)


def _because(why: str, state: ServiceState) -> str:
    return f"{why}: {state.error}" if state.error else why


def worst_of(verdicts: Iterable[tuple[str, Convergence]]) -> tuple[str, Convergence]:
    """The worst of several services' verdicts with its service's name; nothing at all is progressing, never well."""
    found: tuple[str, Convergence] | None = None
    for name, verdict in verdicts:
        if found is None or verdict.step.rank > found[1].step.rank:
            found = (name, verdict)
    return found or ("", Convergence(Step.PROGRESSING, "no service is there yet"))
