"""The life of one connection: attempt, watch, probe, loss, pause, attempt - for ever, and never at another one's cost."""

from __future__ import annotations

import asyncio
import random
from datetime import datetime

from console.errors import (
    ConfigError,
    ConnectionProblem,
    Forbidden,
    IdentityChanged,
    Interrupted,
    LoginExpired,
    QuarterdeckError,
    TimedOut,
)
from console.kit.supervisor import cancel
from console.kit.timing import Clock, Wakeable, backoff
from console.model.connections import Connection, Identity, Phase
from console.model.resource import Change, KindState, Listed, Removed
from console.runtime.gate import Gate
from console.runtime.identities import Identities
from console.runtime.ports import Backend, Probes
from console.runtime.reading import drop_orphans
from console.runtime.status import Status
from console.runtime.store import Store
from console.runtime.targets import Target

CONNECT_DEADLINE = 20.0
PROBE_AFTER = 5.0
"""Seconds of silence after which the server is asked whether it is still there."""
MEASURE_EVERY = 15.0
"""Seconds between probes of a server that talks anyway: the latency is measured by them."""
STALE_AFTER = 10.0
"""Seconds of silence after which rows are no longer called live."""
LOST_AFTER = 20.0
"""Further seconds after which a stale connection is called unreachable and its stream is given up."""
SETTLED_AFTER = 30.0
"""Seconds of life after which the next loss starts again with the shortest pause."""
PERSON_PAUSE = 60.0
"""Seconds between attempts that only a person can make succeed: a login plugin must not open a browser every few seconds."""
_TICK = 1.0


class Link:
    """Keeps one target connected and its rows in the store. :meth:`run` is kept alive by a supervisor.

    :param gate: shared by all links; how many connect at once.
    :param identities: who each name was, to notice another one answering.
    """

    def __init__(
        self,
        target: Target,
        store: Store,
        gate: Gate,
        identities: Identities,
        clock: Clock,
        rng: random.Random | None = None,
    ) -> None:
        self.target = target
        self._store = store
        self._gate = gate
        self._identities = identities
        self._status = Status(target, store, clock)
        self._rng = rng
        self._wake = Wakeable()
        self._wanted: frozenset[str] = frozenset()
        self._kinds: frozenset[str] = frozenset()
        self._backend: Backend | None = None
        self._connected = False
        self._heard_at = 0.0
        self._alive_at = 0.0
        self._accepted = ""
        self._fading: asyncio.TimerHandle | None = None

    @property
    def name(self) -> str:
        """The connection's name."""
        return self.target.name

    @property
    def connection(self) -> Connection:
        """The published row."""
        return self._status.connection

    @property
    def phase(self) -> Phase:
        """The present phase."""
        return self._status.phase

    @property
    def backend(self) -> Backend | None:
        """The live source, if one is connected now."""
        return self._backend if self._connected else None

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds this connection can ever show; empty before the first attempt."""
        return self._kinds

    def want(self, kinds: frozenset[str]) -> None:
        """The on-demand kinds that are looked at now."""
        self._wanted = kinds
        if self._backend is not None:
            self._backend.want(kinds)

    def reconnect(self) -> None:
        """Try now, not when the pause is over. A live connection is left alone."""
        if not self._connected:
            self._status.enter(Phase.CONNECTING)
            self._wake.wake()

    def accept_identity(self) -> None:
        """The operator knows that another cluster, swarm or engine is behind this name now: go on with it."""
        if self.phase is Phase.IDENTITY_CHANGED:
            self._accepted = self.connection.identity
            self.reconnect()

    def arm(self, until: datetime | None) -> None:
        """Show that writes are allowed until then (None: no longer)."""
        self._status.arm(until)

    async def run(self) -> None:
        """Never ends; cancelling it closes the connection."""
        pauses = backoff(first=2, most=30, rng=self._rng)
        loop = asyncio.get_running_loop()
        try:
            while True:
                self._alive_at = loop.time()
                try:
                    await self._live()
                except QuarterdeckError as error:
                    pause = await self._judge(error)
                if loop.time() - self._alive_at >= SETTLED_AFTER:
                    pauses = backoff(first=2, most=30, rng=self._rng)
                await self._wake.sleep(max(pause, next(pauses)))
        finally:
            self._stop_fading()
            if self.phase.fresh:
                self._status.enter(Phase.STALE, "The console no longer watches this connection.")
            await self._close()

    async def _live(self) -> None:
        """One life, from the attempt to the loss; always ends by raising."""
        self._status.attempt()
        if self.phase is Phase.IDLE:
            self._status.enter(Phase.CONNECTING)
        async with self._gate.place():
            backend = self._open()
            identity = await self._greet(backend)
        self._recognise(backend, identity)
        self._connected = True
        self._alive_at = asyncio.get_running_loop().time()
        self._hear()
        watching = asyncio.create_task(backend.watch(self._emit, self._hear), name=f"watch {self.name}")
        probing = asyncio.create_task(self._probe(backend), name=f"probe {self.name}")
        try:
            done, _ = await asyncio.wait({watching, probing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._connected = False
            await cancel((watching, probing))
        for task in done:
            task.result()
        raise Interrupted(f"{self.name}: the watch ended without a word.")

    def _open(self) -> Backend:
        if self._backend is None:
            self._backend = self.target.make_backend()
            self._backend.want(self._wanted)
            self._kinds = self._backend.kinds
        return self._backend

    async def _greet(self, backend: Backend) -> Identity:
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(CONNECT_DEADLINE):
                identity = await backend.connect()
        except TimeoutError as error:
            raise TimedOut(f"{backend.endpoint} did not answer within {CONNECT_DEADLINE:.0f} s.") from error
        if not self.connection.latency:
            self._status.measured(asyncio.get_running_loop().time() - began, rough=True)
        return identity

    def _recognise(self, backend: Backend, identity: Identity) -> None:
        """Raise :class:`IdentityChanged` when another one answers than before, unless a person accepted it."""
        self._status.answered(identity, backend.endpoint)
        if not identity.uid:
            return
        known = self._identities.known(self.name)
        if known and known != identity.uid:
            if self._accepted != identity.uid:
                raise IdentityChanged(
                    f"Another {identity.server or 'server'} answers as {self.name}: it is {identity.uid}, it was {known}.",
                    "If it was made anew on purpose, accept the new identity; else look before you act.",
                )
            # Rows of the one before must not look like rows of this one, not even those of kinds that nobody looks at now.
            for kind in backend.kinds:
                # Operations also come from the journal; those that the target showed go with their objects.
                if kind != "Operation":
                    self._store.apply(Listed(self.name, kind, ()))
                    drop_orphans(self._store, self.name, kind)
                self._store.apply(KindState(self.name, kind, "syncing"))
        self._accepted = ""
        self._identities.remember(self.name, identity.uid)

    async def _probe(self, backend: Backend) -> None:
        """Ask when it is silent, and now and then to measure; judge silence. Raises when the connection is lost."""
        loop = asyncio.get_running_loop()
        asking: asyncio.Task[float] | None = None
        last = loop.time() - MEASURE_EVERY
        try:
            while True:
                if asking is None:
                    await asyncio.sleep(_TICK)
                else:
                    await asyncio.wait((asking,), timeout=_TICK)
                silence = loop.time() - self._heard_at
                if asking is not None and asking.done():
                    self._take_answer(asking)
                    asking = None
                elif asking is None and isinstance(backend, Probes):
                    if silence >= PROBE_AFTER or loop.time() - last >= MEASURE_EVERY:
                        last = loop.time()
                        asking = asyncio.create_task(_timed(backend), name=f"ping {self.name}")
                elif asking is not None:
                    self._judge_silence(silence)
        finally:
            if asking is not None:
                await cancel((asking,))

    def _take_answer(self, asking: asyncio.Task[float]) -> None:
        error = asking.exception()
        if isinstance(error, ConnectionProblem | LoginExpired) or (error and not isinstance(error, QuarterdeckError)):
            raise error
        self._hear()
        if error is None:
            self._status.measured(asking.result())

    def _judge_silence(self, silence: float) -> None:
        if silence > STALE_AFTER + LOST_AFTER:
            raise Interrupted(f"{self.name}: nothing was heard for {silence:.0f} s.")
        if silence > STALE_AFTER and self.phase.fresh:
            self._status.enter(Phase.STALE, "Nothing is heard, although the server was asked.")
            self._fade()

    def _hear(self) -> None:
        self._heard_at = asyncio.get_running_loop().time()
        self._status.heard()
        if self._connected and not self.phase.fresh:
            self._stop_fading()
            self._show_live()

    def _emit(self, change: Change) -> None:
        self._store.apply(change)
        if isinstance(change, Removed | Listed):
            drop_orphans(self._store, self.name, change.kind if isinstance(change, Listed) else change.ref.kind)
        if isinstance(change, KindState | Listed) and self._connected and self.phase.fresh:
            self._show_live()

    def _show_live(self) -> None:
        self._status.live(self._store.kind_states(self.name))

    async def _judge(self, error: QuarterdeckError) -> float:
        """Show what went wrong; returns the least pause before the next attempt, in seconds."""
        was_live = self.phase.fresh or self.phase is Phase.STALE
        if not (was_live and isinstance(error, ConnectionProblem)):
            await self._close()
        match error:
            case LoginExpired():
                self._status.enter(Phase.LOGIN_EXPIRED, error.message, error.hint)
                return PERSON_PAUSE
            case IdentityChanged():
                self._status.enter(Phase.IDENTITY_CHANGED, error.message, error.hint)
                return PERSON_PAUSE
            case ConfigError() | Forbidden():
                self._status.enter(Phase.UNREACHABLE, error.message, error.hint)
                return PERSON_PAUSE
            case _ if was_live:
                self._status.enter(Phase.STALE, error.message, error.hint)
                self._fade()
            case _:
                self._status.enter(Phase.UNREACHABLE, error.message, error.hint)
        return 0.0

    def _fade(self) -> None:
        """A stale connection becomes an unreachable one after a while."""
        if self._fading is None:
            self._fading = asyncio.get_running_loop().call_later(LOST_AFTER, self._faded)

    def _faded(self) -> None:
        self._fading = None
        if self.phase is Phase.STALE:
            self._status.enter(Phase.UNREACHABLE, self.connection.reason, self.connection.hint)

    def _stop_fading(self) -> None:
        if self._fading is not None:
            self._fading.cancel()
            self._fading = None

    async def _close(self) -> None:
        backend, self._backend = self._backend, None
        if backend is not None:
            await backend.close()


async def _timed(backend: Probes) -> float:
    """Seconds that one probe took."""
    began = asyncio.get_running_loop().time()
    await backend.ping()
    return asyncio.get_running_loop().time() - began
