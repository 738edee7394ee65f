"""The write path beside a live kustomize-controller: what it waits for comes from the controller itself."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import yaml

from console.errors import Refused
from console.model.operations import State
from console.model.plan import Intent, Strength
from console.model.refs import Ref
from tests.contract.write_desk import Cluster, real_cluster
from tests.real import fleet
from tests.real.flux import FluxLab

FIRST, SECOND = "1" * 40, "2" * 40


def files(namespace: str, colour: str) -> dict[str, str]:
    meta = {"name": "paint", "namespace": namespace}
    return {
        "shop/map.yaml": yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"is": colour}})
    }


async def test_a_suspended_commit_is_applied_by_undo_and_a_failure_is_told_at_once(flux: FluxLab, tmp_path: Path) -> None:
    async with real_cluster(flux.kube) as cluster:
        namespace = cluster.namespace
        obj = {key: value for key, value in fleet.kustomization(namespace).items() if key != "status"}
        await asyncio.to_thread(flux.publish, namespace, "shop", files(namespace, "blue"), FIRST)
        ref: Ref = await cluster.create(obj)
        await asyncio.to_thread(flux.wait_applied, namespace, "shop", FIRST)
        async with cluster.desk(ref, tmp_path) as desk:
            assert (await desk.do("suspend", ref)).state is State.SUCCEEDED
            await asyncio.to_thread(flux.publish, namespace, "shop", files(namespace, "red"), SECOND)
            with pytest.raises(Refused, match="suspended by quarterdeck"):
                await desk.do("reconcile", ref)
            # Kustomizations and sources come to the controller by watches of their own: a resume may overtake a commit.
            await asyncio.to_thread(_sees, flux, namespace, SECOND)
            undone = await desk.undo(ref)
            assert undone.state is State.SUCCEEDED
            assert undone.message.endswith(f"Applied revision: main@sha1:{SECOND}")
            assert (await desk.do("reconcile", ref)).state is State.SUCCEEDED

            await cluster.patch(obj, {"spec": {"path": "./nowhere"}}, manager="somebody")
            failed = await desk.do("reconcile", ref)
            assert failed.state is State.FAILED
            assert "nowhere" in failed.message
            found = await cluster.get(obj)
            (ready,) = [entry for entry in found["status"]["conditions"] if entry["type"] == "Ready"]
            assert ready["observedGeneration"] == found["metadata"]["generation"]
            assert found["status"]["observedGeneration"] < found["metadata"]["generation"], "it moves on success only"


def _sees(flux: FluxLab, namespace: str, commit: str) -> None:
    """Wait until the controller has a commit of the source: another Kustomization of it has applied that."""
    witness = {key: value for key, value in fleet.kustomization(namespace, "witness", source="shop").items() if key != "status"}
    witness["spec"] = {**witness["spec"], "path": "./", "prune": False, "targetNamespace": flux.kube.namespace()}
    flux.kube.client.apply(witness)
    flux.wait_applied(namespace, "witness", commit)


async def exists(cluster: Cluster, name: str) -> bool:
    found = await cluster.client.get(f"/api/v1/namespaces/{cluster.namespace}/configmaps/{name}")
    return found.status_code == 200


@pytest.mark.scenario("dispatch:W23")
async def test_what_a_suspended_kustomization_applied_stays_and_what_was_resumed_first_goes(
    flux: FluxLab, tmp_path: Path
) -> None:
    async with real_cluster(flux.kube) as cluster:
        namespace = cluster.namespace
        obj = {key: value for key, value in fleet.kustomization(namespace).items() if key != "status"}
        for resumes in (False, True):
            await asyncio.to_thread(flux.publish, namespace, "shop", files(namespace, "blue"), FIRST)
            ref: Ref = await cluster.create(obj)
            await asyncio.to_thread(flux.wait_applied, namespace, "shop", FIRST)
            async with cluster.desk(ref, tmp_path / str(resumes)) as desk:
                assert (await desk.do("suspend", ref)).state is State.SUCCEEDED
                plan = await desk.commands.plan(Intent(verb="delete", targets=(ref,)))
                assert "1 object stays behind (ConfigMap 1)" in plan.effects[0]
                assert plan.instead is not None
                if resumes:
                    plan = await desk.commands.plan(plan.instead)
                    assert (await desk.run(plan, plan.confirmation)).state is State.SUCCEEDED
                    plan = await desk.commands.plan(Intent(verb="delete", targets=(ref,)))
                    assert (plan.strength, plan.instead) == (Strength.NAME, None)
                record = await desk.run(plan, plan.confirmation)
                assert (record.state, record.message) == (State.SUCCEEDED, f"{ref.path} is deleted")
            assert await exists(cluster, "paint") is not resumes
