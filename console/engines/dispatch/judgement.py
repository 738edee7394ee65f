"""What the references of a trigger come to: its own conditions and those of its targets. Pure. Sections 9.2 to 9.6."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from console.engines.dispatch.binding import binding_mismatch
from console.engines.dispatch.constants import ConditionReason
from console.engines.dispatch.types import Binding, Source, TargetRef, Verdict


class ReferenceState(StrEnum):
    """How one naming target was judged."""

    ELIGIBLE = "Eligible"
    UNDECIDED = "Undecided"
    REFUSED = "Refused"


class Reference(msgspec.Struct, frozen=True):
    """One naming target, judged."""

    target: TargetRef
    state: ReferenceState
    reason: ConditionReason = ConditionReason.SUCCEEDED
    message: str = ""


class Judgement(msgspec.Struct, frozen=True):
    """All naming targets of a trigger, judged, in their order."""

    references: tuple[Reference, ...] = ()

    @property
    def named(self) -> bool:
        """Whether any target names the trigger."""
        return bool(self.references)

    @property
    def eligible(self) -> bool:
        """Whether at least one reference is."""
        return any(reference.state is ReferenceState.ELIGIBLE for reference in self.references)

    @property
    def refused(self) -> bool:
        """Whether there are references and all are refused: conclusive, unlike "not eligible"."""
        return self.named and all(reference.state is ReferenceState.REFUSED for reference in self.references)

    @property
    def reason(self) -> ConditionReason:
        """The refusal that all share; else NotBound."""
        reasons = {reference.reason for reference in self.references}
        return reasons.pop() if self.refused and len(reasons) == 1 else ConditionReason.NOT_BOUND

    @property
    def message(self) -> str:
        """Why, for each reference that is not eligible."""
        return "; ".join(
            f"{reference.target}: {reference.message}"
            for reference in self.references
            if reference.state is not ReferenceState.ELIGIBLE
        )


class Condition(msgspec.Struct, frozen=True):
    """A condition to publish: ``status`` is True, False or Unknown."""

    status: str
    reason: ConditionReason
    message: str = ""


def judge_binding(target: TargetRef, source: Source | None, want: Binding) -> Reference:
    """Judge an admitted target by what is applied."""
    mismatch = binding_mismatch(source, want)
    if source is None:
        return Reference(target, ReferenceState.UNDECIDED, ConditionReason.NOT_BOUND, mismatch)
    if mismatch:
        return Reference(target, ReferenceState.REFUSED, ConditionReason.SOURCE_MISMATCH, mismatch)
    return Reference(target, ReferenceState.ELIGIBLE)


def configured(judgement: Judgement, held_by_another: str, verdict: Verdict | None) -> Condition:
    """``Configured`` of a trigger (table 9.4).

    :param held_by_another: the message when another trigger holds the applier; empty when none does.
    :param verdict: the answer of ``validate``; None when it was not asked.
    """
    if not judgement.named:
        return Condition("Unknown", ConditionReason.NOT_REFERENCED, "no GitTarget names this trigger")
    if held_by_another:
        return Condition("False", ConditionReason.HELD_BY_ANOTHER_TRIGGER, held_by_another)
    if verdict is not None and not verdict.ok:
        unknown = verdict.reason is ConditionReason.FAILED
        return Condition("Unknown" if unknown else "False", verdict.reason, verdict.message)
    if judgement.eligible:
        return Condition("True", ConditionReason.SUCCEEDED, judgement.message)
    if judgement.refused:
        return Condition("False", judgement.reason, judgement.message)
    return Condition("Unknown", ConditionReason.NOT_BOUND, judgement.message)


def ready(configured_as: Condition, others: Sequence[Condition] = ()) -> Condition:
    """``Ready`` of a trigger: one that nobody names is ready, it just has nothing to do."""
    if configured_as.reason is ConditionReason.NOT_REFERENCED:
        return Condition("True", ConditionReason.NOT_REFERENCED, configured_as.message)
    for condition in (configured_as, *others):
        if condition.status != "True":
            return condition
    return configured_as


def apply_trigger_ready(
    configured_as: Condition | None, source: Source | None, want: Binding | None, trigger: str
) -> Condition:
    """``ApplyTriggerReady`` of a GitTarget that names ``trigger`` (9.6).

    :param configured_as: the trigger's condition; None when there is no such trigger.
    :param want: the target's binding; None while its GitProvider is missing.
    """
    if configured_as is None:
        return Condition("False", ConditionReason.FAILED, f"{trigger} does not exist")
    if want is not None and source is not None and (mismatch := binding_mismatch(source, want)):
        return Condition("False", ConditionReason.SOURCE_MISMATCH, mismatch)
    if configured_as.status == "Unknown" or (configured_as.status == "True" and (want is None or source is None)):
        return Condition("Unknown", configured_as.reason, configured_as.message)
    if configured_as.status == "False":
        return Condition("False", configured_as.reason, configured_as.message)
    return Condition("True", ConditionReason.SUCCEEDED)
