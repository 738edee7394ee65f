"""What the runtime asks of a backend: one narrow protocol a capability.

A backend that lacks a capability simply doesn't have its methods: the key isn't offered and one feature is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any, Protocol, runtime_checkable

from console.model.connections import Identity
from console.model.docker import Sample
from console.model.kubernetes import LogLine, LogQuery
from console.model.operations import State, StepView
from console.model.plan import Intent, Plan, PlanStep
from console.model.refs import Ref
from console.model.resource import Change

__all__ = [
    "Backend",
    "Emit",
    "Guest",
    "Identity",
    "Probes",
    "ReadsLogs",
    "ReadsRaw",
    "ReadsStats",
    "RunsPlans",
    "ShowsPhases",
    "StepLog",
    "TakesUp",
    "Writes",
]

Emit = Callable[[Change], None]


@runtime_checkable
class Backend(Protocol):
    """A live source. All methods raise errors of :mod:`console.errors` only.

    ``endpoint`` is where it is, for people. ``kinds`` are all kinds it can ever report, the on-demand ones too; one that the
    server turns out not to have is reported "not served".
    """

    endpoint: str
    kinds: frozenset[str]

    async def connect(self) -> Identity:
        """Reach the server, negotiate versions and say who it is."""
        ...

    async def watch(self, emit: Emit, heard: Callable[[], None]) -> None:
        """Emit every change of all wanted kinds until cancelled; call ``heard`` whenever the server said anything.

        Raises when the connection as a whole is lost; a single refused kind is a :class:`KindState`.
        """
        ...

    def want(self, kinds: frozenset[str]) -> None:
        """Which on-demand kinds are being looked at now (the standing ones are always watched)."""
        ...

    async def close(self) -> None:
        """Give back sockets and children. Never raises."""
        ...


@runtime_checkable
class Probes(Protocol):
    """Can be asked whether it is still there; without it only its own words show that a connection lives."""

    async def ping(self) -> None:
        """The cheapest request that proves that the server answers; raises like any other request."""
        ...


@runtime_checkable
class ReadsRaw(Protocol):
    """Full objects on demand."""

    async def raw(self, ref: Ref) -> dict[str, Any]:
        """The whole object as the server has it (not masked: the caller masks)."""
        ...


@runtime_checkable
class ReadsLogs(Protocol):
    """Logs of pods, containers, tasks and services."""

    def logs(self, ref: Ref, query: LogQuery) -> AsyncGenerator[LogLine, None]:
        """Lines as they come. Reconnects by itself with ``since`` and says so in a "note" line."""
        ...

    async def log_sources(self, ref: Ref) -> tuple[str, ...]:
        """Names of the containers whose logs can be asked for (empty: only one)."""
        ...


@runtime_checkable
class ReadsStats(Protocol):
    """Live CPU and memory of containers that are looked at."""

    def stats(self, ref: Ref) -> AsyncGenerator[Sample, None]:
        """About one sample a second until closed."""
        ...


@runtime_checkable
class Writes(Protocol):
    """Plans and makes single writes."""

    def verbs(self, kind: str) -> tuple[str, ...]:
        """Which intents can be planned for objects of this kind."""
        ...

    async def plan(self, intent: Intent) -> Plan:
        """Read the world and say what would be done; raises :class:`console.errors.Refused` with the reason if unlawful."""
        ...

    async def execute(self, step: PlanStep) -> str:
        """Make one write, once, under its precondition; returns what the server said in a few words.

        Raises ``WorldMoved`` (precondition failed), ``UnclearAnswer`` (may have happened) or the server's refusal.
        """
        ...

    async def applied(self, step: PlanStep) -> bool | None:
        """After an unclear answer: read, and say whether the write is there (None: can't be told)."""
        ...

    async def observe(self, plan: Plan) -> tuple[bool, str]:
        """Whether the effect of the executed plan is complete, and what it waits for now, in words. Raises if it failed."""
        ...


@runtime_checkable
class Resolves(Protocol):
    """What writes, and knows verbs that it does not offer any more once they have had their effect.

    ``resolves``: verbs of which it can still tell whether a write arrived.
    """

    resolves: tuple[str, ...]


@runtime_checkable
class ShowsPhases(Protocol):
    """What writes, and can tell the phases that a step goes through on the other side.

    ``look_seconds``: how often it is worth looking, so that no phase passes unseen.
    """

    look_seconds: float

    def phases(self, step: PlanStep) -> tuple[StepView, ...]:
        """Those of ``step`` as they were at the last look, in order; nothing is read. Empty for a step without any."""
        ...


@runtime_checkable
class TakesUp(Protocol):
    """What writes for an engine that, after a restart, by itself goes on with what an earlier process left under way."""

    def takes_up(self, plan: Plan) -> bool:
        """Whether the effect of ``plan`` is being followed here now."""
        ...


class StepLog(Protocol):
    """What a writer that orders its own steps tells of them: on the disk first, then to the screen."""

    operation: str
    """The id of the operation in the journal."""
    stopping: asyncio.Event
    """Set once nothing new may begin: cancelled, or the journal failed."""

    async def begin(self, key: str) -> None:
        """Must be awaited before every call of a step leaves. Raises ``JournalError``: then the call must not be made."""
        ...

    async def again(self, key: str, error: str, pause: float) -> None:
        """The try failed with this error, and another follows after so many seconds."""
        ...

    def waits(self, key: str, what: str) -> None:
        """What a begun step waits for now, in words."""
        ...

    async def end(self, key: str, state: State, detail: str = "") -> None:
        """How a step ended. One that was begun and is never ended is resolved by :meth:`Writes.applied`."""
        ...


@runtime_checkable
class RunsPlans(Protocol):
    """Runs a whole plan in its own order, for a writer whose engine has one: retries, parallel work and gates are its own."""

    async def run(self, plan: Plan, log: StepLog) -> None:
        """Make the plan's writes, telling ``log`` of each; returns when nothing is under way any more.

        A step that fails is told, not raised. Raises what keeps the plan as a whole from being run, ``WorldMoved`` above all.
        """
        ...


class Guest(Protocol):
    """Brings objects that no connection's backend reports, and what writes to them."""

    def show(self, emit: Emit) -> None:
        """Emit all objects now, and every change from now on."""
        ...

    def writer(self, ref: Ref) -> object | None:
        """What writes to this object; None if it isn't one of these."""
        ...
