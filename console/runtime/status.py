"""The published face of a connection: its ``Connection`` row, kept true as things happen."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

import msgspec

from console.kit.timing import Clock
from console.model.connections import Connection, Identity, Phase
from console.model.health import Health, worst
from console.model.refs import Ref
from console.model.resource import KindState, Upserted
from console.runtime.store import Store
from console.runtime.targets import Target

# How old the published "last heard" may be while all is well; each publication costs every listener a repaint.
_HEARD_STEP = 5.0


class Status:
    """Writes one ``Connection`` resource into the store; what changes nothing is not published."""

    def __init__(self, target: Target, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._told_heard = float("-inf")
        self._warning = target.warning
        self._rough = True
        self.connection = Connection(
            ref=Ref(target.name, "Connection", "", target.name),
            platforms=target.platforms,
            group=target.group,
            colour=target.colour,
            protected=target.protected,
            endpoint=target.endpoint,
            labels=target.labels,
            since=clock.now(),
        )
        self._publish()

    @property
    def phase(self) -> Phase:
        """The present phase."""
        return self.connection.phase

    def enter(self, phase: Phase, reason: str = "", hint: str = "") -> None:
        """Go to a phase, or say something new about the present one. ``since`` moves only with the phase."""
        since = self.connection.since if phase is self.phase else self._clock.now()
        self._set(phase=phase, reason=reason, hint=hint, since=since, health=phase.health)

    def attempt(self) -> None:
        """Count one more attempt since it was last live."""
        self._set(attempts=self.connection.attempts + 1)

    def answered(self, identity: Identity, endpoint: str) -> None:
        """Somebody answered; whether it is who we expect is judged elsewhere."""
        self._set(
            identity=identity.uid,
            platforms=identity.platforms or self.connection.platforms,
            server=identity.server,
            endpoint=endpoint or self.connection.endpoint,
        )

    def live(self, kinds: tuple[KindState, ...]) -> None:
        """It is connected: the phase and its reason follow from what is known about its kinds."""
        told = tuple((state.kind, state.state, state.detail) for state in kinds)
        restricted = tuple(state.kind for state in kinds if state.state == "restricted")
        failed = tuple(state for state in kinds if state.state == "failed")
        hint = ""
        if restricted:
            phase, reason = Phase.RESTRICTED, f"These credentials may not read {', '.join(restricted)}."
            if "kubernetes" in self.connection.platforms:
                hint = "If they may in some namespaces, name those in the fleet file (namespaces)."
        elif (listed := [state for state in kinds if state.state == "listed"]) and all(state.polled for state in listed):
            phase, reason = Phase.POLLING, "The server tells of no changes; it is asked again and again."
        else:
            phase, reason = Phase.LIVE, ""
        if failed:
            reason = f"{', '.join(state.kind for state in failed)} can't be read: {failed[0].detail or 'no reason given'}"
        reason = reason or self._warning
        health = worst(phase.health, Health.WARN) if failed or self._warning else phase.health
        since = self.connection.since if phase is self.phase else self._clock.now()
        self._set(phase=phase, reason=reason, hint=hint, since=since, health=health, kinds=told, attempts=0)

    def heard(self) -> None:
        """The server said something just now."""
        now = asyncio.get_running_loop().time()
        if now - self._told_heard >= _HEARD_STEP:
            self._told_heard = now
            self._set(heard=self._clock.now())

    def measured(self, seconds: float, *, rough: bool = False) -> None:
        """One more round trip; the published latency is smoothed and rounded to what a person can see.

        A ``rough`` one (a whole greeting, with handshakes) stands only until there is a better one.
        """
        before = 0.0 if self._rough else self.connection.latency
        self._rough = rough
        smooth = seconds if not before else before * 0.7 + seconds * 0.3
        self._set(latency=round(smooth, 3 if smooth < 0.1 else 2))

    def arm(self, until: datetime | None) -> None:
        """Writes are allowed until then (None: no longer)."""
        self._set(armed_until=until)

    def _set(self, **fields: Any) -> None:
        changed = msgspec.structs.replace(self.connection, **fields)
        if changed != self.connection:
            self.connection = changed
            self._publish()

    def _publish(self) -> None:
        self._store.apply(Upserted(self.connection))
