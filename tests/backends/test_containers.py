"""Containers of a host as an engine tells them: list, inspection, samples, events."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from console.backends.containers import container, sample
from console.backends.docker_events import RecentEvents, event, is_noise, topics
from console.backends.docker_wire import Inspected, WireContainer
from console.model.docker import Container
from console.model.health import Health
from console.model.refs import Ref

Json = dict[str, Any]


def row(state: str = "running", status: str = "Up 3 hours", *, inspected: Json | None = None, **more: Any) -> Container:
    listed = {
        "Id": "c" * 64,
        "Names": ["/web-1"],
        "Image": "web:2",
        "ImageID": "sha256:1",
        "State": state,
        "Status": status,
        **more,
    }
    wire = msgspec.json.decode(msgspec.json.encode(listed), type=WireContainer)
    seen = msgspec.json.decode(msgspec.json.encode(inspected), type=Inspected) if inspected is not None else None
    return container("edge", wire, seen)


@pytest.mark.parametrize(
    ("found", "health", "words"),
    [
        (row(), Health.OK, ""),
        (row(status="Up 3 hours (healthy)"), Health.OK, ""),
        (row(status="Up 3 hours (unhealthy)"), Health.BAD, "health check fails"),
        (row(status="Up 2 seconds (health: starting)"), Health.BUSY, "not passed yet"),
        (row("paused", "Up 3 hours (Paused)"), Health.HELD, "paused"),
        (row("restarting", "Restarting (1) 5 seconds ago"), Health.BAD, "exit code 1"),
        (row("exited", "Exited (0) 3 hours ago"), Health.HELD, "has ended"),
        (row("exited", "Exited (143) 3 hours ago"), Health.HELD, "stopped"),
        (row("exited", "Exited (3) 3 hours ago"), Health.BAD, "exit code 3"),
        (
            row("exited", "Exited (137) 1 hour ago", inspected={"State": {"OOMKilled": True, "ExitCode": 137}}),
            Health.BAD,
            "memory",
        ),
        (
            row("created", "Created", inspected={"State": {"Error": "port is already allocated", "ExitCode": 128}}),
            Health.BAD,
            "Port is already allocated.",
        ),
        (row("created", "Created"), Health.BUSY, "not started"),
        (row("dead", "Dead"), Health.BAD, "dead"),
        (row("removing", "Removal In Progress"), Health.BUSY, "removed"),
    ],
)
def test_a_container_is_judged_by_state_health_check_and_exit_code(found: Container, health: Health, words: str) -> None:
    assert found.health is health
    assert words in found.reason


def test_passing_time_alone_does_not_change_a_container() -> None:
    assert row(status="Up 3 hours (healthy)") == row(status="Up 4 hours (healthy)")
    assert row("exited", "Exited (3) 3 hours ago") == row("exited", "Exited (3) 2 days ago")


def test_an_inspection_adds_what_the_list_lacks() -> None:
    state = {"StartedAt": "2026-03-01T10:00:00.5Z", "FinishedAt": "0001-01-01T00:00:00Z"}
    found = row(
        inspected={"State": state, "RestartCount": 4, "Config": {"Image": "registry.example.test/web:2"}}, Image="sha256:1"
    )
    assert (found.restarts, found.image, found.finished) == (4, "registry.example.test/web:2", None)
    assert found.started is not None
    assert found.changed == found.started


@pytest.mark.parametrize(
    ("labels", "app", "service"),
    [
        ({"com.docker.compose.project": "shop", "com.docker.compose.service": "web"}, "shop", "web"),
        ({"platform-reserved.app": "shop", "platform-reserved.service": "shop-web"}, "shop", "shop-web"),
        ({"com.docker.stack.namespace": "shop", "com.docker.swarm.service.name": "shop_web"}, "shop", "shop_web"),
        ({}, "", ""),
    ],
)
def test_labels_say_which_app_and_service_a_container_belongs_to(labels: dict[str, str], app: str, service: str) -> None:
    found = row(Labels=labels)
    assert (found.app, found.service) == (app, service)


def test_ports_networks_and_names_are_told_once() -> None:
    ports = [
        {"IP": "0.0.0.0", "PrivatePort": 80, "PublicPort": 8080, "Type": "tcp"},
        {"IP": "::", "PrivatePort": 80, "PublicPort": 8080, "Type": "tcp"},
        {"PrivatePort": 53, "Type": "udp"},
    ]
    networks: Json = {"Networks": {"shop_default": {}, "edge": None}}
    found = row(Ports=ports, NetworkSettings=networks, Names=["/other/alias", "/web-1"])
    assert found.ports == ("53/udp", "8080:80/tcp")
    assert found.networks == ("edge", "shop_default")
    assert found.ref.name == "web-1"


def stats(**memory: Any) -> Json:
    return {
        "read": "2026-03-01T12:00:00Z",
        "cpu_stats": {"cpu_usage": {"total_usage": 300_000_000}, "system_cpu_usage": 10_000_000_000, "online_cpus": 2},
        "precpu_stats": {"cpu_usage": {"total_usage": 100_000_000}, "system_cpu_usage": 9_000_000_000},
        "memory_stats": {"usage": 100_000, "limit": 1_000_000, **memory},
    }


@pytest.mark.parametrize(
    ("memory", "used"),
    [({"stats": {"inactive_file": 40_000}}, 60_000), ({"stats": {"total_inactive_file": 30_000}}, 70_000), ({}, 100_000)],
)
def test_a_sample_is_computed_as_the_docker_command_does(memory: Json, used: int) -> None:
    found = sample(Ref("edge", "Container", "", "web"), stats(**memory))
    assert (found.cpu, found.memory, found.memory_limit) == (40.0, used, 1_000_000)


def test_a_first_sample_without_a_former_one_and_one_of_a_stopped_container_are_zero() -> None:
    first = stats() | {"precpu_stats": {"cpu_usage": {"total_usage": 0}}}
    assert sample(Ref("edge", "Container", "", "web"), first).cpu == 0.0
    assert sample(Ref("edge", "Container", "", "web"), {"read": "0001-01-01T00:00:00Z"}).memory == 0


def told(kind: str, action: str, nano: int = 1, more: dict[str, str] | None = None, **names: str) -> Json:
    attributes = {**names, **(more or {})}
    return {"Type": kind, "Action": action, "Actor": {"ID": "x1", "Attributes": attributes}, "scope": "local", "timeNano": nano}


def test_events_say_what_is_old_and_noise_says_nothing() -> None:
    assert topics(told("container", "die")) == ("containers", "tasks")
    assert topics(told("service", "update")) == ("services", "tasks")
    assert topics(told("image", "pull")) == ()
    for action in ("exec_create: sh -c true", "exec_start: x", "exec_die", "top", "resize"):
        assert is_noise(told("container", action))
        assert topics(told("container", action)) == ()


@pytest.mark.parametrize(
    ("raw", "health", "words"),
    [
        (told("container", "die", name="web", exitCode="3"), Health.WARN, "exit code 3"),
        (told("container", "die", name="web", exitCode="0"), Health.OK, ""),
        (told("container", "oom", name="web"), Health.WARN, "memory"),
        (told("container", "health_status: unhealthy", name="web"), Health.WARN, "unhealthy"),
        (
            told("node", "update", 1, {"name": "n1", "state.new": "down", "state.old": "ready"}),
            Health.WARN,
            "state: ready to down",
        ),
        (told("service", "update", 1, {"name": "web", "updatestate.new": "paused"}), Health.WARN, "updatestate"),
        (
            told("service", "update", 1, {"name": "web", "replicas.new": "3", "replicas.old": "1"}),
            Health.OK,
            "replicas: 1 to 3",
        ),
    ],
)
def test_an_event_says_what_happened_to_what(raw: Json, health: Health, words: str) -> None:
    found = event("edge", raw)
    assert found.health is health
    assert words in found.message
    assert found.about.uid == "x1"
    assert found.about.name in ("web", "n1")


def test_only_the_last_events_are_kept_each_once() -> None:
    recent = RecentEvents(kept=2)
    events = [event("edge", told("container", "start", nano)) for nano in (1, 2, 3)]
    assert recent.add(events[0]) == (True, ())
    assert recent.add(events[0]) == (False, ())
    assert recent.add(events[1]) == (True, ())
    assert recent.add(events[2]) == (True, (events[0].ref,))
    assert recent.events == (events[1], events[2])
