"""Namespaces and events of a cluster, as model objects."""

from __future__ import annotations

from datetime import UTC, datetime

from console.backends.kube_common import Scope, common, conditions_of, instant, sentence
from console.backends.workload_wire import EventSeries, WireEvent, WireNamespace
from console.model.health import Health
from console.model.kubernetes import Event, Namespace
from console.model.refs import Ref

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


def namespace(wire: WireNamespace, scope: Scope) -> Namespace:
    """A namespace."""
    phase = wire.status.phase or "Active"
    if phase == "Terminating":
        stuck = next((c for c in conditions_of(wire.status.conditions) if c.status == "True" and c.message), None)
        health, reason = (Health.WARN, sentence(stuck.message)) if stuck else (Health.BUSY, "It is being deleted.")
    else:
        health, reason = Health.OK, ""
    return Namespace(
        ref=scope.ref("Namespace", wire.metadata), health=health, reason=reason, **common(wire.metadata), phase=phase
    )


def event(wire: WireEvent, scope: Scope) -> Event:
    """An event, at the last time it was seen."""
    meta, about = wire.metadata, wire.involved_object
    series = wire.series or EventSeries()
    last = series.last_observed_time or wire.last_timestamp or wire.event_time or wire.first_timestamp
    at = instant(last) or instant(meta.creation_timestamp) or _NEVER
    target = Ref(scope.connection, about.kind or "", about.namespace or "", about.name or "", about.uid or "")
    return Event(
        ref=scope.ref("Event", meta),
        health=Health.WARN if wire.type == "Warning" else Health.OK,
        reason=sentence(wire.message or "", wire.reason or "") if wire.type == "Warning" else "",
        created=instant(wire.first_timestamp) or instant(meta.creation_timestamp),
        changed=at,
        version=meta.resource_version or "",
        related=(target,),
        at=at,
        about=target,
        what=wire.reason or "",
        message=wire.message or "",
        source=wire.reporting_component or (wire.source.component if wire.source else None) or "",
        count=series.count or wire.count or 1,
    )
