"""What a Kustomization and a GitRepository say, read from plain objects. Pure.

Section 5.1 of the specification; the facts behind it were read in kustomize-controller 1.9 and source-controller 1.9.
"""

from __future__ import annotations

import msgspec

from console.engines.dispatch.constants import REQUESTED_AT, Outcome
from console.engines.dispatch.revisions import commit_of
from console.engines.dispatch.types import ObjectName, Progress, Source, Suspension, Trace
from console.engines.ports.applier import GIT_REPOSITORIES, JsonObject
from console.kit.dig import dig, items, mapping, text
from console.kit.sanitize import sanitize

_PINS = ("commit", "name", "tag", "semver")
"""Fields of ``spec.ref`` that outrank ``branch``, in the order in which source-controller looks at them."""

_DEFAULT_BRANCH = "master"
_CONTROLLERS = ("kustomize-controller", "gotk-kustomize-controller")


class SuspendOwners(msgspec.Struct, frozen=True):
    """Who owns ``spec.suspend``: us by apply, others by apply (they block us), others by update (they don't)."""

    ours: bool
    appliers: tuple[str, ...]
    updaters: tuple[str, ...]


def suspend_owners(obj: JsonObject, manager: str) -> SuspendOwners:
    """The owners of ``spec.suspend`` by the object's managedFields."""
    ours, appliers, updaters = False, [], []
    for entry in items(obj, "metadata", "managedFields"):
        if text(entry, "subresource") or dig(entry, "fieldsV1", "f:spec", "f:suspend") is None:
            continue
        name = text(entry, "manager")
        if text(entry, "operation") != "Apply":
            updaters.append(name)
        elif name == manager:
            ours = True
        else:
            appliers.append(name)
    return SuspendOwners(ours, tuple(appliers), tuple(updaters))


def suspended(obj: JsonObject) -> bool:
    """``spec.suspend``; absent and false are the same, since ``flux resume`` removes the field."""
    return dig(obj, "spec", "suspend") is True


def annotation(obj: JsonObject) -> str:
    """The request that the object carries now."""
    return text(obj, "metadata", "annotations", REQUESTED_AT)


def last_handled(obj: JsonObject) -> str:
    """The request that the last ended pass of the controller had read."""
    return text(obj, "status", "lastHandledReconcileAt")


def handled(obj: JsonObject, token: str) -> bool:
    """Whether a pass that read this token has ended. Not: whether it applied anything."""
    return token != "" and last_handled(obj) == token


def stood_in(obj: JsonObject, token: str) -> bool:
    """Whether another request replaced ours and is handled: the pass behind it read the object after our write."""
    return annotation(obj) not in ("", token) and last_handled(obj) == annotation(obj)


def settled(obj: JsonObject) -> bool:
    """Whether no request is open: none was made, or the present one is handled."""
    return annotation(obj) in ("", last_handled(obj))


def deleting(obj: JsonObject) -> bool:
    """Whether the object is being deleted."""
    return text(obj, "metadata", "deletionTimestamp") != ""


def uid(obj: JsonObject) -> str:
    """The object's incarnation."""
    return text(obj, "metadata", "uid")


def name_of(obj: JsonObject) -> ObjectName:
    """Namespace and name."""
    return ObjectName(text(obj, "metadata", "namespace"), text(obj, "metadata", "name"))


def source_name(kustomization: JsonObject) -> ObjectName | None:
    """The GitRepository that a Kustomization applies; None when it applies something else."""
    reference = mapping(kustomization, "spec", "sourceRef")
    group = text(reference, "apiVersion").partition("/")[0]
    if text(reference, "kind") != GIT_REPOSITORIES.kind or group not in ("", GIT_REPOSITORIES.group):
        return None
    namespace = text(reference, "namespace") or text(kustomization, "metadata", "namespace")
    return ObjectName(namespace, text(reference, "name"))


def pin(repository: JsonObject) -> str:
    """The field of ``spec.ref`` that outranks the branch, as ``tag v1.2``; empty when the repository follows a branch."""
    reference = mapping(repository, "spec", "ref")
    for key in _PINS:
        if reference.get(key):
            return f"{key} {sanitize(str(reference[key]))}"
    return ""


def repository_source(repository: JsonObject) -> Source:
    """What a GitRepository gives; the revision is its branch, or empty when it is pinned."""
    branch = "" if pin(repository) else text(repository, "spec", "ref", "branch") or _DEFAULT_BRANCH
    return Source(text(repository, "spec", "url"), branch, name_of(repository))


def artifact_revision(repository: JsonObject) -> str:
    """The revision that a GitRepository offers now."""
    return text(repository, "status", "artifact", "revision")


def ready_condition(obj: JsonObject) -> JsonObject | None:
    """The object's ``Ready`` condition."""
    for condition in items(obj, "status", "conditions"):
        if text(condition, "type") == "Ready":
            return dict(condition)
    return None


def already_applied(kustomization: JsonObject, commit: str) -> bool:
    """Whether the cluster holds exactly this commit and nothing is under way.

    ``lastAppliedRevision`` alone is not enough: it survives a later apply of another commit that failed half-way, and a
    request that is not handled may still be running.
    """
    ready = ready_condition(kustomization) or {}
    return (
        suspended(kustomization)
        and commit_of(text(kustomization, "status", "lastAppliedRevision")) == commit.lower()
        and commit_of(text(kustomization, "status", "lastAttemptedRevision")) == commit.lower()
        and ready.get("status") == "True"
        and settled(kustomization)
    )


def read_ready(obj: JsonObject, commit: str) -> Progress | None:
    """The verdict of the last ended pass; None while ``Ready`` is Unknown. An empty ``commit`` is not compared."""
    ready = ready_condition(obj)
    applied, attempted = text(obj, "status", "lastAppliedRevision"), text(obj, "status", "lastAttemptedRevision")
    if ready is None:
        return Progress(Outcome.FAILED, "the controller has published no Ready condition", applied)
    if ready.get("status") == "True":
        message = ""
        if commit and commit_of(applied) != commit.lower():
            message = f"{applied or 'nothing'} was applied instead of {commit}"
        elif attempted and attempted != applied:
            message = f"{applied} was applied, though {attempted} was attempted"
        return Progress(Outcome.SUCCEEDED, message, applied)
    if ready.get("status") == "False":
        return Progress(Outcome.FAILED, f"{ready.get('reason', '')}: {ready.get('message', '')}", applied)
    return None


def read_suspension(obj: JsonObject, manager: str) -> Suspension:
    """How the Kustomization is held at the moment of the read."""
    applied = read_ready(obj, "") or Progress(
        Outcome.RUNNING, "a reconcile is running", text(obj, "status", "lastAppliedRevision")
    )
    return Suspension(suspended(obj), suspend_owners(obj, manager).ours, settled(obj), applied, read_trace(obj, manager))


def read_trace(obj: JsonObject, manager: str) -> Trace:
    """What applying passes have left in the status, and who changed the object last beside its controller and us."""
    others = [
        (text(entry, "time"), text(entry, "manager"))
        for entry in items(obj, "metadata", "managedFields")
        if not text(entry, "subresource") and text(entry, "manager") not in (manager, *_CONTROLLERS)
    ]
    return Trace(
        applied=text(obj, "status", "lastAppliedRevision"),
        attempted=text(obj, "status", "lastAttemptedRevision"),
        ended=text(obj, "status", "history", 0, "lastReconciled"),
        hand=max(others, default=("", "")),
    )
