"""The runtime: what is connected, what is looked at, when things are settled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from console.config.fleet import Fleet
from console.config.settings import Settings
from console.errors import LoginExpired, NotServed, Refused, Unreachable
from console.kit.timing import LoopClock
from console.model.connections import Connection, Phase
from console.model.kubernetes import Event, Pod, Trigger
from console.model.operations import Operation, State
from console.model.refs import Ref
from console.model.resource import KindState, Listed, Upserted
from console.runtime.runtime import Runtime
from console.runtime.targets import Target
from tests.runtime.scripted import Scripted

pytestmark = pytest.mark.looptime

START = datetime(2026, 3, 1, tzinfo=UTC)


def runtime(*names: str, connect: tuple[str, ...] | None = None, **backends: Scripted) -> Runtime:
    def always(backend: Scripted) -> Callable[[], Scripted]:
        return lambda: backend

    targets = [Target(name=name, make_backend=always(backend)) for name, backend in backends.items()]
    targets += [Target(name=name, make_backend=Scripted) for name in names]
    return Runtime(Settings(), Fleet(), targets, clock=LoopClock(START), connect=connect)


def pod(name: str, connection: str = "prod") -> Pod:
    return Pod(ref=Ref(connection, "Pod", "shop", name, f"uid-{name}"))


async def test_only_the_asked_targets_are_connected_until_more_are_asked_for() -> None:
    async with runtime("edge", "prod", connect=("prod",)) as console:
        await asyncio.sleep(1)
        assert [link.phase for link in console.links.values()] == [Phase.IDLE, Phase.LIVE]
        console.connect()
        await asyncio.sleep(1)
        assert [link.phase for link in console.links.values()] == [Phase.LIVE, Phase.LIVE]


async def test_leaving_closes_every_backend() -> None:
    backend = Scripted()
    async with runtime(prod=backend):
        await asyncio.sleep(1)
    assert backend.closed == 1


async def test_a_kind_is_watched_while_somebody_looks_and_a_minute_longer() -> None:
    backend = Scripted()
    async with runtime(prod=backend) as console:
        await asyncio.sleep(1)
        first, second = console.look({"Pod"}), console.look({"Pod"}, ("prod",))
        assert backend.wanted == {"Pod"}
        first()
        first()
        await asyncio.sleep(100)
        assert backend.wanted == {"Pod"}
        second()
        await asyncio.sleep(59)
        assert backend.wanted == {"Pod"}
        await asyncio.sleep(2)
        assert backend.wanted == frozenset()


async def test_settled_waits_for_a_kind_that_is_wanted_after_the_connection_is_live() -> None:
    backend = Scripted()
    async with runtime(prod=backend) as console:
        await asyncio.sleep(1)
        backend.say(Listed("prod", "Kustomization", ()))
        console.look({"Pod"})
        waiting = asyncio.create_task(console.settled({"Pod", "Kustomization"}))
        await asyncio.sleep(3)
        assert not waiting.done()
        backend.say(Listed("prod", "Pod", (pod("web"),)))
        assert await waiting == ()


async def test_settled_does_not_wait_for_kinds_of_other_platforms() -> None:
    async with runtime(prod=Scripted()) as console:
        assert await console.settled({"Stack"}) == ()
        assert asyncio.get_running_loop().time() < 1


async def test_settled_says_what_is_missing_and_why() -> None:
    restricted = Scripted()
    hanging = Scripted(1000.0)
    async with runtime(good=restricted, bad=Scripted(LoginExpired("the token expired")), slow=hanging) as console:
        console.look({"Pod"})
        await asyncio.sleep(1)
        restricted.say(KindState("good", "Pod", "restricted", "may not list pods"))
        began = asyncio.get_running_loop().time()
        states = {state.connection: state for state in await console.settled({"Pod"}, timeout=5)}
        assert asyncio.get_running_loop().time() - began == pytest.approx(5, abs=0.1)
        assert (states["good"].state, states["good"].detail) == ("restricted", "may not list pods")
        assert (states["bad"].state, states["bad"].detail) == ("syncing", "login expired: the token expired")
        assert states["slow"].detail.startswith("connecting")
        absent = await console.settled({"Pod"}, connections=("nowhere",))
        assert "no connection nowhere" in absent[0].detail


async def test_what_a_backend_cannot_do_is_said_not_crashed_on() -> None:
    async with runtime(prod=Scripted(), lost=Scripted(Unreachable("refused"))) as console:
        await asyncio.sleep(1)
        with pytest.raises(NotServed):
            await console.raw(pod("web").ref)
        with pytest.raises(Unreachable, match="refused"):
            await console.raw(pod("web", "lost").ref)
        with pytest.raises(NotServed):
            await anext(console.logs(pod("web").ref))
        assert await console.log_sources(pod("web").ref) == ()
        with pytest.raises(Unreachable):
            await console.raw(pod("web", "nowhere").ref)


async def test_related_objects_events_and_operations_are_found_both_ways() -> None:
    source = Trigger(ref=Ref("prod", "Kustomization", "flux-system", "shop", "u1"))
    trigger = Trigger(
        ref=Ref("prod", "FluxTrigger", "team", "shop", "u2"), applier=Ref("prod", "Kustomization", "flux-system", "shop")
    )
    backend = Scripted()
    backend.kinds = frozenset({"Kustomization", "FluxTrigger", "Event"})
    async with runtime(prod=backend) as console:
        await asyncio.sleep(1)
        for resource in (source, trigger):
            backend.say(Upserted(resource))
        for minutes in (1, 3, 2):
            ref = Ref("prod", "Event", "flux-system", f"e{minutes}", f"e{minutes}")
            backend.say(Upserted(Event(ref=ref, at=START + timedelta(minutes=minutes), about=source.ref)))
        assert console.related(trigger.ref) == (source,)
        assert console.related(source.ref) == (trigger,)
        assert [event.ref.name for event in console.events_about(source.ref)] == ["e3", "e2", "e1"]
        running = Operation(
            ref=Ref("prod", "Operation", "", "a", "a"), target=source.ref, verb="apply", state=State.RUNNING, started=START
        )
        ended = Operation(
            ref=Ref("prod", "Operation", "", "b", "b"),
            target=source.ref,
            verb="apply",
            state=State.FAILED,
            started=START + timedelta(hours=1),
        )
        backend.say(Upserted(ended), Upserted(running))
        assert console.operations_on(source.ref) == (running, ended)


async def test_arming_shows_on_the_connection_until_it_ends() -> None:
    async with runtime(prod=Scripted()) as console:
        await asyncio.sleep(1)
        console.arming.arm("prod", 1)
        assert console.links["prod"].connection.armed_until is not None
        await asyncio.sleep(61)
        assert console.links["prod"].connection.armed_until is None


async def test_a_target_that_the_fleet_file_calls_read_only_cannot_be_armed() -> None:
    target = Target(name="prod", make_backend=Scripted, read_only=True)
    async with Runtime(Settings(), Fleet(), [target], clock=LoopClock(START)) as console:
        with pytest.raises(Refused, match="for good"):
            console.arming.arm("prod")


async def test_with_a_state_folder_there_is_a_journal_and_identities_are_remembered(tmp_path: Path) -> None:
    target = Target(name="prod", make_backend=Scripted)
    async with Runtime(Settings(), Fleet(), [target], clock=LoopClock(START), state=tmp_path) as console:
        await asyncio.sleep(1)
        assert console.journal is not None
    assert "uid-1" in (tmp_path / "identities.json").read_text()


async def test_a_damaged_journal_is_told_at_once_and_forbids_arming_while_reading_goes_on(tmp_path: Path) -> None:
    (tmp_path / "journal.sqlite3").write_text("no database, by no means one, however long one looks at it", encoding="utf-8")
    target = Target(name="prod", make_backend=Scripted)
    async with Runtime(Settings(), Fleet(), [target], clock=LoopClock(START), state=tmp_path) as console:
        await asyncio.sleep(1)
        assert "is damaged" in console.only_reads and "Move it away" in console.only_reads
        with pytest.raises(Refused, match="is damaged"):
            console.arming.arm("prod")
        (connection,) = console.store.of("Connection").values()
        assert isinstance(connection, Connection) and connection.phase.fresh
