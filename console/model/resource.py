"""What every shown object has in common, and what a backend reports about it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from console.model.health import Health
from console.model.refs import Ref


class Resource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The base of all shown objects. They form no cycles, and tens of thousands live long: the collector need not see them.

    ``reason`` is one plain sentence that says why :attr:`health` is what it is (empty when all is well). ``version`` is the
    platform's own (resourceVersion, ``Version.Index``): a precondition for writes, never shown as progress.
    """

    ref: Ref
    health: Health = Health.UNKNOWN
    reason: str = ""
    created: datetime | None = None
    changed: datetime | None = None
    version: str = ""
    labels: Mapping[str, str] = {}
    related: tuple[Ref, ...] = ()


class Upserted(msgspec.Struct, frozen=True):
    """An object appeared or changed; carries it whole."""

    resource: Resource


class Removed(msgspec.Struct, frozen=True):
    """An object is gone. ``ref.uid`` may be empty when the platform no longer tells."""

    ref: Ref


class Listed(msgspec.Struct, frozen=True):
    """The complete set of one kind on one connection: what isn't in it is gone. Ends "not synced yet"."""

    connection: str
    kind: str
    resources: tuple[Resource, ...]


class KindState(msgspec.Struct, frozen=True):
    """Why the rows of a kind are (not) there. ``state``: "syncing", "listed", "restricted", "not served", "failed".

    ``polled`` says that the rows are read again and again since the server does not tell of changes.
    """

    connection: str
    kind: str
    state: str
    detail: str = ""
    polled: bool = False


Change = Upserted | Removed | Listed | KindState
