"""What an engine is asked, and how often; what fails alone and what ends the connection. In virtual time."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from console.errors import Forbidden, Interrupted, Overloaded, TimedOut, Unreachable
from console.model.connections import Identity
from console.model.docker import Container
from console.model.health import Health
from tests.backends.scripted_engine import Engine, watched
from tests.backends.swarm_json import Json, service, task

pytestmark = pytest.mark.looptime

NO_LEADER = Overloaded("The swarm does not have a leader.", status=503)


def happened(kind: str, action: str, identity: str = "x", **attributes: str) -> Json:
    now = time.time_ns()
    return {
        "Type": kind,
        "Action": action,
        "Actor": {"ID": identity, "Attributes": attributes},
        "timeNano": now,
        "scope": "local",
    }


def container(name: str = "web", state: str = "running") -> Json:
    return {"Id": f"id-{name}", "Names": [f"/{name}"], "Image": "web:2", "State": state, "Status": "Up 3 hours", "Created": 1}


async def test_everything_is_read_once_and_then_only_tasks_now_and_then() -> None:
    engine = Engine()
    engine.answers |= {"/services": [service()], "/tasks": [task()]}
    async with watched(engine) as it:
        await asyncio.sleep(5)
        assert it.identity == Identity("swarm-1", ("swarm", "host"), "Docker 20.10.24 on n1")
        assert set(engine.asked.values()) == {1}
        assert {it.state(kind) for kind in it.backend.kinds} == {"listed"}
        await asyncio.sleep(600)
        assert engine.asked["/services"] <= 12
        assert engine.asked["/containers/json"] <= 12
        assert engine.asked["/tasks"] <= 75


async def test_an_event_causes_one_reading_of_what_it_made_old() -> None:
    engine = Engine()
    async with watched(engine) as it:
        await asyncio.sleep(5)
        before = engine.asked.copy()
        engine.answers["/configs"] = [{"ID": "c1", "Spec": {"Name": "conf"}}]
        engine.happens(happened("config", "create", "c1", name="conf"))
        await asyncio.sleep(1)
        assert it.names("SwarmConfig") == ["conf"]
        assert {path for path, count in engine.asked.items() if count > before[path]} == {"/configs"}
        assert it.names("Event")


async def test_events_of_the_past_are_shown_and_cause_nothing() -> None:
    engine = Engine()
    async with watched(engine) as it:
        await asyncio.sleep(5)
        old = happened("container", "die", name="web", exitCode="1")
        engine.happens(old | {"timeNano": old["timeNano"] - 600 * 10**9})
        await asyncio.sleep(2)
        assert engine.asked["/containers/json"] == 1
        assert len(it.store.of("Event")) == 1


async def test_a_container_is_inspected_when_it_changed_and_not_again() -> None:
    engine = Engine(manager=False)
    engine.answers["/containers/json"] = [container()]
    engine.answers["/containers/id-web/json"] = {"Id": "id-web", "State": {"Status": "running"}, "RestartCount": 1}
    async with watched(engine) as it:
        await asyncio.sleep(200)
        assert engine.asked["/containers/id-web/json"] == 1
        engine.answers["/containers/id-web/json"] = {"Id": "id-web", "State": {"Status": "running"}, "RestartCount": 2}
        engine.happens(happened("container", "restart", "id-web", name="web"))
        await asyncio.sleep(1)
        (row,) = it.store.of("Container").values()
        assert isinstance(row, Container)
        assert row.restarts == 2


async def test_an_engine_without_a_swarm_is_never_asked_for_one() -> None:
    engine = Engine(manager=False)
    async with watched(engine) as it:
        await asyncio.sleep(300)
        assert it.identity == Identity("engine-1", ("host",), "Docker 20.10.24 on n1")
        assert not {"/services", "/tasks", "/nodes", "/configs", "/secrets"} & set(engine.asked)
        assert (it.state("Stack"), it.state("Container"), it.state("Operation")) == ("not served", "listed", "listed")


@pytest.mark.parametrize("error", [NO_LEADER, TimedOut("no answer within 30 s"), 1000.0])
async def test_a_swarm_that_cannot_be_read_does_not_touch_the_host(error: Any) -> None:
    engine = Engine()
    engine.answers |= {"/services": [service()], "/tasks": [task()], "/containers/json": [container()]}
    engine.answers["/containers/id-web/json"] = {"Id": "id-web", "State": {"Status": "running"}}
    async with watched(engine) as it:
        await asyncio.sleep(5)
        for path in ("/services", "/tasks", "/nodes", "/configs", "/secrets", "/networks"):
            engine.answers[path] = error
        await asyncio.sleep(30)
        engine.answers["/containers/json"] = [container(), container("new")]
        engine.answers["/containers/id-new/json"] = {"Id": "id-new", "State": {"Status": "running"}}
        engine.happens(happened("container", "start", "id-new", name="new"))
        await asyncio.sleep(2)
        assert it.names("Container") == ["new", "web"]
        if isinstance(error, Exception):
            assert it.state("SwarmService") == "failed"
            (stack,) = it.store.of("Stack").values()
            assert stack.health is Health.UNKNOWN
        assert not it.task.done()


async def test_a_manager_without_a_quorum_has_an_unknown_identity_not_another_one() -> None:
    engine = Engine()
    engine.answers["/info"] = {"ID": "engine-1", "Swarm": {"ControlAvailable": True, "Error": "no leader"}}
    async with watched(engine) as it:
        await asyncio.sleep(1)
        assert it.identity is not None
        assert it.identity.uid == ""


async def test_what_a_socket_proxy_forbids_is_restricted_and_left_alone() -> None:
    engine = Engine()
    engine.answers["/secrets"] = Forbidden("access to /secrets is denied")
    async with watched(engine) as it:
        await asyncio.sleep(600)
        assert it.state("SwarmSecret") == "restricted"
        assert it.state("SwarmConfig") == "listed"
        assert engine.asked["/secrets"] <= 6


@pytest.mark.parametrize("path", ["/containers/json", "/services"])
async def test_an_unreachable_engine_ends_the_watch(path: str) -> None:
    engine = Engine()
    engine.answers[path] = Unreachable("refused")
    async with watched(engine) as it:
        await asyncio.wait({it.task}, timeout=5)
        with pytest.raises(Unreachable):
            it.task.result()


async def test_a_broken_event_stream_ends_the_watch_and_a_second_one_begins_with_everything() -> None:
    engine = Engine()
    async with watched(engine) as it:
        await asyncio.sleep(5)
        engine.happens(Interrupted("reset by peer"))
        await asyncio.wait({it.task}, timeout=5)
        with pytest.raises(Interrupted):
            it.task.result()
        engine.answers["/volumes"] = {"Volumes": [{"Name": "data"}]}
        it.task = asyncio.create_task(it.backend.watch(it.store.apply, lambda: None))
        await asyncio.sleep(1)
        assert it.names("Volume") == ["data"]


async def test_an_engine_that_joins_a_swarm_is_read_anew() -> None:
    engine = Engine(manager=False)
    async with watched(engine) as it:
        await asyncio.sleep(1)
        await it.backend.ping()
        engine.swarm = "active/manager"
        with pytest.raises(Interrupted, match="active/manager"):
            await it.backend.ping()


async def test_a_service_that_crashes_for_ever_does_not_keep_its_manager_busy() -> None:
    engine = Engine()
    engine.answers["/services"] = [service()]
    async with watched(engine):
        for round_number in range(720):
            running = round_number % 2 == 0
            state = "running" if running else "failed"
            engine.answers["/tasks"] = [task(state, err="" if running else "exit 1", uid=f"t{round_number}", age=900)]
            engine.happens(happened("container", "start" if running else "die", f"c{round_number}", name="web"))
            await asyncio.sleep(5)
        assert engine.asked["/tasks"] < 3600 / 4
        assert engine.asked["/services"] < 3600 / 10
