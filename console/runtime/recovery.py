"""What a crash left behind: unfinished operations are resolved by reading, never by writing again.

A step that the journal has as running may or may not have reached the server; its backend looks. Steps that never began stay
so. What an engine has taken up again stays unfinished until the engine knows its end.
Only the holder of the journal's lease does this: an operation that another live process runs is not unfinished.
"""

from __future__ import annotations

import msgspec

from console.errors import JournalError, QuarterdeckError, Refused
from console.journal.journal import Journal
from console.journal.records import OperationRecord
from console.model.operations import Operation, State, StepView
from console.model.plan import PlanStep
from console.runtime.ports import ShowsPhases, TakesUp, Writes


async def unfinished(journal: Journal, connection: str) -> tuple[OperationRecord, ...]:
    """Operations on this connection that no process ended; none if another process holds the lease."""
    if not journal.lease.held:
        return ()
    return tuple(record for record in await journal.unfinished() if record.target.connection == connection)


async def recover(journal: Journal, record: OperationRecord, backend: Writes) -> Operation:
    """End one unfinished operation truthfully; returns it as it is shown then: ended, or waiting for an engine that follows it.

    :raises JournalError: the result can't be recorded; the operation stays unfinished and is found again.
    :raises QuarterdeckError: the target can't be read now; likewise.
    """
    plan_steps = {step.key: step for step in record.plan.steps}
    states: list[State] = []
    for step in record.steps:
        if step.state is not State.RUNNING or step.key not in plan_steps:
            states.append(step.state)
            continue
        state, detail = await _look(backend, plan_steps[step.key])
        await journal.step_ended(record.id, step.key, state, detail, None)
        states.append(state)
    state, message = await _judge(states, record, backend)
    if state is State.WAITING:
        return waiting(record, message)
    await journal.end(record.id, state, message, _phases(backend, record))
    ended = await journal.operations(ids=[record.id])
    if not ended:
        raise JournalError(f"Operation {record.id[:12]} is no longer in the journal.")
    return ended[0].view()


def waiting(record: OperationRecord, what: str) -> Operation:
    """An operation that was taken up again, and what it waits for."""
    state = State.WAITING
    return msgspec.structs.replace(record.view(), state=state, health=state.health, reason="", step="observe", waiting_for=what)


def _phases(backend: Writes, record: OperationRecord) -> tuple[StepView, ...]:
    """Where the steps are on the other side; nobody saw when they got there."""
    if not isinstance(backend, ShowsPhases):
        return ()
    return tuple(
        msgspec.structs.replace(phase, key=f"{step.key}/{phase.key}")
        for step in record.plan.steps
        for phase in backend.phases(step)
    )


async def _look(backend: Writes, step: PlanStep) -> tuple[State, str]:
    match await backend.applied(step):
        case True:
            return State.SUCCEEDED, "the console ended during the call; reading shows that the write arrived"
        case False:
            return State.FAILED, "the console ended during the call; reading shows that the write did not arrive"
        case _:
            return State.UNKNOWN, "the console ended during the call; reading can't tell whether the write arrived"


async def _judge(states: list[State], record: OperationRecord, backend: Writes) -> tuple[State, str]:
    made, total = states.count(State.SUCCEEDED), len(states)
    if State.UNKNOWN in states:
        return (
            State.UNKNOWN,
            "The console ended in mid-operation, and it can't be told whether a write arrived: look at the object.",
        )
    if made < total:
        return State.INTERRUPTED, f"The console ended in mid-operation: {made} of {total} steps were made, the rest was not."
    followed = isinstance(backend, TakesUp) and backend.takes_up(record.plan)
    try:
        complete, waits_for = await backend.observe(record.plan)
    except QuarterdeckError as error:
        if followed:
            if isinstance(error, Refused):
                return State.FAILED, error.sentence()
            raise
        return State.INTERRUPTED, f"Everything was written before the console ended; its effect: {error.message}"
    if complete:
        return State.SUCCEEDED, "Everything was written before the console ended, and the effect is there."
    if followed:
        return State.WAITING, waits_for
    return State.INTERRUPTED, f"Everything was written before the console ended; it still waits for {waits_for}."
