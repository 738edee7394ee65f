"""A process that plans and runs one write, and kills itself (-9) at a chosen point: `python -m tests.crash.child ORDER`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from console.backends.docker import DockerBackend
from console.backends.kubernetes import KubernetesBackend
from console.config.fleet import Entry, Fleet
from console.journal.journal import Journal
from console.journal.records import Who
from console.kit.timing import SystemClock
from console.model.connections import Connection, Phase
from console.model.operations import Operation, State, StepView
from console.model.plan import Intent, Plan
from console.model.refs import Ref
from console.runtime.arming import Arming
from console.runtime.commands import Commands
from console.runtime.discovery import discover

Live = DockerBackend | KubernetesBackend


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What to do: an intent on the target that `env` and `entry` describe, journaled in `state`, dying at `point`."""

    env: dict[str, str]
    entry: Entry
    state: str
    intent: Intent
    point: str = ""


class Reach:
    """One backend, connected, as the write path sees it."""

    def __init__(self, name: str, backend: Live) -> None:
        self.backend = backend
        self._connection = Connection(ref=Ref(name, "Connection", "", name), phase=Phase.LIVE)

    def connection(self, name: str) -> Connection | None:
        return self._connection

    def writers(self, ref: Ref) -> tuple[object, ...]:
        return (self.backend,)


@asynccontextmanager
async def reached(env: dict[str, str], entry: Entry, ref: Ref | None) -> AsyncIterator[Reach]:
    """Connect to the one target; the kind of `ref` (that of an object which is there) is known then."""
    (target,) = discover({"HOME": "/nonexistent", **env}, Fleet(discover="listed", connections=(entry,))).targets
    backend = target.make_backend()
    assert isinstance(backend, Live)
    try:
        await backend.connect()
        if ref is not None:
            await backend.raw(ref)
        yield Reach(entry.name, backend)
    finally:
        await backend.close()


class FragileJournal(Journal):
    """A journal whose process is killed before or after one of its writes."""

    point = ""

    async def begin(self, plan: Plan, why: str, **more: Any) -> str:
        self._die("before begin")
        identity = await super().begin(plan, why, **more)
        self._die("after begin")
        return identity

    async def step_started(self, operation: str, step: str, request: str) -> None:
        self._die("before step_started")
        await super().step_started(operation, step, request)
        self._die("after step_started")

    async def step_ended(self, operation: str, step: str, state: State, detail: str, seconds: float | None) -> None:
        self._die("before step_ended")
        await super().step_ended(operation, step, state, detail, seconds)
        self._die("after step_ended")

    async def end(self, operation: str, state: State, message: str, phases: tuple[StepView, ...] = ()) -> None:
        self._die("before end")
        await super().end(operation, state, message, phases)
        self._die("after end")

    def _die(self, here: str) -> None:
        if here == self.point:
            os.kill(os.getpid(), signal.SIGKILL)


async def journal_at(folder: str) -> FragileJournal:
    """The journal in a folder, with its lease."""
    journal = await FragileJournal.open(Path(folder) / "journal.sqlite3", SystemClock(), Who(user="ops", host="bastion"))
    assert isinstance(journal, FragileJournal)
    return journal


def commands_on(reach: Reach, journal: Journal, observe_seconds: float = 60) -> Commands:
    """The write path, armed for the target of `reach`."""
    arming = Arming(SystemClock())
    connection = reach.connection("")
    assert connection is not None
    arming.arm(connection.ref.name)
    return Commands(reach, journal, arming, SystemClock(), _nobody, observe_seconds=observe_seconds)


async def carry_out(order: Order) -> State:
    """Plan, confirm and run to the end, or die on the way."""
    journal = await journal_at(order.state)
    journal.point = order.point
    try:
        async with reached(order.env, order.entry, order.intent.targets[0]) as reach:
            commands = commands_on(reach, journal)
            try:
                return await commands.wait(await commands.run(await commands.plan(order.intent)))
            finally:
                await commands.close()
    finally:
        await journal.close()


def _nobody(operation: Operation) -> None:
    return None


if __name__ == "__main__":
    print(asyncio.run(carry_out(msgspec.json.decode(sys.argv[1], type=Order))).value)
