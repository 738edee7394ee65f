"""The life of a connection: phases in virtual time, with a backend that does as the test says."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from console.errors import ConfigError, Interrupted, LoginExpired, Unreachable
from console.kit.supervisor import Supervisor
from console.kit.timing import LoopClock
from console.model.connections import Connection, Identity, Phase
from console.model.health import Health
from console.model.kubernetes import Trigger
from console.model.operations import Operation, State, seen_on
from console.model.refs import Ref
from console.model.resource import KindState, Listed, Removed, Upserted
from console.runtime.connections import Link
from console.runtime.gate import Gate
from console.runtime.identities import Identities
from console.runtime.store import Store
from console.runtime.targets import Target
from tests.runtime.scripted import CLUSTER, Scripted

pytestmark = pytest.mark.looptime

START = datetime(2026, 3, 1, tzinfo=UTC)
OTHER = Identity("uid-2", ("kubernetes",), "Kubernetes v1.37.0")


class World:
    """A store, a gate, and links over scripted backends."""

    def __init__(self, folder: Path | None = None) -> None:
        self.store = Store()
        self.gate = Gate()
        self.identities = Identities(folder)
        self.failures: list[str] = []
        self.supervisor = Supervisor(lambda name, error: self.failures.append(f"{name}: {error}"))

    def link(self, backend: Scripted, name: str = "prod") -> Link:
        return self.linked(lambda: backend, name)

    def linked(self, make: Callable[[], Scripted], name: str = "prod", warning: str = "") -> Link:
        target = Target(name=name, make_backend=make, group="eu", protected=True, warning=warning)
        link = Link(target, self.store, self.gate, self.identities, LoopClock(START), random.Random(7))
        self.supervisor.keep(f"link {name}", link.run)
        return link

    def row(self, name: str = "prod") -> Connection:
        row = self.store.get(Ref(name, "Connection", "", name))
        assert isinstance(row, Connection)
        return row


@asynccontextmanager
async def a_world(folder: Path | None = None) -> AsyncIterator[World]:
    world = World(folder)
    try:
        yield world
    finally:
        await world.supervisor.stop()


def kustomization(name: str = "shop") -> Trigger:
    return Trigger(ref=Ref("prod", "Kustomization", "flux-system", name, f"uid-{name}"))


async def test_a_connection_goes_from_idle_over_connecting_to_live() -> None:
    async with a_world() as world:
        link = world.link(Scripted(1.0))
        assert link.phase is Phase.IDLE
        await asyncio.sleep(0.5)
        assert world.row().phase is Phase.CONNECTING
        await asyncio.sleep(1)
        row = world.row()
        assert (row.phase, row.health, row.server, row.identity) == (Phase.LIVE, Health.OK, "Kubernetes v1.36.2", "uid-1")
        assert (row.group, row.protected, row.endpoint, row.attempts) == ("eu", True, "https://prod.test", 0)


async def test_a_broken_stream_leaves_the_rows_and_says_that_they_are_stale() -> None:
    async with a_world() as world:
        backend = Scripted(CLUSTER, Unreachable("connection refused"))
        world.link(backend)
        await asyncio.sleep(1)
        backend.say(Listed("prod", "Kustomization", (kustomization(),)))
        backend.breaks(Interrupted("reset by peer"))
        await asyncio.sleep(1)
        assert world.row().phase is Phase.STALE
        assert world.row().reason == "reset by peer"
        assert world.store.get(kustomization().ref) is not None
        await asyncio.sleep(22)
        assert world.row().phase is Phase.UNREACHABLE
        assert world.row().reason == "connection refused"
        assert world.store.get(kustomization().ref) is not None
        backend.greetings = [CLUSTER]
        await asyncio.sleep(40)
        assert world.row().phase is Phase.LIVE
        assert backend.watches == 2


async def test_a_watch_that_just_ends_is_a_loss_not_a_finish() -> None:
    async with a_world() as world:
        backend = Scripted()
        world.link(backend)
        await asyncio.sleep(1)
        backend.breaks()
        await asyncio.sleep(0.5)
        assert world.row().phase is Phase.STALE
        assert "ended without a word" in world.row().reason


async def test_silence_while_a_probe_is_due_makes_it_stale_then_unreachable_and_a_word_brings_it_back() -> None:
    async with a_world() as world:
        backend = Scripted()
        world.link(backend)
        await asyncio.sleep(1)
        backend.ping_answers = False
        await asyncio.sleep(9)
        assert world.row().phase is Phase.LIVE
        await asyncio.sleep(4)
        assert world.row().phase is Phase.STALE
        backend.say(Upserted(kustomization()))
        assert world.row().phase is Phase.LIVE
        await asyncio.sleep(31)
        assert world.row().phase is Phase.UNREACHABLE
        backend.ping_answers = True
        await asyncio.sleep(10)
        assert world.row().phase is Phase.LIVE
        assert backend.watches == 2


async def test_an_idle_server_that_answers_probes_stays_live_and_shows_its_latency() -> None:
    async with a_world() as world:
        backend = Scripted()
        world.link(backend)
        await asyncio.sleep(300)
        row = world.row()
        assert row.phase is Phase.LIVE
        assert row.latency == pytest.approx(0.02, abs=0.005)
        assert row.heard is not None
        assert (START.timestamp() + 300) - row.heard.timestamp() < 12
        assert 30 <= backend.pings <= 62


async def test_a_busy_server_is_probed_only_to_measure() -> None:
    async with a_world() as world:
        backend = Scripted()
        world.link(backend)
        await asyncio.sleep(0.1)
        for _ in range(150):
            backend.say()
            await asyncio.sleep(1)
        assert 9 <= backend.pings <= 11


async def test_a_probe_that_fails_on_the_wire_means_the_connection_is_lost() -> None:
    async with a_world() as world:
        backend = Scripted()
        world.link(backend)
        await asyncio.sleep(1)
        backend.ping_error = Unreachable("no route to host")
        backend.greetings = [Unreachable("no route to host")]
        await asyncio.sleep(8)
        assert world.row().phase is Phase.STALE


async def test_an_attempt_has_a_deadline_and_the_pauses_grow_with_jitter() -> None:
    async with a_world() as world:
        backend = Scripted(1000.0)
        world.link(backend)
        await asyncio.sleep(20.5)
        assert world.row().phase is Phase.UNREACHABLE
        assert "20 s" in world.row().reason
        backend.greetings = [Unreachable("refused")]
        await asyncio.sleep(600)
        assert 18 <= backend.attempts <= 32


async def test_an_expired_login_is_said_and_not_asked_for_every_few_seconds() -> None:
    async with a_world() as world:
        backends: list[Scripted] = []

        def make() -> Scripted:
            backends.append(Scripted(LoginExpired("the token expired", "run: tool login") if not backends else CLUSTER))
            return backends[-1]

        link = world.linked(make)
        await asyncio.sleep(40)
        row = world.row()
        assert (row.phase, row.reason, row.hint) == (Phase.LOGIN_EXPIRED, "the token expired", "run: tool login")
        assert len(backends) == 1
        assert backends[0].closed == 1
        link.reconnect()
        assert world.row().phase is Phase.CONNECTING
        await asyncio.sleep(1)
        assert world.row().phase is Phase.LIVE, "a fresh backend has read the credentials again"


async def test_a_target_that_cannot_even_be_made_is_unreachable_with_the_reason() -> None:
    async with a_world() as world:

        def make() -> Scripted:
            raise ConfigError("no such file: /certs/ca.pem", "Check DOCKER_CERT_PATH.")

        world.linked(make)
        await asyncio.sleep(1)
        assert (world.row().phase, world.row().hint) == (Phase.UNREACHABLE, "Check DOCKER_CERT_PATH.")


async def test_another_cluster_under_the_same_name_raises_an_alarm_until_it_is_accepted(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        backend = Scripted()
        world.link(backend)
        await asyncio.sleep(1)
        backend.say(Listed("prod", "Kustomization", (kustomization(),)))
    async with a_world(tmp_path) as world:
        backend = Scripted(OTHER)
        link = world.link(backend)
        world.store.apply(Listed("prod", "Pod", ()))
        world.store.apply(Upserted(kustomization()))
        await asyncio.sleep(1)
        row = world.row()
        assert row.phase is Phase.IDENTITY_CHANGED
        assert row.health is Health.BAD
        assert "uid-2" in row.reason and "uid-1" in row.reason
        assert backend.watches == 0
        link.accept_identity()
        await asyncio.sleep(1)
        assert world.row().phase is Phase.LIVE
        assert not world.store.of("Kustomization"), "rows of the former cluster are not rows of this one"
        assert world.store.kind_state("prod", "Pod").state == "syncing"
    async with a_world(tmp_path) as world:
        world.link(Scripted(OTHER))
        await asyncio.sleep(1)
        assert world.row().phase is Phase.LIVE


async def test_operations_of_a_target_go_with_their_objects_and_those_of_the_journal_stay() -> None:
    async with a_world() as world:
        backend = Scripted()
        world.link(backend)
        await asyncio.sleep(1)
        target = kustomization().ref
        seen = Operation(ref=seen_on(target), target=target, verb="reconcile", state=State.RUNNING)
        ours = Operation(
            ref=Ref("prod", "Operation", "", "o1", "o1"), target=target, verb="suspend", state=State.SUCCEEDED, origin="journal"
        )
        backend.say(Upserted(kustomization()), Upserted(seen), Upserted(ours))
        backend.say(Upserted(kustomization("other")))
        assert set(world.store.of("Operation")) == {seen.ref, ours.ref}
        backend.say(Removed(target))
        assert set(world.store.of("Operation")) == {ours.ref}


async def test_an_identity_that_may_not_be_read_is_neither_remembered_nor_an_alarm(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.link(Scripted(CLUSTER))
        await asyncio.sleep(1)
    async with a_world(tmp_path) as world:
        world.link(Scripted(Identity("", ("kubernetes",), "Kubernetes v1.36.2")))
        await asyncio.sleep(1)
        assert world.row().phase is Phase.LIVE
        assert world.identities.known("prod") == "uid-1"


async def test_restricted_failed_and_polled_kinds_show_in_the_phase() -> None:
    async with a_world() as world:
        backend = Scripted()
        world.link(backend)
        await asyncio.sleep(1)
        backend.say(Listed("prod", "Pod", ()), KindState("prod", "Kustomization", "restricted", "forbidden"))
        assert world.row().phase is Phase.RESTRICTED
        assert "Kustomization" in world.row().reason
        backend.say(KindState("prod", "Kustomization", "failed", "no leader"))
        assert (world.row().phase, world.row().health) == (Phase.LIVE, Health.WARN)
        assert "no leader" in world.row().reason
        assert ("Kustomization", "failed", "no leader") in world.row().kinds
        backend.say(KindState("prod", "Kustomization", "listed", polled=True), KindState("prod", "Pod", "listed", polled=True))
        assert (world.row().phase, world.row().health) == (Phase.POLLING, Health.OK)


async def test_a_warning_about_a_target_stays_while_it_is_live() -> None:
    async with a_world() as world:
        world.linked(Scripted, warning="The certificate is not verified.")
        await asyncio.sleep(100)
        row = world.row()
        assert (row.phase, row.health, row.reason) == (Phase.LIVE, Health.WARN, "The certificate is not verified.")


async def test_at_most_four_connect_at_once_and_dead_ones_do_not_keep_the_others_out() -> None:
    async with a_world() as world:
        backends = [Scripted(2.0, name=f"c{n}") for n in range(10)]
        for n, backend in enumerate(backends):
            world.link(backend, f"c{n}")
        most = 0
        for _ in range(70):
            await asyncio.sleep(0.1)
            most = max(most, sum(backend.connecting for backend in backends))
        assert most == 4
        assert all(world.row(f"c{n}").phase is Phase.LIVE for n in range(10))
    async with a_world() as world:
        for n in range(12):
            world.link(Scripted(1000.0, name=f"dead{n}"), f"dead{n}")
        world.link(Scripted(0.1), "well")
        await asyncio.sleep(16)
        assert world.row("well").phase is Phase.LIVE
        assert world.row("dead3").phase is Phase.CONNECTING


async def test_a_defect_in_a_backend_is_reported_and_its_rows_are_not_called_live() -> None:
    async with a_world() as world:
        backend = Scripted()
        world.link(backend)
        await asyncio.sleep(1)
        backend.breaks(ZeroDivisionError("defect"))
        await asyncio.sleep(0.5)
        assert world.row().phase is Phase.STALE
        assert world.failures == ["link prod: defect"]
        await asyncio.sleep(5)
        assert world.row().phase is Phase.LIVE


async def test_wanted_kinds_reach_the_backend_before_and_after_it_is_made() -> None:
    async with a_world() as world:
        backend = Scripted()
        link = world.link(backend)
        link.want(frozenset({"Pod"}))
        await asyncio.sleep(1)
        assert backend.wanted == {"Pod"}
        link.want(frozenset())
        assert backend.wanted == frozenset()
    assert backend.closed == 1


async def test_unreadable_memory_of_identities_costs_only_the_alarm(tmp_path: Path) -> None:
    (tmp_path / "identities.json").write_text("{half")
    async with a_world(tmp_path) as world:
        world.link(Scripted())
        await asyncio.sleep(1)
        assert world.row().phase is Phase.LIVE
