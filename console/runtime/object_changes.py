"""One object of a commit, put to the API server as a question; and one that the commit no longer has."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from console.engines.preview.differences import changes
from console.engines.preview.documents import JsonObject, identity
from console.engines.preview.inventory import Held, kept
from console.engines.preview.recipes import Recipe
from console.errors import NotFound, QuarterdeckError
from console.kit.dig import text
from console.kit.sanitize import sanitize
from console.model.commits import ObjectChange

MOST_FIELDS = 60
_RECONCILE = "kustomize.toolkit.fluxcd.io/reconcile"
_SSA = "kustomize.toolkit.fluxcd.io/ssa"


class Questions(Protocol):
    """What an API server is asked. All methods raise errors of :mod:`console.errors`; nothing is stored."""

    async def namespaced(self, api_version: str, kind: str) -> bool:
        """Whether objects of this kind live in namespaces. :raises NotServed: the server does not know the kind."""
        ...

    async def live(self, api_version: str, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        """The object as it is now; None where there is none."""
        ...

    async def apply(self, obj: dict[str, Any], manager: str) -> dict[str, Any]:
        """The object as it would be stored if ``manager`` applied this one."""
        ...

    async def close(self) -> None:
        """End what is under way."""
        ...


async def change_of(
    obj: JsonObject, recipe: Recipe, hidden: tuple[str, ...], questions: Questions, there: set[tuple[str, str, str]]
) -> ObjectChange:
    """What applying ``obj`` would change. :raises QuarterdeckError: it can't be told.

    :param there: group, kind and name of everything in the commit: what comes with it is no surprise.
    """
    what = identity(obj).words
    namespace = text(obj, "metadata", "namespace")
    live = await questions.live(text(obj, "apiVersion"), text(obj, "kind"), namespace, text(obj, "metadata", "name"))
    if why := _left_alone(obj, live):
        return ObjectChange(what=what, change="same", said=why)
    try:
        after = await questions.apply(obj, recipe.manager)
    except NotFound:
        if live is None and ("", "Namespace", namespace) in there:
            said = "Its namespace comes with this commit: the server could not check it."
            return _shown(ObjectChange(what=what, change="create", fields=changes({}, obj, hidden), said=said))
        raise
    if live is None:
        return _shown(ObjectChange(what=what, change="create", fields=changes({}, obj, hidden)))
    fields = changes(live, after, hidden)
    said = "It is being deleted now." if text(live, "metadata", "deletionTimestamp") else ""
    return _shown(ObjectChange(what=what, change="update" if fields else "same", fields=fields, said=said))


async def deletion_of(held: Held, prune: bool, questions: Questions) -> ObjectChange | None:
    """What becomes of an object that the commit no longer has; None if it is gone already."""
    who = held.identity
    try:
        live = await questions.live(held.api_version, who.kind, who.namespace, who.name)
    except QuarterdeckError as error:
        return ObjectChange(what=who.words, change="unknown", said=sanitize(f"The commit no longer has it. {error.message}"))
    if live is None:
        return None
    if not prune:
        return ObjectChange(what=who.words, change="same", said="The commit no longer has it; nothing is pruned, so it stays.")
    if why := kept(live):
        return ObjectChange(what=who.words, change="same", said=sanitize(f"The commit no longer has it; it stays by {why}."))
    return ObjectChange(what=who.words, change="delete", said="The commit no longer has it, and it is pruned.")


def _left_alone(obj: JsonObject, live: JsonObject | None) -> str:
    """Why the applier would not touch an object, by its own marks; "" if it would."""
    for place in (obj, live or {}):
        for marks in ("annotations", "labels"):
            if text(place, "metadata", marks, _RECONCILE) == "disabled":
                return "It is marked reconcile: disabled, so it is left alone."
            mark = text(place, "metadata", marks, _SSA).lower()
            if mark == "ignore" or (mark == "ifnotpresent" and live is not None):
                return f"It is marked ssa: {mark}, so it is left alone."
    return ""


def _shown(change: ObjectChange) -> ObjectChange:
    over = len(change.fields) - MOST_FIELDS
    if over <= 0:
        return change
    said = f"{change.said} {over} more fields.".strip()
    return msgspec.structs.replace(change, fields=change.fields[:MOST_FIELDS], said=said)
