"""One read of a Kustomization in an operation: what it means, and whether a suspend must follow. Pure.

Sections 5.5 and 5.6 of the specification. Why a handled suspend ends everything: passes of one object don't overlap, a pass
that reads ``spec.suspend: true`` returns before it applies, and every return marks the token that it had read as handled.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from console.engines.dispatch.constants import Outcome
from console.engines.dispatch.flux_reading import (
    annotation,
    deleting,
    handled,
    read_ready,
    ready_condition,
    stood_in,
    suspended,
    uid,
)
from console.engines.dispatch.tokens import instant
from console.engines.dispatch.types import Progress, Started
from console.engines.ports.applier import JsonObject
from console.kit.dig import number, text


class Step(msgspec.Struct, frozen=True):
    """What one read came to. ``suspend``: write a suspend now, and only then report. ``verdict`` is kept for the end."""

    progress: Progress
    suspend: bool = False
    seen: bool = False
    verdict: Progress | None = None


def has_evidence(obj: JsonObject, started: Started, slack: float) -> bool:
    """Whether the Ready condition (or the history) is of a pass that began after the apply was asked.

    ``observedGeneration`` *inside* Ready is the generation at the moment when a pass last wrote a changed Ready. A held
    Kustomization has no applying pass before our resume, so a value at or above the resume's generation proves one after it.
    """
    ready = ready_condition(obj) or {}
    observed = number(ready, "observedGeneration")
    if started.resume_generation:
        return observed >= started.resume_generation
    if started.guard_generation:
        return observed > started.guard_generation
    bound = started.requested_at - timedelta(seconds=slack)
    ends = (text(ready, "lastTransitionTime"), text(obj, "status", "history", 0, "lastReconciled"))
    return any(_at_or_after(when, bound) for when in ends)


def _at_or_after(when: str, bound: datetime) -> bool:
    moment = instant(when)
    return moment is not None and moment >= bound


def apply_verdict(obj: JsonObject, started: Started, slack: float, *, final: bool) -> Progress | None:
    """How the apply went. Before the suspend (``final`` false) None means: judge later; at the end there is always one."""
    if not has_evidence(obj, started, slack):
        if not final:
            return None
        return Progress(Outcome.FAILED, "nothing ran since the apply was asked", text(obj, "status", "lastAppliedRevision"))
    verdict = read_ready(obj, started.commit)
    if verdict is None and final:
        return Progress(Outcome.FAILED, "the apply was interrupted before it ended", text(obj, "status", "lastAppliedRevision"))
    return verdict


def flux_step(obj: JsonObject | None, started: Started, slack: float) -> Step:
    """Table 5.5 for one read. ``obj`` is None when the Kustomization is gone."""
    token, suspend_token = started.token, started.suspend_token
    if obj is None:
        return Step(Progress(Outcome.FAILED, "the Kustomization was deleted", suspend_token=suspend_token))
    if started.applier_uid and uid(obj) != started.applier_uid:
        return Step(
            Progress(Outcome.FAILED, "the Kustomization was replaced by another of its name", suspend_token=suspend_token)
        )
    seen = started.seen or annotation(obj) == token or handled(obj, token)
    if deleting(obj):
        return _while_deleting(obj, started, seen)
    if suspend_token:
        return _after_suspend(obj, started, slack, seen)

    if started.overdue:
        # Nothing is kept: whatever ends before the suspend is handled is judged then.
        return Step(_settling(""), suspend=True, seen=seen)
    if not seen and (started.recovered or started.unconfirmed is not None):
        # The suspend is the fence: it moves the resourceVersion, so a resume still on its way can't land any more.
        return Step(_settling(""), suspend=True, seen=seen)
    if handled(obj, token) or stood_in(obj, token):
        return Step(_settling(""), suspend=True, seen=seen, verdict=apply_verdict(obj, started, slack, final=False))
    return Step(Progress(Outcome.RUNNING), seen=seen)


def _while_deleting(obj: JsonObject, started: Started, seen: bool) -> Step:
    """Never suspend what is being deleted: a suspended Kustomization leaves all its objects behind."""
    tokens = [token for token in (started.token, started.suspend_token) if token]
    if any(handled(obj, token) or stood_in(obj, token) for token in tokens):
        return Step(
            Progress(
                Outcome.FAILED,
                "the Kustomization is being deleted",
                text(obj, "status", "lastAppliedRevision"),
                started.suspend_token,
            ),
            seen=seen,
        )
    outcome = Outcome.SETTLING if started.suspend_token else Outcome.RUNNING
    return Step(Progress(outcome, "the Kustomization is being deleted", suspend_token=started.suspend_token), seen=seen)


def _after_suspend(obj: JsonObject, started: Started, slack: float, seen: bool) -> Step:
    again = not suspended(obj)
    if started.suspend_generation and number(obj, "metadata", "generation") != started.suspend_generation:
        # The spec changed since, for example resumed and suspended again: an apply may have begun in between.
        again = True
    if again:
        return Step(_settling(started.suspend_token), suspend=True, seen=seen, verdict=started.verdict)
    if not (handled(obj, started.suspend_token) or stood_in(obj, started.suspend_token)):
        return Step(_settling(started.suspend_token), seen=seen, verdict=started.verdict)
    verdict = started.verdict or apply_verdict(obj, started, slack, final=True)
    assert verdict is not None
    revision = text(obj, "status", "lastAppliedRevision") or verdict.applied_revision
    message = "; ".join(filter(None, (verdict.message, _after_it(obj, started.verdict))))
    return Step(Progress(verdict.outcome, message, revision, started.suspend_token), seen=seen, verdict=verdict)


def _after_it(obj: JsonObject, verdict: Progress | None) -> str:
    """What a pass that began after the verdict was read, and before the suspend, did to the cluster; empty when none did."""
    if verdict is None:
        return ""
    applied, attempted = text(obj, "status", "lastAppliedRevision"), text(obj, "status", "lastAttemptedRevision")
    if applied and applied != verdict.applied_revision:
        return f"{applied} was applied after it, before it was suspended again"
    if verdict.outcome is Outcome.SUCCEEDED and attempted and attempted != applied and not verdict.message:
        return f"{attempted} was attempted after it, before it was suspended again"
    return ""


def _settling(suspend_token: str) -> Progress:
    return Progress(Outcome.SETTLING, suspend_token=suspend_token)
