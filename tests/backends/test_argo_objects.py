"""Argo CD Applications as they come from a server, and what the console says of them."""

from __future__ import annotations

from typing import Any

import pytest

from console.model.health import Health
from console.model.kubernetes import KubeObject, Trigger
from console.model.operations import Operation, State
from tests.backends.decoding import Cluster, Json

SHA, OLD = "a" * 40, "b" * 40


def application(
    sync: str = "Synced", health: str = "Healthy", *, spec: Json | None = None, operation: Json | None = None, **status: Any
) -> Json:
    body: Json = {
        "kind": "Application",
        "metadata": {"name": "shop", "namespace": "argocd", "uid": "a1", "generation": 12},
        "spec": {
            "project": "team",
            "source": {"repoURL": "https://git.example.test/shop.git", "targetRevision": "main", "path": "deploy"},
            **(spec or {}),
        },
        "status": {"sync": {"status": sync, "revision": SHA}, "health": {"status": health}, **status},
    }
    return {**body, "operation": operation} if operation is not None else body


def ended(phase: str, message: str = "", **more: Any) -> Json:
    return {
        "phase": phase,
        "message": message,
        "startedAt": "2026-03-01T10:00:00Z",
        "finishedAt": "2026-03-01T10:01:00Z",
        "operation": {"sync": {"revision": SHA}, "initiatedBy": {"username": "ada"}},
        **more,
    }


def trigger(found: Json) -> Trigger:
    cluster = Cluster()
    cluster.put(found)
    row = cluster.one("Application")
    assert isinstance(row, Trigger)
    return row


def operation(found: Json) -> Operation:
    cluster = Cluster()
    cluster.put(found)
    row = cluster.one("Operation")
    assert isinstance(row, Operation)
    return row


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (None, False),
        ({}, False),
        ({"automated": None}, False),
        ({"automated": {}}, True),
        ({"automated": {"prune": True, "selfHeal": True}}, True),
        ({"automated": {"enabled": True}}, True),
        ({"automated": {"enabled": False, "prune": True}}, False),
    ],
)
def test_automated_is_on_by_being_there_unless_it_is_turned_off(policy: Json | None, expected: bool) -> None:
    assert trigger(application(spec={"syncPolicy": policy})).automated is expected


@pytest.mark.parametrize(
    ("found", "health"),
    [
        (application(), Health.OK),
        (application("OutOfSync"), Health.WARN),
        (application("Unknown"), Health.UNKNOWN),
        (application(health="Degraded"), Health.BAD),
        (application("OutOfSync", "Missing"), Health.BAD),
        (application(health="Progressing"), Health.BUSY),
        (application(health="Suspended"), Health.HELD),
        (application(health="Unknown"), Health.UNKNOWN),
        (application("OutOfSync", operationState=ended("Failed", "one or more objects failed to apply")), Health.BAD),
        (application("Synced", operationState=ended("Error", "boom")), Health.WARN),
        (application("OutOfSync", operationState={"phase": "Running", "startedAt": "2026-03-01T10:00:00Z"}), Health.BUSY),
        (application("OutOfSync", operation={"sync": {"revision": SHA}}), Health.BUSY),
        (application(conditions=[{"type": "ComparisonError", "message": "repository not found"}]), Health.BAD),
        (application(conditions=[{"type": "OrphanedResourceWarning", "message": "2 orphans"}]), Health.OK),
    ],
)
def test_sync_health_and_operation_are_judged_together(found: Json, health: Health) -> None:
    row = trigger(found)
    assert row.health is health
    assert bool(row.reason) is (health is not Health.OK)


def test_wanted_is_what_was_compared_and_applied_the_last_success() -> None:
    row = trigger(application("OutOfSync", history=[{"revision": "c" * 40}, {"revision": OLD}]))
    assert (row.wanted, row.applied) == (SHA, OLD)
    first = trigger(application(operationState=ended("Succeeded", syncResult={"revision": SHA})))
    assert first.applied == SHA
    assert trigger(application(operationState=ended("Failed", syncResult={"revision": SHA}))).applied == ""


def test_several_sources_are_named_by_the_first_and_their_number() -> None:
    sources = [
        {"repoURL": "https://git.example.test/a.git", "targetRevision": "v1"},
        {"repoURL": "https://git.example.test/b.git"},
    ]
    found = application(spec={"source": None, "sources": sources})
    found["status"]["sync"] = {"status": "Synced", "revisions": [SHA, OLD]}
    row = trigger(found)
    assert (row.source, row.branch, row.wanted) == ("https://git.example.test/a.git and 1 more", "v1", f"{SHA},{OLD}")


def test_the_last_operation_tells_who_what_and_how_it_ended() -> None:
    failed = operation(application("OutOfSync", operationState=ended("Failed", "one or more objects failed to apply")))
    assert (failed.state, failed.who, failed.commit, failed.verb) == (State.FAILED, "ada", SHA, "sync")
    assert failed.reason == "One or more objects failed to apply."
    assert failed.ended is not None
    stopping = operation(application(operationState={"phase": "Terminating", "startedAt": "2026-03-01T10:00:00Z"}))
    assert (stopping.state, stopping.verb) == (State.RUNNING, "terminate")


def test_an_operation_that_is_asked_for_and_not_begun_is_pending() -> None:
    asked = {"sync": {"revision": OLD}, "initiatedBy": {"automated": True}}
    pending = operation(application(operation=asked, operationState=ended("Succeeded")))
    assert (pending.state, pending.commit, pending.who) == (State.PENDING, OLD, "Argo CD, automated")
    assert pending.waiting_for


def test_a_project_says_what_it_may_use() -> None:
    cluster = Cluster()
    spec = {"description": "Shop", "sourceRepos": ["*"], "destinations": [{"namespace": "shop"}, {"namespace": "pay"}]}
    cluster.put({"kind": "AppProject", "metadata": {"name": "team", "namespace": "argocd"}, "spec": spec})
    row = cluster.one("AppProject")
    assert isinstance(row, KubeObject)
    assert row.summary == "Shop: 1 repositories, 2 destinations"
