"""Lists, removals and what changes with them."""

from __future__ import annotations

from console.backends.kube_kinds import KINDS
from tests.backends.decoding import Cluster, kinds_of
from tests.backends.test_flux_objects import kustomization, repository


def test_what_a_complete_list_does_not_have_is_gone() -> None:
    cluster = Cluster()
    cluster.put(repository(), kustomization())
    cluster.changes.clear()
    kind = KINDS["Kustomization"]
    cluster.assembler.listed(kind, "", set())
    cluster.assembler.complete(kind)
    assert kinds_of(cluster.changes) == ["-Kustomization/shop", "=Kustomization:0", "Kustomization listed"]


def test_a_list_of_one_namespace_removes_nothing_of_another() -> None:
    cluster = Cluster()
    elsewhere = kustomization(namespace="elsewhere", uid="k9")
    cluster.put(kustomization(), elsewhere)
    cluster.assembler.listed(KINDS["Kustomization"], "flux-system", set())
    assert [row.ref.namespace for row in cluster.store.of("Kustomization").values()] == ["elsewhere"]


def test_an_object_made_anew_under_its_name_takes_the_place_of_the_old_one() -> None:
    cluster = Cluster()
    cluster.put(repository(), kustomization())
    cluster.changes.clear()
    cluster.put(kustomization(uid="k2"))
    assert kinds_of(cluster.changes)[:2] == ["-Kustomization/shop", "+Kustomization/shop"]
    assert cluster.one("Kustomization").ref.uid == "k2"


def test_an_unchanged_object_says_nothing() -> None:
    cluster = Cluster()
    cluster.put(repository(), kustomization())
    cluster.changes.clear()
    cluster.put(kustomization(), repository())
    assert cluster.changes == []


def test_objects_that_name_each_other_settle() -> None:
    cluster = Cluster()
    one = kustomization(spec={"dependsOn": [{"name": "other"}]})
    other = kustomization(spec={"dependsOn": [{"name": "shop"}]}, name="other", uid="k2")
    cluster.put(one, other, one)
    assert cluster.one("Kustomization", "shop").related[1].uid == "k2"
    assert cluster.one("Kustomization", "other").related[1].uid == "k1"


def test_a_kind_that_nobody_looks_at_any_more_leaves_nothing_behind() -> None:
    cluster = Cluster()
    cluster.put(repository(), kustomization())
    cluster.assembler.clear(KINDS["Kustomization"])
    assert not cluster.store.of("Kustomization")
    cluster.put(repository(f"main@sha1:{'d' * 40}"))
    assert not cluster.store.of("Kustomization")
