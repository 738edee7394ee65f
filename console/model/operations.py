"""An operation: something that was asked for and is followed to its end."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from console.model.health import Health
from console.model.refs import Ref
from console.model.resource import Resource


class State(StrEnum):
    """State of an operation or of one of its steps."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"
    INTERRUPTED = "interrupted"
    SKIPPED = "skipped"

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen by itself."""
        return self not in (State.PENDING, State.RUNNING, State.WAITING)

    @property
    def health(self) -> Health:
        """The state as a health, for sorting and colour."""
        return _HEALTH[self]


_HEALTH = {
    State.PENDING: Health.BUSY,
    State.RUNNING: Health.BUSY,
    State.WAITING: Health.BUSY,
    State.SUCCEEDED: Health.OK,
    State.FAILED: Health.BAD,
    State.REFUSED: Health.WARN,
    State.CANCELLED: Health.WARN,
    State.UNKNOWN: Health.UNKNOWN,
    State.INTERRUPTED: Health.UNKNOWN,
    State.SKIPPED: Health.OK,
}


class StepView(msgspec.Struct, frozen=True, kw_only=True):
    """One step of an operation as it stands. ``depth`` indents; ``after`` names the steps it waits for.

    ``waiting_for`` is what it waits for now, ``ends`` what would end it whenever it runs: both go on from "when" or "for".
    """

    key: str
    title: str
    state: State = State.PENDING
    depth: int = 0
    after: tuple[str, ...] = ()
    started: datetime | None = None
    ended: datetime | None = None
    attempts: int = 0
    detail: str = ""
    waiting_for: str = ""
    ends: str = ""


class Operation(Resource, frozen=True, kw_only=True):
    """An operation, ours or one that runs in a target.

    ``origin``: "journal" (asked for by this console), "target" (seen in the platform). ``ref.kind`` is "Operation" and
    ``ref.uid`` its id. ``waiting_for`` says what would end the step it is in now.
    """

    target: Ref
    verb: str
    state: State
    origin: str = "target"
    step: str = ""
    waiting_for: str = ""
    started: datetime | None = None
    ended: datetime | None = None
    who: str = ""
    why: str = ""
    message: str = ""
    commit: str = ""
    steps: tuple[StepView, ...] = ()
    undoable: bool = False
    plan_hash: str = ""


def seen_on(target: Ref) -> Ref:
    """The reference of the operation that a target itself shows on one of its objects: one an object, the latest."""
    name = f"{target.kind}/{target.name}"
    return Ref(target.connection, "Operation", target.namespace, name, f"target-{target.uid or target.path}")
