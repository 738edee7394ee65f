"""Writing to Flux objects through the write path, as ``flux`` does it; on a simulated and a real API server."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from console.backends.flux_writes import APPLIERS, FORCE_AT, RESET_AT
from console.errors import Refused
from console.model.holds import HOLD_NOTE, LOCAL_HOLDER
from console.model.operations import State
from console.model.plan import Intent
from console.model.refs import Ref
from console.runtime.refusals import MovedOn
from tests.contract.write_desk import Cluster, Object, flux_cluster, token
from tests.real import fleet

__all__ = ["flux_cluster"]

HELM_REPOSITORY = {"interval": "1h", "url": "https://charts.example.test"}


def kustomization(cluster: Cluster, name: str = "shop") -> Object:
    return fleet.kustomization(cluster.namespace, name)


def source(cluster: Cluster, kind: str, name: str, spec: Object) -> Object:
    meta = {"name": name, "namespace": cluster.namespace}
    return {"apiVersion": fleet.FLUX_SOURCE, "kind": kind, "metadata": meta, "spec": spec}


async def managers(cluster: Cluster, obj: Object) -> set[str]:
    return {entry["manager"] for entry in (await cluster.get(obj))["metadata"]["managedFields"]}


async def test_suspending_sets_the_field_and_undo_takes_it_away_and_waits(flux_cluster: Cluster, tmp_path: Path) -> None:
    obj = kustomization(flux_cluster)
    ref = await flux_cluster.create(obj)
    async with flux_cluster.desk(ref, tmp_path) as desk:
        record = await desk.do("suspend", ref)
        assert (record.state, record.plan.undo) == (State.SUCCEEDED, Intent(verb="resume", targets=(ref,)))
        found = await flux_cluster.get(obj)
        assert (found["spec"]["suspend"], found["metadata"]["generation"], desk.tap.writes) == (True, 2, 1)
        assert "quarterdeck" in await managers(flux_cluster, obj)
        with pytest.raises(Refused, match="suspended by quarterdeck: a request would be ignored"):
            await desk.do("reconcile", ref)
        again = await desk.commands.plan(Intent(verb="suspend", targets=(ref,)))
        assert (again.steps, again.nothing) == ((), f"{ref.path} is already suspended")

        undo = asyncio.create_task(desk.undo(ref))
        found = await flux_cluster.until(obj, lambda live: "suspend" not in live["spec"])
        assert not undo.done(), "resumed, but the controller has not seen it"
        await flux_cluster.reports(obj)
        undone = await undo
        assert (undone.state, undone.undo_of, desk.tap.writes) == (State.SUCCEEDED, record.id, 2)


async def test_a_resumed_object_that_fails_ends_as_failed_with_its_own_words(flux_cluster: Cluster, tmp_path: Path) -> None:
    obj = fleet.kustomization(flux_cluster.namespace, suspend=True)
    ref = await flux_cluster.create(obj)
    async with flux_cluster.desk(ref, tmp_path) as desk:
        resume = asyncio.create_task(desk.do("resume", ref))
        await flux_cluster.until(obj, lambda live: "suspend" not in live["spec"])
        await flux_cluster.reports(obj, "False", "health check failed after 30s")
        record = await resume
    assert record.state is State.FAILED
    assert "health check failed after 30s" in record.message


async def test_reconciling_with_source_applies_only_after_the_source_was_fetched(flux_cluster: Cluster, tmp_path: Path) -> None:
    repository, obj = fleet.git_repository(flux_cluster.namespace), kustomization(flux_cluster)
    await flux_cluster.create(repository)
    ref = await flux_cluster.create(obj)
    async with flux_cluster.desk(ref, tmp_path) as desk:
        # The path of a kind is known once it was looked for, as the lists at a connection's start do.
        await desk.reach.backend.raw(Ref("cluster", "GitRepository", flux_cluster.namespace, "shop"))
        run = asyncio.create_task(desk.do("reconcile-with-source", ref))
        await flux_cluster.until(repository, lambda live: token(live) is not None)
        assert token(await flux_cluster.get(obj)) is None
        assert desk.tap.writes == 1
        await flux_cluster.reconciles(repository)
        found = await flux_cluster.reconciles(obj)
        record = await run
        assert (record.state, desk.tap.writes) == (State.SUCCEEDED, 2)
        assert [step.state for step in record.steps] == [State.SUCCEEDED, State.SUCCEEDED]
        assert (found["metadata"]["generation"], record.undo) == (1, None)


async def test_a_source_that_fails_stops_before_what_it_feeds(flux_cluster: Cluster, tmp_path: Path) -> None:
    repository, obj = fleet.git_repository(flux_cluster.namespace), kustomization(flux_cluster)
    await flux_cluster.create(repository)
    ref = await flux_cluster.create(obj)
    async with flux_cluster.desk(ref, tmp_path) as desk:
        await desk.reach.backend.raw(Ref("cluster", "GitRepository", flux_cluster.namespace, "shop"))
        run = asyncio.create_task(desk.do("reconcile-with-source", ref))
        await flux_cluster.reconciles(repository, "False", "authentication required")
        record = await run
    assert record.state is State.FAILED
    assert "authentication required" in record.message
    assert "1 of 2 steps were not begun" in record.message
    assert token(await flux_cluster.get(obj)) is None


async def test_a_helm_release_is_fed_by_its_chart_and_that_by_its_repository(flux_cluster: Cluster, tmp_path: Path) -> None:
    release = fleet.helm_release(flux_cluster.namespace)
    sources = {"kind": "HelmRepository", "name": "charts"}
    chart = source(
        flux_cluster,
        "HelmChart",
        f"{flux_cluster.namespace}-cache",
        {"chart": "cache", "version": "1.x", "interval": "5m", "sourceRef": sources},
    )
    repository = source(flux_cluster, "HelmRepository", "charts", HELM_REPOSITORY)
    ref = await flux_cluster.create(release)
    for obj in (chart, repository):
        await flux_cluster.create(obj)
    async with flux_cluster.desk(ref, tmp_path) as desk:
        for obj in (chart, repository):
            await desk.reach.backend.raw(Ref("cluster", obj["kind"], flux_cluster.namespace, obj["metadata"]["name"]))
        run = asyncio.create_task(desk.do("reconcile-with-source", ref))
        order = []
        for obj, later in ((repository, chart), (chart, release), (release, None)):
            await flux_cluster.until(obj, lambda live: token(live) is not None)
            order.append(obj["kind"])
            assert later is None or token(await flux_cluster.get(later)) is None
            await flux_cluster.reconciles(obj)
        record = await run
    assert (record.state, order) == (State.SUCCEEDED, ["HelmRepository", "HelmChart", "HelmRelease"])


async def test_what_an_applier_keeps_suspended_is_not_resumed(flux_cluster: Cluster, tmp_path: Path) -> None:
    obj = kustomization(flux_cluster)
    ref = await flux_cluster.create(obj)
    await flux_cluster.patch(obj, {"spec": {"suspend": True}}, manager=APPLIERS[0])
    async with flux_cluster.desk(ref, tmp_path) as desk:
        with pytest.raises(Refused, match=r"spec\.suspend of .* is kept by kustomize-controller") as caught:
            await desk.do("resume", ref)
        assert "Change it there" in caught.value.hint
        assert desk.tap.writes == 0


async def test_gone_replaced_and_changed_objects_are_told_apart(flux_cluster: Cluster, tmp_path: Path) -> None:
    obj = kustomization(flux_cluster)
    ref = await flux_cluster.create(obj)
    async with flux_cluster.desk(ref, tmp_path) as desk:
        plan = await desk.commands.plan(Intent(verb="suspend", targets=(ref,)))
        await flux_cluster.patch(obj, {"metadata": {"labels": {"touched": "yes"}}})
        assert (await desk.commands.plan(plan.intent)).hash == plan.hash, "what no field of the plan shows moves nothing"
        await flux_cluster.patch(obj, {"spec": {"suspend": True}}, manager="flux")
        with pytest.raises(MovedOn, match="already suspended"):
            await desk.run(plan)
        await flux_cluster.patch(obj, {"spec": {"suspend": None, "interval": "7m"}}, manager="flux")
        with pytest.raises(MovedOn, match="changed by somebody else"):
            await desk.run(plan)
        await flux_cluster.replace(obj)
        with pytest.raises(Refused, match="deleted and made again since it was chosen"):
            await desk.run(plan)
        assert (await flux_cluster.client.delete(flux_cluster.path(obj))).status_code == 200
        with pytest.raises(Refused, match="is gone"):
            await desk.run(plan)
        assert desk.tap.writes == 0
        assert {record.state for record in await desk.journal.operations()} == {State.REFUSED}


async def test_a_change_in_the_moment_of_the_write_is_a_conflict_and_never_overwritten(
    flux_cluster: Cluster, tmp_path: Path
) -> None:
    obj = kustomization(flux_cluster)
    ref = await flux_cluster.create(obj)
    async with flux_cluster.desk(ref, tmp_path) as desk:

        async def meddle() -> None:
            await flux_cluster.patch(obj, {"spec": {"path": "./other"}}, manager="somebody")

        desk.tap.before_write = meddle
        record = await desk.do("suspend", ref)
        assert record.state is State.FAILED
        assert "changed by somebody else in this moment" in record.message
        found = await flux_cluster.get(obj)
        assert ("suspend" in found["spec"], found["spec"]["path"], desk.tap.writes) == (False, "./other", 1)

        async def replace() -> None:
            await flux_cluster.replace(obj)

        desk.tap.before_write = replace
        record = await desk.do("suspend", ref)
        assert record.state is State.FAILED
        assert "suspend" not in (await flux_cluster.get(obj))["spec"]


async def test_a_missing_permission_is_named_before_anything_leaves(flux_cluster: Cluster, tmp_path: Path) -> None:
    obj = kustomization(flux_cluster)
    ref = await flux_cluster.create(obj)
    async with flux_cluster.desk(ref, tmp_path / "all") as desk:
        if flux_cluster.server == "real":
            restricted = await flux_cluster.restrict()
            async with flux_cluster.desk(ref, tmp_path / "some", restricted) as other:
                await _is_refused(other.commands.plan(Intent(verb="suspend", targets=(ref,))), flux_cluster)
                assert other.tap.writes == 0
        else:
            await flux_cluster.restrict()
            await _is_refused(desk.commands.plan(Intent(verb="suspend", targets=(ref,))), flux_cluster)
        assert desk.tap.writes == 0


async def _is_refused(planning: object, cluster: Cluster) -> None:
    assert asyncio.iscoroutine(planning)
    with pytest.raises(Refused, match=r"may not patch kustomizations\.kustomize\.toolkit\.fluxcd\.io in") as caught:
        await planning
    assert f"kubectl auth can-i patch kustomizations.kustomize.toolkit.fluxcd.io -n {cluster.namespace}" in caught.value.hint


@pytest.mark.parametrize("verb", ["resume", "reconcile", "reconcile-with-source"])
async def test_what_a_console_holds_is_resumed_in_no_way_but_by_its_release(
    flux_cluster: Cluster, tmp_path: Path, verb: str
) -> None:
    repository, obj = fleet.git_repository(flux_cluster.namespace), kustomization(flux_cluster)
    await flux_cluster.create(repository)
    ref = await flux_cluster.create(obj)
    await flux_cluster.patch(obj, {"spec": {"suspend": True}}, manager=LOCAL_HOLDER)
    note = json.dumps({"by": "ana@bastion", "why": "incident 12"})
    await flux_cluster.patch(obj, {"metadata": {"annotations": {HOLD_NOTE: note}}}, manager=LOCAL_HOLDER)
    async with flux_cluster.desk(ref, tmp_path) as desk:
        await desk.reach.backend.raw(Ref("cluster", "GitRepository", flux_cluster.namespace, "shop"))
        with pytest.raises(Refused, match="is held by ana@bastion, incident 12") as caught:
            await desk.do(verb, ref)
        assert "Release the hold instead" in caught.value.hint
        assert desk.tap.writes == 0


@pytest.mark.parametrize("kind", ["HelmRepository", "HelmChart"])
async def test_each_source_is_suspended_resumed_and_fetched(flux_cluster: Cluster, tmp_path: Path, kind: str) -> None:
    sources = {"kind": "HelmRepository", "name": "charts"}
    spec = HELM_REPOSITORY if kind == "HelmRepository" else {"chart": "cache", "interval": "5m", "sourceRef": sources}
    obj = source(flux_cluster, kind, "charts", spec)
    ref = await flux_cluster.create(obj)
    async with flux_cluster.desk(ref, tmp_path) as desk:
        assert (await desk.do("suspend", ref)).state is State.SUCCEEDED
        with pytest.raises(Refused, match="suspended by quarterdeck"):
            await desk.do("reconcile", ref)
        resume = asyncio.create_task(desk.do("resume", ref))
        await flux_cluster.until(obj, lambda live: "suspend" not in live["spec"])
        await flux_cluster.reports(obj)
        assert (await resume).state is State.SUCCEEDED
        fetch = asyncio.create_task(desk.do("reconcile", ref))
        await flux_cluster.reconciles(obj)
        assert (await fetch).state is State.SUCCEEDED


@pytest.mark.parametrize(("verb", "annotation"), [("force", FORCE_AT), ("reset", RESET_AT)])
async def test_force_and_reset_ask_twice_with_one_value(
    flux_cluster: Cluster, tmp_path: Path, verb: str, annotation: str
) -> None:
    obj = fleet.helm_release(flux_cluster.namespace)
    ref = await flux_cluster.create(obj)
    async with flux_cluster.desk(ref, tmp_path) as desk:
        run = asyncio.create_task(desk.do(verb, ref))
        found = await flux_cluster.until(obj, lambda live: token(live) is not None)
        assert found["metadata"]["annotations"][annotation] == token(found), "helm-controller compares them"
        await flux_cluster.reconciles(obj)
        assert (await run).state is State.SUCCEEDED
