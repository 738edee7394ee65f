"""Writing to a swarm through the write path: planned, made once, observed, journaled, undone; simulated and real alike."""

from __future__ import annotations

from typing import Any

import pytest

from console.errors import Refused
from console.model.operations import State
from console.model.plan import Intent, Strength
from console.model.refs import Ref
from console.runtime.refusals import MovedOn
from tests.contract.write_desk import Engine, Object, swarm_engine

__all__ = ["swarm_engine"]


async def deployed(engine: Engine, name: str, replicas: int = 1) -> Ref:
    """A service that sleeps, with all its tasks running."""
    made = await engine.dock.client.post("/services/create", json=engine.dock.service(name, replicas))
    assert made.status_code == 201, made.text

    async def runs() -> bool:
        return len(await engine.dock.tasks(name)) == replicas

    await engine.dock.until(runs)
    return Ref("engine", "SwarmService", "", name, made.json()["ID"])


async def service(engine: Engine, ref: Ref) -> Object:
    found: Object = await engine.dock.get(f"/services/{ref.uid}")
    return found


def replicas(obj: Object) -> int:
    count: int = obj["Spec"]["Mode"]["Replicated"]["Replicas"]
    return count


async def test_a_service_is_scaled_once_and_scaled_back_by_undo(swarm_engine: Engine) -> None:
    ref = await deployed(swarm_engine, "write-scale")
    with pytest.raises(Refused, match="no previous specification"):
        await swarm_engine.desk.do("rollback", ref)
    with pytest.raises(Refused, match="'many' is no number"):
        await swarm_engine.desk.do("scale", ref, replicas="many")
    record = await swarm_engine.desk.do("scale", ref, replicas="3")
    assert (record.state, record.message) == (State.SUCCEEDED, "write-scale: 3 of 3 tasks run")
    assert (replicas(await service(swarm_engine, ref)), swarm_engine.desk.tap.writes) == (3, 1)
    assert len(await swarm_engine.dock.tasks("write-scale")) == 3
    undone = await swarm_engine.desk.undo(ref)
    assert (undone.state, undone.undo_of) == (State.SUCCEEDED, record.id)
    assert (replicas(await service(swarm_engine, ref)), swarm_engine.desk.tap.writes) == (1, 2)
    with pytest.raises(Refused, match="can be undone"):
        await swarm_engine.desk.undo(Ref("engine", "Operation", "", "", record.id))


async def test_what_changed_since_the_plan_is_named_and_nothing_is_written(swarm_engine: Engine) -> None:
    ref = await deployed(swarm_engine, "write-moved")
    commands = swarm_engine.desk.commands
    plan = await commands.plan(Intent(verb="scale", targets=(ref,), arguments={"replicas": "3"}))
    other = await service(swarm_engine, ref)
    other["Spec"]["Mode"]["Replicated"]["Replicas"] = 2
    assert (await swarm_engine.dock.update(other)).status_code == 200
    with pytest.raises(MovedOn, match=r"write-moved: Spec\.Mode\.Replicated\.Replicas is 2 now, it was 1") as caught:
        await commands.run(plan)
    assert caught.value.fresh.steps[0].changes[0].before == "2"

    async def meddle() -> None:
        moved = await service(swarm_engine, ref)
        moved["Spec"]["Labels"] = {"changed": "meanwhile"}
        assert (await swarm_engine.dock.update(moved)).status_code == 200

    swarm_engine.desk.tap.before_write = meddle
    record = await swarm_engine.desk.do("scale", ref, replicas="3")
    assert record.state is State.FAILED
    assert "changed by somebody else in this moment" in record.message
    assert replicas(await service(swarm_engine, ref)) == 2
    swarm_engine.desk.tap.before_write = None
    assert (await swarm_engine.dock.client.delete(f"/services/{ref.uid}")).status_code == 200
    await deployed(swarm_engine, "write-moved")
    with pytest.raises(Refused, match="write-moved is gone"):
        await commands.plan(plan.intent)


async def test_a_restart_replaces_every_task_and_a_rollback_swaps_the_specifications(swarm_engine: Engine) -> None:
    ref = await deployed(swarm_engine, "write-restart")
    before = {task["ID"] for task in await swarm_engine.dock.tasks("write-restart")}
    record = await swarm_engine.desk.do("restart", ref)
    assert (record.state, record.undo) == (State.SUCCEEDED, None)
    after = {task["ID"] for task in await swarm_engine.dock.tasks("write-restart")}
    assert len(after) == 1
    assert after.isdisjoint(before), "over only when no task of before is left"
    assert (await service(swarm_engine, ref))["Spec"]["TaskTemplate"]["ForceUpdate"] == 1
    scaled = await swarm_engine.desk.do("scale", ref, replicas="2")
    assert scaled.state is State.SUCCEEDED
    back = await swarm_engine.desk.do("rollback", ref)
    assert back.state is State.SUCCEEDED
    found = await service(swarm_engine, ref)
    assert (replicas(found), replicas({"Spec": found["PreviousSpec"]})) == (1, 2), "the two specifications are swapped"
    assert found["UpdateStatus"]["State"] == "rollback_completed", "also when no task had to be replaced"
    assert (await swarm_engine.desk.undo(ref)).state is State.SUCCEEDED
    assert replicas(await service(swarm_engine, ref)) == 2


async def test_a_node_is_drained_until_nothing_runs_there_and_activated_by_undo(swarm_engine: Engine) -> None:
    ref = await deployed(swarm_engine, "write-drain", 4)
    nodes: list[dict[str, Any]] = await swarm_engine.dock.get("/nodes")
    await everything_is_refused(swarm_engine, nodes)
    busy = {task["NodeID"] for task in await swarm_engine.dock.tasks("write-drain")}
    worker = next(node for node in nodes if node["Spec"]["Role"] == "worker" and node["ID"] in busy)
    target = Ref("engine", "SwarmNode", "", worker["Description"]["Hostname"], worker["ID"])
    record = await swarm_engine.desk.do("drain", target)
    assert (record.state, record.message) == (State.SUCCEEDED, f"no task runs on {target.name}")
    assert worker["ID"] not in {task["NodeID"] for task in await swarm_engine.dock.tasks(ref.name)}
    assert (await swarm_engine.desk.undo(target)).state is State.SUCCEEDED
    assert (await swarm_engine.dock.get(f"/nodes/{worker['ID']}"))["Spec"]["Availability"] == "active"


async def everything_is_refused(swarm_engine: Engine, nodes: list[dict[str, Any]]) -> None:
    targets = tuple(Ref("engine", "SwarmNode", "", node["Description"]["Hostname"], node["ID"]) for node in nodes)
    plan = await swarm_engine.desk.commands.plan(Intent(verb="drain", targets=targets))
    assert plan.strength is Strength.REFUSED
    with pytest.raises(Refused, match="everything in this swarm would stop"):
        await swarm_engine.desk.run(plan, plan.confirmation)
    assert swarm_engine.desk.tap.writes == 0
