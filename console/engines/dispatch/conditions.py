"""Kubernetes conditions: a list keyed by type, whose times move only when the status does. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from console.engines.dispatch.judgement import Condition
from console.engines.dispatch.tokens import written
from console.engines.ports.applier import JsonObject


def with_conditions(
    present: list[JsonObject], new: Mapping[str, Condition], generation: int, now: datetime
) -> list[JsonObject]:
    """The list with each of ``new`` (by type) set; others stay as they are."""
    result = [dict(condition) for condition in present]
    for kind, condition in new.items():
        old = next((item for item in result if item.get("type") == kind), None)
        since = written(now.replace(microsecond=0))
        if old is not None and old.get("status") == condition.status:
            since = str(old.get("lastTransitionTime") or since)
        body: JsonObject = {
            "type": kind,
            "status": condition.status,
            "reason": condition.reason.value,
            "message": condition.message,
            "observedGeneration": generation,
            "lastTransitionTime": since,
        }
        if old is None:
            result.append(body)
        else:
            old.update(body)
    return result
