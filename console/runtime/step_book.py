"""The book of one running operation: each step on the disk before it is made, shown as it moves, counted as it ends."""

from __future__ import annotations

import asyncio

from console.errors import JournalError
from console.journal.journal import Journal
from console.model.operations import State
from console.model.plan import Plan
from console.runtime.tracking import Tracked


class StepBook:
    """Journals and shows the steps of a plan; satisfies :class:`~console.runtime.ports.StepLog`.

    ``stopping`` is set once nothing new may begin. ``failures`` and ``doubts`` are sentences. A journal that fails sets
    ``broken``, and nothing more is sent.
    """

    def __init__(self, identity: str, plan: Plan, journal: Journal, tracked: Tracked) -> None:
        self.operation = identity
        self.stopping = asyncio.Event()
        self.failures: list[str] = []
        self.doubts: list[str] = []
        self.given_up: list[str] = []
        self.broken: JournalError | None = None
        self._titles = {step.key: step.title for step in plan.steps}
        self._journal = journal
        self._tracked = tracked
        self._begun: dict[str, float] = {}
        self._ended: set[str] = set()

    @property
    def untouched(self) -> int:
        """How many steps were never begun."""
        return len(self._titles.keys() - self._begun.keys() - self._ended)

    def open(self, key: str) -> bool:
        """Whether a step was begun and nobody said how it ended."""
        return key in self._begun and key not in self._ended

    async def begin(self, key: str) -> None:
        """A try of this step is about to leave; returns once that is recorded. Raises :class:`JournalError`."""
        if self.broken is not None:
            raise self.broken
        try:
            await self._journal.step_started(self.operation, key, self._titles[key])
        except JournalError as error:
            self._break(error)
            raise
        self._begun[key] = asyncio.get_running_loop().time()
        self._tracked.step(key, State.RUNNING)

    async def again(self, key: str, error: str, pause: float) -> None:
        """The try failed, and another follows after so many seconds."""
        took = asyncio.get_running_loop().time() - self._begun[key]
        try:
            await self._journal.step_tried(self.operation, key, error, took)
        except JournalError as problem:
            self._break(problem)
            raise
        self._tracked.step(key, State.WAITING, error, f"the next try in {pause:.1f} s")

    def waits(self, key: str, what: str) -> None:
        """What the step waits for now, for the screen only."""
        if self.open(key):
            self._tracked.step(key, State.WAITING, "", what)

    async def end(self, key: str, state: State, detail: str = "", *, seconds: float | None = None) -> None:
        """The step is over. ``seconds``: how long its last call took, if not all the time since it began."""
        if key in self._ended:
            return
        began = self._begun.get(key)
        took = asyncio.get_running_loop().time() - began if seconds is None and began is not None else seconds
        try:
            await self._journal.step_ended(self.operation, key, state, detail, took)
        except JournalError as error:
            self._break(error)
            raise
        if state is not State.SKIPPED:
            self._ended.add(key)
        self._tracked.step(key, state, detail)
        match state:
            case State.SUCCEEDED | State.SKIPPED:
                return
            case State.UNKNOWN:
                self.doubts.append(f"{self._titles[key]}: {detail}")
            case State.CANCELLED:
                self.given_up.append(self._titles[key])
            case _:
                self.failures.append(f"{self._titles[key]}: {detail}")

    def _break(self, error: JournalError) -> None:
        self.broken = self.broken or error
        self.stopping.set()
