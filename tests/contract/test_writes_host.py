"""Starting, stopping and restarting containers through the write path; simulated and real alike."""

from __future__ import annotations

from typing import Any

import pytest

from console.errors import Refused
from console.model.operations import State
from console.model.plan import Intent
from console.model.refs import Ref
from console.runtime.refusals import MovedOn
from tests.contract.write_desk import Engine, Object, host_engine

__all__ = ["host_engine"]


async def container(engine: Engine, name: str, *, start: bool = True, **body: Any) -> Ref:
    identity = await engine.dock.container(name, start=start, **{"StopTimeout": 2, **body})
    return Ref("engine", "Container", "", name, identity)


async def state(engine: Engine, ref: Ref) -> Object:
    found: Object = (await engine.dock.get(f"/containers/{ref.uid}/json"))["State"]
    return found


async def test_a_container_is_stopped_and_started_again_by_undo(host_engine: Engine) -> None:
    ref = await container(host_engine, "write-stop")
    record = await host_engine.desk.do("stop", ref)
    assert (record.state, record.message) == (State.SUCCEEDED, "write-stop is stopped")
    assert (await state(host_engine, ref))["Status"] == "exited"
    undone = await host_engine.desk.undo(ref)
    assert (undone.state, undone.undo_of) == (State.SUCCEEDED, record.id)
    assert (await state(host_engine, ref))["Running"]
    assert host_engine.desk.tap.writes == 2


async def test_a_restart_starts_the_same_container_once_more(host_engine: Engine) -> None:
    ref = await container(host_engine, "write-restart")
    before = await state(host_engine, ref)
    record = await host_engine.desk.do("restart", ref)
    after = await state(host_engine, ref)
    assert (record.state, record.undo, host_engine.desk.tap.writes) == (State.SUCCEEDED, None, 1)
    assert after["Running"]
    assert after["StartedAt"] != before["StartedAt"]


async def test_a_restart_whose_answer_is_lost_is_seen_to_have_happened(host_engine: Engine) -> None:
    ref = await container(host_engine, "write-lost")
    host_engine.desk.tap.mode = "cut after"
    record = await host_engine.desk.do("restart", ref)
    assert record.state is State.SUCCEEDED
    assert "the answer was lost; reading shows that the write arrived" in record.steps[0].detail
    assert host_engine.desk.tap.writes == 1


async def test_a_stop_that_never_arrived_is_a_failure(host_engine: Engine) -> None:
    ref = await container(host_engine, "write-never", StopTimeout=0)
    host_engine.desk.tap.mode = "cut before"
    record = await host_engine.desk.do("stop", ref)
    assert record.state is State.FAILED
    assert "the write did not arrive" in record.message
    assert (await state(host_engine, ref))["Running"]


async def test_a_container_made_again_under_its_name_is_another_one(host_engine: Engine) -> None:
    ref = await container(host_engine, "write-again")
    plan = await host_engine.desk.commands.plan(Intent(verb="stop", targets=(ref,)))
    assert (await host_engine.dock.client.delete(f"/containers/{ref.uid}", params={"force": "1"})).status_code == 204
    await container(host_engine, "write-again")
    with pytest.raises(Refused, match="write-again is gone"):
        await host_engine.desk.run(plan)
    assert host_engine.desk.tap.writes == 0


async def test_a_container_that_somebody_stopped_meanwhile_needs_a_new_plan(host_engine: Engine) -> None:
    ref = await container(host_engine, "write-moved")
    commands = host_engine.desk.commands
    restart = await commands.plan(Intent(verb="restart", targets=(ref,)))
    stop = await commands.plan(Intent(verb="stop", targets=(ref,)))
    assert (await host_engine.dock.client.post(f"/containers/{ref.uid}/stop")).status_code == 204
    with pytest.raises(MovedOn, match="State is exited now, it was running"):
        await commands.run(restart)
    with pytest.raises(MovedOn, match="it is stopped already"):
        await commands.run(stop)
    assert host_engine.desk.tap.writes == 0


async def test_what_does_not_start_is_told_with_the_engines_words(host_engine: Engine) -> None:
    ports: Object = {"ExposedPorts": {"80/tcp": {}}, "HostConfig": {"PortBindings": {"80/tcp": [{"HostPort": "18080"}]}}}
    await container(host_engine, "write-first", **ports)
    ref = await container(host_engine, "write-second", start=False, **ports)
    record = await host_engine.desk.do("start", ref)
    assert record.state is State.FAILED
    assert "port is already allocated" in record.message


async def test_a_container_with_rm_is_gone_when_it_stops_and_that_is_no_failure(host_engine: Engine) -> None:
    ref = await container(host_engine, "write-rm", HostConfig={"AutoRemove": True})
    record = await host_engine.desk.do("stop", ref)
    assert record.state is State.SUCCEEDED, record.message
    assert record.undo is None

    async def gone() -> bool:
        return (await host_engine.dock.client.get(f"/containers/{ref.uid}/json")).status_code == 404

    await host_engine.dock.until(gone)
