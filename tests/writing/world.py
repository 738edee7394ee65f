"""A target by shape for tests of the write path: objects with a version and a value, and faults on demand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from console.errors import Conflict, NotFound, QuarterdeckError, UnclearAnswer, Unreachable, WorldMoved
from console.journal.journal import Journal
from console.journal.records import Who
from console.kit.timing import Clock, LoopClock
from console.model.connections import Connection, Phase
from console.model.operations import Operation
from console.model.plan import FieldChange, Intent, Plan, PlanStep
from console.model.refs import Ref
from console.runtime.arming import Arming
from console.runtime.commands import Commands

NAME = "harbour"


class World:
    """Named values behind versions; ``calls`` is what really arrived."""

    def __init__(self) -> None:
        self.values = {"web": 2, "db": 1, "cache": 1}
        self.versions = dict.fromkeys(self.values, 7)
        self.uids = {name: f"uid-{name}" for name in self.values}
        self.calls: list[tuple[str, int]] = []
        self.faults: list[QuarterdeckError] = []
        self.lose_answers = 0
        self.drop_writes = 0
        self.blind = 0
        self.gate: asyncio.Event | None = None
        self.entered = asyncio.Event()
        self.healthy = True
        self.connected = Connection(ref=Ref(NAME, "Connection", "", NAME), phase=Phase.LIVE)

    def ref(self, name: str) -> Ref:
        return Ref(NAME, "SwarmService", "", name, self.uids[name])

    def connection(self, name: str) -> Connection | None:
        return self.connected if name == NAME else None

    def writers(self, ref: Ref) -> tuple[object, ...]:
        return (self,) if ref.connection == NAME else ()

    def verbs(self, kind: str) -> tuple[str, ...]:
        return ("scale",) if kind == "SwarmService" else ()

    async def plan(self, intent: Intent) -> Plan:
        steps, undo = [], None
        wanted = int(intent.arguments["replicas"])
        for ref in intent.targets:
            if ref.name not in self.values or self.uids[ref.name] != ref.uid:
                raise NotFound(f"{ref.name} is gone.")
            before = self.values[ref.name]
            if before == wanted:
                continue
            undo = Intent(verb="scale", targets=intent.targets, arguments={"replicas": str(before)})
            steps.append(
                PlanStep(
                    key=ref.name,
                    title=f"Scale {ref.name}",
                    ref=ref,
                    precondition={"version": str(self.versions[ref.name])},
                    changes=(FieldChange(path="replicas", before=str(before), after=str(wanted)),),
                    request={"replicas": wanted},
                )
            )
        return Plan(intent=intent, steps=tuple(steps), undo=undo, nothing="" if steps else f"all have {wanted} replicas")

    async def execute(self, step: PlanStep) -> str:
        self.entered.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.faults:
            raise self.faults.pop(0)
        if step.precondition["version"] != str(self.versions[step.ref.name]):
            raise WorldMoved(f"{step.ref.name} was changed by somebody else.")
        if self.drop_writes:
            self.drop_writes -= 1
            raise self._unclear()
        self.values[step.ref.name] = int(str(step.request["replicas"]))
        self.versions[step.ref.name] += 1
        self.calls.append((step.ref.name, self.values[step.ref.name]))
        if self.lose_answers:
            self.lose_answers -= 1
            raise self._unclear()
        return "accepted"

    async def applied(self, step: PlanStep) -> bool | None:
        if self.blind:
            self.blind -= 1
            raise Unreachable("No route to the target.")
        return self.values[step.ref.name] == step.request["replicas"]

    async def observe(self, plan: Plan) -> tuple[bool, str]:
        return (True, "all replicas run") if self.healthy else (False, "1 of 4 tasks")

    def _unclear(self) -> QuarterdeckError:
        return UnclearAnswer("The connection broke before the answer came.")

    def conflict(self) -> Conflict:
        return Conflict("409: the object has been modified.", status=409)


def scale(world: World, *names: str, to: int = 4) -> Intent:
    return Intent(verb="scale", targets=tuple(world.ref(name) for name in names), arguments={"replicas": str(to)})


class Desk:
    """The write path over a world and a journal on disk; ``shown`` is every picture that was published."""

    def __init__(self, commands: Commands, journal: Journal, world: World, shown: list[Operation], clock: Clock) -> None:
        self.commands = commands
        self.journal = journal
        self.world = world
        self.shown = shown
        self.clock = clock


@asynccontextmanager
async def desk(folder: Path, world: World, *, arm: bool = True, observe_seconds: float = 60) -> AsyncIterator[Desk]:
    clock = LoopClock(datetime(2026, 3, 1, 12, tzinfo=UTC))
    journal = await Journal.open(folder / "journal.db", clock, Who(user="ops", host="bastion"))
    shown: list[Operation] = []
    arming = Arming(clock)
    commands = Commands(world, journal, arming, clock, shown.append, observe_seconds=observe_seconds)
    if arm:
        arming.arm(NAME)
    try:
        yield Desk(commands, journal, world, shown, clock)
    finally:
        await commands.close()
        await journal.close()
