"""What the dispatch engine relies on in kustomize-controller, seen on the real one through a watch."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import yaml

from console.engines.dispatch.constants import FIELD_MANAGER, REQUESTED_AT, ConditionReason
from console.engines.dispatch.flux_reading import last_handled, ready_condition, suspend_owners, suspended
from console.engines.dispatch.revisions import commit_of
from console.engines.dispatch.types import ObjectName
from console.engines.ports.applier import GIT_REPOSITORIES, KUSTOMIZATIONS, JsonObject
from tests.real import fleet
from tests.real.flux import FluxLab
from tests.real.flux_world import RealFlux, real_flux

CONTROLLER = "gotk-kustomize-controller"


@pytest.fixture
async def world(flux: FluxLab) -> AsyncIterator[RealFlux]:
    """A Kustomization to be on a live controller."""
    async with real_flux(flux) as found:
        yield found


def ready(obj: JsonObject) -> tuple[str, str]:
    """Status and reason of Ready."""
    found = ready_condition(obj) or {}
    return str(found.get("status", "")), str(found.get("reason", ""))


def progressing(seen: list[JsonObject]) -> list[JsonObject]:
    return [obj for obj in seen if ready(obj)[0] == "Unknown"]


async def witness(world: RealFlux, name: str = "witness") -> None:
    """Have a second Kustomization of the source handle a request: what the controller was told before has reached it."""
    body = {**world.manifest, "metadata": {"name": name, "namespace": world.name.namespace}}
    token = world.token()
    body["metadata"]["annotations"] = {REQUESTED_AT: token}
    body["spec"] = {"interval": "1h", "path": "./", "prune": False, "suspend": True, "sourceRef": body["spec"]["sourceRef"]}
    await world.objects.apply(KUSTOMIZATIONS, body, manager="witness", force=True)

    async def handled() -> bool:
        return last_handled(await world.objects.get(KUSTOMIZATIONS, world.name.namespace, name)) == token

    async with asyncio.timeout(60):
        while not await handled():
            await asyncio.sleep(0.1)


@pytest.mark.scenario("dispatch:F1", "dispatch:F10", "dispatch:F16")
async def test_a_new_generation_and_a_request_make_a_pass_and_other_changes_do_not(world: RealFlux) -> None:
    await world.begin()
    await world.handles()
    async with world.versions() as seen:
        await world.patch({"metadata": {"annotations": {REQUESTED_AT: None}}})
        await world.patch({"metadata": {"labels": {"touched": "yes"}, "annotations": {"touched": "yes"}}})
        url = world.lab.kube.client.path(fleet.FLUX_KUSTOMIZE, "Kustomization", world.name.namespace, "shop") + "/status"
        status: JsonObject = {"status": {"inventory": {"entries": []}}}
        answer = await asyncio.to_thread(
            world.lab.kube.client.http.patch, url, json=status, headers={"Content-Type": "application/merge-patch+json"}
        )
        assert answer.status_code == 200, answer.text
        await witness(world)
        assert not progressing(seen), "neither a removed request nor labels nor a status"
        await world.handles()
        begun = progressing(seen)
        assert begun, "a request"
        assert {ready(obj) for obj in begun} == {("Unknown", "Progressing")}
        del seen[:]
        generation = (await world.patch({"spec": {"interval": "2h"}}))["metadata"]["generation"]
        obj = await world.until(lambda obj: obj["status"]["observedGeneration"] == generation)
        assert progressing(seen), "a generation"
    assert ready(obj) == ("True", "ReconciliationSucceeded")
    fields = [entry for entry in obj["metadata"]["managedFields"] if entry["manager"] == CONTROLLER]
    assert any("f:conditions" in entry["fieldsV1"].get("f:status", {}) for entry in fields)
    assert any("f:finalizers" in entry["fieldsV1"].get("f:metadata", {}) for entry in fields)
    assert not any("f:spec" in entry["fieldsV1"] for entry in fields)


@pytest.mark.scenario("dispatch:F2", "dispatch:F3", "dispatch:F4", "dispatch:F10")
async def test_every_return_handles_its_request_whether_it_applied_or_not(world: RealFlux) -> None:
    await world.begin()
    assert ready(await world.handles()) == ("True", "ReconciliationSucceeded")
    await world.hold()
    before = await world.patch({"spec": {"sourceRef": {"name": "nowhere"}, "path": "./other"}})
    held = await world.handles()
    assert ready_condition(held) == ready_condition(before), "a suspended pass looks at nothing and says nothing"
    assert held["status"]["observedGeneration"] == held["metadata"]["generation"], "it moves with an old success too"

    await world.patch({"spec": {"suspend": None}}, "flux")
    lost = await world.handles()
    assert ready(lost)[0] == "False"
    assert "nowhere" in (ready_condition(lost) or {})["message"]
    assert lost["status"]["observedGeneration"] < lost["metadata"]["generation"], "it does not move with a failure"

    await world.patch({"spec": {"sourceRef": {"name": "shop"}, "path": "./shop", "dependsOn": [{"name": "other"}]}})
    assert ready(await world.handles()) == ("False", "DependencyNotReady")

    await world.patch({"spec": {"dependsOn": None, "path": "./nowhere"}})
    assert ready(await world.handles()) == ("False", "ArtifactFailed")


@pytest.mark.scenario("dispatch:F3", "dispatch:P23")
async def test_a_pass_that_only_adds_the_finalizer_handles_the_request_and_leaves_ready_alone(world: RealFlux) -> None:
    await world.begin()
    before = await world.handles()
    token = world.token()
    async with world.versions() as seen:
        await world.patch({"metadata": {"finalizers": None, "annotations": {REQUESTED_AT: token}}})
        await world.until(lambda obj: last_handled(obj) == token)
        await world.until(lambda obj: obj["metadata"].get("finalizers"))
        first = next(obj for obj in seen if last_handled(obj) == token)
    assert ready_condition(first) == ready_condition(before)
    assert not progressing(seen[: seen.index(first)])


@pytest.mark.scenario("dispatch:F2", "dispatch:F5", "dispatch:F6", "dispatch:F8", "dispatch:F12")
async def test_a_pass_goes_on_whatever_is_written_meanwhile_and_ends_in_a_fixed_order(world: RealFlux) -> None:
    first = await world.begin(wait=True, timeout="2m")
    slow = await world.push(slow=True)
    async with world.versions() as seen:
        # The new revision makes a pass too; the request is what this test follows.
        checking = await world.checking()
        assert commit_of(checking["status"]["lastAttemptedRevision"]) == slow
        assert commit_of(checking["status"]["lastAppliedRevision"]) == first
        read = checking["metadata"]["generation"]
        token = world.token()
        during = await world.patch({"spec": {"suspend": True}, "metadata": {"annotations": {REQUESTED_AT: token}}}, "flux")
        await witness(world)
        still = await world.shop()
        assert ready(still) == ("Unknown", "Progressing"), "neither a suspend nor a request ends or overtakes it"
        assert last_handled(still) != token
        await world.let_go()
        await world.until(lambda obj: last_handled(obj) == token)
        ended = [obj for obj in seen if ready(obj)[0] == "True" and during["metadata"]["generation"] > read]
    told = next(obj for obj in ended if (ready_condition(obj) or {})["observedGeneration"] > read)
    assert (ready_condition(told) or {})["observedGeneration"] == during["metadata"]["generation"], (
        "of that write, not of the pass"
    )
    assert commit_of(told["status"]["lastAppliedRevision"]) == first, "the conditions come before the rest"
    assert last_handled(told) != token
    done = seen[seen.index(told) + 1 :]
    assert commit_of(done[0]["status"]["lastAppliedRevision"]) == slow
    assert last_handled(done[-1]) == token, "the request of meanwhile is of the next pass, which found it suspended"
    assert all(ready_condition(obj) == ready_condition(told) for obj in done)
    assert re.fullmatch(r"[0-9T:-]+Z", (ready_condition(told) or {})["lastTransitionTime"]), "whole seconds"


@pytest.mark.scenario("dispatch:F6", "dispatch:F7", "dispatch:P5", "dispatch:P6")
async def test_what_was_attempted_and_what_was_applied_differ_after_a_failure(world: RealFlux) -> None:
    first = await world.begin(wait=True, timeout="5m")
    unhealthy = await world.push(slow=True)
    await world.checking()
    await world.let_go(healthy=False)
    obj = await world.until(lambda obj: ready(obj) == ("False", "HealthCheckFailed") and obj["status"].get("history"))
    status = obj["status"]
    assert await world.painted() == unhealthy, "its objects are applied all the same"
    assert (commit_of(status["lastAttemptedRevision"]), commit_of(status["lastAppliedRevision"])) == (unhealthy, first)
    entries = await world.until(lambda obj: len(obj["status"]["history"]) == 2)
    assert [_entry(entry) for entry in entries["status"]["history"]] == [
        ("HealthCheckFailed", unhealthy),
        ("ReconciliationSucceeded", first),
    ]
    broken = await world.push(broken=True)
    status = (await world.until(lambda obj: ready(obj) == ("False", "BuildFailed")))["status"]
    assert (commit_of(status["lastAttemptedRevision"]), commit_of(status["lastAppliedRevision"])) == (broken, first)
    assert [_entry(entry)[1] for entry in status["history"]] == [unhealthy, first], "it ended before the apply"
    unpacked = await world.push()
    await world.until(lambda obj: commit_of(obj["status"].get("lastAppliedRevision", "")) == unpacked)
    unreadable = await _with_another_digest(world)
    status = (await world.until(lambda obj: ready(obj) == ("False", "ArtifactFailed")))["status"]
    assert commit_of(status["lastAttemptedRevision"]) == unpacked != unreadable
    commits = [first]
    for _ in range(5):
        commits.append(await world.push())
        await world.until(lambda obj: commit_of(obj["status"].get("lastAppliedRevision", "")) == commits[-1])
    obj = await world.until(lambda obj: _entry(obj["status"]["history"][0])[1] == commits[-1])
    assert [_entry(entry)[1] for entry in obj["status"]["history"]] == commits[:0:-1], "five, the newest first"


async def _with_another_digest(world: RealFlux) -> str:
    """A commit whose archive is not what the source says."""
    await world.stop()
    commit = await world.push()
    body = fleet.git_repository(world.name.namespace, "shop", commit=commit)
    live = await world.objects.get(GIT_REPOSITORIES, world.name.namespace, "shop")
    body["status"] = {**live["status"], "artifact": {**live["status"]["artifact"], "digest": f"sha256:{'0' * 64}"}}
    await asyncio.to_thread(world.lab.kube.client.set_status, body)
    await world.start()
    return commit


def _entry(entry: JsonObject) -> tuple[str, Any]:
    return entry["lastReconciledStatus"], commit_of(entry["metadata"]["revision"])


@pytest.mark.scenario("dispatch:F9", "dispatch:F11")
async def test_the_revision_is_the_sources_own_and_a_settings_change_makes_a_pass_unless_it_is_suspended(
    world: RealFlux,
) -> None:
    settings = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "settings",
            "namespace": world.name.namespace,
            "labels": {"reconcile.fluxcd.io/watch": "Enabled"},
        },
    }
    kube = world.lab.kube.client

    async def colour(value: str) -> None:
        await asyncio.to_thread(kube.apply, {**settings, "data": {"colour": value}})

    async def applied(value: str) -> bool:
        found = await asyncio.to_thread(kube.find, "v1", "ConfigMap", world.name.namespace, "tinted")
        return found is not None and found["data"]["colour"] == value

    await colour("blue")
    await world.begin(postBuild={"substituteFrom": [{"kind": "ConfigMap", "name": "settings"}]})
    tinted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "tinted", "namespace": world.name.namespace}}
    commit = await world.push(files={"shop/tinted.yaml": yaml.safe_dump({**tinted, "data": {"colour": "${colour}"}})})
    await world.until(lambda obj: commit_of(obj["status"].get("lastAppliedRevision", "")) == commit)
    await colour("red")
    await _eventually(lambda: applied("red"))
    await world.hold()
    await colour("green")
    await witness(world)
    assert await applied("red"), "suspended"

    live = await world.objects.get(GIT_REPOSITORIES, world.name.namespace, "shop")
    legacy = f"main/{commit}"
    live["status"]["artifact"]["revision"] = legacy
    await asyncio.to_thread(kube.set_status, live)
    await world.patch({"spec": {"suspend": None}}, "flux")
    obj = await world.until(lambda obj: obj["status"].get("lastAppliedRevision") == legacy)
    assert commit_of(obj["status"]["lastAppliedRevision"]) == commit
    assert await applied("green"), "what it missed it applies when it is resumed"


async def _eventually(look: Any) -> None:
    async with asyncio.timeout(60):
        while not await look():
            await asyncio.sleep(0.1)


@pytest.mark.scenario("dispatch:F15", "dispatch:V7", "dispatch:V8")
async def test_a_parent_leaves_our_suspend_alone_unless_it_applies_one_or_is_told_to_override_us(world: RealFlux) -> None:
    await world.begin()
    child = ObjectName(world.name.namespace, "child")

    async def parent_applies(**spec: bool) -> None:
        body = {**world.manifest, "metadata": {"name": "child", "namespace": child.namespace}}
        body["spec"] = {"interval": "1h", "path": "./nothing", "prune": False, "sourceRef": body["spec"]["sourceRef"], **spec}
        commit = await world.push(files={"shop/child.yaml": yaml.safe_dump(body)})
        await world.until(lambda obj: commit_of(obj["status"].get("lastAppliedRevision", "")) == commit)

    async def live() -> JsonObject:
        return await world.objects.get(KUSTOMIZATIONS, child.namespace, child.name)

    await parent_applies()
    await world.client.suspend(child)
    by_hand = {"spec": {"retryInterval": "7m"}}
    await world.objects.merge(KUSTOMIZATIONS, child.namespace, child.name, by_hand, manager="kubectl-edit")
    await parent_applies()
    found = await live()
    assert suspended(found)
    assert suspend_owners(found, FIELD_MANAGER).ours
    assert "retryInterval" not in found["spec"], "what kubectl wrote the parent takes away"

    await parent_applies(suspend=False)
    verdict = await world.client.validate(child)
    assert verdict.reason is ConditionReason.SUSPEND_OWNED_ELSEWHERE
    assert "kustomize-controller" in verdict.message
    await parent_applies()
    await world.client.suspend(child)
    await asyncio.to_thread(world.lab.restart, f"--override-manager={FIELD_MANAGER}")
    await parent_applies()
    assert not suspended(await live()), "a controller that overrides our name takes our hold away"
