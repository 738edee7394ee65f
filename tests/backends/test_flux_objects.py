"""Flux objects as they come from a server, and what the console says of them."""

from __future__ import annotations

from typing import Any

import pytest

from console.model.health import Health
from console.model.kubernetes import KubeObject, Trigger
from console.model.operations import Operation, State
from tests.backends.decoding import Cluster, Json, condition

SHA = "5f3c1f0c9a7d2b8e6f4a1d3c5b7e9f0a2c4d6e81"
OLD = "0b9e7c6d5a4f3e2d1c0b9a8f7e6d5c4b3a291817"


def repository(revision: str = f"main@sha1:{SHA}", ref: Json | None = None, **spec: Any) -> Json:
    return {
        "kind": "GitRepository",
        "metadata": {"name": "shop", "namespace": "flux-system", "uid": "g1", "resourceVersion": "7"},
        "spec": {"url": "https://git.example.test/team/shop.git", "ref": ref or {"branch": "main"}, "interval": "1m", **spec},
        "status": {"artifact": {"revision": revision}, "conditions": [condition("Ready", "True", "Succeeded")]},
    }


def kustomization(*conditions: Json, spec: Json | None = None, status: Json | None = None, **metadata: Any) -> Json:
    return {
        "kind": "Kustomization",
        "metadata": {
            "name": "shop",
            "namespace": "flux-system",
            "uid": "k1",
            "resourceVersion": "9",
            "generation": 2,
            **metadata,
        },
        "spec": {"sourceRef": {"kind": "GitRepository", "name": "shop"}, "path": "./deploy", "interval": "10m", **(spec or {})},
        "status": {
            "conditions": list(conditions) or [condition("Ready", "True", "ReconciliationSucceeded")],
            "observedGeneration": 2,
            "lastAppliedRevision": f"main@sha1:{SHA}",
            "lastAttemptedRevision": f"main@sha1:{SHA}",
            **(status or {}),
        },
    }


def trigger(*objects: Json) -> Trigger:
    cluster = Cluster()
    cluster.put(*objects)
    found = cluster.one("Kustomization")
    assert isinstance(found, Trigger)
    return found


def operation(*objects: Json) -> Operation | None:
    cluster = Cluster()
    cluster.put(*objects)
    rows = list(cluster.store.of("Operation").values())
    assert len(rows) <= 1
    return rows[0] if rows and isinstance(rows[0], Operation) else None


def owned(manager: str, how: str = "Apply", subresource: str | None = None) -> Json:
    entry = {
        "manager": manager,
        "operation": how,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:suspend": {}, "f:path": {}}},
    }
    return {**entry, "subresource": subresource} if subresource else entry


def test_a_kustomization_names_its_source_branch_and_commits() -> None:
    found = trigger(repository(), kustomization())
    assert (found.source, found.branch, found.path) == ("https://git.example.test/team/shop.git", "main", "./deploy")
    assert (found.wanted, found.applied, found.sync) == (SHA, SHA, "Synced")
    assert (found.health, found.reason, found.interval) == (Health.OK, "", "10m")
    assert found.applier == found.ref
    assert found.related[0].uid == "g1"


@pytest.mark.parametrize("order", ["source first", "source last"])
def test_a_source_that_moved_on_makes_its_kustomization_out_of_sync_whatever_comes_first(order: str) -> None:
    behind = kustomization(status={"lastAppliedRevision": f"main@sha1:{OLD}", "lastAttemptedRevision": f"main@sha1:{OLD}"})
    objects = [repository(), behind] if order == "source first" else [behind, repository()]
    found = trigger(*objects)
    assert (found.wanted, found.applied, found.sync) == (SHA, OLD, "OutOfSync")


@pytest.mark.parametrize("revision", [f"main@sha1:{SHA}", f"main/{SHA}", SHA, f"refs/heads/main@sha1:{SHA.upper()}"])
def test_a_commit_is_read_from_every_form_of_a_revision(revision: str) -> None:
    assert trigger(repository(revision), kustomization()).wanted == SHA


@pytest.mark.parametrize(
    ("ref", "follows"),
    [
        ({"branch": "main"}, "main"),
        ({}, "master"),
        ({"branch": "main", "tag": "v1"}, "v1"),
        ({"commit": SHA, "branch": "x"}, SHA),
    ],
)
def test_what_a_repository_follows_is_what_the_controller_follows(ref: Json, follows: str) -> None:
    cluster = Cluster()
    found = repository()
    found["spec"]["ref"] = ref
    cluster.put(found)
    row = cluster.one("GitRepository")
    assert isinstance(row, KubeObject)
    assert row.branch == follows
    assert row.summary == f"https://git.example.test/team/shop.git@{follows}"


@pytest.mark.parametrize(
    ("fields", "who"),
    [
        ([owned("gitops-reverser")], "gitops-reverser"),
        ([owned("flux", "Update")], "flux"),
        ([owned("flux", "Update"), owned("gitops-reverser")], "gitops-reverser, flux"),
        ([owned("gotk-kustomize-controller", "Update", "status")], ""),
        ([{"manager": "kustomize-controller", "operation": "Apply", "fieldsV1": {"f:spec": {"f:path": {}}}}], ""),
        ([], ""),
    ],
)
def test_a_suspended_kustomization_is_held_and_says_by_whom(fields: list[Json], who: str) -> None:
    found = trigger(kustomization(spec={"suspend": True}, managedFields=fields))
    assert (found.health, found.suspended, found.suspended_by) == (Health.HELD, True, who)
    assert found.reason.startswith(f"Suspended by {who}" if who else "Suspended:")


def test_a_suspended_kustomization_that_failed_is_bad_not_just_held() -> None:
    found = trigger(kustomization(condition("Ready", "False", "BuildFailed", "no such file"), spec={"suspend": True}))
    assert found.health is Health.BAD
    assert found.reason == "Suspended after a failure: No such file."


@pytest.mark.parametrize(
    ("conditions", "health", "words"),
    [
        ([condition("Ready", "Unknown", "Progressing", "detecting drift for revision main")], Health.BUSY, "Detecting drift"),
        (
            [condition("Ready", "False", "HealthCheckFailed", "timeout waiting for: Deployment/web")],
            Health.BAD,
            "Deployment/web",
        ),
        (
            [
                condition("Ready", "False", "ArtifactFailed", "boom"),
                condition("Reconciling", "True", "ProgressingWithRetry", "again"),
            ],
            Health.BAD,
            "Boom",
        ),
        ([condition("Ready", "False", "DependencyNotReady", "dependency 'a/b' is not ready")], Health.BUSY, "dependency"),
        (
            [condition("Ready", "True", "Succeeded"), condition("Reconciling", "True", "Progressing", "applying")],
            Health.BUSY,
            "Applying",
        ),
        (
            [condition("Stalled", "True", "InvalidPath", "path not found"), condition("Ready", "False", "x", "y")],
            Health.BAD,
            "Path not",
        ),
    ],
)
def test_conditions_become_health_and_one_sentence(conditions: list[Json], health: Health, words: str) -> None:
    found = trigger(kustomization(*conditions))
    assert found.health is health
    assert words.lower() in found.reason.lower()
    assert found.reason.endswith(".")


def test_an_object_that_its_controller_never_saw_is_unknown() -> None:
    found = trigger({**kustomization(), "status": {}})
    assert (found.health, found.wanted, found.sync) == (Health.UNKNOWN, "", "")


def test_a_change_that_the_controller_has_not_seen_is_under_way() -> None:
    assert trigger(kustomization(generation=3)).health is Health.BUSY


def test_a_deleted_object_that_lingers_is_busy() -> None:
    assert trigger(kustomization(deletionTimestamp="2026-03-01T10:00:00Z")).reason == "It is being deleted."


def test_a_request_that_was_not_handled_shows_until_it_is() -> None:
    asked = {"reconcile.fluxcd.io/requestedAt": "t2", "other": "ignored"}
    waiting = trigger(kustomization(annotations=asked, status={"lastHandledReconcileAt": "t1"}))
    assert (waiting.health, waiting.operation) == (Health.BUSY, "Requested")
    handled = trigger(kustomization(annotations=asked, status={"lastHandledReconcileAt": "t2"}))
    assert (handled.health, handled.operation) == (Health.OK, "")


def test_a_pass_of_the_controller_is_an_operation_while_it_lasts() -> None:
    running = operation(repository(), kustomization(condition("Ready", "Unknown", "Progressing", "building manifests")))
    assert running is not None
    assert (running.state, running.verb, running.commit, running.origin) == (State.RUNNING, "reconcile", SHA, "target")
    assert running.waiting_for == "Building manifests."
    assert operation(kustomization()) is None


def test_an_operation_goes_when_the_pass_is_over() -> None:
    cluster = Cluster()
    cluster.put(kustomization(condition("Ready", "Unknown", "Progressing")))
    assert len(cluster.store.of("Operation")) == 1
    cluster.put(kustomization())
    assert not cluster.store.of("Operation")


def test_a_helm_release_tells_chart_version_and_release() -> None:
    cluster = Cluster()
    cluster.put(
        {
            "kind": "HelmRelease",
            "metadata": {"name": "cache", "namespace": "apps", "uid": "h1"},
            "spec": {
                "chart": {
                    "spec": {"chart": "redis", "version": "19.x", "sourceRef": {"kind": "HelmRepository", "name": "bitnami"}}
                },
                "dependsOn": [{"name": "base", "namespace": "infra"}],
            },
            "status": {
                "conditions": [condition("Ready", "True", "UpgradeSucceeded")],
                "helmChart": "apps/apps-cache",
                "history": [{"chartName": "redis", "chartVersion": "19.6.4", "version": 3, "status": "deployed"}],
            },
        }
    )
    found = cluster.one("HelmRelease")
    assert isinstance(found, KubeObject)
    assert (found.summary, found.revision, found.health) == ("redis 19.6.4, release 3 deployed", "19.6.4", Health.OK)
    assert [str(ref) for ref in found.related] == [
        "prod:HelmRepository/apps/bitnami",
        "prod:HelmChart/apps/apps-cache",
        "prod:HelmRelease/infra/base",
    ]


def test_an_oci_helm_repository_is_well_without_any_status() -> None:
    cluster = Cluster()
    cluster.put(
        {"kind": "HelmRepository", "metadata": {"name": "charts", "namespace": "a"}, "spec": {"url": "oci://r.example.test/c"}}
    )
    assert cluster.one("HelmRepository").health is Health.OK


@pytest.mark.parametrize(
    ("kind", "spec", "summary"),
    [
        ("Bucket", {"endpoint": "minio.example.test", "bucketName": "releases"}, "minio.example.test/releases"),
        (
            "GitRepository",
            {"url": "https://g.example.test/m", "ref": {"tag": "v1", "semver": ">=2"}},
            "https://g.example.test/m@v1",
        ),
        ("OCIRepository", {"url": "oci://r.example.test/m", "ref": {"semver": ">=1"}}, "oci://r.example.test/m@>=1"),
        (
            "HelmChart",
            {"chart": "redis", "version": "19.x", "sourceRef": {"kind": "HelmRepository", "name": "b"}},
            "redis 19.x",
        ),
    ],
)
def test_every_source_kind_says_where_it_fetches_from(kind: str, spec: Json, summary: str) -> None:
    cluster = Cluster()
    cluster.put({"kind": kind, "metadata": {"name": "x", "namespace": "a"}, "spec": spec, "status": {"conditions": None}})
    found = cluster.one(kind)
    assert isinstance(found, KubeObject)
    assert found.summary == summary


def test_null_and_missing_parts_harm_nothing() -> None:
    cluster = Cluster()
    cluster.put(
        {
            "kind": "Kustomization",
            "metadata": {"name": "bare", "labels": None, "annotations": None, "managedFields": None, "creationTimestamp": None},
            "status": {"conditions": [{"type": "Ready", "status": None, "lastTransitionTime": "not a time"}]},
        }
    )
    assert cluster.one("Kustomization").health is Health.BUSY
