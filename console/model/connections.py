"""A connection as the operator sees it: its phase, the age of its data, what is wrong and what to do."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from console.model.health import Health
from console.model.resource import Resource


class Phase(StrEnum):
    """Where a connection is in its life; the words are those on the screen."""

    IDLE = "idle"
    CONNECTING = "connecting"
    LIVE = "live"
    POLLING = "polling"
    STALE = "stale"
    LOGIN_EXPIRED = "login expired"
    RESTRICTED = "restricted"
    UNREACHABLE = "unreachable"
    IDENTITY_CHANGED = "identity changed"

    @property
    def fresh(self) -> bool:
        """Whether rows may be shown as the present state, and writes may be planned on them."""
        return self in (Phase.LIVE, Phase.POLLING, Phase.RESTRICTED)

    @property
    def health(self) -> Health:
        """The phase as a health, for sorting and colour."""
        return _HEALTH[self]


_HEALTH = {
    Phase.IDLE: Health.UNKNOWN,
    Phase.CONNECTING: Health.BUSY,
    Phase.LIVE: Health.OK,
    Phase.POLLING: Health.OK,
    Phase.STALE: Health.WARN,
    Phase.LOGIN_EXPIRED: Health.BAD,
    Phase.RESTRICTED: Health.WARN,
    Phase.UNREACHABLE: Health.BAD,
    Phase.IDENTITY_CHANGED: Health.BAD,
}


class Identity(msgspec.Struct, frozen=True):
    """Who answered: ``uid`` (kube-system uid, swarm id or engine id), ``platforms`` and ``server`` ("Kubernetes v1.36.2").

    ``uid`` is empty when these credentials may not read it.
    """

    uid: str
    platforms: tuple[str, ...]
    server: str


class Connection(Resource, frozen=True, kw_only=True):
    """One target. ``ref`` is ``Ref(name, "Connection", "", name)``.

    ``platforms``: any of "kubernetes", "swarm", "host" (a manager's engine is swarm and host at once). ``heard`` is when the
    server last said anything; ``since`` when the phase began. ``identity`` is the kube-system uid, swarm id or engine id.
    """

    phase: Phase = Phase.IDLE
    platforms: tuple[str, ...] = ()
    group: str = ""
    colour: str = ""
    protected: bool = False
    endpoint: str = ""
    server: str = ""
    identity: str = ""
    heard: datetime | None = None
    since: datetime | None = None
    hint: str = ""
    latency: float = 0.0
    attempts: int = 0
    armed_until: datetime | None = None
    kinds: tuple[tuple[str, str, str], ...] = ()
