"""A stack runs on the swarm, containers run on the host, and the next test finds neither."""

from tests.real.docker_engine import DockerEngine
from tests.real.place import Place
from tests.real.processes import HarnessError, wait_until
from tests.real.swarm import SwarmLab
from tests.real.workloads import deploy_stack, run_containers


def test_a_stack_runs_and_is_swept_away(swarm: SwarmLab, place: Place) -> None:
    deploy_stack(swarm, place, "shop")
    assert len(swarm.manager.api("GET", "/services")) == 2
    swarm.mend()
    assert swarm.manager.api("GET", "/services") == []
    assert swarm.manager.api("GET", "/configs") == []


def test_a_swarm_of_three_managers_elects_a_new_leader(quorum: SwarmLab) -> None:
    quorum.engine(1).kill()

    def leader() -> str:
        try:
            nodes = quorum.nodes()
        except HarnessError:  # between two leaders
            return ""
        leaders = [name for name, node in nodes.items() if node.get("ManagerStatus", {}).get("Leader")]
        return leaders[0] if leaders else ""

    wait_until(lambda: leader() in {"node2", "node3"}, "another manager leads", 90)
    quorum.mend()
    assert quorum.state(1) == "ready"


def test_containers_run_crash_and_end(docker_engine: DockerEngine) -> None:
    run_containers(docker_engine)

    def states() -> dict[str, str]:
        found = docker_engine.api("GET", "/containers/json", all="1")
        return {container["Names"][0].removeprefix("/"): container["State"] for container in found}

    wait_until(lambda: states()["flaky"] == "restarting", "the broken container restarts")
    assert {name: state for name, state in states().items() if name != "flaky"} == {
        "web": "running",
        "done": "exited",
        "idle": "created",
    }
