"""How a write to one Kubernetes object is described: bound to its uid and generation, made as one patch.

The plan binds to uid, generation and the fields that it used, not to the resourceVersion, which every status report of a
controller moves. The patch itself carries the resourceVersion of the copy that :mod:`console.backends.kube_writer` reads
last: what changes between that read and the write is a 409, never an overwrite.
"""

from __future__ import annotations

from typing import Any

from console.backends.field_owners import owner
from console.errors import Refused
from console.kit.dig import dig, number, text
from console.kit.masking import is_secret_key, mask_text
from console.model.plan import FieldChange, PlanStep
from console.model.refs import Ref

MANAGER = "quarterdeck"
# Filled with the time of the call when it is made: a plan must have the same hash a minute later.
STAMP = "<time of the call>"
REQUESTED_AT = "reconcile.fluxcd.io/requestedAt"


def kube_step(
    ref: Ref, raw: dict[str, Any], title: str, body: dict[str, Any], *paths: tuple[str, ...], key: str = ""
) -> PlanStep:
    """One merge patch with ``body`` on the object ``raw``; ``paths`` are the fields to show before and after.

    :raises Refused: another object has the name now.
    """
    uid = text(raw, "metadata", "uid")
    if ref.uid and uid != ref.uid:
        raise Refused(f"{ref.kind} {ref.path} was deleted and made again since it was chosen.", "Choose the new one.")
    precondition = {"uid": uid, "generation": str(number(raw, "metadata", "generation"))}
    changes = []
    for path in paths:
        before, after = _shown(path, dig(raw, *path)), _shown(path, dig(body, *path))
        changes.append(FieldChange(path=".".join(path), before=before, after=after, owner=owner(raw, *path)))
        precondition[".".join(path)] = before
    return PlanStep(
        key=key or f"{ref.kind}/{ref.path}",
        title=title,
        ref=ref,
        precondition=precondition,
        changes=tuple(changes),
        request={"patch": body, "fields": [list(path) for path in paths]},
    )


def field_state(raw: dict[str, Any], paths: list[list[str]]) -> dict[str, str]:
    """The fields that a plan showed, as they are now, in the words of the plan's precondition."""
    return {".".join(path): _shown(tuple(path), dig(raw, *path)) for path in paths}


def _shown(path: tuple[str, ...], value: Any) -> str:
    if value is None:
        return "absent"
    if is_secret_key(path[-1]):
        return "••••••"
    return mask_text(value) if isinstance(value, str) else _compact(value)


def _compact(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_shown((str(key),), item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_compact(item) for item in value) + "]"
    return mask_text(str(value))
