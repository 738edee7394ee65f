"""Deleting through the write path: bound to the object that was shown, waited for, and never more than was said."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from console.backends.kube_deletes import ARGO_FINALIZER, FLUX_FINALIZER
from console.errors import Refused
from console.model.operations import State
from console.model.plan import Intent, Strength
from console.runtime.refusals import MovedOn
from tests.contract.write_desk import Cluster, Object, argo_cluster, flux_cluster
from tests.real import fleet

__all__ = ["argo_cluster", "flux_cluster"]


def kustomization(cluster: Cluster, *, suspend: bool | None = None) -> Object:
    obj = fleet.kustomization(cluster.namespace, suspend=suspend)
    obj["metadata"]["finalizers"] = [FLUX_FINALIZER]
    return obj


async def marked(cluster: Cluster, obj: Object) -> Object:
    return await cluster.until(obj, lambda live: "deletionTimestamp" in live["metadata"])


async def let_go(cluster: Cluster, obj: Object) -> None:
    """Play the controller that has collected what it wants to."""
    await cluster.patch(obj, {"metadata": {"finalizers": None}})


async def gone(cluster: Cluster, obj: Object) -> bool:
    return (await cluster.client.get(cluster.path(obj))).status_code == 404


async def test_a_deletion_is_over_when_the_controller_has_let_the_object_go(flux_cluster: Cluster, tmp_path: Path) -> None:
    obj = kustomization(flux_cluster)
    ref = await flux_cluster.create(obj)
    async with flux_cluster.desk(ref, tmp_path) as desk:
        plan = await desk.commands.plan(Intent(verb="delete", targets=(ref,)))
        assert (plan.strength, plan.undo, plan.instead) == (Strength.NAME, None, None)
        assert "1 object that" in plan.effects[0]
        with pytest.raises(Refused):
            await desk.run(plan, "1")
        run = asyncio.create_task(desk.run(plan, plan.confirmation))
        await marked(flux_cluster, obj)
        assert not run.done(), "its finalizer still holds it"
        with pytest.raises(Refused, match="is being deleted since"):
            await desk.commands.plan(Intent(verb="delete", targets=(ref,)))
        await let_go(flux_cluster, obj)
        record = await run
        assert (record.state, record.message, desk.tap.writes) == (State.SUCCEEDED, f"{ref.path} is deleted", 1)
        assert await gone(flux_cluster, obj)
        with pytest.raises(Refused, match="is gone"):
            await desk.commands.plan(Intent(verb="delete", targets=(ref,)))


@pytest.mark.scenario("dispatch:W23")
async def test_deleting_what_is_suspended_warns_and_offers_to_resume_first(flux_cluster: Cluster, tmp_path: Path) -> None:
    obj = kustomization(flux_cluster)
    ref = await flux_cluster.create(obj)
    async with flux_cluster.desk(ref, tmp_path) as desk:
        await desk.do("suspend", ref)
        plan = await desk.commands.plan(Intent(verb="delete", targets=(ref,)))
        assert "WARNING" in plan.effects[0]
        assert "suspended by quarterdeck" in plan.effects[0]
        assert "1 object stays behind (Deployment 1)" in plan.effects[0]
        assert plan.instead == Intent(verb="resume", targets=(ref,))
        assert (await desk.commands.plan(plan.instead)).steps


async def test_a_deletion_is_bound_to_the_object_and_to_how_much_goes_with_it(flux_cluster: Cluster, tmp_path: Path) -> None:
    obj = kustomization(flux_cluster)
    ref = await flux_cluster.create(obj)
    async with flux_cluster.desk(ref, tmp_path) as desk:
        plan = await desk.commands.plan(Intent(verb="delete", targets=(ref,)))
        more: dict[str, Any] = {"entries": [{"id": f"shop_{name}_apps_Deployment", "v": "v1"} for name in ("one", "two")]}
        await flux_cluster.patch(obj, {"status": {"inventory": more}}, "/status")
        with pytest.raises(MovedOn):
            await desk.run(plan, plan.confirmation)

        async def meddle() -> None:
            await flux_cluster.patch(obj, {"spec": {"prune": False}}, manager="somebody")

        desk.tap.before_write = meddle
        record = await desk.do("delete", ref)
        assert record.state is State.FAILED
        assert "changed by somebody else in this moment" in record.message
        assert "deletionTimestamp" not in (await flux_cluster.get(obj))["metadata"]

        await let_go(flux_cluster, obj)
        await flux_cluster.replace({key: value for key, value in obj.items() if key != "status"})
        with pytest.raises(Refused, match="deleted and made again since it was chosen"):
            await desk.do("delete", ref)
        assert not await gone(flux_cluster, obj)


async def test_a_deletion_whose_answer_is_lost_is_found_by_reading(flux_cluster: Cluster, tmp_path: Path) -> None:
    obj = fleet.git_repository(flux_cluster.namespace)
    ref = await flux_cluster.create(obj)
    async with flux_cluster.desk(ref, tmp_path) as desk:
        desk.tap.mode = "cut after"
        record = await desk.do("delete", ref)
    assert record.state is State.SUCCEEDED
    assert "the answer was lost; reading shows that the write arrived" in record.steps[0].detail
    assert await gone(flux_cluster, obj)


async def test_a_deletion_that_was_lost_on_the_way_is_not_sent_again(flux_cluster: Cluster, tmp_path: Path) -> None:
    obj = fleet.git_repository(flux_cluster.namespace)
    ref = await flux_cluster.create(obj)
    async with flux_cluster.desk(ref, tmp_path) as desk:
        desk.tap.mode = "cut before"
        record = await desk.do("delete", ref)
        assert (record.state, desk.tap.writes) == (State.FAILED, 0)
    assert not await gone(flux_cluster, obj)


async def test_the_finalizer_of_an_application_says_whether_it_cascades(argo_cluster: Cluster, tmp_path: Path) -> None:
    obj = fleet.application(argo_cluster.namespace)
    obj["metadata"]["finalizers"] = [ARGO_FINALIZER]
    obj["status"]["resources"] = [{"kind": "Deployment", "name": "web", "version": "v1"}]
    ref = await argo_cluster.create(obj)
    async with argo_cluster.desk(ref, tmp_path) as desk:
        plan = await desk.commands.plan(Intent(verb="delete", targets=(ref,)))
        assert "Argo CD deletes 1 object with it" in plan.effects[0]
        await argo_cluster.patch(obj, {"metadata": {"finalizers": None}})
        with pytest.raises(MovedOn):
            await desk.run(plan, plan.confirmation)
        plan = await desk.commands.plan(plan.intent)
        assert "nothing cascades, 1 object stay" in plan.effects[0]
        assert (await desk.run(plan, plan.confirmation)).state is State.SUCCEEDED
        assert await gone(argo_cluster, obj)
