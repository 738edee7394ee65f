"""What a graph of resources is made of once it leaves the engine: identities, stored records, plans and reports.

Pure data, so that storage, views and screens can share it with the engine without knowing it. Durations are seconds.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

KNOWN_AFTER_APPLY = "(known after apply)"
"""What a plan shows for a value that a parent will only have once it is made."""

Path = tuple[str, ...]
"""Where a value stands inside an input or an output; list positions are decimal digits."""


class Identity(NamedTuple):
    """Kind and name: what makes a resource the same one in the next run. Sorts by kind, then name."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


class Action(StrEnum):
    """What a run means to do with one resource."""

    NONE = "none"
    CREATE = "create"
    UPDATE = "update"
    MAYBE_UPDATE = "maybe update"
    REPLACE = "replace"
    RECORD = "record"
    DELETE = "delete"

    @property
    def writes(self) -> bool:
        """Whether a provider may be called to change something."""
        return self not in (Action.NONE, Action.RECORD)


class Outcome(StrEnum):
    """How it ended for one resource."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    DELETED = "deleted"
    REPLACED = "replaced"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"

    @property
    def good(self) -> bool:
        """Whether the resource is now as wanted."""
        return self not in (Outcome.FAILED, Outcome.SKIPPED, Outcome.CANCELLED)


class Deployed(msgspec.Struct, frozen=True, kw_only=True):
    """A resource as stored: resolved input, merged output, and the parents it was made from.

    ``id`` tells versions of one identity apart; ``replaces`` is the id of the version that this one took over from, which stays
    stored until it is deleted. ``secret_paths`` start with "input" or "output" and name the values that storage must seal.
    """

    id: str
    kind: str
    name: str
    input: dict[str, Any] = {}
    output: dict[str, Any] = {}
    sources: tuple[str, ...] = ()
    deps: tuple[Identity, ...] = ()
    replaces: str = ""
    secret_paths: tuple[Path, ...] = ()
    run_id: str = ""

    @property
    def identity(self) -> Identity:
        """Kind and name."""
        return Identity(self.kind, self.name)


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """Written before a create, removed with the record: proof that something of this id may exist outside.

    ``started`` is an RFC 3339 instant; ``secret_paths`` as in :class:`Deployed`.
    """

    id: str
    kind: str
    name: str
    input: dict[str, Any] = {}
    input_hash: str = ""
    sources: tuple[str, ...] = ()
    deps: tuple[Identity, ...] = ()
    secret_paths: tuple[Path, ...] = ()
    started: str = ""
    run_id: str = ""

    @property
    def identity(self) -> Identity:
        """Kind and name."""
        return Identity(self.kind, self.name)


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """One input field before and after, as text for people. Secret ones say only that they changed."""

    path: str
    before: str = ""
    after: str = ""
    secret: bool = False


class PlannedStep(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a plan. Steps of one ``wave`` (from 0) may run side by side; ``parents`` are those made before it.

    ``version`` is the stored id for deletes, where an old and a new version may share the identity.
    """

    identity: Identity
    action: Action
    wave: int = 0
    parents: tuple[Identity, ...] = ()
    changes: tuple[Changed, ...] = ()
    sources_changed: bool = False
    reason: str = ""
    version: str = ""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a run would do: creates and updates in order, then deletes in theirs.

    ``digest`` binds the plan to the graph, the stored records and the version of this software.
    """

    project: str
    steps: tuple[PlannedStep, ...] = ()
    deletes: tuple[PlannedStep, ...] = ()
    warnings: tuple[str, ...] = ()
    digest: str = ""
    prune: bool = True
    refresh: bool = False

    @property
    def totals(self) -> dict[str, int]:
        """Number of steps by action; only actions that occur."""
        return dict(Counter(step.action.value for step in (*self.steps, *self.deletes)))

    @property
    def nothing(self) -> bool:
        """Whether applying it would change nothing in the world."""
        return not self.deletes and not any(step.action.writes for step in self.steps)


class ResourceReport(msgspec.Struct, frozen=True, kw_only=True):
    """How one resource fared. ``attempts`` counts provider calls of its main operation; ``error`` is masked text."""

    identity: Identity
    outcome: Outcome
    action: Action | None = None
    attempts: int = 0
    duration: float = 0.0
    error: str = ""
    reason: str = ""
    version: str = ""


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended: one entry per resource in identity order, deletes after the rest.

    ``outcome`` is "succeeded", "failed", "cancelled" or "planned". ``plan`` is set when planning was all that was asked for.
    """

    run_id: str
    project: str
    outcome: str
    resources: tuple[ResourceReport, ...] = ()
    warnings: tuple[str, ...] = ()
    error: str = ""
    duration: float = 0.0
    plan: Plan | None = None

    def count(self, outcome: Outcome) -> int:
        """How many resources ended this way."""
        return sum(1 for entry in self.resources if entry.outcome is outcome)

    @property
    def totals(self) -> dict[str, int]:
        """Created, updated and deleted, counted only where it succeeded; a replacement counts as created."""
        return {
            "created": self.count(Outcome.CREATED) + self.count(Outcome.REPLACED),
            "updated": self.count(Outcome.UPDATED),
            "deleted": self.count(Outcome.DELETED),
        }

    @property
    def failures(self) -> tuple[ResourceReport, ...]:
        """The failed ones, in identity order."""
        return tuple(entry for entry in self.resources if entry.outcome is Outcome.FAILED)

    def of(self, kind: str, name: str) -> ResourceReport:
        """The entry of one wanted resource (of a delete, if it wasn't wanted). Raises ``KeyError`` if there is none."""
        for entry in self.resources:
            if entry.identity == (kind, name):
                return entry
        raise KeyError(f"{kind}/{name}")
