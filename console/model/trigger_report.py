"""What the dispatch engine knows about one trigger or applier, read live: pure data for every face.

For people, never a ground for a write: a plan reads the world again.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from console.model.health import Condition, Health
from console.model.operations import StepView
from console.model.refs import Ref


class WrittenBinding(msgspec.Struct, frozen=True, kw_only=True):
    """What one target writes, beside what the applier applies.

    :param who: ``GitTarget team-a/shop``, or "the fleet file" for a local trigger.
    :param repository: "" where it can't be read.
    :param state: "eligible", "undecided" or "refused".
    :param why: why it is not eligible, as part of a sentence.
    :param differs: which of "repository" and "branch" differ from what is applied.
    """

    who: str
    repository: str = ""
    branch: str = ""
    state: str = "eligible"
    why: str = ""
    differs: tuple[str, ...] = ()


class Rival(msgspec.Struct, frozen=True):
    """Another trigger that names the same applier. ``first``: it came first and drives it; else it waits."""

    who: str
    first: bool = False


class RecordedOperation(msgspec.Struct, frozen=True, kw_only=True):
    """The record of the operation in flight, or of the last one. ``phases`` are where it is now."""

    outcome: str
    commit: str
    reason: str
    message: str = ""
    requested: datetime | None = None
    completed: datetime | None = None
    phases: tuple[StepView, ...] = ()

    @property
    def in_flight(self) -> bool:
        """Whether nobody has seen its end."""
        return self.outcome not in ("Succeeded", "Failed")


class TriggerReport(msgspec.Struct, frozen=True, kw_only=True):
    """A trigger or an applier as the engine sees it.

    :param driver: who drives it, in sentences; ``driven`` colours them.
    :param applier: ``Kustomization flux-system/shop``.
    :param repository: what the applier applies ("" if it can't be read), with ``branch``.
    :param configured: by what was read just now; what stands in the trigger's status may be older.
    :param held: by whom and why it is held; None where holding has no meaning.
    :param held_notes: what follows from the hold, or from there being none.
    :param declaration: what adopts an applier as a local trigger: a sentence, then lines to copy.
    """

    ref: Ref
    driver: tuple[str, ...]
    driven: Health = Health.OK
    applier: str = ""
    repository: str = ""
    branch: str = ""
    written: tuple[WrittenBinding, ...] = ()
    configured: Condition | None = None
    rivals: tuple[Rival, ...] = ()
    held: bool | None = None
    held_by: str = ""
    held_why: str = ""
    held_until: datetime | None = None
    held_notes: tuple[str, ...] = ()
    applied: str = ""
    operation: RecordedOperation | None = None
    repair_pending: bool = False
    declaration: tuple[str, ...] = ()
