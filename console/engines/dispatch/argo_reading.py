"""What an Argo CD Application says, and the operation that is set on it. Pure.

Sections 6.1 and 6.3 of the specification; the facts behind it were read in Argo CD's application controller (3.5, 3.6).
"""

from __future__ import annotations

import copy
from typing import Any

from console.engines.dispatch.constants import ARGO_FENCE, ARGO_REQUEST_INFO, ARGOCD_INITIATOR
from console.engines.dispatch.types import Source
from console.engines.ports.applier import JsonObject
from console.kit.dig import dig, text

_UNFINISHED = ("Running", "Terminating")


def unsupported(app: JsonObject) -> str:
    """Why the Application has no single Git source that can be driven; empty when it has."""
    spec = dig(app, "spec") or {}
    if spec.get("sources"):
        return "it lists its sources in spec.sources"
    if spec.get("sourceHydrator"):
        return "its source is hydrated"
    if not spec.get("source"):
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
    return block is not None and block.get("enabled", True) is not False


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
        by = dig(app, *path, "initiatedBy") or {}
        if by.get("username"):
            return str(by["username"])
        if by.get("automated"):
            return "automated sync"
    return "somebody unknown"


def carries(operation: Any, token: str) -> bool:
    """Whether an operation (``.operation`` or the one inside ``operationState``) is the one of this token."""
    entries = (operation or {}).get("info") or []
    return any(entry.get("name") == ARGO_REQUEST_INFO and entry.get("value") == token for entry in entries)


def build_operation(app: JsonObject, commit: str, token: str) -> JsonObject:
    """The operation that syncs exactly this commit, otherwise as automated sync would have done it."""
    policy = dig(app, "spec", "syncPolicy") or {}
    sync: JsonObject = {
        "revision": commit,
        # A repoint between the write and the start can't change what is synced.
        "source": copy.deepcopy(app["spec"]["source"]),
        "prune": bool((policy.get("automated") or {}).get("prune", False)),
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
