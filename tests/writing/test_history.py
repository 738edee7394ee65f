"""Operations of other processes: what a crash left is read, colleagues are seen, the past is shown."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from console.errors import Refused
from console.journal.journal import Journal
from console.journal.records import Who
from console.model.operations import Operation, State
from console.model.plan import Plan
from console.model.resource import Upserted
from console.runtime.history import History, others_on
from console.runtime.presence import Presence
from console.runtime.store import Store
from tests.writing.world import World, desk, scale


@asynccontextmanager
async def following(history: History) -> AsyncIterator[None]:
    task = asyncio.create_task(history.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(store: Store, holds: Callable[[], bool]) -> None:
    changed = asyncio.Event()
    unsubscribe = store.subscribe({"Operation"}, lambda _: changed.set())
    try:
        async with asyncio.timeout(30):
            while not holds():
                await changed.wait()
                changed.clear()
    finally:
        unsubscribe()


def operations(store: Store) -> list[Operation]:
    return [found for found in store.of("Operation").values() if isinstance(found, Operation)]


async def test_what_a_crash_left_is_ended_truthfully_once_its_target_answers(tmp_path: Path) -> None:
    world, store = World(), Store()
    async with desk(tmp_path, world) as at:
        plan = await at.commands.plan(scale(world, "web"))
        identity = await at.journal.begin(plan, "")
        await at.journal.step_started(identity, "web", "call")
        await world.execute(plan.steps[0])
        history = History(at.journal, store, world.writers, lambda: ())
        store.apply(Upserted(world.connected))
        async with following(history):
            await until(store, lambda: [found.state for found in operations(store)] == [State.SUCCEEDED])
        assert await at.journal.unfinished() == ()


class Spent(World):
    """A world whose verb is not offered any more once it has had its effect."""

    resolves = ("scale",)
    spent = False

    def verbs(self, kind: str) -> tuple[str, ...]:
        return () if self.spent else super().verbs(kind)


async def test_what_is_offered_no_more_because_it_was_done_is_still_told(tmp_path: Path) -> None:
    world, store = Spent(), Store()
    async with desk(tmp_path, world) as at:
        plan = await at.commands.plan(scale(world, "web"))
        identity = await at.journal.begin(plan, "")
        await at.journal.step_started(identity, "web", "call")
        await world.execute(plan.steps[0])
        world.spent = True
        history = History(at.journal, store, world.writers, lambda: ())
        store.apply(Upserted(world.connected))
        async with following(history):
            await until(store, lambda: [found.state for found in operations(store)] == [State.SUCCEEDED])


class Followed(World):
    """A world whose engine goes on with everything after a restart; `bad` is how it says that it ended badly."""

    bad = ""

    def takes_up(self, plan: Plan) -> bool:
        return True

    async def observe(self, plan: Plan) -> tuple[bool, str]:
        if self.bad:
            raise Refused(self.bad)
        return await super().observe(plan)


@pytest.mark.looptime
@pytest.mark.parametrize(("bad", "end"), [("", State.SUCCEEDED), ("It was not applied.", State.FAILED)])
async def test_what_an_engine_took_up_again_is_shown_as_waiting_until_its_end(bad: str, end: State, tmp_path: Path) -> None:
    world, store = Followed(), Store()
    world.healthy = False
    async with desk(tmp_path, world) as at:
        plan = await at.commands.plan(scale(world, "web"))
        identity = await at.journal.begin(plan, "")
        await at.journal.step_started(identity, "web", "call")
        await world.execute(plan.steps[0])
        store.apply(Upserted(world.connected))
        async with following(History(at.journal, store, world.writers, lambda: ())):
            await until(store, lambda: [found.waiting_for for found in operations(store)] == ["1 of 4 tasks"])
            assert {found.state for found in operations(store)} == {State.WAITING}
            world.healthy, world.bad = True, bad
            await until(store, lambda: {found.state for found in operations(store)} == {end})
        assert await at.journal.unfinished() == ()


async def test_an_operation_in_doubt_is_shown_as_interrupted_while_its_target_is_away(tmp_path: Path) -> None:
    world, store = World(), Store()
    async with desk(tmp_path, world) as at:
        await at.journal.begin(await at.commands.plan(scale(world, "web")), "")
        async with following(History(at.journal, store, world.writers, lambda: ())):
            await until(store, lambda: [found.state for found in operations(store)] == [State.INTERRUPTED])
        assert len(await at.journal.unfinished()) == 1, "nothing is decided without reading"


async def test_a_reader_sees_what_the_holder_of_the_lease_writes(tmp_path: Path) -> None:
    world, store = World(), Store()
    async with desk(tmp_path, world) as at:
        reader = await Journal.open(at.journal.path, at.clock, Who(user="ops"))
        try:
            async with following(History(reader, store, world.writers, lambda: ())):
                identity = await at.journal.begin(await at.commands.plan(scale(world, "web")), "")
                await until(store, lambda: [found.state for found in operations(store)] == [State.RUNNING])
                await at.journal.end(identity, State.FAILED, "no answer")
                await until(store, lambda: [found.state for found in operations(store)] == [State.FAILED])
        finally:
            await reader.close()


async def test_consoles_of_several_people_see_each_others_running_operations(tmp_path: Path) -> None:
    world, store = World(), Store()
    async with desk(tmp_path, world) as at:
        plan = await at.commands.plan(scale(world, "web"))
        await at.commands.wait(await at.commands.run(plan))
        colleague = Presence(tmp_path, Who(user="second", host="bastion", pid=os.getppid()))
        assert colleague.tell([at.shown[0]]) == ""
        mine = Presence(tmp_path, Who(user="ops", host="bastion", pid=os.getpid()))
        async with following(History(at.journal, store, world.writers, lambda: (), mine)):
            await until(store, lambda: any(found.origin == "console" for found in operations(store)))
            assert others_on(store, world.ref("web")) == "second@bastion runs scale on web now."


def test_files_of_dead_processes_and_odd_files_are_passed_over(tmp_path: Path) -> None:
    me = Presence(tmp_path, Who(user="ops", host="bastion", pid=os.getpid()))
    dead = Presence(tmp_path, Who(user="gone", host="bastion", pid=2**22 + 1))
    assert dead.tell([]) == ""
    (tmp_path / "odd.json").write_text('{"who": 1')
    (tmp_path / "link.json").symlink_to("/etc/hostname")
    os.mkfifo(tmp_path / "pipe.json")
    assert me.others() == ()


def test_a_folder_that_is_not_there_costs_company_and_says_so(tmp_path: Path) -> None:
    presence = Presence(tmp_path / "absent", Who(user="ops", host="bastion", pid=os.getpid()))
    assert "Colleagues can't see this console" in presence.tell([])
    assert presence.others() == ()
    presence.leave()


@pytest.mark.parametrize("kept", [True, False])
def test_a_console_that_leaves_takes_its_file_away(tmp_path: Path, kept: bool) -> None:
    presence = Presence(tmp_path, Who(user="ops", host="bastion", pid=os.getpid()))
    presence.tell([])
    if not kept:
        presence.leave()
    assert bool(list(tmp_path.glob("*.json"))) is kept
