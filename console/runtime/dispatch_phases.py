"""The phases of one apply, as steps under the one that asked for it. Pure: what the record and the applier say, read together.

A Kustomization: fetch, resume, apply, health, suspend, record. An Application: wait, set, run (with its waves and hooks),
record. The record is the engine's and counts; the applier only tells where inside a phase its controller is.
"""

from __future__ import annotations

from typing import Any

import msgspec

from console.engines.dispatch.constants import Outcome
from console.engines.dispatch.types import Operation
from console.kit.dig import flag, items, text
from console.model.operations import State, StepView
from console.runtime.sync_waves import sync_waves, tally


class Seen(msgspec.Struct, frozen=True):
    """What was seen of an apply at the last look. ``operation`` is None before it is recorded, ``applier`` {} before a look.

    ``recorded``: the end is written on the applier too.
    """

    operation: Operation | None = None
    applier: dict[str, Any] = {}
    recorded: bool = False


def flux_phases(seen: Seen) -> tuple[StepView, ...]:
    """Those of a Kustomization."""
    checked = flag(seen.applier, "spec", "wait") or bool(items(seen.applier, "spec", "healthChecks"))
    limit = text(seen.applier, "spec", "timeout")
    over = f"{limit} is over" if limit else "its timeout is over"
    phases = {
        "fetch": ("Have the source fetch the commit", "the source has the commit, and everything was looked at once more"),
        "resume": ("Resume, with the request", "kustomize-controller has taken the request"),
        "apply": ("Apply the commit", "the controller's pass has ended"),
        "health": ("Wait until it is healthy", f"what was applied is healthy, or {over}"),
        "suspend": ("Suspend again", "the suspend is handled: then nothing runs any more"),
        "record": ("Record the end", "the outcome is written where the trigger's record is"),
    }
    if not checked:
        del phases["health"]
    at, waits = _flux_now(seen, checked)
    failed = _flux_failed(seen, checked)
    return _steps(phases, at, waits, failed, seen.operation)


def _flux_now(seen: Seen, checked: bool) -> tuple[str, str]:
    operation = seen.operation
    if operation is None:
        return "fetch", "the source to hold the commit; then everything is looked at once more"
    match operation.outcome:
        case Outcome.REQUESTED | Outcome.RUNNING:
            # The engine says Running as soon as the resume is there; whether a pass began, only the controller can say.
            doing = _word(seen.applier, "Reconciling", "True") or _word(seen.applier, "Ready", "Unknown")
            if not doing and text(seen.applier, "status", "lastHandledReconcileAt") != operation.token:
                return "resume", "kustomize-controller to take the request"
            if checked and "health check" in doing.lower():
                limit = text(seen.applier, "spec", "timeout")
                return "health", f"{doing}{f'; it ends after {limit} at the latest' if limit else ''}"
            return "apply", doing or "kustomize-controller to end its pass"
        case Outcome.SETTLING:
            return "suspend", "kustomize-controller to handle the suspend: then nothing runs any more"
        case Outcome.UNRESOLVED:
            return "suspend", "an end that has not come in five minutes; it is looked for ever more slowly, and never given up"
        case _:
            return ("", "") if seen.recorded else ("record", "the outcome to be written on the Kustomization")


def _flux_failed(seen: Seen, checked: bool) -> str:
    """The phase that failed; "" while none is known to have."""
    operation = seen.operation
    if operation is None or operation.outcome is not Outcome.FAILED:
        return ""
    return "health" if checked and operation.message.startswith("HealthCheckFailed") else "apply"


def argo_phases(seen: Seen) -> tuple[StepView, ...]:
    """Those of an Application, with the waves and hooks of the sync under the phase in which it runs."""
    phases = {
        "wait": ("Wait for any sync of somebody else", "no sync of somebody else runs"),
        "set": ("Set the operation", "Argo CD has the operation in its status"),
        "run": ("Sync the commit", "the last wave and the last hook have ended"),
        "record": ("Record the end", "the outcome is written where the trigger's record is"),
    }
    operation = seen.operation
    at, waits = "wait", "a sync of somebody else to end, if there is one; then everything is looked at once more"
    if operation is not None:
        said = text(seen.applier, "status", "operationState", "message")
        match operation.outcome:
            case Outcome.REQUESTED:
                at, waits = "set", "Argo CD to take the operation into its status"
            case Outcome.SUCCEEDED | Outcome.FAILED:
                at, waits = ("", "") if seen.recorded else ("record", "the outcome to be written on the Application")
            case _:
                at, waits = "run", _sync_waits_for(said, seen.applier)
    failed = "run" if operation is not None and operation.outcome is Outcome.FAILED else ""
    steps = _steps(phases, at, waits, failed, operation)
    begun = operation is not None and operation.outcome is not Outcome.REQUESTED
    if not begun:
        return steps
    place = [step.key for step in steps].index("run") + 1
    done, all_of = tally(seen.applier)
    steps = tuple(
        msgspec.structs.replace(step, detail=step.detail or f"{done} of {all_of} objects")
        if step.key == "run" and all_of
        else step
        for step in steps
    )
    waves = sync_waves(seen.applier, running=operation is not None and not operation.outcome.complete)
    return (*steps[:place], *waves, *steps[place:])


def _sync_waits_for(said: str, applier: dict[str, Any]) -> str:
    """What a running sync waits for. A try that failed keeps the phase Running with ``finishedAt`` set until the next one."""
    if text(applier, "status", "operationState", "finishedAt"):
        return f"its next try: {said}" if said else "its next try"
    return said.removeprefix("waiting for ") or "Argo CD to end the sync"


def _steps(
    phases: dict[str, tuple[str, str]], at: str, waits: str, failed: str, operation: Operation | None
) -> tuple[StepView, ...]:
    """All before ``at`` are done, ``at`` runs, the rest is to come; with ``at`` "" all are done."""
    names = list(phases)
    now = names.index(at) if at else len(names)
    bad = names.index(failed) if failed else len(names)
    steps = []
    for index, (key, (title, ends)) in enumerate(phases.items()):
        state = State.SUCCEEDED if index < now else State.RUNNING if index == now else State.PENDING
        if key == failed:
            state = State.FAILED
        elif key == "health" and index > bad:
            state = State.SKIPPED
        detail = operation.message if operation is not None and key == failed else ""
        steps.append(
            StepView(
                key=key,
                title=title,
                state=state,
                depth=1,
                detail=detail,
                waiting_for=waits if key == at else "",
                ends=ends,
            )
        )
    return tuple(steps)


def _word(applier: dict[str, Any], kind: str, status: str) -> str:
    """The message of a condition that has this status; "" if it has not."""
    for entry in items(applier, "status", "conditions"):
        if text(entry, "type") == kind and text(entry, "status") == status:
            return text(entry, "message") or text(entry, "reason")
    return ""
