"""What an Argo CD Application says, and the operation that is set on it. Pure.

Sections 6.1 and 6.3 of the specification; the facts behind it were read in Argo CD's application controller (3.5, 3.6).
"""

from __future__ import annotations

import copy
from typing import Any

from console.engines.dispatch.constants import ARGO_FENCE, ARGO_REQUEST_INFO, ARGOCD_INITIATOR
from console.engines.dispatch.types import Source
from console.engines.ports.applier import JsonObject
from console.kit.dig import dig, items, mapping, text

_UNFINISHED = ("Running", "Terminating")


def unsupported(app: JsonObject) -> str:
    """Why the Application has no single Git source that can be driven; empty when it has."""
    spec = mapping(app, "spec")
    if spec.get("sources"):
        return "it lists its sources in spec.sources"
    if spec.get("sourceHydrator"):
        return "its source is hydrated"
    if not mapping(spec, "source"):
        return "it has no source"
    if text(app, "spec", "source", "chart"):
        return "its source is a Helm chart"
    return ""


def app_source(app: JsonObject) -> Source:
    """What the Application applies; the revision exactly as written."""
    return Source(text(app, "spec", "source", "repoURL"), text(app, "spec", "source", "targetRevision"))


def automated(app: JsonObject) -> bool:
    """Whether automated sync is on: the block exists and ``enabled`` is absent or true. ``automated: {}`` is on."""
    block = dig(app, "spec", "syncPolicy", "automated")
    return block is not None and dig(block, "enabled") is not False


def phase(app: JsonObject) -> str:
    """Phase of the last operation that was started."""
    return text(app, "status", "operationState", "phase")


def running(app: JsonObject) -> bool:
    """Whether an operation is set or not ended."""
    return dig(app, "operation") is not None or phase(app) in _UNFINISHED


def orphan(app: JsonObject) -> tuple[str, str] | None:
    """``(startedAt, phase)`` of an unfinished operation that Argo CD will not process any further; else None."""
    if dig(app, "operation") is None and phase(app) in _UNFINISHED:
        return text(app, "status", "operationState", "startedAt"), phase(app)
    return None


def initiator(app: JsonObject) -> str:
    """Who started the operation that is set or running."""
    for path in (("operation",), ("status", "operationState", "operation")):
        if name := text(app, *path, "initiatedBy", "username"):
            return name
        if dig(app, *path, "initiatedBy", "automated"):
            return "automated sync"
    return "somebody unknown"


def carries(operation: Any, token: str) -> bool:
    """Whether an operation (``.operation`` or the one inside ``operationState``) is the one of this token."""
    entries = items(operation, "info")
    return any(text(entry, "name") == ARGO_REQUEST_INFO and text(entry, "value") == token for entry in entries)


def build_operation(app: JsonObject, commit: str, token: str) -> JsonObject:
    """The operation that syncs exactly this commit, otherwise as automated sync would have done it."""
    policy = mapping(app, "spec", "syncPolicy")
    sync: JsonObject = {
        "revision": commit,
        # A repoint between the write and the start can't change what is synced.
        "source": copy.deepcopy(app["spec"]["source"]),
        "prune": dig(policy, "automated", "prune") is True,
    }
    if policy.get("syncOptions"):
        sync["syncOptions"] = list(policy["syncOptions"])
    # An empty block is set all the same: it asks for no retries.
    retry = {"limit": 5} if policy.get("retry") is None else copy.deepcopy(policy["retry"])
    # With refresh, a retry would drop the pinned revision and sync the newest one.
    retry["refresh"] = False
    return {
        "sync": sync,
        "initiatedBy": {"username": ARGOCD_INITIATOR, "automated": True},
        "info": [{"name": ARGO_REQUEST_INFO, "value": token}],
        "retry": retry,
    }


def with_operation(app: JsonObject, commit: str, token: str) -> JsonObject:
    """The whole Application to PUT. A stale unfinished state would make Argo CD resume *that* operation, not start ours."""
    body = copy.deepcopy(app)
    body["operation"] = build_operation(app, commit, token)
    if isinstance(body.get("status"), dict):
        body["status"].pop("operationState", None)
    return body


def fence(app: JsonObject, token: str) -> JsonObject:
    """The Application as read, with a note that the operation of ``token`` is given up; the same again changes nothing."""
    metadata = {**app["metadata"], "annotations": {**(dig(app, "metadata", "annotations") or {}), ARGO_FENCE: token}}
    return {**app, "metadata": metadata}
