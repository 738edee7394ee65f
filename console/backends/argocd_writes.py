"""Argo CD for daily use: refresh, sync with options, rollback, terminate, automated sync off and on.

Sources (Argo CD 3): the annotation ``argocd.argoproj.io/refresh`` (``normal`` or ``hard``) is taken away by the controller when
it is done; a sync is asked for by setting ``.operation``, which the controller moves to ``.status.operationState``; terminating
sets ``.status.operationState.phase`` to ``Terminating`` (an Application has no status subresource). Automated sync is on when
``spec.syncPolicy.automated`` is present and its ``enabled`` is not false.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from console.backends.argocd_options import given, refuse_unknown, rolled_back, share_pruned, synced
from console.backends.flux_writes import refuse_kept
from console.backends.kube_plans import kube_step
from console.errors import Refused
from console.kit.dig import dig, items, mapping, text
from console.model.plan import Intent, Plan, PlanStep
from console.model.refs import Ref

REFRESH = "argocd.argoproj.io/refresh"
VERBS = ("refresh", "hard-refresh", "sync", "rollback", "terminate", "automated-off", "automated-on")
RUNNING = ("Running", "Terminating")
REQUEST = "quarterdeck/request"
_POLICY = {"prune": "prune", "self-heal": "selfHeal", "allow-empty": "allowEmpty"}
_NO_UNDO = {
    "refresh": "a comparison changes nothing by itself",
    "hard-refresh": "a comparison changes nothing by itself",
    "terminate": "sync again to take it back",
    "automated-off": "the policies were different ones; undo each by itself",
    "automated-on": "the policies were different ones; undo each by itself",
}


def automated(raw: dict[str, Any]) -> bool:
    """Whether the Application syncs by itself."""
    policy = dig(raw, "spec", "syncPolicy", "automated")
    return isinstance(policy, dict) and policy.get("enabled") is not False


def plan_argocd(intent: Intent, objects: dict[Ref, dict[str, Any]], who: str) -> Plan:
    """The plan for an Argo CD verb on Applications (raw, by reference).

    :param who: goes into ``initiatedBy`` of an operation.
    :raises Refused: unlawful in this state, with the reason.
    """
    refuse_unknown(intent)
    steps, effects = [], []
    undo: Intent | None = None
    share = 0.0
    for ref, raw in objects.items():
        match intent.verb:
            case "refresh" | "hard-refresh":
                steps.append(_refresh(ref, raw, "hard" if intent.verb == "hard-refresh" else "normal"))
                effects.append(f"{ref.path} is compared with its source again; automated sync may follow.")
            case "terminate":
                steps.append(_terminate(ref, raw))
                effects.append(f"{ref.path} keeps what was applied so far; hooks that run are stopped.")
            case "sync" | "rollback":
                step, said = _sync(ref, raw, intent, who)
                steps.append(step)
                effects += said
                share = max(share, share_pruned(raw, intent))
            case _:
                step_undo = _automated(ref, raw, intent)
                if step_undo is not None:
                    effects.append(_automated_effect(ref, intent))
                    steps.append(step_undo[0])
                    undo = step_undo[1] if len(steps) == 1 else None
    no_undo = "" if undo else _NO_UNDO.get(intent.verb, "what a sync applied is taken back by syncing another revision")
    off = "off" if intent.verb == "automated-off" else "on"
    nothing = "" if steps else f"automated sync is {off} already"
    return Plan(
        intent=intent, steps=tuple(steps), effects=tuple(effects), undo=undo, no_undo=no_undo, nothing=nothing, share=share
    )


def request_of(raw: dict[str, Any]) -> str:
    """Which request of ours the operation in the status carries out; empty when it is none, or somebody else's."""
    info = items(raw, "status", "operationState", "operation", "info")
    return next((text(item, "value") for item in info if text(item, "name") == REQUEST), "")


def has_begun(raw: dict[str, Any], request: dict[str, Any]) -> bool:
    """Whether the sync that a step asked for is what the status speaks of, its ``.operation`` being gone.

    :param request: of the step; those of an older journal carry no token and go by the time.
    :raises Refused: somebody else's operation followed it, so that nothing tells how it ended.
    """
    if request_of(raw) == request.get("token", "-"):
        return True
    if text(raw, "status", "operationState", "startedAt") == request["started"]:
        return False
    if "token" in request:
        raise Refused("Another operation followed this one, so how it ended can't be told.", "Look at the history.")
    return True


def _new_request(raw: dict[str, Any], started: str) -> str:
    """A name for a sync, to find it by: Argo CD says in whole seconds when one began, so that two of one second look like one.

    It is made from what came before, since a plan must be the same a minute later: each sync moves what the next is named by.
    """
    before = "\n".join((text(raw, "metadata", "uid"), started, request_of(raw)))
    return hashlib.sha256(before.encode()).hexdigest()[:16]


def _refresh(ref: Ref, raw: dict[str, Any], kind: str) -> PlanStep:
    path = ("metadata", "annotations", REFRESH)
    step = kube_step(ref, raw, f"Refresh {ref.path}", {"metadata": {"annotations": {REFRESH: kind}}}, path)
    reconciled = text(raw, "status", "reconciledAt")
    return msgspec.structs.replace(
        step,
        kind="action",
        precondition={"uid": step.precondition["uid"]},
        request={**step.request, "taken": [list(path)], "reconciled": reconciled},
    )


def _terminate(ref: Ref, raw: dict[str, Any]) -> PlanStep:
    phase = text(raw, "status", "operationState", "phase")
    if phase != "Running":
        raise Refused(f"No operation of {ref.path} is running{f' (the last one: {phase})' if phase else ''}.")
    path = ("status", "operationState", "phase")
    step = kube_step(ref, raw, f"Terminate {ref.path}", {"status": {"operationState": {"phase": "Terminating"}}}, path)
    started = text(raw, "status", "operationState", "startedAt")
    return msgspec.structs.replace(
        step,
        kind="action",
        precondition={"uid": step.precondition["uid"], "status.operationState.phase": "Running", "started": started},
        request={**step.request, "ends": True},
    )


def _sync(ref: Ref, raw: dict[str, Any], intent: Intent, who: str) -> tuple[PlanStep, list[str]]:
    phase = text(raw, "status", "operationState", "phase")
    if dig(raw, "operation") is not None or phase in RUNNING:
        raise Refused(f"An operation of {ref.path} is under way.", "Wait for it, or terminate it.")
    made = rolled_back if intent.verb == "rollback" else synced
    sync, effects = made(ref, raw, intent, automated=automated(raw))
    started = text(raw, "status", "operationState", "startedAt")
    request = _new_request(raw, started)
    operation = {
        "sync": sync,
        "initiatedBy": {"username": who},
        "info": [{"name": "Reason", "value": intent.reason or "by hand"}, {"name": REQUEST, "value": request}],
    }
    if retry := mapping(raw, "spec", "syncPolicy", "retry"):
        operation["retry"] = retry
    step = kube_step(ref, raw, f"{intent.verb.capitalize()} {ref.path}", {"operation": operation}, ("operation",))
    last = {"last operation": started, "last request": request_of(raw)}
    return (
        msgspec.structs.replace(
            step,
            kind="action",
            precondition={"uid": step.precondition["uid"], "operation": "absent", **last},
            request={**step.request, "taken": [["operation"]], "ends": True, "started": started, "token": request},
        ),
        effects,
    )


def _policy(intent: Intent, before: dict[str, Any], wanted: bool) -> dict[str, Any] | None:
    """The new value of ``automated``; what isn't asked for stays as it was."""
    if not wanted:
        return {**before, "enabled": False} if given(intent, "keep") else None
    asked = {field: given(intent, name) for name, field in _POLICY.items() if name in intent.arguments}
    return {"prune": False, "selfHeal": False, **before, **asked, "enabled": True}


def _automated_effect(ref: Ref, intent: Intent) -> str:
    if intent.verb == "automated-off":
        return f"{ref.path} applies nothing by itself until somebody syncs it or turns this on again; drift stays."
    return f"{ref.path} applies whatever is newest at once, and from then on by itself."


def _is_set(owner: dict[str, Any]) -> bool:
    return text(owner, "kind") == "ApplicationSet"


def _automated(ref: Ref, raw: dict[str, Any], intent: Intent) -> tuple[PlanStep, Intent] | None:
    wanted = intent.verb == "automated-on"
    before = dig(raw, "spec", "syncPolicy", "automated")
    if "restore" in intent.arguments:
        after = msgspec.json.decode(intent.arguments["restore"])
        if before == after:
            return None
    elif automated(raw) is wanted:
        return None
    else:
        after = _policy(intent, mapping(before), wanted)
    refuse_kept(ref, raw, "spec", "syncPolicy", "automated")
    if maker := next((text(item, "name") for item in items(raw, "metadata", "ownerReferences") if _is_set(item)), ""):
        raise Refused(
            f"{ref.path} is made by the ApplicationSet {maker}, which would take the change back.", "Change its template."
        )
    # A merge patch merges: every field of the old value that the new one lacks is taken away by name.
    patch = after if not isinstance(before, dict) or not isinstance(after, dict) else {**dict.fromkeys(before), **after}
    body = {"spec": {"syncPolicy": {"automated": patch}}}
    title = f"Turn automated sync of {ref.path} {'on' if wanted else 'off'}"
    step = kube_step(ref, raw, title, body, ("spec", "syncPolicy", "automated"))
    undo = Intent(
        verb="automated-off" if wanted else "automated-on",
        targets=(ref,),
        arguments={"restore": msgspec.json.encode(before).decode()},
    )
    return step, undo
