"""Runs a confirmed plan: each step journaled before its call leaves, in order of dependence, never blindly twice.

A writer that orders its own steps runs the plan itself (:class:`~console.runtime.ports.RunsPlans`) and keeps the same book. A
write whose answer was lost is resolved by reading (:meth:`Writes.applied`). Cancelling is cooperative: the call at hand ends,
nothing new begins, and the outcome says what was left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from graphlib import TopologicalSorter

import msgspec

from console.errors import JournalError, QuarterdeckError, Refused, UnclearAnswer
from console.journal.journal import Journal
from console.kit.timing import backoff
from console.model.operations import State
from console.model.plan import Plan, PlanStep
from console.runtime.ports import RunsPlans, ShowsPhases, Writes
from console.runtime.step_book import StepBook
from console.runtime.tracking import Tracked

CONCURRENCY = 10
# Three looks over about 15 s: an API server behind a broken connection usually answers again within that time.
RESOLVE_ATTEMPTS = 4


class Execution:
    """One operation. ``await run()`` ends it and returns its final state; :meth:`cancel` asks it to stop.

    :param observe_seconds: how long the world may take to show the effect.
    """

    def __init__(
        self, identity: str, plan: Plan, backend: Writes, journal: Journal, tracked: Tracked, *, observe_seconds: float = 900
    ) -> None:
        self._identity = identity
        self._plan = plan
        self._backend = backend
        self._journal = journal
        self._tracked = tracked
        self._observe_seconds = observe_seconds
        self._cancelled = ""
        self._book = StepBook(identity, plan, journal, tracked)

    def cancel(self, why: str) -> None:
        """Begin nothing new; ``why`` goes into the outcome."""
        self._cancelled = self._cancelled or why
        self._book.stopping.set()

    async def run(self) -> State:
        """Make the writes, watch their effect, journal the end."""
        try:
            await (self._run_by(self._backend) if isinstance(self._backend, RunsPlans) else self._steps())
            state, message = await self._outcome()
        except JournalError as error:
            # The world may go on; without a record nothing more is sent.
            self._tracked.end(State.INTERRUPTED, error.sentence(), undoable=False)
            return State.INTERRUPTED
        try:
            await self._journal.end(self._identity, state, message, self._tracked.phases_at_the_end(state))
        except JournalError as error:
            message = f"{message} (not recorded: {error.message})"
        self._tracked.end(state, message, undoable=self._plan.undo is not None)
        return state

    async def _steps(self) -> None:
        steps = {step.key: step for step in self._plan.steps}
        sorter = TopologicalSorter({step.key: step.after for step in self._plan.steps})
        sorter.prepare()
        running: dict[asyncio.Task[bool], str] = {}
        waiting: list[str] = []
        try:
            while sorter.is_active() or running:
                waiting += sorter.get_ready() if sorter.is_active() else ()
                while waiting and len(running) < CONCURRENCY and not self._halted:
                    key = waiting.pop(0)
                    running[asyncio.create_task(self._step(steps[key]), name=f"step {key}")] = key
                if not running:
                    return
                ended, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in ended:
                    key = running.pop(task)
                    if task.result():
                        sorter.done(key)
        finally:
            # Only when cancelled from outside or without a journal: what runs is stopped and awaited.
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    @property
    def _halted(self) -> bool:
        return bool(self._cancelled or self._book.failures or self._book.doubts)

    async def _run_by(self, engine: RunsPlans) -> None:
        """The engine orders the steps; what it leaves open is resolved by reading, as after a lost answer."""
        try:
            await engine.run(self._plan, self._book)
        except JournalError:
            raise
        except QuarterdeckError as error:
            self._book.failures.append(error.sentence())
        if self._book.broken is not None:
            raise self._book.broken
        for step in self._plan.steps:
            if self._book.open(step.key):
                state, detail = await self._resolve(step, UnclearAnswer("The call was given up before its answer came."))
                if state is State.FAILED and self._cancelled:
                    state = State.CANCELLED
                await self._book.end(step.key, state, detail)

    async def _step(self, step: PlanStep) -> bool:
        loop = asyncio.get_running_loop()
        await self._book.begin(step.key)
        self._show_phases(self._plan)
        began = loop.time()
        try:
            state, detail = State.SUCCEEDED, await self._backend.execute(step)
        except UnclearAnswer as error:
            state, detail = await self._resolve(step, error)
        except QuarterdeckError as error:
            state, detail = State.FAILED, error.sentence()
        took = loop.time() - began
        if state is State.SUCCEEDED and step.settles:
            state, detail = await self._settled(step, detail)
        await self._book.end(step.key, state, detail, seconds=took)
        return state is State.SUCCEEDED

    async def _settled(self, step: PlanStep, said: str) -> tuple[State, str]:
        """A step that others build on has been written: wait until its own effect shows."""
        alone = msgspec.structs.replace(self._plan, steps=(step,))
        state, words = await self._watch(alone, lambda what: self._tracked.step(step.key, State.WAITING, said, what))
        match state:
            case State.CANCELLED:
                return State.SUCCEEDED, f"{said}; it still waits for {words}"
            case State.UNKNOWN:
                return state, f"Written, but after {self._observe_seconds:.0f} s still waiting for {words}."
            case _:
                return state, words

    async def _resolve(self, step: PlanStep, error: UnclearAnswer) -> tuple[State, str]:
        """The answer to a write was lost: read until we know, or say that we don't."""
        self._tracked.step(step.key, State.WAITING, error.message, "reading whether the write arrived")
        last: QuarterdeckError = error
        absent = False
        for attempt, pause in zip(range(RESOLVE_ATTEMPTS), backoff(1, most=8), strict=False):
            try:
                applied = await self._backend.applied(step)
            except QuarterdeckError as failure:
                last = failure
            else:
                if applied is True:
                    return State.SUCCEEDED, "the answer was lost; reading shows that the write arrived"
                if applied is None:
                    return State.UNKNOWN, f"{error.message} Reading can't tell whether the write arrived."
                # A write whose connection broke may still be on its way to the server: one look is too early to call it lost.
                if absent:
                    return State.FAILED, f"{error.message} Reading shows that the write did not arrive."
                absent = True
            if attempt + 1 < RESOLVE_ATTEMPTS:
                await asyncio.sleep(pause)
        return State.UNKNOWN, f"{error.message} It can't be read whether the write arrived: {last.message}"

    async def _outcome(self) -> tuple[State, str]:
        book = self._book
        left = book.untouched
        rest = f" {left} of {len(self._plan.steps)} steps were not begun." if left else ""
        rest += f" Given up: {', '.join(book.given_up)}." if book.given_up else ""
        if book.doubts:
            return State.UNKNOWN, "; ".join(book.doubts + book.failures) + rest
        if book.failures:
            return State.FAILED, "; ".join(book.failures) + rest
        if self._cancelled and rest:
            return State.CANCELLED, f"{self._cancelled}.{rest}"
        return await self._observe()

    async def _observe(self) -> tuple[State, str]:
        state, words = await self._watch(self._plan, self._tracked.waiting)
        match state:
            case State.CANCELLED:
                return state, f"{self._cancelled}. Everything was written; it still waits for {words}."
            case State.UNKNOWN:
                return state, f"Written, but after {self._observe_seconds:.0f} s still waiting for {words}."
            case _:
                return state, words

    async def _watch(self, plan: Plan, waiting: Callable[[str], None]) -> tuple[State, str]:
        """Wait until the world shows what was written, is known to have failed, or the time is up; and the words for it.

        Cancelled or unknown, the words are what it waits for.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._observe_seconds
        waits_for = ""
        most = self._backend.look_seconds if isinstance(self._backend, ShowsPhases) else 5.0
        for pause in backoff(0.5, factor=1.5, most=most):
            try:
                complete, waits_for = await self._backend.observe(plan)
            except Refused as error:
                self._show_phases(plan)
                return State.FAILED, error.sentence()
            except QuarterdeckError as error:
                # Not being able to look is no failure of what was written.
                complete, waits_for = False, f"{waits_for or 'the effect'} (can't look now: {error.message})"
            self._show_phases(plan)
            if complete:
                return State.SUCCEEDED, waits_for
            if loop.time() >= deadline:
                return State.UNKNOWN, waits_for
            if self._cancelled:
                return State.CANCELLED, waits_for
            waiting(waits_for)
            try:
                async with asyncio.timeout(pause):
                    await self._book.stopping.wait()
            except TimeoutError:
                continue
        raise AssertionError("backoff is endless")

    def _show_phases(self, plan: Plan) -> None:
        if isinstance(self._backend, ShowsPhases):
            for step in plan.steps:
                self._tracked.phases(step.key, self._backend.phases(step))
