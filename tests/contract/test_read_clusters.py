"""Reading clusters: the same over the simulated API server and over a real one."""

from __future__ import annotations

import pytest

from console.model.connections import Phase
from console.model.health import Health
from console.model.kubernetes import Trigger
from tests.contract.ground import FLUX
from tests.contract.stages import KubeScene, cluster

__all__ = ["cluster"]


def trigger(scene: KubeScene) -> Trigger:
    row = scene.row("Kustomization", scene.ground.name)
    assert isinstance(row, Trigger)
    return row


async def test_a_cluster_is_live_and_says_who_it_is(cluster: KubeScene) -> None:
    found = cluster.connection
    assert found.phase is Phase.LIVE
    assert found.platforms == ("kubernetes",)
    assert found.server.startswith("Kubernetes v1.")
    assert len(found.identity) == 36
    missing = await cluster.settled("Kustomization", "GitRepository", "FluxTrigger", "Event", "Operation", "Stack")
    assert missing == ()


async def test_an_object_appears_changes_and_leaves_by_the_watch_alone(cluster: KubeScene) -> None:
    await cluster.settled("Kustomization")
    name = cluster.ground.name
    await cluster.ground.from_git()
    await cluster.until("it appears", lambda: cluster.find("Kustomization", name) is not None)
    assert trigger(cluster).path == "./deploy"
    await cluster.ground.from_git(path="./other")
    await cluster.until("it changes", lambda: trigger(cluster).path == "./other")
    await cluster.ground.delete()
    await cluster.until("it leaves", lambda: cluster.find("Kustomization", name) is None)


async def test_who_suspended_something_is_read_from_its_field_managers(cluster: KubeScene) -> None:
    await cluster.ground.from_git()
    await cluster.ground.merge(FLUX, {"spec": {"suspend": True}})
    await cluster.until(
        "it is held", lambda: cluster.find("Kustomization", cluster.ground.name) is not None and trigger(cluster).suspended
    )
    assert (trigger(cluster).suspended_by, trigger(cluster).health) == (FLUX, Health.HELD)


async def test_what_changed_while_the_connection_was_away_is_there_when_it_is_back(cluster: KubeScene) -> None:
    name = cluster.ground.name
    await cluster.ground.from_git()
    await cluster.until("it appears", lambda: cluster.find("Kustomization", name) is not None)
    await cluster.break_off()
    await cluster.until_phase(Phase.STALE, Phase.UNREACHABLE)
    assert cluster.find("Kustomization", name) is not None, "rows stay"
    if cluster.server == "demo":
        await cluster.mend()
    await cluster.ground.from_git(path="./moved")
    await cluster.mend()
    await cluster.until_phase(Phase.LIVE)
    await cluster.until("the change is seen", lambda: trigger(cluster).path == "./moved")


async def test_a_cut_stream_is_picked_up_again(cluster: KubeScene) -> None:
    await cluster.settled("Kustomization")
    await cluster.cut()
    await cluster.ground.from_git()
    await cluster.until("it is seen", lambda: cluster.find("Kustomization", cluster.ground.name) is not None)
    await cluster.until_phase(Phase.LIVE)


async def test_what_went_while_history_was_forgotten_leaves_the_table(cluster: KubeScene) -> None:
    name = cluster.ground.name
    await cluster.ground.from_git()
    await cluster.until("it appears", lambda: cluster.find("Kustomization", name) is not None)
    if cluster.server == "real":
        await cluster.break_off()
    await cluster.ground.delete()
    await cluster.compact()
    await cluster.mend()
    await cluster.until("it leaves", lambda: cluster.find("Kustomization", name) is None)
    await cluster.until_phase(Phase.LIVE)


async def test_a_kind_that_somebody_looks_at_is_there_and_settled_means_so(cluster: KubeScene) -> None:
    assert cluster.state("Namespace").state == "syncing"
    end = cluster.runtime.look({"Namespace"})
    assert await cluster.settled("Namespace") == ()
    assert cluster.find("Namespace", "kube-system") is not None
    end()


async def test_the_whole_object_can_be_read(cluster: KubeScene) -> None:
    await cluster.ground.from_git()
    await cluster.until("it appears", lambda: cluster.find("Kustomization", cluster.ground.name) is not None)
    ref = trigger(cluster).ref
    raw = await cluster.runtime.raw(ref)
    assert raw["metadata"]["uid"] == ref.uid
    assert raw["spec"]["path"] == "./deploy"


@pytest.mark.parametrize("kind", ["Deployment", "Pod"])
async def test_on_demand_kinds_can_be_listed(cluster: KubeScene, kind: str) -> None:
    cluster.runtime.look({kind})
    assert await cluster.settled(kind) == ()
