"""Plans for services, nodes and containers."""

from __future__ import annotations

from typing import Any

import pytest

from console.backends.container_writes import arrived as container_arrived
from console.backends.container_writes import plan_containers
from console.backends.swarm_writes import arrived, plan_swarm, progress, updated_spec
from console.errors import Refused
from console.model.plan import Intent, Plan, Strength
from console.model.refs import Ref

WEB = Ref("harbour", "SwarmService", "", "web", "s1")


def service(**more: Any) -> dict[str, Any]:
    return {
        "ID": "s1",
        "Version": {"Index": 12},
        "Spec": {
            "Name": "web",
            "Mode": {"Replicated": {"Replicas": 3}},
            "TaskTemplate": {"ForceUpdate": 1, "ContainerSpec": {"Image": "web:2@sha256:abc"}},
        },
        **more,
    }


def plan(verb: str, raw: dict[str, Any], **arguments: str) -> Plan:
    return plan_swarm(Intent(verb=verb, targets=(WEB,), arguments=arguments), {WEB: raw}, [])


def test_scaling_binds_to_the_version_and_can_be_undone() -> None:
    made = plan("scale", service(), replicas="5")
    assert made.steps[0].precondition == {"id": "s1", "Version.Index": "12"}
    assert made.undo == Intent(verb="scale", targets=(WEB,), arguments={"replicas": "3"})
    assert updated_spec(service(), made.steps[0].request)["Mode"] == {"Replicated": {"Replicas": 5}}


@pytest.mark.parametrize("asked", ["", "-1", "3.5", "٣", "1e3", "999999"])
def test_what_is_no_number_of_replicas_is_refused(asked: str) -> None:
    with pytest.raises(Refused, match="no number of replicas"):
        plan("scale", service(), replicas=asked)


def test_a_global_service_cannot_be_scaled() -> None:
    raw = service()
    raw["Spec"]["Mode"] = {"Global": {}}
    with pytest.raises(Refused, match="no replicated service"):
        plan("scale", raw, replicas="2")


def test_a_restart_raises_force_update_and_keeps_the_rest_of_the_spec() -> None:
    made = plan("restart", service())
    spec = updated_spec(service(), made.steps[0].request)
    assert spec["TaskTemplate"] == {"ForceUpdate": 2, "ContainerSpec": {"Image": "web:2@sha256:abc"}}


def test_a_service_without_previous_specification_cannot_be_rolled_back() -> None:
    with pytest.raises(Refused, match="no previous specification"):
        plan("rollback", service())


def test_rolling_back_says_from_which_image_to_which() -> None:
    previous = {"TaskTemplate": {"ContainerSpec": {"Image": "web:1"}}, "Mode": {"Replicated": {"Replicas": 3}}}
    made = plan("rollback", service(PreviousSpec=previous))
    assert "from web:2 to web:1" in made.effects[0]


def node(identity: str, availability: str = "active", state: str = "ready") -> dict[str, Any]:
    return {"ID": identity, "Version": {"Index": 4}, "Spec": {"Availability": availability}, "Status": {"State": state}}


@pytest.mark.parametrize(
    ("others", "strength"),
    [([], Strength.REFUSED), ([node("n2", state="down")], Strength.REFUSED), ([node("n2"), node("n3")], Strength.KEY)],
)
def test_draining_the_last_usable_node_is_refused(others: list[dict[str, Any]], strength: Strength) -> None:
    ref = Ref("harbour", "SwarmNode", "", "one", "n1")
    made = plan_swarm(Intent(verb="drain", targets=(ref,)), {ref: node("n1")}, [node("n1"), *others])
    assert made.strength is strength


def test_a_lost_answer_is_told_by_version_and_value() -> None:
    step = plan("scale", service(), replicas="5").steps[0]
    assert arrived(service(), step) is False
    scaled = service(Version={"Index": 13})
    scaled["Spec"]["Mode"]["Replicated"]["Replicas"] = 5
    assert arrived(scaled, step) is True
    assert arrived(service(Version={"Index": 14}), step) is None, "somebody else wrote: it can't be told"


def test_a_paused_update_is_a_failure_with_the_swarms_own_words() -> None:
    step = plan("restart", service()).steps[0]
    with pytest.raises(Refused, match="paused: task rejected"):
        progress(service(UpdateStatus={"State": "paused", "Message": "task rejected"}), [], step)
    assert progress(service(ServiceStatus={"RunningTasks": 2, "DesiredTasks": 3}), [], step) == (False, "web: 2 of 3 tasks run")


def test_a_restart_that_the_swarm_has_not_begun_is_not_over() -> None:
    step = plan("restart", service()).steps[0]
    counted = service(ServiceStatus={"RunningTasks": 2, "DesiredTasks": 2})
    tasks = [{"Spec": {"ForceUpdate": 1}}, {"Spec": {"ForceUpdate": 2}}]
    assert progress(counted, tasks, step) == (False, "web: 1 of 2 tasks to be replaced")
    assert progress(counted, tasks[1:] * 2, step) == (True, "web: 2 of 2 tasks run")


def test_a_rollback_is_told_by_the_specification_that_it_brings_back() -> None:
    previous = {"TaskTemplate": {"ContainerSpec": {"Image": "web:1"}}, "Mode": {"Replicated": {"Replicas": 3}}}
    step = plan("rollback", service(PreviousSpec=previous)).steps[0]
    status = {"State": "rollback_completed"}
    assert arrived(service(Version={"Index": 13}, PreviousSpec=previous, UpdateStatus=status), step) is None
    assert arrived(service(Version={"Index": 13}, Spec=previous), step) is True


BOX = Ref("dock", "Container", "", "app", "c" * 64)


def container(**state: Any) -> dict[str, Any]:
    return {
        "Id": "c" * 64,
        "State": {"Status": "running", "Running": True, "StartedAt": "t", **state},
        "Config": {"Labels": {}},
        "HostConfig": {},
    }


def test_a_restart_binds_to_id_state_and_start() -> None:
    made = plan_containers(Intent(verb="restart", targets=(BOX,)), {BOX: container()}, "bastion")
    assert made.steps[0].precondition == {"id": "c" * 64, "state": "running", "started": "t"}
    assert made.no_undo


def test_stopping_what_keeps_crashing_binds_to_its_id() -> None:
    intent = Intent(verb="stop", targets=(BOX,))
    first = plan_containers(intent, {BOX: container()}, "bastion")
    later = plan_containers(intent, {BOX: container(Status="restarting", Restarting=True, StartedAt="t9")}, "bastion")
    assert first.hash == later.hash
    assert first.steps[0].precondition == {"id": "c" * 64, "running": "true"}


def test_a_restart_between_stop_and_start_is_not_taken_for_lost() -> None:
    (step,) = plan_containers(Intent(verb="restart", targets=(BOX,)), {BOX: container()}, "bastion").steps
    assert container_arrived(container(), step) is False
    assert container_arrived(container(Status="exited", Running=False), step) is None
    assert container_arrived(container(StartedAt="t2"), step) is True


def test_stopping_a_container_with_rm_cannot_be_undone() -> None:
    raw = container()
    raw["HostConfig"] = {"AutoRemove": True}
    made = plan_containers(Intent(verb="stop", targets=(BOX,)), {BOX: raw}, "bastion")
    assert (made.undo, made.no_undo) == (None, "a container with --rm is gone when it stops")


def test_a_task_of_a_swarm_is_not_stopped_behind_its_back() -> None:
    raw = container()
    raw["Config"]["Labels"] = {"com.docker.swarm.task.id": "t1"}
    with pytest.raises(Refused, match="task of a swarm"):
        plan_containers(Intent(verb="stop", targets=(BOX,)), {BOX: raw}, "bastion")


def test_the_console_does_not_stop_its_own_container() -> None:
    made = plan_containers(Intent(verb="stop", targets=(BOX,)), {BOX: container()}, "c" * 12)
    assert made.strength is Strength.REFUSED
