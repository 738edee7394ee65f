"""An apply on a held Kustomization that nobody here asked for: noticed by comparing two rests, told as an External operation.

A pass that applies leaves a trace in the status (F6, F7): revisions, and an entry in the history that a suspended pass never
touches. So a trace that has moved between two moments of rest, without an operation of ours between them, is somebody else's.
"""

from __future__ import annotations

import msgspec

from console.engines.dispatch.constants import Outcome, Reason
from console.engines.dispatch.records import told
from console.engines.dispatch.revisions import commit_of, describe_commit
from console.engines.dispatch.types import Operation, Suspension, Trace, TriggerRef


class _Rest(msgspec.Struct, frozen=True):
    """What was there when nothing ran: the trace, and the operation of ours that had come before it."""

    trace: Trace
    token: str
    hand: str = ""


class ExternalApplies:
    """Remembers one rest for each trigger. Nothing is read and nothing is written here."""

    def __init__(self) -> None:
        self._rests: dict[TriggerRef, _Rest] = {}

    def forget(self, trigger: TriggerRef) -> None:
        """An operation of ours has it resumed, or it isn't held: what comes of that is nobody else's."""
        self._rests.pop(trigger.key, None)

    def look(self, trigger: TriggerRef, suspension: Suspension, stored: Operation | None) -> Operation | None:
        """The operation to record, once it has ended and the Kustomization is held again; None if there was none.

        :param stored: the record as it is now; nothing is ever put over one that is in flight.
        """
        if stored is not None and stored.in_flight:
            self.forget(trigger)
            return None
        token = stored.token if stored is not None else ""
        rest = self._rests.get(trigger.key)
        if not suspension.complete:
            rest = rest or _Rest(suspension.trace, token)
            # Whoever only takes a field away owns nothing, and leaves no name: then nobody is named, not the one before.
            if not suspension.suspended and suspension.trace.hand > rest.trace.hand:
                rest = msgspec.structs.replace(rest, hand=suspension.trace.hand[1])
            self._rests[trigger.key] = rest
            return None
        self._rests[trigger.key] = _Rest(suspension.trace, token)
        if rest is None or rest.token != token or rest.trace.same_as(suspension.trace):
            return None
        return _operation(suspension, rest.hand)


def _operation(suspension: Suspension, hand: str) -> Operation:
    trace, verdict = suspension.trace, suspension.applied
    commit = commit_of(trace.attempted) or commit_of(trace.applied) or ""
    who = hand or "somebody"
    said = f"{who} resumed it and {describe_commit(commit)} was applied; it is held again"
    failed = verdict.outcome is not Outcome.SUCCEEDED
    if failed:
        said = f"{who} resumed it and {describe_commit(commit)} was tried; it is held again: {verdict.message}"
    return Operation(
        # The same apply is the same operation, whichever console finds it.
        token=f"found {trace.ended or trace.attempted}",
        reason=Reason.EXTERNAL,
        outcome=Outcome.FAILED if failed else Outcome.SUCCEEDED,
        commit=commit,
        requested_at=trace.ended,
        completed_at=trace.ended,
        applied_revision=trace.applied,
        message=told(said),
    )
