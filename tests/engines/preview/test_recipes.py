"""What an applier adds to its objects, fills in, keeps and deletes; and what can't be done here."""

from __future__ import annotations

from typing import Any

import pytest

from console.engines.preview.documents import Identity
from console.engines.preview.inventory import held_by_flux, kept
from console.engines.preview.recipes import argo_recipe, finished, flux_recipe
from console.engines.preview.substitution import substituted, uses_variables
from console.errors import Invalid


def kustomization(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"namespace": "flux-system", "name": "shop"}, "spec": {"path": "./deploy", "prune": True, **spec}}


def application(source: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"namespace": "argocd", "name": "shop"},
        "spec": {
            "source": {"repoURL": "u", "path": "deploy", "targetRevision": "main", **(source or {})},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": "shop"},
            **spec,
        },
    }


def test_a_kustomization_marks_its_objects_as_its_own() -> None:
    recipe = flux_recipe(kustomization(commonMetadata={"labels": {"team": "a"}, "annotations": {"note": "b"}}), {})
    made = finished({"kind": "ConfigMap", "metadata": {"name": "x", "labels": {"app": "x"}}}, recipe)
    assert made["metadata"]["labels"] == {
        "app": "x",
        "team": "a",
        "kustomize.toolkit.fluxcd.io/name": "shop",
        "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
    }
    assert made["metadata"]["annotations"] == {"note": "b"}


def test_what_is_done_otherwise_than_here_is_said() -> None:
    recipe = flux_recipe(kustomization(serviceAccountName="deployer", force=True), {"spec": {"ignore": "x", "include": [{}]}})
    said = " ".join(recipe.notes)
    assert "deployer" in said and "force" in said and "spec.ignore" not in recipe.blocked and "other repositories" in said
    assert "another cluster" in flux_recipe(kustomization(kubeConfig={"secretRef": {"name": "x"}}), {}).blocked


@pytest.mark.parametrize(
    ("app", "why"),
    [
        (application({"helm": {"values": "x"}}), "Helm"),
        (application({"chart": "redis"}), "Helm"),
        (application({"plugin": {"name": "x"}}), "plugin"),
        (application({"directory": {"jsonnet": {"libs": ["x"]}}}), "jsonnet"),
        (application({"directory": {"exclude": "x"}}), "exclude"),
        (application({"kustomize": {"commonLabels": {"a": "b"}}}), "commonLabels"),
        (application(destination={"server": "https://elsewhere"}), "another cluster"),
        (application(destination={"name": "prod"}), "another cluster"),
        (application(sources=[{}, {}]), "not one source"),
    ],
)
def test_an_application_that_can_not_be_built_here_says_why(app: dict[str, Any], why: str) -> None:
    assert why in argo_recipe(app).blocked


def test_images_of_an_application_are_read_as_kustomize_writes_them() -> None:
    images = ["web=registry.example.test:5000/web:2", "db:16", "cache@sha256:ab", "plain=other"]
    recipe = argo_recipe(application({"kustomize": {"images": images, "namePrefix": "a-"}}))
    assert recipe.blocked == "" and recipe.overlay.name_prefix == "a-"
    assert recipe.overlay.images == (
        {"name": "web", "newName": "registry.example.test:5000/web", "newTag": "2"},
        {"name": "db", "newTag": "16"},
        {"name": "cache", "digest": "sha256:ab"},
        {"name": "plain", "newName": "other"},
    )


def test_variables_are_filled_in_as_flux_does() -> None:
    obj = {
        "kind": "ConfigMap",
        "metadata": {"name": "x"},
        "data": {"a": "${region}", "b": "${zone:=b}", "c": "$${kept}", "d": "$region", "e": "${missing}", "f": "${zone:-c}"},
        "spec": {"replicas": "${count}"},
    }
    made = substituted(obj, {"region": "eu", "count": "3"})
    assert made["data"] == {"a": "eu", "b": "b", "c": "${kept}", "d": "$region", "e": None, "f": "c"}
    assert made["spec"]["replicas"] == 3
    assert substituted(obj, {}) == obj


def test_an_object_that_is_marked_is_left_alone_and_an_unknown_function_refused() -> None:
    marked = {"metadata": {"annotations": {"kustomize.toolkit.fluxcd.io/substitute": "disabled"}}, "a": "${x}"}
    assert substituted(marked, {"x": "1"}) == marked and not uses_variables(marked)
    for text in ("${x^^}", "${x/a/b}", "${x:-${y}}", "${#x}"):
        with pytest.raises(Invalid):
            substituted({"kind": "A", "metadata": {"name": "x"}, "a": text}, {"x": "1"})


def test_a_value_with_line_feeds_can_not_become_another_field() -> None:
    made = substituted({"kind": "A", "metadata": {"name": "x"}, "a": "${x}"}, {"x": "1\nhostNetwork"})
    assert made["a"] == "1hostNetwork"
    with pytest.raises(Invalid):
        substituted({"kind": "A", "metadata": {"name": "x"}, "a": "${x}"}, {"x": "1\nhostNetwork: true"})


def test_an_inventory_is_read_and_what_must_stay_is_known() -> None:
    entries = [
        {"id": "shop_web_apps_Deployment", "v": "v1"},
        {"id": "_system__reader_rbac.authorization.k8s.io_ClusterRole", "v": "v1"},
        {"id": "shop_settings__ConfigMap", "v": "v1"},
        {"id": "broken", "v": "v1"},
    ]
    one, other, core = held_by_flux({"status": {"inventory": {"entries": entries}}})
    assert (one.identity, one.api_version) == (Identity("apps", "Deployment", "shop", "web"), "apps/v1")
    assert other.identity.name == "system:reader" and other.identity.namespace == ""
    assert core.identity == Identity("", "ConfigMap", "shop", "settings") and core.api_version == "v1"
    assert kept({"metadata": {"annotations": {"kustomize.toolkit.fluxcd.io/prune": "disabled"}}})
    assert kept({"metadata": {"annotations": {"argocd.argoproj.io/sync-options": "Replace=true,Prune=false"}}})
    assert not kept({"metadata": {"annotations": {"a": "disabled"}}})
