"""Reading swarms: the same over the simulated engine and over a real swarm."""

from __future__ import annotations

from typing import Any

from console.model.connections import Phase
from console.model.docker import Stack, SwarmService, Task
from console.model.health import Health
from tests.contract.scene import DockerScene
from tests.contract.stages import manager

__all__ = ["manager"]

STACK = "contract"
NAME = f"{STACK}_web"


def spec(scene: DockerScene, replicas: int = 2, image: str = "") -> dict[str, Any]:
    labels = {"com.docker.stack.namespace": STACK}
    return {
        "Name": NAME,
        "Labels": labels,
        "Mode": {"Replicated": {"Replicas": replicas}},
        "TaskTemplate": {
            "ContainerSpec": {"Image": image or scene.image, "Labels": labels},
            "RestartPolicy": {"Delay": 1_000_000_000},
        },
        "EndpointSpec": {"Mode": "dnsrr"},
    }


async def deploy(scene: DockerScene, replicas: int = 2, image: str = "") -> str:
    made = await scene.call("POST", "/services/create", spec(scene, replicas, image))
    return str(made["ID"])


async def change(scene: DockerScene, identity: str, **changes: Any) -> None:
    found = await scene.call("GET", f"/services/{identity}")
    await scene.call("POST", f"/services/{identity}/update", spec(scene, **changes), version=str(found["Version"]["Index"]))


def service(scene: DockerScene) -> SwarmService:
    row = scene.row("SwarmService", NAME)
    assert isinstance(row, SwarmService)
    return row


async def until_running(scene: DockerScene, count: int) -> None:
    def holds() -> bool:
        return scene.find("SwarmService", NAME) is not None and (service(scene).running, service(scene).wanted) == (
            count,
            count,
        )

    await scene.until(f"{count} tasks run", holds)


async def test_a_manager_is_live_as_swarm_and_host(manager: DockerScene) -> None:
    assert manager.connection.phase is Phase.LIVE
    assert manager.connection.platforms == ("swarm", "host")
    assert manager.connection.identity
    assert (
        await manager.settled("Stack", "SwarmService", "Task", "SwarmNode", "SwarmNetwork", "Container", "Event", "Pod") == ()
    )
    leaders = [row for row in manager.store.on(manager.name, "SwarmNode") if getattr(row, "leader", False)]
    assert len(leaders) == 1
    assert leaders[0].health is Health.OK


async def test_a_service_comes_up_scales_and_goes_with_its_stack(manager: DockerScene) -> None:
    await manager.settled("Stack", "SwarmService")
    identity = await deploy(manager)
    await until_running(manager, 2)
    await manager.until("the stack is well", lambda: manager.row("Stack", STACK).health is Health.OK)
    await change(manager, identity, replicas=3)
    await until_running(manager, 3)
    stack = manager.row("Stack", STACK)
    assert isinstance(stack, Stack)
    assert (stack.services, stack.tasks_wanted) == (1, 3)
    await manager.call("DELETE", f"/services/{identity}")
    await manager.until("service and stack are gone", lambda: manager.find("SwarmService", NAME) is None)
    await manager.until("the stack too", lambda: manager.find("Stack", STACK) is None)


async def test_an_image_that_is_not_there_shows_the_engines_own_words(manager: DockerScene) -> None:
    await manager.settled("Stack", "SwarmService")
    identity = await deploy(manager, 1, manager.bad_image)
    try:
        await manager.until(
            "the error shows",
            lambda: manager.find("SwarmService", NAME) is not None and "No such image" in service(manager).reason,
        )
        assert service(manager).health is not Health.OK
        await manager.until(
            "a task failed",
            lambda: any(
                isinstance(row, Task) and row.service.name == NAME and "No such image" in row.error
                for row in manager.store.on(manager.name, "Task")
            ),
        )
    finally:
        await manager.call("DELETE", f"/services/{identity}")


async def test_rows_stay_while_the_manager_is_away_and_are_true_when_it_is_back(manager: DockerScene) -> None:
    await manager.settled("Stack", "SwarmService")
    identity = await deploy(manager)
    await until_running(manager, 2)
    await manager.break_off()
    await manager.until_phase(Phase.STALE, Phase.UNREACHABLE)
    assert manager.find("SwarmService", NAME) is not None
    if manager.server == "demo":
        await manager.mend()
    await manager.call("DELETE", f"/services/{identity}")
    await manager.mend()
    await manager.until_phase(Phase.LIVE)
    await manager.until("what went is gone", lambda: manager.find("SwarmService", NAME) is None)


async def test_a_cut_event_stream_is_picked_up_again(manager: DockerScene) -> None:
    await manager.settled("SwarmService")
    await manager.cut()
    identity = await deploy(manager)
    try:
        await until_running(manager, 2)
        await manager.until_phase(Phase.LIVE)
    finally:
        await manager.call("DELETE", f"/services/{identity}")


async def test_a_whole_stack_can_be_read_without_the_content_of_its_configs(manager: DockerScene) -> None:
    labels = {"com.docker.stack.namespace": STACK}
    config = await manager.call("POST", "/configs/create", {"Name": f"{STACK}_conf", "Data": "c2VjcmV0", "Labels": labels})
    identity = await deploy(manager, 1)
    try:
        await manager.until("the config shows", lambda: manager.find("SwarmConfig", f"{STACK}_conf") is not None)
        await manager.until("the service shows", lambda: manager.find("SwarmService", NAME) is not None)
        raw = await manager.runtime.raw(manager.row("Stack", STACK).ref)
        assert [found["Spec"]["Name"] for found in raw["Services"]] == [NAME]
        assert "c2VjcmV0" not in str(raw)
        assert "c2VjcmV0" not in str(await manager.runtime.raw(manager.row("SwarmConfig", f"{STACK}_conf").ref))
    finally:
        await manager.call("DELETE", f"/services/{identity}")
        await manager.call("DELETE", f"/configs/{config['ID']}")
