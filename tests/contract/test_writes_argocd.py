"""Writing to Argo CD Applications through the write path; the test plays the application controller."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from console.errors import Refused, WorldMoved
from console.journal.records import OperationRecord
from console.model.operations import State
from console.model.plan import Intent
from tests.contract.write_desk import Cluster, Object, argo_cluster
from tests.real import fleet

__all__ = ["argo_cluster"]

REFRESH = "argocd.argoproj.io/refresh"
POLICY = {"prune": True, "selfHeal": True}
HISTORY = [
    {"id": number, "revision": commit, "source": {"repoURL": "https://git.example.test/team/payments.git"}, "deployedAt": at}
    for number, commit, at in ((3, fleet.OLDER, "2024-04-30T12:00:00Z"), (4, fleet.COMMIT, "2024-05-01T12:00:00Z"))
]


def application(cluster: Cluster, **spec: Any) -> Object:
    obj = fleet.application(cluster.namespace)
    obj["spec"] |= spec
    obj["status"]["history"] = HISTORY
    return obj


async def begins(cluster: Cluster, obj: Object, started: str = "2024-06-01T12:00:00Z") -> Object:
    """The controller takes the operation up: copied whole into the state, still there itself."""
    found = await cluster.until(obj, lambda live: "operation" in live)
    operation: Object = found["operation"]
    state = {"phase": "Running", "startedAt": started, "message": "waiting", "operation": operation, "finishedAt": None}
    await cluster.patch(obj, {"status": {"operationState": state}}, manager="argocd-application-controller")
    return operation


async def ends(cluster: Cluster, obj: Object, phase: str, message: str) -> None:
    patch = {"operation": None, "status": {"operationState": {"phase": phase, "message": message}}}
    await cluster.patch(obj, patch, manager="argocd-application-controller")


async def test_a_refresh_is_over_when_the_controller_took_the_annotation_away(argo_cluster: Cluster, tmp_path: Path) -> None:
    obj = application(argo_cluster)
    ref = await argo_cluster.create(obj)
    async with argo_cluster.desk(ref, tmp_path) as desk:
        for verb, kind in (("refresh", "normal"), ("hard-refresh", "hard")):
            run = asyncio.create_task(desk.do(verb, ref))
            found = await argo_cluster.until(obj, lambda live: REFRESH in (live["metadata"].get("annotations") or {}))
            assert found["metadata"]["annotations"][REFRESH] == kind
            assert not run.done()
            await argo_cluster.patch(obj, {"metadata": {"annotations": {REFRESH: None}}})
            record = await run
            assert (record.state, record.undo) == (State.SUCCEEDED, None)
        assert desk.tap.writes == 2


async def test_a_sync_names_who_asked_and_ends_with_its_operation(argo_cluster: Cluster, tmp_path: Path) -> None:
    obj = application(argo_cluster)
    ref = await argo_cluster.create(obj)
    async with argo_cluster.desk(ref, tmp_path) as desk:
        run = asyncio.create_task(desk.do("sync", ref, prune="true"))
        operation = await begins(argo_cluster, obj)
        assert operation["sync"] == {"prune": True}
        assert operation["initiatedBy"]["username"].endswith(f"@{socket.gethostname()}")
        with pytest.raises(Refused, match="is under way"):
            await desk.commands.plan(Intent(verb="sync", targets=(ref,)))
        await ends(argo_cluster, obj, "Succeeded", "successfully synced")
        record = await run
    assert (record.state, record.message) == (State.SUCCEEDED, f"{ref.path}: Succeeded")


async def test_two_syncs_within_one_second_are_told_apart(argo_cluster: Cluster, tmp_path: Path) -> None:
    obj = application(argo_cluster)
    ref = await argo_cluster.create(obj)
    async with argo_cluster.desk(ref, tmp_path) as desk:
        tokens = []
        for message in ("first", "second"):
            run = asyncio.create_task(desk.do("sync", ref))
            operation = await begins(argo_cluster, obj, "2024-06-01T12:00:00Z")
            tokens.append(next(item["value"] for item in operation["info"] if item["name"] == "quarterdeck/request"))
            assert not run.done()
            await ends(argo_cluster, obj, "Succeeded", message)
            assert (await run).state is State.SUCCEEDED
        assert len(set(tokens)) == 2


async def test_the_end_of_somebody_elses_sync_is_not_taken_for_the_end_of_ours(argo_cluster: Cluster, tmp_path: Path) -> None:
    obj = application(argo_cluster)
    ref = await argo_cluster.create(obj)
    async with argo_cluster.desk(ref, tmp_path) as desk:
        run = asyncio.create_task(desk.do("sync", ref))
        await argo_cluster.until(obj, lambda live: "operation" in live)
        # In one write: ours is over, and another one is, too.
        state: Object = {
            "phase": "Succeeded",
            "startedAt": "2024-06-01T12:00:00Z",
            "operation": {"sync": {}},
            "finishedAt": None,
        }
        await argo_cluster.patch(obj, {"operation": None, "status": {"operationState": state}})
        record = await run
    assert record.state is State.FAILED
    assert "Another operation followed" in record.message


async def test_a_plan_that_another_sync_overtook_within_one_second_is_refused(argo_cluster: Cluster, tmp_path: Path) -> None:
    obj = application(argo_cluster)
    ref = await argo_cluster.create(obj)
    async with argo_cluster.desk(ref, tmp_path) as desk:
        started = (await argo_cluster.get(obj))["status"]["operationState"]["startedAt"]
        plan = await desk.commands.plan(Intent(verb="sync", targets=(ref,)))
        run = asyncio.create_task(desk.do("sync", ref))
        await begins(argo_cluster, obj, started)
        await ends(argo_cluster, obj, "Succeeded", "synced")
        assert (await run).state is State.SUCCEEDED
        with pytest.raises(WorldMoved, match=r"somebody else \(last request"):
            await desk.run(plan)


async def test_a_sync_that_fails_is_told_in_the_controllers_words(argo_cluster: Cluster, tmp_path: Path) -> None:
    obj = application(argo_cluster)
    ref = await argo_cluster.create(obj)
    async with argo_cluster.desk(ref, tmp_path) as desk:
        run = asyncio.create_task(desk.do("sync", ref))
        await begins(argo_cluster, obj)
        await ends(argo_cluster, obj, "Failed", "one or more objects failed to apply")
        record = await run
    assert record.state is State.FAILED
    assert "one or more objects failed to apply" in record.message


async def test_a_rollback_asks_for_the_deployment_before_the_last(argo_cluster: Cluster, tmp_path: Path) -> None:
    obj = application(argo_cluster)
    ref = await argo_cluster.create(obj)
    async with argo_cluster.desk(ref, tmp_path) as desk:
        run = asyncio.create_task(desk.do("rollback", ref))
        operation = await begins(argo_cluster, obj)
        assert (operation["sync"]["revision"], operation["sync"]["prune"]) == (fleet.OLDER, False)
        await ends(argo_cluster, obj, "Succeeded", "rolled back")
        assert (await run).state is State.SUCCEEDED
        with pytest.raises(Refused, match="no such entry"):
            await desk.do("rollback", ref, id="9")


async def test_a_running_operation_is_terminated_and_one_that_ended_is_not(argo_cluster: Cluster, tmp_path: Path) -> None:
    obj = application(argo_cluster)
    ref = await argo_cluster.create(obj)
    async with argo_cluster.desk(ref, tmp_path) as desk:
        with pytest.raises(Refused, match=r"No operation of .* is running \(the last one: Succeeded\)"):
            await desk.do("terminate", ref)
        await argo_cluster.patch(obj, {"operation": {"sync": {"prune": False}}}, manager="argocd-server")
        await begins(argo_cluster, obj)
        run = asyncio.create_task(desk.do("terminate", ref))
        await argo_cluster.until(obj, lambda live: live["status"]["operationState"]["phase"] == "Terminating")
        await ends(argo_cluster, obj, "Failed", "Operation terminated")
        assert (await run).state is State.SUCCEEDED


async def test_automated_sync_goes_off_and_undo_restores_the_exact_policy(argo_cluster: Cluster, tmp_path: Path) -> None:
    obj = application(argo_cluster, syncPolicy={"automated": POLICY, "syncOptions": ["CreateNamespace=true"]})
    ref = await argo_cluster.create(obj)
    async with argo_cluster.desk(ref, tmp_path) as desk:
        with pytest.raises(Refused, match="syncs by itself and would undo a rollback"):
            await desk.do("rollback", ref)
        record = await desk.do("automated-off", ref)
        found = await argo_cluster.get(obj)
        assert record.state is State.SUCCEEDED
        assert found["spec"]["syncPolicy"] == {"syncOptions": ["CreateNamespace=true"]}
        assert (await desk.undo(ref)).state is State.SUCCEEDED
        found = await argo_cluster.get(obj)
        assert found["spec"]["syncPolicy"] == {"automated": POLICY, "syncOptions": ["CreateNamespace=true"]}


async def test_automated_sync_of_what_something_else_makes_is_left_alone(argo_cluster: Cluster, tmp_path: Path) -> None:
    obj = application(argo_cluster, syncPolicy={"automated": POLICY})
    owner = {"apiVersion": fleet.ARGO, "kind": "ApplicationSet", "name": "all", "uid": "00000000-0000-4000-8000-000000000000"}
    obj["metadata"]["ownerReferences"] = [owner]
    ref = await argo_cluster.create(obj)
    async with argo_cluster.desk(ref, tmp_path) as desk:
        with pytest.raises(Refused, match="is made by the ApplicationSet all"):
            await desk.do("automated-off", ref)
        await argo_cluster.patch(obj, {"metadata": {"ownerReferences": None}})
        policy = {"spec": {"syncPolicy": {"automated": {"selfHeal": False}}}}
        await argo_cluster.patch(obj, policy, manager="kustomize-controller")
        with pytest.raises(Refused, match=r"syncPolicy\.automated of .* is kept by kustomize-controller"):
            await desk.do("automated-off", ref)
        assert desk.tap.writes == 0


async def test_a_sync_whose_answer_is_lost_is_found_by_its_operation(argo_cluster: Cluster, tmp_path: Path) -> None:
    obj = application(argo_cluster)
    ref = await argo_cluster.create(obj)
    async with argo_cluster.desk(ref, tmp_path) as desk:
        desk.tap.mode = "cut after"
        run: asyncio.Task[OperationRecord] = asyncio.create_task(desk.do("sync", ref))
        await begins(argo_cluster, obj)
        await ends(argo_cluster, obj, "Succeeded", "successfully synced")
        record = await run
    assert record.state is State.SUCCEEDED
    assert "the answer was lost; reading shows that the write arrived" in record.steps[0].detail


async def test_every_option_of_a_sync_reaches_the_operation(argo_cluster: Cluster, tmp_path: Path) -> None:
    obj = application(argo_cluster, syncPolicy={"syncOptions": ["CreateNamespace=true", "Replace=false"]})
    obj["status"]["resources"] = [
        {"group": "apps", "version": "v1", "kind": "Deployment", "name": "web"},
        {"version": "v1", "kind": "Service", "name": "old", "requiresPruning": True},
    ]
    ref = await argo_cluster.create(obj)
    options = {"prune": "true", "force": "true", "strategy": "apply", "replace": "true", "server-side": "true"}
    async with argo_cluster.desk(ref, tmp_path) as desk:
        asked = Intent(verb="sync", targets=(ref,), arguments={**options, "resources": "apps:Deployment:web", "revision": "v2"})
        plan = await desk.commands.plan(asked)
        assert plan.confirmation == ref.name, "half of it goes"
        assert any("1 now (Service old)" in said for said in plan.effects)
        run = asyncio.create_task(desk.run(plan, plan.confirmation))
        operation = await begins(argo_cluster, obj)
        assert operation["sync"] == {
            "revision": "v2",
            "prune": True,
            "resources": [{"group": "apps", "kind": "Deployment", "name": "web"}],
            "syncOptions": ["CreateNamespace=true", "Replace=true", "ServerSideApply=true"],
            "syncStrategy": {"apply": {"force": True}},
        }
        await ends(argo_cluster, obj, "Succeeded", "successfully synced")
        assert (await run).state is State.SUCCEEDED
        with pytest.raises(Refused, match="sync knows no prun"):
            await desk.do("sync", ref, prun="true")


@pytest.mark.parametrize(
    "policy",
    [
        {},
        {"prune": True, "selfHeal": True, "allowEmpty": True},
        {"enabled": True, "prune": True},
        {"enabled": False, "prune": True},
    ],
)
async def test_every_form_of_the_policy_is_restored_exactly(argo_cluster: Cluster, tmp_path: Path, policy: Object) -> None:
    obj = application(argo_cluster, syncPolicy={"automated": policy})
    ref = await argo_cluster.create(obj)
    on = policy.get("enabled") is not False
    async with argo_cluster.desk(ref, tmp_path) as desk:
        assert (await desk.do("automated-off" if on else "automated-on", ref)).state is State.SUCCEEDED
        found = (await argo_cluster.get(obj))["spec"].get("syncPolicy", {}).get("automated")
        assert (found is not None and found.get("enabled") is not False) is not on
        assert (await desk.undo(ref)).state is State.SUCCEEDED
        assert (await argo_cluster.get(obj))["spec"]["syncPolicy"] == {"automated": policy}
