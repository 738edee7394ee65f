"""What converters of all cluster kinds share: references, times, conditions, ownership, and looking at other objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import msgspec

from console.backends.kube_wire import Meta, NameRef, OwnedMeta, WireCondition
from console.model.health import Condition, Health
from console.model.refs import Ref
from console.model.resource import Resource

_NO_LABELS: Mapping[str, str] = MappingProxyType({})
_SENTENCE = 240


class Scope(msgspec.Struct, frozen=True):
    """What a converter may know beside its own object: the connection, and what other objects are now.

    ``find(kind, namespace, name)`` gives the resource as last converted, or None; whoever converts remembers what was asked
    for and converts again when that changes.
    """

    connection: str
    find: Callable[[str, str, str], Resource | None] = lambda kind, namespace, name: None

    def ref(self, kind: str, meta: Meta) -> Ref:
        """The reference of an object with this metadata."""
        return Ref(self.connection, kind, meta.namespace or "", meta.name, meta.uid or "")

    def named(self, kind: str, namespace: str, name: str) -> Ref:
        """The reference of another object that is known by its name only, with its uid if the object is known."""
        found = self.find(kind, namespace, name)
        return found.ref if found is not None else Ref(self.connection, kind, namespace, name)


def instant(text: str | None) -> datetime | None:
    """An RFC 3339 time as an aware datetime; None for nothing and for nonsense."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def common(meta: Meta, changed: str | None = None) -> dict[str, Any]:
    """The fields that every resource takes from its metadata."""
    created = instant(meta.creation_timestamp)
    return {
        "created": created,
        "changed": instant(changed) or created,
        "version": meta.resource_version or "",
        "labels": meta.labels or _NO_LABELS,
    }


def conditions_of(wire: Sequence[WireCondition] | None) -> tuple[Condition, ...]:
    """Conditions in the order in which the object has them."""
    return tuple(
        Condition(
            type=entry.type,
            status=entry.status or "Unknown",
            reason=entry.reason or "",
            message=entry.message or "",
            since=entry.last_transition_time or "",
            observed_generation=entry.observed_generation or 0,
        )
        for entry in wire or ()
    )


def condition(conditions: Iterable[Condition], kind: str) -> Condition | None:
    """The condition of this type."""
    return next((entry for entry in conditions if entry.type == kind), None)


def newest(conditions: Iterable[Condition]) -> str | None:
    """When a condition last changed, as the server wrote it."""
    return max((entry.since for entry in conditions if entry.since), default=None)


def suspended_by(meta: OwnedMeta) -> str:
    """Who owns ``spec.suspend``: the managers' names, those that apply first; empty when the server doesn't tell."""
    owners: dict[str, None] = {}
    for wanted in ("Apply", "Update"):
        for entry in meta.managed_fields or ():
            spec = entry.fields.spec if entry.fields else None
            if spec is None or spec.suspend is msgspec.UNSET or entry.subresource or entry.operation != wanted:
                continue
            owners.setdefault(entry.manager or "unknown")
    return ", ".join(owners)


def sentence(text: str, otherwise: str = "") -> str:
    """One plain sentence from a controller's message: its first line, not endless, with a capital and a full stop."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), otherwise)
    if line.partition(" ")[0].isalpha():
        # A name of something (web-1, flux-system/shop) stays as it is.
        line = line[:1].upper() + line[1:]
    if len(line) > _SENTENCE:
        line = line[: _SENTENCE - 1].rstrip() + "…"
    return line if not line or line[-1] in ".!?…" else line + "."


def in_namespace(reference: NameRef | None, namespace: str) -> tuple[str, str]:
    """Namespace and name that a reference means when it stands in an object of ``namespace``."""
    if reference is None:
        return namespace, ""
    return reference.namespace or namespace, reference.name or ""


def judge_conditions(
    conditions: tuple[Condition, ...], generation: int, observed: int, *, deleting: bool = False
) -> tuple[Health, str]:
    """Health of an object that tells by ``Ready``, ``Reconciling`` and ``Stalled`` (the kstatus convention that Flux follows).

    A failure that is tried again (``Ready`` False while ``Reconciling``) is a failure; a status about an older generation is
    not about what is wanted now.
    """
    ready = condition(conditions, "Ready")
    stalled = condition(conditions, "Stalled")
    reconciling = condition(conditions, "Reconciling")
    if deleting:
        return Health.BUSY, "It is being deleted."
    if stalled is not None and stalled.status == "True":
        return Health.BAD, sentence(stalled.message, f"Stalled: {stalled.reason}")
    if ready is None:
        if reconciling is not None and reconciling.status == "True":
            return Health.BUSY, sentence(reconciling.message, "The controller works on it")
        return Health.UNKNOWN, "Its controller has said nothing about it yet."
    if ready.status == "False":
        if ready.reason in ("DependencyNotReady", "Progressing"):
            return Health.BUSY, sentence(ready.message, ready.reason)
        return Health.BAD, sentence(ready.message, ready.reason)
    if ready.status == "Unknown" or (reconciling is not None and reconciling.status == "True"):
        message = ready.message if ready.status == "Unknown" or reconciling is None else reconciling.message
        return Health.BUSY, sentence(message, "The controller works on it")
    if generation and observed and observed < generation:
        return Health.BUSY, "Its controller has not seen the latest change yet."
    return Health.OK, ""
