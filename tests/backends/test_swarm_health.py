"""Health of services and stacks, from snapshots as an engine sends them."""

from __future__ import annotations

import pytest

from console.model.convergence import Convergence, ServiceState, Step, converge, worst_of
from console.model.docker import Task
from console.model.health import Health
from console.model.operations import Operation, State
from tests.backends.swarm_json import Json, Swarm, ago, node, service, task

JOB = {"ReplicatedJob": {"MaxConcurrent": 1, "TotalCompletions": 2}}


def judged(services: list[Json], tasks: list[Json], nodes: list[Json] | None = None) -> Swarm:
    swarm = Swarm()
    swarm.read(services, tasks, nodes)
    return swarm


@pytest.mark.scenario("stacks:K46")
def test_a_bad_image_with_restarts_is_on_its_way_and_says_the_engines_words() -> None:
    loop = [task("rejected", desired="shutdown", err="No such image: web:9", age=age) for age in (5, 10, 15)]
    swarm = judged([service()], [*loop, task("preparing", age=0.5, on="n1")])
    found = swarm.service()
    assert found.health is Health.BUSY
    assert found.reason == "0/1 tasks running: No such image: web:9."
    assert "No such image" in swarm.stack().reason


@pytest.mark.scenario("stacks:K47")
def test_a_job_counts_only_completions_of_its_present_run() -> None:
    done = [task("complete", slot=slot, desired="complete", age=60, JobIteration={}) for slot in (None, 1)]
    first = judged([service(mode=JOB, JobStatus={"JobIteration": {}})], done).service()
    assert (first.health, first.completed, first.wanted) == (Health.OK, 2, 2)
    second = judged([service(mode=JOB, JobStatus={"JobIteration": {"Index": 40}})], done).service()
    assert (second.health, second.completed) == (Health.BUSY, 0)
    assert second.reason == "0/2 tasks completed."


@pytest.mark.scenario("stacks:K48")
def test_a_one_shot_without_restart_that_fails_is_wedged_at_once() -> None:
    failed = task("failed", desired="shutdown", err="task: non-zero exit (7)", age=3)
    found = judged([service(restart="none")], [failed]).service()
    assert (found.health, found.reason) == (Health.BAD, "task: non-zero exit (7).")


@pytest.mark.scenario("stacks:K49")
def test_a_paused_update_is_bad_and_a_young_task_is_on_its_way_for_five_seconds() -> None:
    paused = {"State": "paused", "Message": "update paused due to failure or early termination of task x", "StartedAt": ago(60)}
    stopped = judged([service(UpdateStatus=paused)], [task()])
    assert stopped.service().health is Health.BAD
    (operation,) = stopped.store.of("Operation").values()
    assert isinstance(operation, Operation)
    assert (operation.state, operation.health, operation.ended) == (State.WAITING, Health.BAD, None)
    three = service(mode={"Replicated": {"Replicas": 3}})
    assert judged([three], [task(slot=slot, age=6) for slot in (1, 2, 3)]).service().health is Health.OK
    swarm = judged([three], [task(slot=slot, age=2) for slot in (1, 2, 3)])
    assert swarm.service().health is Health.BUSY
    swarm.later(3.1)
    assert swarm.service().health is Health.OK, "time alone settles it, nothing need be read"


@pytest.mark.scenario("stacks:K50")
def test_a_global_service_wants_only_the_nodes_that_may_run_it() -> None:
    nodes = [
        node("n1"),
        node("n2"),
        node("n3", availability="drain"),
        node("n4", state="down"),
        node("n5", availability="pause"),
    ]
    tasks = [task(slot=None, on=name) for name in ("n1", "n2", "n5")]
    found = judged([service(mode={"Global": {}})], tasks, nodes).service()
    assert (found.wanted, found.running, found.health) == (3, 3, Health.OK)


@pytest.mark.scenario("stacks:K52")
def test_an_unreadable_swarm_keeps_its_last_rows_and_is_neither_missing_nor_well() -> None:
    swarm = judged([service()], [task()])
    assert swarm.stack().health is Health.OK
    swarm.apply(swarm.picture.fail("failed", "The swarm does not have a leader"))
    for row in (swarm.stack(), swarm.service()):
        assert row.health is Health.UNKNOWN
        assert "The swarm does not have a leader" in row.reason
    assert (swarm.stack().services, swarm.stack().unreadable) == (1, "The swarm does not have a leader")
    for kind in ("Stack", "SwarmService", "Task", "SwarmNode"):
        assert swarm.store.kind_state("harbour", kind).state == "failed"
    swarm.objects("networks", {"Id": "x", "Name": "shop_default", "Labels": {"com.docker.stack.namespace": "shop"}})
    assert swarm.stack().health is Health.UNKNOWN, "that networks can be read proves nothing about services"
    swarm.read([service()], [task()])
    assert (swarm.stack().health, swarm.stack().unreadable) == (Health.OK, "")
    swarm.read([], [])
    swarm.objects("networks")
    assert not swarm.store.of("Stack"), "an empty answer is an answer"


@pytest.mark.scenario("stacks:K53")
def test_an_update_that_completed_with_failing_tasks_is_not_well() -> None:
    completed = {"State": "completed", "Message": "update completed", "StartedAt": ago(60), "CompletedAt": ago(30)}
    failing = [task("failed", desired="shutdown", err="task: non-zero exit (1)", age=9), task("starting", age=1)]
    found = judged([service(UpdateStatus=completed)], failing).service()
    assert found.health is Health.BUSY
    assert "non-zero exit (1)" in found.reason


@pytest.mark.parametrize(
    ("state", "step"),
    [
        (ServiceState(name="a", running=1, desired=1, update_state="rollback_completed"), Step.WEDGED),
        (ServiceState(name="a", running=1, desired=1, update_state="rollback_paused"), Step.WEDGED),
        (ServiceState(name="a", running=1, desired=1, update_state="rollback_started"), Step.PROGRESSING),
        (ServiceState(name="a", running=1, desired=1, update_state="updating"), Step.PROGRESSING),
        (ServiceState(name="a", running=1, desired=1, update_state="completed"), Step.CONVERGED),
        (ServiceState(name="a", completed=1, desired=1, job=True, update_state="paused"), Step.CONVERGED),
        (ServiceState(name="a", completed=0, desired=1, job=True, update_state="paused"), Step.WEDGED),
        (ServiceState(name="a", dead_task=True, running=1, desired=1), Step.CONVERGED),
        (ServiceState(name="a", running=2, desired=2, newest_task_age=20, monitor=30), Step.PROGRESSING),
        (ServiceState(name="a", desired=0), Step.CONVERGED),
        (ServiceState(name="a", desired=1, exhausted=True), Step.WEDGED),
    ],
)
def test_the_first_rule_that_fits_decides(state: ServiceState, step: Step) -> None:
    assert converge(state).step is step


def test_the_worst_service_speaks_for_all_and_nothing_is_never_well() -> None:
    assert worst_of([])[1].step is Step.PROGRESSING
    found = worst_of(
        [("a", Convergence(Step.CONVERGED)), ("b", Convergence(Step.WEDGED, "x")), ("c", Convergence(Step.PROGRESSING))]
    )
    assert found == ("b", Convergence(Step.WEDGED, "x"))


def test_only_the_newest_task_of_a_slot_counts_and_only_on_a_node_that_is_up() -> None:
    two = service(mode={"Replicated": {"Replicas": 2}})
    tasks = [
        task(slot=1, age=500),
        task("failed", slot=1, age=900, desired="shutdown", err="old"),
        task(slot=2, on="n2", age=500),
    ]
    found = judged([two], tasks, [node("n1"), node("n2", state="down")]).service()
    assert (found.running, found.wanted) == (1, 2)
    assert "old" not in found.reason


def test_an_error_is_over_when_a_newer_task_of_its_slot_runs() -> None:
    tasks = [task("failed", slot=1, age=100, desired="shutdown", err="boom"), task("running", slot=1, age=50)]
    swarm = judged([service()], tasks)
    assert swarm.service().health is Health.OK
    states = {row.health for row in swarm.store.of("Task").values()}
    assert states == {Health.OK}, "history is no trouble"
    errors = {row.error for row in swarm.store.of("Task").values() if isinstance(row, Task)}
    assert errors == {"boom", ""}


def test_a_task_that_finds_no_node_says_why() -> None:
    waiting = task("pending", on="", err="no suitable node (scheduling constraints not satisfied on 1 node)")
    swarm = judged([service()], [waiting])
    assert "no suitable node" in swarm.service().reason
    (row,) = swarm.store.of("Task").values()
    assert row.health is Health.WARN


def test_restarts_that_are_used_up_are_bad_after_a_while_not_at_once() -> None:
    failed = task("failed", desired="shutdown", err="task: non-zero exit (1)", age=30, since=4)
    swarm = judged([service(restart="on-failure")], [failed])
    assert swarm.service().health is Health.BUSY
    swarm.later(10)
    assert (swarm.service().health, swarm.service().reason) == (Health.BAD, "task: non-zero exit (1).")


def test_a_failed_task_of_a_replicated_job_must_stay_the_newest_before_it_counts_as_dead() -> None:
    swarm = Swarm()
    job = service(mode=JOB, restart="none", JobStatus={"JobIteration": {}})
    failed = task("failed", desired="shutdown", err="exit 1", age=1, slot=None, uid="t1")
    swarm.read([job], [failed])
    assert swarm.service().health is Health.BUSY
    pause, topics = swarm.picture.due(swarm.now)
    assert 4 < pause < 6 or pause < 2
    assert "tasks" in topics
    swarm.later(5.1)
    assert swarm.service().health is Health.BAD
    swarm.read([job], [failed, task("running", slot=None, age=-5, uid="t2", desired="complete")])
    assert swarm.service().health is Health.BUSY, "it was replaced after all"


@pytest.mark.parametrize(
    ("constraints", "wanted"),
    [
        (["node.role==manager"], 1),
        (["node.role != manager"], 2),
        (["node.labels.disk==SSD"], 1),
        (["node.labels.disk!=ssd"], 2),
        (["node.hostname==n2", "node.role==worker"], 1),
        (["node.platform.os==linux"], 3),
        (["engine.labels.x==y"], 0),
        (["nonsense==1"], 0),
    ],
)
def test_constraints_decide_where_a_global_service_is_wanted(constraints: list[str], wanted: int) -> None:
    nodes = [node("n1", role="manager"), node("n2", labels={"disk": "ssd"}), node("n3")]
    found = judged([service(mode={"Global": {}}, template={"Placement": {"Constraints": constraints}})], [], nodes).service()
    assert found.wanted == wanted


def test_platforms_decide_too_whatever_an_architecture_is_called() -> None:
    nodes = [node("n1", arch="x86_64"), node("n2", arch="aarch64")]
    placement = {"Placement": {"Platforms": [{"OS": "linux", "Architecture": "amd64"}]}}
    assert judged([service(mode={"Global": {}}, template=placement)], [], nodes).service().wanted == 1


def test_a_stack_sums_up_its_services_and_names_the_culprit() -> None:
    bad = service("shop_db", UpdateStatus={"State": "rollback_paused"})
    swarm = judged([service(), bad, service("other_web", stack="other")], [task(), task(of="shop_db"), task(of="other_web")])
    swarm.objects("configs", {"ID": "c1", "Spec": {"Name": "shop_conf", "Labels": {"com.docker.stack.namespace": "shop"}}})
    swarm.objects("volumes", {"Name": "shop_data", "Labels": {"com.docker.stack.namespace": "shop"}, "Driver": "local"})
    shop, other = swarm.stack(), swarm.stack("other")
    assert (shop.health, shop.services, shop.services_ok, shop.update) == (Health.BAD, 2, 1, "rollback_paused")
    assert shop.reason.startswith("Service shop_db: ")
    assert (shop.configs, shop.volumes, shop.tasks_wanted, shop.tasks_running) == (1, 1, 2, 2)
    assert (other.health, other.configs) == (Health.OK, 0)


def test_what_is_left_of_a_stack_is_shown_as_left_over() -> None:
    swarm = judged([], [])
    swarm.objects("networks", {"Id": "n", "Name": "old_default", "Labels": {"com.docker.stack.namespace": "old"}})
    assert (swarm.stack("old").health, swarm.stack("old").reason) == (
        Health.WARN,
        "Nothing runs under its label; left over: 1 network.",
    )


def test_a_service_tells_its_image_ports_and_what_it_can_go_back_to() -> None:
    ports = [
        {"Protocol": "tcp", "TargetPort": 80, "PublishedPort": 8080},
        {"TargetPort": 53, "PublishedPort": 53, "PublishMode": "host"},
    ]
    secrets = {"ContainerSpec": {"Image": "web:2", "Secrets": [{"SecretID": "s1", "SecretName": "key"}]}, "ForceUpdate": 3}
    body = service(Endpoint={"Ports": ports}, PreviousSpec={"Name": "x"}, template=secrets)
    found = judged([body], [task()]).service()
    assert found.ports == ("8080:80/tcp", "53:53/tcp host")
    assert (found.image, found.previous, found.force, found.version) == ("web:2", True, 3, "10")
    assert [ref.kind for ref in found.related] == ["Stack", "SwarmSecret"]
    assert judged([service()], [task()]).service().digest == "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("found", "health"),
    [
        (node(), Health.OK),
        (node(state="down"), Health.BAD),
        (node(state="unknown"), Health.UNKNOWN),
        (node(availability="drain"), Health.HELD),
        (node(availability="pause"), Health.HELD),
        (node(ManagerStatus={"Reachability": "unreachable"}), Health.BAD),
    ],
)
def test_nodes_are_judged_by_state_reachability_and_availability(found: Json, health: Health) -> None:
    swarm = judged([service()], [task()], [found])
    (row,) = swarm.store.of("SwarmNode").values()
    assert row.health is health


def test_a_service_that_never_gets_well_is_looked_at_ever_more_seldom() -> None:
    swarm = Swarm()
    looks = []
    for round_number in range(40):
        running = round_number % 2 == 0
        swarm.read(
            [service()],
            [task("running" if running else "failed", age=700, err="" if running else "boom", uid=f"t{round_number}")],
        )
        looks.append(swarm.picture.due(swarm.now)[0])
    assert min(looks[20:]) > 5, "a crash loop must not keep a manager busy"
    swarm.read([service(version=11)], [task("failed", err="boom")])
    assert swarm.picture.due(swarm.now)[0] < 2, "somebody wrote: look closely again"


def test_with_everything_well_only_tasks_are_read_and_all_of_it_now_and_then() -> None:
    swarm = judged([service()], [task()])
    assert swarm.picture.due(swarm.now) == (10.0, frozenset({"tasks"}))
    swarm.later(55)
    assert swarm.picture.due(swarm.now)[1] == {"services", "tasks", "nodes"}
