"""Plans for the dispatch engine's verbs on a declared trigger: apply exactly one commit, hold, release.

Read live, bound to what was read. Nothing here writes.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from console.engines.dispatch.constants import ConditionReason, Reason
from console.engines.dispatch.faults import DispatchError
from console.engines.dispatch.flux_reading import suspend_owners, suspended
from console.engines.dispatch.local import LocalTrigger, read_local
from console.engines.dispatch.local_triggers import delete_warning
from console.engines.dispatch.revisions import commit_of, describe_commit
from console.engines.dispatch.types import Binding, Verdict
from console.engines.ports.applier import APPLICATIONS, GIT_REPOSITORIES, KUSTOMIZATIONS
from console.errors import NotFound, Refused
from console.kit.dig import dig, text
from console.kit.timing import Clock
from console.model.plan import FieldChange, Intent, Plan, PlanStep
from console.runtime.cluster_engine import LOCAL_MANAGER, ClusterEngine
from console.runtime.hold_notes import asked, read_note

LOCAL_VERBS = {"Kustomization": ("apply", "hold", "release"), "Application": ("apply",)}
COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
WHY = {
    Reason.CATCH_UP: "the applier may be behind a commit that is known",
    Reason.FOREIGN_COMMIT: "the branch moved to a commit that was not written from here",
    Reason.REFUSAL: "the unchanged commit is applied again to take back a live edit",
    Reason.REPAIR: "the unchanged commit is applied again because the cluster's last state is uncertain",
}
HINTS = {
    ConditionReason.SOURCE_MISMATCH: "Correct url or branch of the trigger in the fleet file, or repoint the source.",
    ConditionReason.AUTOMATED_SYNC_ENABLED: "Turn automated sync off first: it would apply whatever is newest.",
    ConditionReason.SUSPEND_OWNED_ELSEWHERE: "Take spec.suspend out of the manifest that sets it.",
    ConditionReason.HELD_BY_ANOTHER_TRIGGER: "One applier has one trigger: use that one.",
    ConditionReason.FORBIDDEN: "Ask for the permission that is named.",
}


async def plan_local(engine: ClusterEngine, trigger: LocalTrigger, intent: Intent, clock: Clock) -> Plan:
    """The plan for a verb on a declared trigger.

    :raises Refused: unlawful in this state; message and hint say what stands in the way.
    """
    if intent.verb == "release":
        return await _release(engine, trigger, intent)
    verdict = await engine.local.validate(trigger)
    if not verdict.ok:
        raise Refused(f"{trigger.key} can't be driven: {verdict.message}", HINTS.get(verdict.reason, ""))
    if intent.verb == "hold":
        return await _hold(engine, trigger, intent, clock)
    return await _apply(engine, trigger, intent, verdict)


async def _read(engine: ClusterEngine, trigger: LocalTrigger) -> dict[str, Any]:
    kind = KUSTOMIZATIONS if trigger.kind == KUSTOMIZATIONS.kind else APPLICATIONS
    try:
        return await engine.objects.get(kind, trigger.namespace, trigger.name)
    except NotFound as error:
        raise Refused(f"{trigger.key} is gone.") from error


async def _apply(engine: ClusterEngine, trigger: LocalTrigger, intent: Intent, verdict: Verdict) -> Plan:
    raw = await _read(engine, trigger)
    source = await read_source(engine, verdict)
    commit = intent.arguments.get("commit", "") or source_commit(raw, source)
    if not COMMIT.fullmatch(commit):
        raise Refused(f"{commit or 'nothing'!r} is no commit.", "Give the full hash, 40 or 64 hex digits.")
    reason = asked_reason(intent, consents=trigger.revert_refused_edits)
    record = read_local(raw)
    if record.operation is not None and record.operation.in_flight:
        wait = "Wait for its end."
        if not engine.dispatcher.following(trigger.ref, record.operation.token):
            ends = "this one ends it in a few minutes" if trigger.kind == KUSTOMIZATIONS.kind else "start this one again"
            wait += f" If the console that began it is gone, {ends}."
        raise Refused(f"An operation with {describe_commit(record.operation.commit)} is in flight.", wait)
    intent = resolved(intent, commit=commit, because=reason.value)
    ref = intent.targets[0]
    flux = trigger.kind == KUSTOMIZATIONS.kind
    applied = applied_commit(raw, flux)
    if flux and not (record.holding and suspended(raw)):
        raise Refused(f"{trigger.key} is not held: only what is held is applied commit by commit.", "Hold it first (H).")
    fetched = await fetched_first(engine, trigger.binding, commit, source) if flux else ()
    before = record.operation.token if record.operation else ""
    steps = (
        PlanStep(
            key="apply",
            title=f"Apply {commit[:7]} on {trigger.kind} {ref.path}",
            ref=ref,
            kind="action",
            precondition={"uid": text(raw, "metadata", "uid"), "source": f"{trigger.binding.url}@{trigger.binding.branch}"},
            changes=(FieldChange(path="applied commit", before=applied or "none", after=commit),),
            request={
                "call": "apply",
                "commit": commit,
                "reason": reason.value,
                "before": before,
            },
        ),
    )
    return Plan(
        intent=intent,
        steps=steps,
        effects=(*fetched, *apply_effects(raw, flux, applied == commit), f"Reason {reason.value}: {WHY[reason]}."),
        no_undo="apply the commit of before to go back",
    )


def asked_reason(intent: Intent, *, consents: bool) -> Reason:
    """Why an apply is asked for, lawful or :class:`Refused`. ``consents``: live edits may be reverted."""
    given = intent.arguments.get("because", Reason.CATCH_UP.value)
    lawful = {reason.value.lower(): reason for reason in WHY}
    reason = lawful.get(given.lower().replace("-", "").replace("_", ""))
    if reason is None:
        raise Refused(f"{given!r} is no reason for an apply.", f"One of {', '.join(item.value for item in WHY)}.")
    if reason is Reason.REFUSAL and not consents:
        raise Refused(
            "This trigger does not consent to have live edits reverted.", "Declare revert_refused_edits in the fleet file."
        )
    return reason


async def fetched_first(engine: ClusterEngine, binding: Binding, commit: str, source: dict[str, Any]) -> tuple[str, ...]:
    """What a source does before a Kustomization can apply ``commit``, in sentences; none when it is what the source has.

    :param source: the GitRepository. :raises Refused: it can't come to have ``commit``: it is suspended, or the branch is
        elsewhere. Where the branch can't be asked, the engine finds out, and applies nothing else in its stead.
    """
    held = source_commit({}, source)
    if commit == held:
        return ()
    has = f"The source has {describe_commit(held)}" if held else "The source has nothing"
    if suspended(source):
        raise Refused(
            f"{has}, not {describe_commit(commit)}, and is suspended: it fetches nothing.", "Resume the source first."
        )
    head = await engine.commits.head(binding)
    if head.excludes(commit):
        where = f"{binding.branch} is at {describe_commit(head.commit)}" if head.commit else f"there is no {binding.branch}"
        raise Refused(
            f"{has} and {where}: neither is {describe_commit(commit)}.",
            "Flux applies what its branch has: push the commit, or a revert to it, and apply that.",
        )
    return (f"{has}: it fetches {binding.branch} first. If that turns out to be another commit, nothing is applied.",)


async def read_source(engine: ClusterEngine, verdict: Verdict) -> dict[str, Any]:
    """The GitRepository that a Kustomization applies, read live; empty for Argo CD, which has none."""
    repository = verdict.source.git_repository if verdict.source else None
    if repository is None:
        return {}
    return await engine.objects.get(GIT_REPOSITORIES, repository.namespace, repository.name)


def source_commit(raw: dict[str, Any], source: dict[str, Any]) -> str:
    """The commit that an applier's source has now; "" if it can't be told."""
    if source:
        return commit_of(text(source, "status", "artifact", "revision")) or ""
    return commit_of(text(raw, "status", "sync", "revision")) or ""


def applied_commit(raw: dict[str, Any], flux: bool) -> str:
    """The commit that an applier applied last; "" if there is none."""
    if flux:
        return commit_of(text(raw, "status", "lastAppliedRevision")) or ""
    history = dig(raw, "status", "history") or []
    return commit_of(str(history[-1].get("revision", ""))) or "" if history else ""


def apply_effects(raw: dict[str, Any], flux: bool, again: bool) -> tuple[str, ...]:
    """What else an apply does, in sentences. ``again``: the commit is applied already."""
    said = []
    if again:
        said.append("This commit is applied already.")
    if flux:
        said.append("It is resumed for this one reconcile and suspended again when that has ended.")
        if dig(raw, "spec", "prune") is True:
            said.append("Objects that the commit no longer has are deleted (prune).")
        if dig(raw, "spec", "wait") is True or dig(raw, "spec", "healthChecks"):
            limit = text(raw, "spec", "timeout") or "its interval"
            said.append(f"It ends when what it applied is healthy, at the latest after {limit}.")
        said += [f"It waits for {item.get('name', '?')}." for item in dig(raw, "spec", "dependsOn") or []]
    else:
        said.append("One sync of this commit; a sync of somebody else is waited for, never replaced.")
    return tuple(said)


async def _hold(engine: ClusterEngine, trigger: LocalTrigger, intent: Intent, clock: Clock) -> Plan:
    if not trigger.hold:
        raise Refused(
            f"The declaration of {trigger.key} does not let this console hold it.", "Declare hold: true in the fleet file."
        )
    raw = await _read(engine, trigger)
    note = asked(intent, clock.now())
    # A span of time becomes an instant once: the plan that is confirmed and the one made again before the write are then equal.
    intent = resolved(intent, until=note.until)
    present = read_note(raw)
    holding = read_local(raw).holding
    if holding and suspended(raw) and (present.why, present.until) == (note.why, note.until):
        return Plan(intent=intent, nothing="it is held already")
    others = suspend_owners(raw, LOCAL_MANAGER).updaters
    ref = intent.targets[0]
    change = FieldChange(path="spec.suspend", before=_flag(raw), after="true", owner=" and ".join(others))
    step = PlanStep(
        key="hold",
        title=f"Hold {ref.path}",
        ref=ref,
        precondition={"uid": text(raw, "metadata", "uid"), "spec.suspend": _flag(raw)},
        changes=(change, FieldChange(path="held", before=present.words() or _held(holding), after=note.words() or "held")),
        request={"call": "hold", "why": note.why, "until": note.until},
    )
    return Plan(
        intent=intent,
        steps=(step,),
        effects=(
            "Nothing is reconciled but what this console applies, commit by commit; drift is not corrected.",
            "It stays held when this console ends.",
            delete_warning(ref.path, suspended=True),
        ),
        undo=Intent(verb="release", targets=intent.targets),
    )


async def _release(engine: ClusterEngine, trigger: LocalTrigger, intent: Intent) -> Plan:
    raw = await _read(engine, trigger)
    record = read_local(raw)
    if not record.holding and not suspend_owners(raw, LOCAL_MANAGER).ours:
        return Plan(intent=intent, nothing="this console does not hold it")
    if record.operation is not None and record.operation.in_flight:
        raise Refused("An operation is in flight.", "It can be released when that has ended.")
    ref = intent.targets[0]
    step = PlanStep(
        key="release",
        title=f"Release {ref.path}",
        ref=ref,
        precondition={"uid": text(raw, "metadata", "uid"), "spec.suspend": _flag(raw)},
        changes=(FieldChange(path="held", before=read_note(raw).words() or "held", after="no"),),
        request={"call": "release"},
    )
    effects = ["Flux applies at once whatever its source holds then."]
    if others := suspend_owners(raw, LOCAL_MANAGER).updaters:
        effects = [f"{' and '.join(others)} keeps it suspended."]
    return Plan(intent=intent, steps=(step,), effects=tuple(effects), undo=Intent(verb="hold", targets=intent.targets))


def _held(holding: bool) -> str:
    return "held" if holding else "no"


def _flag(raw: dict[str, Any]) -> str:
    value = dig(raw, "spec", "suspend")
    return "absent" if value is None else str(value).lower()


def resolved(intent: Intent, **arguments: str) -> Intent:
    """The intent with arguments as they were understood; empty ones are left out."""
    known = {key: value for key, value in {**intent.arguments, **arguments}.items() if value}
    return msgspec.structs.replace(intent, arguments=known)


def refused(error: DispatchError) -> Refused:
    """A dispatch error as the write path says it."""
    reason = getattr(error, "reason", None)
    hint = HINTS.get(reason, "") if isinstance(reason, ConditionReason) else ""
    return Refused(error.message, error.hint or hint)
