"""Which engine drives a cluster's triggers: this console, somebody else, or nobody. Section 10.

With the custom resources there is exactly one engine, the holder of a Lease. A console that does not hold it only shows what
the triggers say: it writes neither their operations nor any applier that one of them names. Without the custom resources
there are local triggers only.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from enum import StrEnum

import msgspec

from console.engines.dispatch.constants import FIELD_MANAGER
from console.engines.dispatch.tokens import instant
from console.engines.dispatch.types import ObjectName
from console.engines.ports.applier import FLUX_TRIGGERS, LEASES, JsonObject, Objects
from console.errors import Conflict, NotFound, NotServed, QuarterdeckError
from console.kit.dig import number, text
from console.kit.timing import Clock


class ModeKind(StrEnum):
    """The three ways in which a console and a cluster's triggers get along."""

    LEADER = "leader"
    DISPLAY = "display"
    LOCAL = "local"


class Mode(msgspec.Struct, frozen=True):
    """A mode and why. ``holder`` is who holds the Lease now; empty when nobody does."""

    kind: ModeKind
    why: str
    holder: str = ""

    @property
    def drives_triggers(self) -> bool:
        """Whether this console may write triggers' operations and the appliers that they name."""
        return self.kind is ModeKind.LEADER


def lease_holder(lease: JsonObject | None, now: datetime) -> str:
    """Who holds a Lease now; empty when nobody does, or when it ran out."""
    if lease is None:
        return ""
    holder, renewed = text(lease, "spec", "holderIdentity"), instant(text(lease, "spec", "renewTime"))
    seconds = number(lease, "spec", "leaseDurationSeconds")
    if renewed is not None and seconds and renewed + timedelta(seconds=seconds) < now:
        return ""
    return holder


def decide_mode(*, served: bool, lease: JsonObject | None, identity: str, now: datetime) -> Mode:
    """The mode by what the cluster says.

    :param served: whether the cluster knows the custom resources. :param lease: the engine's Lease; None when there is none.
    :param identity: the name under which this console would hold it.
    """
    if not served:
        return Mode(ModeKind.LOCAL, "the cluster has no triggers of its own")
    holder = lease_holder(lease, now)
    if holder == identity and identity:
        return Mode(ModeKind.LEADER, "this console is the elected engine", holder)
    if holder:
        return Mode(ModeKind.DISPLAY, f"{holder} is the elected engine", holder)
    return Mode(ModeKind.DISPLAY, "no engine is elected, and this console has not been asked to be it")


class Leadership:
    """This console's claim to a Lease. It is held only as long as the last renewal that is *known* to have worked lasts.

    :param margin: seconds before the end at which we stop believing in it, for the time that a write may take.
    """

    def __init__(
        self, control: Objects, lease: ObjectName, identity: str, clock: Clock, *, seconds: int = 15, margin: float = 5.0
    ) -> None:
        self._control = control
        self._lease = lease
        self._identity = identity
        self._clock = clock
        self._seconds = seconds
        self._margin = timedelta(seconds=margin)
        self._until: datetime | None = None
        self._until_loop = 0.0
        self._watched: tuple[tuple[str, str], float] = (("", ""), 0.0)
        self.term = 0
        """Counts the leads: between two of them others may have led, and nothing of ours was followed."""

    @property
    def held(self) -> bool:
        """Whether we may still act as the elected engine.

        Both clocks must say so: the machine's may be set back while we hold it, the loop's stands still in a machine asleep.
        """
        if self._until is None or self._clock.now() >= self._until - self._margin:
            return False
        return asyncio.get_running_loop().time() < self._until_loop - self._margin.total_seconds()

    async def mode(self) -> Mode:
        """The present mode, by fresh reads. Claims nothing.

        :raises QuarterdeckError: a read failed: nothing is known, so nothing may be driven.
        """
        try:
            await self._control.list(FLUX_TRIGGERS, self._lease.namespace)
        except NotServed:
            return decide_mode(served=False, lease=None, identity=self._identity, now=self._clock.now())
        mode = decide_mode(served=True, lease=await self._read(), identity=self._identity, now=self._clock.now())
        if mode.drives_triggers and not self.held:
            return Mode(ModeKind.DISPLAY, "the Lease carries our name, but this process has not renewed it", mode.holder)
        return mode

    async def claim(self) -> bool:
        """Take a vacant Lease or renew our own; False when somebody else holds it or was faster. One that another let run out
        is first watched for as long as it lasts, unless it has been already.

        :raises QuarterdeckError: it is not known whether the write was made; :attr:`held` goes by the last one that was.
        """
        lease = await self._read()
        if not self._live(lease) and (pause := self._doubt(lease)) > 0:
            await asyncio.sleep(pause)
            lease = await self._read()
        if self._live(lease) or self._doubt(lease) > 0:
            self._until = None
            return False
        now, began = self._clock.now(), asyncio.get_running_loop().time()
        spec: JsonObject = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": self._seconds,
            # Kubernetes' MicroTime takes exactly six digits after the point.
            "renewTime": f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z",
        }
        try:
            if lease is None:
                await self._create(spec)
            else:
                guard = {"resourceVersion": text(lease, "metadata", "resourceVersion")}
                patch = {"metadata": guard, "spec": spec}
                await self._control.merge(LEASES, self._lease.namespace, self._lease.name, patch, manager=self._identity)
        except Conflict:
            self._until = None
            return False
        if not self.held:
            self.term += 1
        self._until, self._until_loop = now + timedelta(seconds=self._seconds), began + self._seconds
        return True

    async def resign(self) -> None:
        """Give the Lease back so that another engine need not wait for its end. Best effort: it ends by itself anyway."""
        self._until = None
        try:
            lease = await self._read()
            if lease is None or text(lease, "spec", "holderIdentity") != self._identity:
                return
            guard = {"resourceVersion": text(lease, "metadata", "resourceVersion")}
            patch = {"metadata": guard, "spec": {"holderIdentity": ""}}
            await self._control.merge(LEASES, self._lease.namespace, self._lease.name, patch, manager=self._identity)
        except QuarterdeckError:
            return

    def _live(self, lease: JsonObject | None) -> bool:
        return lease_holder(lease, self._clock.now()) not in ("", self._identity)

    def _doubt(self, lease: JsonObject | None) -> float:
        """Seconds for which another's Lease that ran out must still be watched: only by our clock did it run out, and one that
        is renewed meanwhile is alive, whatever the clocks of two machines say."""
        if text(lease, "spec", "holderIdentity") in ("", self._identity):
            return 0.0
        since = self._watched[1] + number(lease, "spec", "leaseDurationSeconds")
        return max(0.0, since - asyncio.get_running_loop().time())

    async def _read(self) -> JsonObject | None:
        try:
            lease = await self._control.get(LEASES, self._lease.namespace, self._lease.name)
        except NotFound:
            return None
        seen = text(lease, "spec", "holderIdentity"), text(lease, "spec", "renewTime")
        if seen != self._watched[0]:
            self._watched = seen, asyncio.get_running_loop().time()
        return lease

    async def _create(self, spec: JsonObject) -> None:
        """Unforced apply: of two that create at once, the second finds another's ``holderIdentity`` and loses."""
        metadata = {"name": self._lease.name, "namespace": self._lease.namespace}
        body = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata, "spec": spec}
        await self._control.apply(LEASES, body, manager=f"{FIELD_MANAGER}-{self._identity}", force=False)
