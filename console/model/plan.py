"""Intent and plan: what somebody wants, and exactly what would be done about it. Pure data, stable across processes.

An :class:`Intent` is asked for; a backend or an engine reads the world and answers with a :class:`Plan`; the operator confirms
the plan by its :attr:`Plan.hash`; execution binds to what the plan read and refuses when the world moved.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum

import msgspec

from console.model.refs import Ref


class Strength(StrEnum):
    """How hard it is to confirm a plan; computed from facts, never chosen by a screen."""

    KEY = "key"
    COUNT = "count"
    NAME = "name"
    REFUSED = "refused"


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted: a verb ("suspend", "scale", ...) on targets, with arguments and a reason for the journal."""

    verb: str
    targets: tuple[Ref, ...]
    arguments: dict[str, str] = {}
    reason: str = ""

    @property
    def connection(self) -> str:
        """The one connection that all targets are on."""
        return self.targets[0].connection if self.targets else ""


class FieldChange(msgspec.Struct, frozen=True, kw_only=True):
    """One field before and after, as text, secrets masked. ``owner`` is its field manager where the platform knows one."""

    path: str
    before: str
    after: str
    owner: str = ""


class PlanStep(msgspec.Struct, frozen=True, kw_only=True):
    """One write. ``precondition`` is what must still hold (``{"uid": ..., "Version.Index": ...}``) and is part of the hash.

    ``request`` is what the backend needs to make the call (its own shape, JSON-able, no secrets); it is hashed too.
    ``kind`` is one of "create", "update", "delete", "action". ``settles``: steps after this one begin only when its effect
    shows, not as soon as its write was made.
    """

    key: str
    title: str
    ref: Ref
    kind: str = "update"
    precondition: dict[str, str] = {}
    changes: tuple[FieldChange, ...] = ()
    request: dict[str, object] = {}
    after: tuple[str, ...] = ()
    settles: bool = False


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What would be done. No steps means "nothing to do", and :attr:`nothing` says why.

    ``effects`` are sentences about what else will happen; ``undo`` is the intent that takes it back, or None with
    ``no_undo`` saying why; ``instead`` is what is better done first, offered before this plan. ``deletes_state``, ``share``
    (0..1 of a whole that goes) and ``forbidden`` are facts that decide the :attr:`strength` of the confirmation.
    """

    intent: Intent
    steps: tuple[PlanStep, ...] = ()
    effects: tuple[str, ...] = ()
    undo: Intent | None = None
    no_undo: str = ""
    instead: Intent | None = None
    nothing: str = ""
    environment: str = ""
    protected: bool = False
    deletes_state: bool = False
    share: float = 0.0
    forbidden: str = ""

    @property
    def hash(self) -> str:
        """Hex digest over what matters: intent, steps with preconditions and requests. Wording of effects does not count."""
        matter = {
            "intent": self.intent,
            "steps": [
                {
                    "key": step.key,
                    "ref": step.ref,
                    "kind": step.kind,
                    "precondition": step.precondition,
                    "changes": [(change.path, change.before, change.after) for change in step.changes],
                    "request": step.request,
                    "after": step.after,
                }
                for step in self.steps
            ],
        }
        return hashlib.sha256(msgspec.json.encode(matter, order="deterministic")).hexdigest()[:16]

    @property
    def objects(self) -> int:
        """Number of distinct objects that would be written."""
        return len({step.ref for step in self.steps})

    @property
    def strength(self) -> Strength:
        """How this plan must be confirmed (experience: low - one key, medium - the count, high - the name)."""
        if self.forbidden:
            return Strength.REFUSED
        if self.protected or self.deletes_state or self.share >= 0.5:
            return Strength.NAME
        if self.objects > 1 or any(step.kind == "delete" for step in self.steps):
            return Strength.COUNT
        return Strength.KEY

    @property
    def confirmation(self) -> str:
        """The exact text that must be typed: "" for one key, the number of objects, or the target's name."""
        match self.strength:
            case Strength.COUNT:
                return str(self.objects)
            case Strength.NAME:
                return self.intent.targets[0].name if len(self.intent.targets) == 1 else self.intent.connection
            case _:
                return ""
