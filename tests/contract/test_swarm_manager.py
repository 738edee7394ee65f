"""What a Swarm manager answers to writes: versions, rolling, rolling back, draining, and the words of its refusals."""

from __future__ import annotations

import base64
from typing import Any

from tests.contract.dock import Dock, Object, message

OUT_OF_SEQUENCE = (500, "rpc error: code = Unknown desc = update out of sequence")


async def running(dock: Dock, name: str, count: int) -> list[Object]:
    """Wait until so many tasks of a service run."""

    async def found() -> bool:
        return len(await dock.tasks(name)) == count

    await dock.until(found)
    return await dock.tasks(name)


async def deployed(dock: Dock, name: str, replicas: int = 1) -> Object:
    """A running service, as the manager has it."""
    made = await dock.client.post("/services/create", json=dock.service(name, replicas))
    assert made.status_code == 201, made.text
    await running(dock, name, replicas)
    found: Object = await dock.get(f"/services/{name}")
    return found


async def state_of_update(dock: Dock, name: str, state: str) -> Object:
    """Wait until the update of a service is in a state."""

    async def found() -> bool:
        return ((await dock.get(f"/services/{name}")).get("UpdateStatus") or {}).get("State") == state

    await dock.until(found)
    obj: Object = await dock.get(f"/services/{name}")
    return obj


async def test_a_write_with_the_version_before_is_out_of_sequence(swarm_manager: Dock) -> None:
    obj = await deployed(swarm_manager, "contract-version")
    obj["Spec"]["Labels"] = {"a": "b"}
    assert (await swarm_manager.update(obj)).status_code == 200
    assert message(await swarm_manager.update(obj)) == OUT_OF_SEQUENCE
    bare = await swarm_manager.client.post(f"/services/{obj['ID']}/update", json=obj["Spec"])
    assert bare.status_code == 400


async def test_names_are_taken_once_and_must_be_names(swarm_manager: Dock) -> None:
    await deployed(swarm_manager, "contract-name")
    again = await swarm_manager.client.post("/services/create", json=swarm_manager.service("contract-name"))
    assert again.status_code == 409
    assert "AlreadyExists" in message(again)[1]
    wrong = await swarm_manager.client.post("/services/create", json=swarm_manager.service("no name"))
    assert message(wrong)[0] == 400


async def test_scaling_leaves_running_tasks_and_the_update_status_alone(swarm_manager: Dock) -> None:
    obj = await deployed(swarm_manager, "contract-scale", 2)
    before = {task["ID"] for task in await swarm_manager.tasks("contract-scale")}
    obj["Spec"]["Mode"]["Replicated"]["Replicas"] = 3
    assert (await swarm_manager.update(obj)).json() == {"Warnings": None}
    after = {task["ID"] for task in await running(swarm_manager, "contract-scale", 3)}
    assert before < after
    assert "UpdateStatus" not in await swarm_manager.get("/services/contract-scale")


async def test_a_forced_update_completes_with_new_tasks_and_can_be_rolled_back(swarm_manager: Dock) -> None:
    obj = await deployed(swarm_manager, "contract-force", 2)
    before = {task["ID"] for task in await swarm_manager.tasks("contract-force")}
    obj["Spec"]["TaskTemplate"]["ForceUpdate"] = 1
    assert (await swarm_manager.update(obj)).status_code == 200
    obj = await state_of_update(swarm_manager, "contract-force", "completed")
    assert obj["UpdateStatus"]["Message"] == "update completed"
    assert before.isdisjoint({task["ID"] for task in await running(swarm_manager, "contract-force", 2)})
    assert (await swarm_manager.update(obj, rollback="previous")).status_code == 200
    obj = await state_of_update(swarm_manager, "contract-force", "rollback_completed")
    assert obj["Spec"]["TaskTemplate"]["ForceUpdate"] == 0


async def test_nothing_to_roll_back_to_is_a_failed_precondition(swarm_manager: Dock) -> None:
    obj = await deployed(swarm_manager, "contract-back")
    status, words = message(await swarm_manager.update(obj, rollback="previous"))
    assert status == 400
    assert "does not have a previous spec" in words


async def test_an_image_that_is_not_there_pauses_the_update(swarm_manager: Dock) -> None:
    obj = await deployed(swarm_manager, "contract-image", 2)
    obj["Spec"]["TaskTemplate"]["ContainerSpec"]["Image"] = "quarterdeck/shell:nope"
    assert (await swarm_manager.update(obj)).status_code == 200
    obj = await state_of_update(swarm_manager, "contract-image", "paused")
    assert "update paused due to failure or early termination of task" in obj["UpdateStatus"]["Message"]
    tasks: list[dict[str, Any]] = await swarm_manager.get("/tasks", filters='{"service":["contract-image"]}')
    errors = [task["Status"]["Err"] for task in tasks if task["Status"]["State"] == "rejected"]
    assert errors
    assert all("No such image: quarterdeck/shell:nope" in error for error in errors)


async def test_a_drained_node_loses_its_tasks_to_others(swarm_manager: Dock) -> None:
    await deployed(swarm_manager, "contract-drain", 3)
    node = next(node for node in await swarm_manager.get("/nodes") if node["Spec"]["Role"] == "worker")
    node["Spec"]["Availability"] = "drain"
    assert (await swarm_manager.update(node, "nodes")).status_code == 200
    assert message(await swarm_manager.update(node, "nodes")) == OUT_OF_SEQUENCE

    async def moved() -> bool:
        tasks = await swarm_manager.tasks("contract-drain")
        return len(tasks) == 3 and node["ID"] not in {task["NodeID"] for task in tasks}

    await swarm_manager.until(moved)
    node = await swarm_manager.get(f"/nodes/{node['ID']}")
    node["Spec"]["Availability"] = "active"
    assert (await swarm_manager.update(node, "nodes")).status_code == 200


async def test_the_last_manager_stays_one(swarm_manager: Dock) -> None:
    node = next(node for node in await swarm_manager.get("/nodes") if node["Spec"]["Role"] == "manager")
    node["Spec"]["Role"] = "worker"
    status, words = message(await swarm_manager.update(node, "nodes"))
    assert status == 400
    assert "last manager" in words


async def test_a_config_in_use_stays_and_only_its_labels_change(swarm_manager: Dock) -> None:
    data = base64.b64encode(b"a").decode()
    made = await swarm_manager.client.post("/configs/create", json={"Name": "contract-config", "Data": data})
    assert made.status_code == 201
    again = await swarm_manager.client.post("/configs/create", json={"Name": "contract-config", "Data": data})
    assert again.status_code == 409
    spec = swarm_manager.service("contract-user")
    file = {"Name": "/c", "UID": "0", "GID": "0", "Mode": 292}
    reference = {"ConfigID": made.json()["ID"], "ConfigName": "contract-config", "File": file}
    spec["TaskTemplate"]["ContainerSpec"]["Configs"] = [reference]
    assert (await swarm_manager.client.post("/services/create", json=spec)).status_code == 201
    status, words = message(await swarm_manager.client.delete("/configs/contract-config"))
    assert status == 400
    assert "config 'contract-config' is in use by the following service: contract-user" in words
    obj = await swarm_manager.get("/configs/contract-config")
    obj["Spec"]["Data"] = base64.b64encode(b"b").decode()
    assert "only updates to Labels are allowed" in message(await swarm_manager.update(obj, "configs"))[1]
    obj["Spec"] |= {"Data": data, "Labels": {"a": "b"}}
    assert (await swarm_manager.update(obj, "configs")).status_code == 200


async def test_a_removed_service_goes_and_its_tasks_follow(swarm_manager: Dock) -> None:
    obj = await deployed(swarm_manager, "contract-gone")
    assert (await swarm_manager.client.delete("/services/contract-gone")).status_code == 200
    assert message(await swarm_manager.client.get("/services/contract-gone"))[0] == 404

    async def gone() -> bool:
        return not [task for task in await swarm_manager.get("/tasks") if task["ServiceID"] == obj["ID"]]

    await swarm_manager.until(gone)


async def test_a_secret_never_gives_its_value_back(swarm_manager: Dock) -> None:
    data = base64.b64encode(b"hidden").decode()
    made = await swarm_manager.client.post("/secrets/create", json={"Name": "contract-secret", "Data": data})
    assert made.status_code == 201
    found = await swarm_manager.get(f"/secrets/{made.json()['ID']}")
    assert "Data" not in found["Spec"]
