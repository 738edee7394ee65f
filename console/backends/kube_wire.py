"""What is decoded from a cluster's answers: only the fields that are shown, so that thousands of objects stay cheap.

Everything is optional, since a server of any version may leave anything out or say ``null``. The Structs hold no cycles and are
kept out of the cyclic collector (``gc=False``). A map that can be large (annotations, managed fields) is decoded only as far as
named keys are looked for in it.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from console.model.holds import DISPATCH_RECORD, HOLD_NOTE


class Wire(Struct, gc=False, rename="camel"):
    """Base of all decoded parts."""


class Annotations(Struct, gc=False):
    """The annotations that mean something here."""

    requested_at: str | None = msgspec.field(default=None, name="reconcile.fluxcd.io/requestedAt")
    hold: str | None = msgspec.field(default=None, name=HOLD_NOTE)
    dispatch: str | None = msgspec.field(default=None, name=DISPATCH_RECORD)


class SpecFields(Struct, gc=False):
    """``f:spec`` of a managed fields entry, as far as ``f:suspend`` goes."""

    suspend: Any | UnsetType = msgspec.field(default=UNSET, name="f:suspend")


class OwnedFields(Struct, gc=False):
    """``fieldsV1`` of a managed fields entry, as far as ``f:spec`` goes."""

    spec: SpecFields | None = msgspec.field(default=None, name="f:spec")


class ManagedFields(Wire):
    """One field manager's entry."""

    manager: str | None = None
    operation: str | None = None
    subresource: str | None = None
    time: str | None = None
    fields: OwnedFields | None = msgspec.field(default=None, name="fieldsV1")


class Owner(Wire):
    """An owner reference."""

    kind: str | None = None
    name: str | None = None
    uid: str | None = None
    controller: bool | None = None


class Meta(Wire):
    """``metadata``."""

    name: str = ""
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: Annotations | None = None
    owner_references: list[Owner] | None = None
    finalizers: list[str] | None = None


class OwnedMeta(Meta):
    """``metadata`` of kinds where it matters who set a field."""

    managed_fields: list[ManagedFields] | None = None


class WireCondition(Wire):
    """One entry of ``status.conditions``."""

    type: str = ""
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None
    observed_generation: int | None = None


class NameRef(Wire):
    """A reference to another object, in any of the usual forms."""

    api_version: str | None = None
    group: str | None = None
    kind: str | None = None
    name: str | None = None
    namespace: str | None = None


class Served(Wire):
    """An object of any kind, as far as all are alike."""

    metadata: Meta = msgspec.field(default_factory=Meta)


class Conditions(Wire):
    """A status that says how it is by conditions."""

    conditions: list[WireCondition] | None = None
    observed_generation: int | None = None
