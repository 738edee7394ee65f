"""One read of an Application in an operation: what it means. Pure. Sections 6.4 and 6.5 of the specification."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from console.engines.dispatch.argo_reading import carries
from console.engines.dispatch.constants import ARGOCD_INITIATOR, Outcome, Timing
from console.engines.dispatch.tokens import instant
from console.engines.dispatch.types import Progress, Started
from console.engines.ports.applier import JsonObject
from console.kit.dig import dig, items, mapping, text

_NEVER_SEEN = "the operation was not set, or was removed or replaced before it was seen"


class ArgoStep(msgspec.Struct, frozen=True):
    """What one read came to. ``look_again``: this failure stands only when a second read says the same."""

    progress: Progress
    seen: bool = False
    look_again: bool = False


def argo_step(app: JsonObject | None, started: Started, now: datetime, timing: Timing) -> ArgoStep:
    """Table 6.4 for one read. ``app`` is None when the Application is gone."""
    if app is None:
        return ArgoStep(Progress(Outcome.FAILED, "the Application was deleted"))
    if started.applier_uid and text(app, "metadata", "uid") != started.applier_uid:
        return ArgoStep(Progress(Outcome.FAILED, "the Application was replaced by another of its name"))
    state = mapping(app, "status", "operationState")
    if carries(state.get("operation"), started.token):
        return ArgoStep(_of_state(app, state, started), seen=True)
    if carries(dig(app, "operation"), started.token):
        return ArgoStep(Progress(Outcome.REQUESTED), seen=True)
    if started.seen or not (started.recovered or started.unconfirmed is not None):
        return ArgoStep(Progress(Outcome.FAILED, "the operation was removed or replaced before its result was read"))
    return _settle(app, started, now, timing)


def _of_state(app: JsonObject, state: JsonObject, started: Started) -> Progress:
    phase, message = state.get("phase"), text(state, "message")
    revision = text(state, "syncResult", "revision") or text(state, "operation", "sync", "revision")
    if phase == "Succeeded":
        if revision.lower() != started.commit.lower():
            message = f"{revision or 'nothing'} was synced instead of {started.commit}"
        else:
            message = ""
        return Progress(Outcome.SUCCEEDED, message, revision)
    if phase in ("Failed", "Error"):
        return Progress(Outcome.FAILED, message, revision)
    # Unknown phases count as running; so does a failed try that waits for its retry (finishedAt set).
    if dig(app, "operation") is None and started.overdue:
        return Progress(Outcome.FAILED, "the operation was removed while it ran")
    return Progress(Outcome.RUNNING, message)


def _settle(app: JsonObject, started: Started, now: datetime, timing: Timing) -> ArgoStep:
    """An operation nobody has seen: decide only when the write can't land any more."""
    message = _NEVER_SEEN
    if _ran_unseen(app, started, timing):
        message += "; the history has a sync of this commit by us since: it probably ran"
    failed = Progress(Outcome.FAILED, message)
    too_late = now >= started.requested_at + timedelta(seconds=timing.late_write_grace)
    if started.guard_resource_version:
        if text(app, "metadata", "resourceVersion") != started.guard_resource_version:
            return ArgoStep(failed, look_again=True)
        return ArgoStep(failed if started.overdue or too_late else Progress(Outcome.REQUESTED))
    return ArgoStep(failed if too_late else Progress(Outcome.REQUESTED))


def _ran_unseen(app: JsonObject, started: Started, timing: Timing) -> bool:
    bound = started.requested_at - timedelta(seconds=timing.record_clock_slack)
    for entry in items(app, "status", "history"):
        began = instant(text(entry, "deployStartedAt"))
        if (
            text(entry, "initiatedBy", "username") == ARGOCD_INITIATOR
            and text(entry, "revision").lower() == started.commit.lower()
            and began is not None
            and began >= bound
        ):
            return True
    return False
