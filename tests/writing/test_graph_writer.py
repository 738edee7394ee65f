"""The graph engine as a writer of plans: updates, replacements, secrets, and kinds that can't be looked at."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any, ClassVar

import msgspec
import pytest

from console.config.fleet import Fleet
from console.config.settings import Settings
from console.demo.rehearsal import Rehearsal
from console.engines.graph import DesiredGraph, InMemoryStorage, Kind, Kinds, Request, Secret, resource
from console.errors import JournalError, Refused
from console.kit.masking import MASK
from console.kit.timing import LoopClock
from console.model.graph import Intent as Begun
from console.model.operations import State
from console.model.plan import Intent, Plan
from console.model.refs import Ref
from console.runtime.graph_writer import GraphWriter
from console.runtime.ports import Guest, RunsPlans, StepLog, Writes
from console.runtime.runtime import Runtime

REF = Ref("here", "Garden", "", "garden")


class Bed(msgspec.Struct):
    plant: str = ""
    soil: str = ""
    key: Secret = ""


class Beds(Kind[Bed, Bed]):
    input_model = output_model = Bed
    replace_on: ClassVar[frozenset[str]] = frozenset({"soil"})

    def __init__(self) -> None:
        self.there: dict[str, str] = {}

    async def create(self, req: Request[Bed, Bed]) -> Bed:
        self.there[req.id] = req.input.plant
        return req.input

    update = create

    async def delete(self, req: Request[Bed, Bed]) -> None:
        self.there.pop(req.id, None)


class ReadableBeds(Beds):
    async def read(self, req: Request[Bed, Bed]) -> Bed | None:
        return req.input if req.id in self.there else None


class Log:
    """Remembers what a run tells."""

    def __init__(self) -> None:
        self.operation = "o1"
        self.stopping = asyncio.Event()
        self.told: list[tuple[str, str]] = []
        self.full = False

    async def begin(self, key: str) -> None:
        if self.full:
            raise JournalError("The disk is full.")
        self.told.append((key, "begin"))

    async def again(self, key: str, error: str, pause: float) -> None:
        self.told.append((key, "again"))

    def waits(self, key: str, what: str) -> None:
        self.told.append((key, what))

    async def end(self, key: str, state: State, detail: str = "") -> None:
        self.told.append((key, state.value))


def garden(kind: Beds, storage: InMemoryStorage, **wanted: DesiredGraph) -> GraphWriter:
    clock = LoopClock(datetime(2026, 3, 1, 12, tzinfo=UTC))
    return GraphWriter("garden", "Garden", wanted, Kinds({"bed": kind}), storage, clock)


def bed(name: str, **values: Any) -> Any:
    return resource("bed", name, values)


async def planned(writer: GraphWriter, verb: str) -> Plan:
    return await writer.plan(Intent(verb=verb, targets=(REF,)))


async def run(writer: GraphWriter, verb: str) -> list[tuple[str, str]]:
    log = Log()
    await writer.run(await planned(writer, verb), log)
    return log.told


FIRST = DesiredGraph([bed("herbs", plant="mint"), bed("roses", soil="clay"), bed("weeds")])
SECOND = DesiredGraph([bed("herbs", plant="sage"), bed("roses", soil="loam")])


def test_it_has_the_shape_of_what_runs_whole_plans() -> None:
    writer = garden(Beds(), InMemoryStorage())
    assert isinstance(writer, Writes) and isinstance(writer, RunsPlans)
    log: StepLog = Log()
    guest: Guest = Rehearsal("here")
    assert log and guest


@pytest.mark.looptime
async def test_a_change_a_replacement_and_a_delete_are_steps_of_one_plan() -> None:
    kind, storage = Beds(), InMemoryStorage()
    writer = garden(kind, storage, first=FIRST, second=SECOND)
    await run(writer, "first")
    old = next(record.id for record in await storage.list_resources("garden") if record.name == "roses")
    plan = await planned(writer, "second")
    kinds = {step.key: step.kind for step in plan.steps}
    assert kinds == {"bed/herbs": "update", "bed/roses": "update", f"bed/roses {old}": "delete", "bed/weeds": "delete"}
    assert plan.effects[0] == "What is deleted goes last, and only if everything else was made."
    assert plan.undo is None and plan.share == pytest.approx(2 / 4)
    told = await run(writer, "second")
    assert {key for key, word in told if word == "succeeded"} == set(kinds)
    assert [key for key, word in told if word == "begin"][:2] == ["bed/herbs", "bed/roses"]
    assert sorted(kind.there.values()) == ["", "sage"]
    assert (await planned(writer, "second")).nothing == "all of garden is as it should be"


@pytest.mark.looptime
async def test_secrets_are_in_no_plan_and_in_no_record_that_is_shown() -> None:
    storage = InMemoryStorage()
    writer = garden(Beds(), storage, plant=DesiredGraph([bed("safe", plant="fern", key="hunter2")]))
    assert b"hunter2" not in msgspec.json.encode(await planned(writer, "plant"))
    await run(writer, "plant")
    raw = await writer.raw(REF)
    assert raw["resources"][0]["input"]["key"] == MASK
    assert "hunter2" not in str(raw)


@pytest.mark.looptime
@pytest.mark.parametrize(("kind", "told"), [(Beds(), None), (ReadableBeds(), False)])
async def test_only_of_a_kind_that_can_be_looked_at_it_is_said_that_nothing_was_made(kind: Beds, told: bool | None) -> None:
    storage = InMemoryStorage()
    writer = garden(kind, storage, plant=DesiredGraph([bed("herbs")]))
    (step,) = (await planned(writer, "plant")).steps
    await storage.put_intent("garden", Begun(id="1", kind="bed", name="herbs"))
    assert await writer.applied(step) is told
    kind.there["1"] = ""
    assert await writer.applied(step) is (None if told is None else True)


@pytest.mark.looptime
async def test_whether_a_delete_came_through_is_read_as_long_as_it_is_on_record() -> None:
    kind, storage = ReadableBeds(), InMemoryStorage()
    writer = garden(kind, storage, plant=DesiredGraph([bed("herbs")]), clear=DesiredGraph())
    await run(writer, "plant")
    (step,) = (await planned(writer, "clear")).steps
    assert await writer.applied(step) is False
    kind.there.clear()
    assert await writer.applied(step) is True
    await run(writer, "clear")
    assert await writer.applied(step) is True


@pytest.mark.looptime
async def test_what_cannot_be_recorded_is_not_called_and_not_tried_again() -> None:
    kind, log = Beds(), Log()
    writer = garden(kind, InMemoryStorage(), plant=DesiredGraph([bed("herbs")]))
    log.full = True
    await writer.run(await planned(writer, "plant"), log)
    assert kind.there == {}
    assert log.told == [("bed/herbs", "failed")]
    assert asyncio.get_running_loop().time() < 1


async def test_one_plan_is_for_one_graph_and_steps_are_not_made_one_by_one() -> None:
    writer = garden(Beds(), InMemoryStorage(), plant=DesiredGraph([bed("herbs")]))
    with pytest.raises(Refused, match="one graph"):
        await writer.plan(Intent(verb="plant", targets=(REF, REF)))
    with pytest.raises(Refused, match="not offered"):
        await planned(writer, "burn")
    (step,) = (await planned(writer, "plant")).steps
    with pytest.raises(Refused):
        await writer.execute(step)


async def test_a_guest_of_the_runtime_is_shown_written_to_and_read() -> None:
    guest = Rehearsal("here")
    async with Runtime(Settings(), Fleet(), (), guests=(guest,)) as console:
        assert console.store.get(guest.ref) is not None
        assert console.commands.verbs(guest.ref) == ("rehearse", "dismantle")
        assert (await console.raw(guest.ref))["project"] == "shop"
