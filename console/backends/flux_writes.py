"""Flux for daily use: suspend, resume, reconcile (with source), force and reset, as the ``flux`` command does them.

Sources: ``flux suspend|resume`` are merge patches of ``spec.suspend``; ``flux reconcile`` sets the annotation
``reconcile.fluxcd.io/requestedAt`` and waits until ``status.lastHandledReconcileAt`` shows the same text (Flux 2 API, meta/v1);
``forceAt`` and ``resetAt`` are helm-controller's (HelmRelease v2) and must equal ``requestedAt``.
"""

from __future__ import annotations

from typing import Any

import msgspec

from console.backends.field_owners import owners
from console.backends.kube_deletes import refuse_busy
from console.backends.kube_plans import REQUESTED_AT, STAMP, kube_step
from console.errors import Refused
from console.kit.dig import flag, items, mapping, text
from console.model.holds import DISPATCH_RECORD, HOLD_NOTE, LOCAL_HOLDER, TRIGGER_HOLDER, parse_note, says_holding
from console.model.plan import Intent, Plan, PlanStep
from console.model.refs import Ref

SOURCES = ("GitRepository", "OCIRepository", "HelmRepository", "HelmChart", "Bucket", "ImageRepository")
FORCE_AT, RESET_AT = "reconcile.fluxcd.io/forceAt", "reconcile.fluxcd.io/resetAt"
# The controllers that put a Git manifest's fields onto an object: what they own comes back at the next reconciliation.
APPLIERS = (
    "kustomize-controller",
    "helm-controller",
    "argocd-controller",
    "argocd-application-controller",
    "argocd-applicationset-controller",
)


def flux_verbs(kind: str) -> tuple[str, ...]:
    """What can be planned for a Flux object of this kind."""
    match kind:
        case "HelmRelease":
            return ("suspend", "resume", "reconcile", "reconcile-with-source", "force", "reset")
        case "Kustomization":
            return ("suspend", "resume", "reconcile", "reconcile-with-source")
        case _ if kind in SOURCES:
            return ("suspend", "resume", "reconcile")
        case _:
            return ()


def source_ref(ref: Ref, raw: dict[str, Any]) -> Ref | None:
    """The source that a Kustomization, HelmRelease or HelmChart is fed from, None if it names none.

    A HelmRelease with a chart of its own is fed by the HelmChart that helm-controller makes for it, beside the chart's source.
    """
    template = mapping(raw, "spec", "chart", "spec")
    if ref.kind == "HelmRelease" and template and not mapping(raw, "spec", "chartRef"):
        made, _, name = text(raw, "status", "helmChart").partition("/")
        place = text(template, "sourceRef", "namespace") or ref.namespace
        return Ref(ref.connection, "HelmChart", made or place, name or f"{ref.namespace}-{ref.name}")
    named = mapping(raw, "spec", "sourceRef") or mapping(raw, "spec", "chartRef")
    if not named:
        return None
    return Ref(ref.connection, text(named, "kind"), text(named, "namespace") or ref.namespace, text(named, "name"))


def plan_flux(intent: Intent, objects: dict[Ref, dict[str, Any]], sources: dict[Ref, dict[str, Any]]) -> Plan:
    """The plan for a Flux verb on ``objects`` (raw, by reference); ``sources`` are those of :func:`source_ref` that were read.

    :raises Refused: unlawful in this state, with the reason.
    """
    if unknown := next(iter(intent.arguments), ""):
        raise Refused(f"{intent.verb} of a {intent.targets[0].kind} takes no {unknown}.")
    for ref, raw in objects.items():
        # Suspending is safe at any time, and what is left when an operation's console is gone for good.
        if intent.verb != "suspend":
            refuse_busy(ref, raw)
    match intent.verb:
        case "suspend" | "resume":
            return _plan_suspend(intent, objects, intent.verb == "suspend")
        case _:
            return _plan_reconcile(intent, objects, sources)


def _plan_suspend(intent: Intent, objects: dict[Ref, dict[str, Any]], wanted: bool) -> Plan:
    steps, effects = [], []
    for ref, raw in objects.items():
        if flag(raw, "spec", "suspend") is wanted:
            continue
        refuse_kept(ref, raw, "spec", "suspend")
        if not wanted:
            _refuse_held(ref, raw)
        steps.append(kube_step(ref, raw, f"{intent.verb.capitalize()} {ref.path}", _suspension(wanted), ("spec", "suspend")))
        if wanted:
            effects.append(f"{ref.path}: nothing is reconciled until it is resumed; drift is no longer corrected.")
        else:
            effects.append(f"{ref.path} is reconciled at once: the newest revision of its source is applied.")
    targets = tuple(step.ref for step in steps)
    undo = Intent(verb="resume" if wanted else "suspend", targets=targets) if steps else None
    state = "suspended" if wanted else "not suspended"
    return Plan(
        intent=intent,
        steps=tuple(steps),
        effects=tuple(effects),
        undo=undo,
        nothing="" if steps else f"{_names(objects)} already {state}",
    )


def _refuse_held(ref: Ref, raw: dict[str, Any]) -> None:
    """Raise :class:`Refused` for what a dispatch engine holds: it would suspend it again at once."""
    annotations = mapping(raw, "metadata", "annotations")
    keepers = owners(raw, "spec", "suspend")
    if LOCAL_HOLDER in keepers or says_holding(text(annotations, DISPATCH_RECORD)):
        who = parse_note(text(annotations, HOLD_NOTE)).words() or "a console"
        raise Refused(
            f"{ref.path} is held by {who}.", "Release the hold instead (H), or apply a commit (A): a resume would be undone."
        )
    if TRIGGER_HOLDER in keepers:
        raise Refused(
            f"{ref.path} is held by a trigger ({TRIGGER_HOLDER}).",
            "Release the hold instead: take the trigger away, and its engine hands it back; a resume would be undone. "
            "If no trigger names it any more (see its Describe), nobody does: `flux resume kustomization` ends that hold.",
        )


def refuse_kept(ref: Ref, raw: dict[str, Any], *path: str) -> None:
    """Raise :class:`Refused` if the field is put there by a controller that would put it there again."""
    by_git = [keeper for keeper in owners(raw, *path) if keeper in APPLIERS]
    if by_git:
        raise Refused(
            f"{'.'.join(path)} of {ref.path} is kept by {by_git[0]}: it stands in the manifest that it applies.",
            "Change it there; a change here would be taken back at the next reconciliation.",
        )


def _suspension(wanted: bool) -> dict[str, Any]:
    # ``flux resume`` takes the field away; an explicit false would be an owner's claim of ours.
    return {"spec": {"suspend": True if wanted else None}}


def _plan_reconcile(intent: Intent, objects: dict[Ref, dict[str, Any]], sources: dict[Ref, dict[str, Any]]) -> Plan:
    steps: list[PlanStep] = []
    effects = []
    for ref, raw in objects.items():
        _refuse_suspended(ref, raw)
        if is_static(raw):
            raise Refused(f"{ref.path} is only an address (type oci): there is nothing to fetch.")
        before: tuple[str, ...] = ()
        if intent.verb == "reconcile-with-source":
            before = _fetch(ref, raw, sources, steps)
        annotations = {"force": (REQUESTED_AT, FORCE_AT), "reset": (REQUESTED_AT, RESET_AT)}.get(intent.verb, (REQUESTED_AT,))
        steps.append(_request(ref, raw, f"Reconcile {ref.kind} {ref.path}", annotations, before))
        effects.append(_effect(ref, intent.verb))
        effects += [f"{ref.path} waits for {text(item, 'name')}." for item in items(raw, "spec", "dependsOn")]
    return Plan(
        intent=intent,
        steps=tuple(steps),
        effects=tuple(effects),
        no_undo="a reconciliation applies what the source says; go back there to take it back",
    )


def _fetch(ref: Ref, raw: dict[str, Any], sources: dict[Ref, dict[str, Any]], steps: list[PlanStep]) -> tuple[str, ...]:
    """Add the requests to what feeds ``ref``, the outermost first; returns the key of the last one.

    Each waits until the one before has been fetched, as ``flux reconcile --with-source`` does: else the old revision would be
    applied once more.
    """
    source = source_ref(ref, raw)
    found = next((item for item in sources if source and _same_name(item, source)), None)
    if found is None:
        raise Refused(f"The source of {ref.path} can't be read.", "Reconcile it without its source, or look at the source.")
    _refuse_suspended(found, sources[found])
    before = _fetch(found, sources[found], sources, steps) if found.kind == "HelmChart" else ()
    if is_static(sources[found]):
        return before
    step = _request(found, sources[found], f"Fetch {found.kind} {found.path}", (REQUESTED_AT,), before)
    if step.key not in {known.key for known in steps}:
        steps.append(msgspec.structs.replace(step, settles=True))
    return (step.key,)


def is_static(raw: dict[str, Any]) -> bool:
    """A HelmRepository of type "oci" is an address only: no controller looks at it (Flux 2, source API v1)."""
    return text(raw, "kind") == "HelmRepository" and text(raw, "spec", "type") == "oci"


def _request(ref: Ref, raw: dict[str, Any], title: str, annotations: tuple[str, ...], after: tuple[str, ...] = ()) -> PlanStep:
    body = {"metadata": {"annotations": dict.fromkeys(annotations, STAMP)}}
    step = kube_step(ref, raw, title, body, *(("metadata", "annotations", name) for name in annotations))
    return PlanStep(
        key=step.key,
        title=title,
        ref=ref,
        kind="action",
        precondition={"uid": step.precondition["uid"], "suspend": "false"},
        changes=step.changes,
        request={**step.request, "handled": True},
        after=after,
    )


def _refuse_suspended(ref: Ref, raw: dict[str, Any]) -> None:
    if flag(raw, "spec", "suspend"):
        _refuse_held(ref, raw)
        by = " and ".join(owners(raw, "spec", "suspend"))
        raise Refused(
            f"{ref.kind} {ref.path} is suspended{f' by {by}' if by else ''}: a request would be ignored.", "Resume it first."
        )


def _effect(ref: Ref, verb: str) -> str:
    match verb:
        case "force":
            return f"{ref.path} is upgraded once even if nothing changed; Helm hooks run again."
        case "reset":
            return f"{ref.path} forgets its failures and tries again."
        case _ if ref.kind in SOURCES:
            return f"{ref.path} is fetched now; what uses it follows if the revision is new."
        case _:
            return f"{ref.path} applies its source's present revision and corrects drift."


def _same_name(left: Ref, right: Ref) -> bool:
    return (left.kind, left.namespace, left.name) == (right.kind, right.namespace, right.name)


def _names(objects: dict[Ref, dict[str, Any]]) -> str:
    return f"{next(iter(objects)).path} is" if len(objects) == 1 else "all are"
