"""What the simulated controllers collect when an object is deleted, and what they leave behind."""

from __future__ import annotations

import pytest

from console.demo import collecting
from console.demo.cluster import Cluster
from console.demo.world import World
from tests.demo.conftest import NOW
from tests.demo.test_flux_world import until


@pytest.fixture
def world() -> World:
    return World(7, NOW)


def delete(cluster: Cluster, word: str, namespace: str, name: str) -> None:
    cluster.store.remove(cluster.store.by_word[word], namespace, name)


@pytest.mark.parametrize(
    ("change", "stays"),
    [
        ({}, False),
        ({"suspend": True}, True),
        ({"prune": False}, True),
        ({"prune": False, "deletionPolicy": "Delete"}, False),
        ({"deletionPolicy": "Orphan"}, True),
    ],
)
def test_a_deleted_kustomization_takes_its_inventory_along_unless_it_is_suspended_or_keeps_it(
    world: World, change: dict[str, object], stays: bool
) -> None:
    atlas = world.clusters["atlas"]
    search = atlas.store.find("Kustomization", "flux-system", "search")
    assert search is not None
    behind = collecting.inventory(search)
    atlas.change(search, lambda live: {**live, "spec": {**live["spec"], **change}}, "somebody")
    assert len(behind) == 2
    assert all(atlas.store.find(*named) for named in behind)
    delete(atlas, "Kustomization", "flux-system", "search")
    until(world, lambda: atlas.store.find("Kustomization", "flux-system", "search") is None)
    assert [atlas.store.find(*named) is not None for named in behind] == [stays, stays]
    assert bool(atlas.store.all("Pod", "search")) is stays


@pytest.mark.parametrize(("name", "cascades"), [("storefront-eu", True), ("catalog-eu", False)])
def test_an_application_cascades_only_under_its_finalizer(world: World, name: str, cascades: bool) -> None:
    borealis = world.clusters["borealis"]
    app = borealis.store.find("Application", "argocd", name)
    assert app is not None
    behind = [named for named in collecting.managed(app) if borealis.store.find(*named)]
    assert behind
    delete(borealis, "Application", "argocd", name)
    until(world, lambda: borealis.store.find("Application", "argocd", name) is None)
    assert all((borealis.store.find(*named) is None) is cascades for named in behind)


def test_a_helm_release_is_let_go(world: World) -> None:
    atlas = world.clusters["atlas"]
    release = atlas.store.all("HelmRelease")[0]["metadata"]
    delete(atlas, "HelmRelease", release["namespace"], release["name"])
    until(world, lambda: atlas.store.find("HelmRelease", release["namespace"], release["name"]) is None)
