"""What a graph run tells while it runs: one small type per event, each with run id, number, instant and identity.

For each resource ``Queued`` comes first and exactly one of ``Finished`` and ``Skipped`` last. Numbers rise without holes in
what a listener receives: they are given on delivery, after surplus ``Progress`` has been dropped.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from console.model.graph import Action, Identity, Outcome, RunReport

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


class GraphEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What all events carry. ``identity`` is None where the event is about the run itself.

    ``version`` is the stored id when an old version of a resource is deleted, since the new one shares its identity.
    """

    run_id: str
    number: int = 0
    at: datetime = _NEVER
    identity: Identity | None = None
    version: str = ""


class RunStarted(GraphEvent, frozen=True, kw_only=True):
    """The run holds its lock; ``total`` resources are wanted."""

    total: int


class ListedExisting(GraphEvent, frozen=True, kw_only=True):
    """Storage has been read: so many records exist."""

    existing: int


class PhaseStarted(GraphEvent, frozen=True, kw_only=True):
    """Step "create" (creates and updates) or "delete" begins."""

    phase: str


class Queued(GraphEvent, frozen=True, kw_only=True):
    """The resource takes part in the run."""


class Waiting(GraphEvent, frozen=True, kw_only=True):
    """It waits for these to be settled first."""

    parents: tuple[Identity, ...]


class Started(GraphEvent, frozen=True, kw_only=True):
    """A provider is about to be called; ``attempt`` counts from 1."""

    action: Action
    attempt: int = 1


class Progress(GraphEvent, frozen=True, kw_only=True):
    """A word from the provider; ``total`` 0 where it can't say."""

    text: str
    done: int = 0
    total: int = 0


class Retrying(GraphEvent, frozen=True, kw_only=True):
    """Attempt number ``attempt`` failed; the next comes after ``delay`` seconds."""

    attempt: int
    delay: float
    error: str


class GateWaiting(GraphEvent, frozen=True, kw_only=True):
    """The operation is done and stored; children wait until the resource is ready."""


class Finished(GraphEvent, frozen=True, kw_only=True):
    """It is over for this resource, well or badly."""

    outcome: Outcome
    duration: float = 0.0
    error: str = ""


class Skipped(GraphEvent, frozen=True, kw_only=True):
    """It was not tried."""

    reason: str


class RunFinished(GraphEvent, frozen=True, kw_only=True):
    """The last event of a run."""

    report: RunReport
