"""Deleting Flux and Argo CD objects: what goes with them, what stays behind, and what is better done first.

Sources: kustomize-controller collects the objects of ``status.inventory`` under its finalizer unless the Kustomization is
suspended or its deletion policy keeps them (``MirrorPrune``, the default, follows ``prune``); helm-controller uninstalls the
release unless the HelmRelease is suspended; Argo CD deletes what an Application manages only under its
``resources-finalizer.argocd.argoproj.io``.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from console.backends.field_owners import owners
from console.backends.kube_plans import kube_step
from console.errors import Refused
from console.kit.dig import dig, flag, items, mapping, text
from console.model.holds import (
    DISPATCH_RECORD,
    HOLD_NOTE,
    LOCAL_HOLDER,
    TRIGGER_HOLDER,
    commit_in_flight,
    parse_note,
    says_holding,
)
from console.model.plan import FieldChange, Intent, Plan, PlanStep
from console.model.refs import Ref

FLUX_FINALIZER = "finalizers.fluxcd.io"
ARGO_FINALIZER = "resources-finalizer.argocd.argoproj.io"
_HOLDS_STATE = frozenset({"PersistentVolumeClaim", "PersistentVolume", "Namespace", "CustomResourceDefinition"})
"""Kinds whose deletion takes data along that no commit brings back."""
_PARENT = "kustomize.toolkit.fluxcd.io"


class _Fate(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of the objects behind a deleted one. ``kinds`` are those of what goes (or stays, if not ``goes``)."""

    said: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    goes: bool = False
    instead: str = ""


def plan_delete(intent: Intent, objects: dict[Ref, dict[str, Any]]) -> Plan:
    """The plan to delete ``objects`` (raw, by reference).

    :raises Refused: an operation on one of them is under way, or it is being deleted already.
    """
    steps, effects, fates = [], [], []
    for ref, raw in objects.items():
        refuse_busy(ref, raw)
        if since := text(raw, "metadata", "deletionTimestamp"):
            waits = ", ".join(items(raw, "metadata", "finalizers"))
            raise Refused(f"{ref.kind} {ref.path} is being deleted since {since}; it waits for {waits or 'its end'}.")
        fate = _fate(ref, raw)
        fates.append(fate)
        steps.append(_step(ref, raw, fate))
        effects += [*fate.said, *_maker(ref, raw)]
    better = {fate.instead for fate in fates}
    instead = better.pop() if len(better) == 1 else ""
    return Plan(
        intent=intent,
        steps=tuple(steps),
        effects=tuple(effects),
        no_undo="a deleted object is not brought back from here: apply its manifest again",
        instead=Intent(verb=instead, targets=intent.targets) if instead else None,
        deletes_state=any(fate.goes and not _HOLDS_STATE.isdisjoint(fate.kinds) for fate in fates),
        share=1.0 if any(fate.goes and fate.kinds for fate in fates) else 0.0,
    )


def refuse_busy(ref: Ref, raw: dict[str, Any]) -> None:
    """Raise :class:`Refused` while an engine or Argo CD has an operation on the object under way."""
    commit = commit_in_flight(text(raw, "metadata", "annotations", DISPATCH_RECORD))
    by_trigger = TRIGGER_HOLDER in owners(raw, "spec", "suspend") and not flag(raw, "spec", "suspend")
    if commit or by_trigger:
        what = f"{commit[:7]} is being applied" if commit else "A commit is being applied"
        raise Refused(
            f"{what} on {ref.path} by {'a console' if commit else 'its trigger'}.",
            "Wait for its end; if its console is gone, the next one that connects ends it.",
        )
    phase = text(raw, "status", "operationState", "phase")
    if ref.kind == "Application" and (dig(raw, "operation") is not None or phase in ("Running", "Terminating")):
        raise Refused(f"An operation of {ref.path} is under way.", "Wait for it, or terminate it.")


def deletion_facts(raw: dict[str, Any]) -> dict[str, str]:
    """What a plan to delete is bound to beside uid and generation: how much goes, and who would see to it."""
    return {
        "objects behind it": str(len(_inventory(raw) or _managed(raw))),
        "finalizers": ",".join(items(raw, "metadata", "finalizers")) or "none",
    }


def _step(ref: Ref, raw: dict[str, Any], fate: _Fate) -> PlanStep:
    bound = kube_step(ref, raw, f"Delete {ref.kind} {ref.path}", {})
    # Without a status subresource every report of Argo CD raises the generation.
    kept = ("uid",) if ref.kind == "Application" else ("uid", "generation")
    changes = [FieldChange(path=f"{ref.kind} {ref.path}", before="there", after="deleted")]
    if fate.kinds:
        after = "deleted with it" if fate.goes else "left behind"
        changes.append(FieldChange(path="objects behind it", before=counted(fate.kinds), after=after))
    return msgspec.structs.replace(
        bound,
        kind="delete",
        precondition={**{fact: bound.precondition[fact] for fact in kept}, **deletion_facts(raw)},
        changes=tuple(changes),
        request={"delete": True, "behind": len(fate.kinds) if fate.goes else 0},
    )


def _fate(ref: Ref, raw: dict[str, Any]) -> _Fate:
    match ref.kind:
        case "Kustomization":
            return _kustomization(ref, raw)
        case "HelmRelease":
            return _helm_release(ref, raw)
        case "Application":
            return _application(ref, raw)
        case _:
            return _Fate(said=(f"What uses {ref.path} keeps what it has applied, and can't fetch anything new.",))


def _kustomization(ref: Ref, raw: dict[str, Any]) -> _Fate:
    kinds = tuple(_inventory(raw))
    if not kinds:
        return _Fate(said=(f"{ref.path} has applied nothing, so nothing goes with it.",))
    amount = _amount(kinds)
    policy = text(raw, "spec", "deletionPolicy") or "MirrorPrune"
    prunes = flag(raw, "spec", "prune") if policy == "MirrorPrune" else policy in ("Delete", "WaitForTermination")
    if flag(raw, "spec", "suspend"):
        return _suspended(ref, raw, kinds, prunes)
    if not prunes:
        why = "prune is off" if policy == "MirrorPrune" else f"its deletionPolicy is {policy}"
        return _Fate(
            said=(f"{why[0].upper() + why[1:]}: {amount} of {ref.path} stay in the cluster, and nobody looks after them.",),
            kinds=kinds,
        )
    if FLUX_FINALIZER not in items(raw, "metadata", "finalizers"):
        return _Fate(said=(f"{ref.path} has no finalizer: it goes at once, and {amount} stay in the cluster.",), kinds=kinds)
    said = [f"{amount} that {ref.path} applied {'is' if len(kinds) == 1 else 'are'} deleted with it: {counted(kinds)}."]
    if policy == "WaitForTermination":
        said.append("It is gone when they are.")
    return _Fate(said=tuple(said), kinds=kinds, goes=True)


def _suspended(ref: Ref, raw: dict[str, Any], kinds: tuple[str, ...], prunes: bool) -> _Fate:
    """A suspended Kustomization collects nothing when it goes: the loudest case there is."""
    keepers = owners(raw, "spec", "suspend")
    annotations = mapping(raw, "metadata", "annotations")
    held = LOCAL_HOLDER in keepers or says_holding(text(annotations, DISPATCH_RECORD))
    who = parse_note(text(annotations, HOLD_NOTE)).words() if held else " and ".join(keepers)
    state = f"{'held' if held else 'suspended'}{f' by {who}' if who else ''}"
    stay = "stays" if len(kinds) == 1 else "stay"
    said = [
        f"WARNING: {ref.path} is {state}. Deleting it now leaves what it applied in the cluster: {_amount(kinds)} {stay} "
        f"behind ({counted(kinds)}), and nobody looks after that any more."
    ]
    instead = "release" if held else "resume"
    if TRIGGER_HOLDER in keepers:
        instead = ""
        said.append("A trigger holds it: take the trigger away first, and its engine hands it back.")
    elif prunes:
        said.append(f"{instead.capitalize()} it first to have that deleted with it; it then applies what its source has now.")
    return _Fate(said=tuple(said), kinds=kinds, instead=instead)


def _helm_release(ref: Ref, raw: dict[str, Any]) -> _Fate:
    newest = mapping(raw, "status", "history", 0)
    release = f"{text(newest, 'namespace')}/{text(newest, 'name')}"
    if not newest:
        return _Fate(said=(f"{ref.path} has installed nothing, so nothing goes with it.",))
    if flag(raw, "spec", "suspend"):
        by = " and ".join(owners(raw, "spec", "suspend"))
        return _Fate(
            said=(
                f"WARNING: {ref.path} is suspended{f' by {by}' if by else ''}. The Helm release {release} stays installed, "
                "and nobody looks after it. Resume it first to have it uninstalled.",
            ),
            kinds=("Helm release",),
            instead="resume",
        )
    if FLUX_FINALIZER not in items(raw, "metadata", "finalizers"):
        said = f"{ref.path} has no finalizer: it goes at once, and the Helm release {release} stays installed."
        return _Fate(said=(said,), kinds=("Helm release",))
    said = f"The Helm release {release} is uninstalled with it, with all its objects; its delete hooks run."
    return _Fate(said=(said,), kinds=("Helm release",), goes=True)


def _application(ref: Ref, raw: dict[str, Any]) -> _Fate:
    kinds = tuple(_managed(raw))
    finalizer = next((name for name in items(raw, "metadata", "finalizers") if str(name).startswith(ARGO_FINALIZER)), "")
    if not finalizer:
        said = (
            f"{ref.path} has no {ARGO_FINALIZER}: nothing cascades, {_amount(kinds)} stay and are no longer compared or synced."
        )
        return _Fate(said=(said,), kinds=kinds)
    how = " in the background" if finalizer.endswith("/background") else ""
    said = f"{ref.path} has {finalizer}: Argo CD deletes {_amount(kinds)} with it{how}: {counted(kinds)}."
    return _Fate(said=(said,), kinds=kinds, goes=True)


def _maker(ref: Ref, raw: dict[str, Any]) -> list[str]:
    """Who puts the object there, and would make it again."""
    labels, annotations = mapping(raw, "metadata", "labels"), mapping(raw, "metadata", "annotations")
    if parent := text(labels, f"{_PARENT}/name"):
        maker = f"Kustomization {text(labels, f'{_PARENT}/namespace')}/{parent}"
    elif parent := text(labels, "helm.toolkit.fluxcd.io/name"):
        maker = f"HelmRelease {text(labels, 'helm.toolkit.fluxcd.io/namespace')}/{parent}"
    elif parent := text(annotations, "argocd.argoproj.io/tracking-id").partition(":")[0]:
        maker = f"Application {parent}"
    else:
        owner = next((item for item in items(raw, "metadata", "ownerReferences") if text(item, "kind")), None)
        maker = f"{text(owner, 'kind')} {text(owner, 'name')}" if owner else ""
    return [f"{maker} made {ref.path} and makes it again, unless it is taken out there as well."] if maker else []


def _inventory(raw: dict[str, Any]) -> list[str]:
    """The kinds of what a Kustomization applied, one an object: ids are ``namespace_name_group_kind``."""
    return [text(entry, "id").rpartition("_")[2] for entry in items(raw, "status", "inventory", "entries")]


def _managed(raw: dict[str, Any]) -> list[str]:
    return [text(entry, "kind") for entry in items(raw, "status", "resources") if not flag(entry, "hook")]


def _amount(kinds: tuple[str, ...]) -> str:
    return "1 object" if len(kinds) == 1 else f"{len(kinds)} objects"


def counted(kinds: tuple[str, ...]) -> str:
    """``Deployment 3, Service 1``: the most frequent first."""
    return ", ".join(
        f"{kind or '?'} {number}" for kind, number in sorted(Counter(kinds).items(), key=lambda it: (-it[1], it[0]))
    )
