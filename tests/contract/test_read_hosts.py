"""Reading hosts: the same over the simulated engine and over a real one."""

from __future__ import annotations

from contextlib import aclosing

from console.model.connections import Phase
from console.model.docker import Container
from console.model.health import Health
from console.model.kubernetes import LogQuery
from console.model.refs import Ref
from tests.contract.scene import DockerScene
from tests.contract.stages import host

__all__ = ["host"]

NAME = "contract-web"


def container(scene: DockerScene) -> Container:
    row = scene.row("Container", NAME)
    assert isinstance(row, Container)
    return row


async def run(scene: DockerScene) -> str:
    labels = {"com.docker.compose.project": "contract", "com.docker.compose.service": "web"}
    made = await scene.call("POST", "/containers/create", {"Image": scene.image, "Labels": labels}, name=NAME)
    await scene.call("POST", f"/containers/{made['Id']}/start")
    return str(made["Id"])


async def until_state(scene: DockerScene, state: str) -> None:
    await scene.until(f"it is {state}", lambda: scene.find("Container", NAME) is not None and container(scene).state == state)


async def test_an_engine_without_a_swarm_is_a_host_and_says_so(host: DockerScene) -> None:
    assert (host.connection.phase, host.connection.platforms) == (Phase.LIVE, ("host",))
    assert await host.settled("Container", "SwarmNetwork", "Volume", "Event") == ()
    (missing,) = await host.settled("Stack")
    assert (missing.state, missing.detail) == ("not served", "This engine manages no swarm.")


async def test_a_container_appears_stops_and_goes_by_events_alone(host: DockerScene) -> None:
    await host.settled("Container", "Event")
    identity = await run(host)
    await until_state(host, "running")
    assert (container(host).app, container(host).service) == ("contract", "web")
    await host.until("it was inspected", lambda: container(host).started is not None)
    await host.call("POST", f"/containers/{identity}/stop", t="1")
    await until_state(host, "exited")
    assert container(host).health in (Health.HELD, Health.BAD)
    await host.call("DELETE", f"/containers/{identity}", force="true")
    await host.until("it is gone", lambda: host.find("Container", NAME) is None)
    about = {event.what for event in host.runtime.events_about(Ref(host.name, "Container", "", NAME, identity))}
    assert {"create", "start", "die"} <= about


async def test_rows_stay_while_the_host_is_away_and_are_true_when_it_is_back(host: DockerScene) -> None:
    await host.settled("Container")
    identity = await run(host)
    await until_state(host, "running")
    await host.break_off()
    await host.until_phase(Phase.STALE, Phase.UNREACHABLE)
    assert container(host).state == "running"
    if host.server == "demo":
        await host.mend()
    await host.call("DELETE", f"/containers/{identity}", force="true")
    await host.mend()
    await host.until_phase(Phase.LIVE)
    await host.until("what went is gone", lambda: host.find("Container", NAME) is None)


async def test_a_running_container_can_be_measured_and_its_log_read(host: DockerScene) -> None:
    identity = await run(host)
    try:
        await until_state(host, "running")
        async with aclosing(host.runtime.stats(container(host).ref)) as samples:
            first = await anext(samples)
            assert first.memory >= 0
            assert (await anext(samples)).at >= first.at
        lines = [line async for line in host.runtime.logs(container(host).ref, LogQuery(follow=False, tail=5))]
        assert all(line.at is not None for line in lines)
        raw = await host.runtime.raw(container(host).ref)
        assert raw["Id"] == identity
    finally:
        await host.call("DELETE", f"/containers/{identity}", force="true")


async def test_a_log_that_is_followed_gives_lines_as_they_come(host: DockerScene) -> None:
    identity = await run(host)
    try:
        await until_state(host, "running")
        async with aclosing(host.runtime.logs(container(host).ref, LogQuery(tail=0))) as lines:
            async for line in lines:
                assert line.text
                break
    finally:
        await host.call("DELETE", f"/containers/{identity}", force="true")
