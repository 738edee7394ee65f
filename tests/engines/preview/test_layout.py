"""Which files of a commit an applier builds, and that nothing from elsewhere is ever built."""

from __future__ import annotations

import pytest
import yaml

from console.engines.preview.layout import Overlay, check_local, folder_of, lay_out, source_files
from console.errors import Invalid

EMPTY = Overlay()


def test_a_plain_folder_is_every_yaml_file_below_it() -> None:
    files = {"deploy/a.yaml": b"", "deploy/sub/b.yml": b"", "deploy/README.md": b"", "other/c.yaml": b""}
    layout = lay_out(files, "./deploy/", EMPTY)
    assert (layout.plain, layout.built) == (("deploy/a.yaml", "deploy/sub/b.yml"), None)
    assert lay_out(files, "deploy", EMPTY, recurse=False).plain == ("deploy/a.yaml",)
    assert lay_out(files, "", EMPTY).plain == ("deploy/a.yaml", "deploy/sub/b.yml", "other/c.yaml")


def test_json_counts_where_the_applier_takes_it() -> None:
    files = {"deploy/a.yaml": b"", "deploy/b.json": b"{}"}
    assert lay_out(files, "deploy", EMPTY).plain == ("deploy/a.yaml",)
    assert lay_out(files, "deploy", EMPTY, json=True).plain == ("deploy/a.yaml", "deploy/b.json")


def test_a_folder_with_its_own_kustomization_counts_as_a_whole() -> None:
    files = {"deploy/a.yaml": b"", "deploy/sub/kustomization.yaml": b"resources: [b.yaml]", "deploy/sub/b.yaml": b""}
    layout = lay_out(files, "deploy", EMPTY)
    assert layout.built is not None
    made = yaml.safe_load(layout.built["deploy/kustomization.yaml"])
    assert made["resources"] == ["a.yaml", "sub"]


def test_an_appliers_fields_go_into_the_kustomization_of_its_path() -> None:
    files = {
        "deploy/kustomization.yaml": b"resources: [a.yaml]\nnamePrefix: old-\nimages: [{name: web, newTag: '1'}, {name: db}]\n"
        b"patches: [{path: a.yaml}]\n",
        "deploy/a.yaml": b"",
    }
    overlay = Overlay(
        namespace="shop",
        name_prefix="new-",
        patches=({"patch": "- op: remove\n  path: /x", "target": {"kind": "Deployment"}},),
        images=({"name": "web", "newTag": "2"},),
    )
    layout = lay_out(files, "./deploy", overlay)
    assert layout.built is not None
    made = yaml.safe_load(layout.built["deploy/kustomization.yaml"])
    assert (made["namespace"], made["namePrefix"], made["kind"]) == ("shop", "new-", "Kustomization")
    assert made["images"] == [{"name": "db"}, {"name": "web", "newTag": "2"}]
    assert [*made["patches"][0]] == ["path"] and made["patches"][1]["target"] == {"kind": "Deployment"}


@pytest.mark.parametrize(
    "content",
    [
        "resources: [https://git.example.test/base.yaml]",
        "resources: ['git@git.example.test:shop/base.git']",
        "resources: [github.example.test/shop/base?ref=main]",
        "resources: [../../../../etc]",
        "resources: [/etc/passwd]",
        "bases: [../missing]",
        "components: ['https://git.example.test/x']",
        "configMapGenerator: [{name: a, files: ['key=/etc/shadow']}]",
        "configMapGenerator: [{name: a, files: ['../../../.ssh/id_ed25519']}]",
        "secretGenerator: [{name: a, envs: [/proc/self/environ]}]",
        "secretGenerator: [{name: a, env: ../../x}]",
        "patches: [{path: /etc/hosts}]",
        "patchesStrategicMerge: [../../x.yaml]",
        "patchesJson6902: [{path: /x}]",
        "replacements: [{path: /x}]",
        "transformers: ['https://git.example.test/x']",
        "generators: [/x]",
        "crds: [/x]",
        "openapi: {path: /x}",
        "helmCharts: [{name: redis}]",
        "Resources: [/etc/passwd]",
        "configMapGenerator: [{name: a, Files: [/etc/passwd]}]",
        "ConfigMapGenerator: [{name: a, files: [/etc/passwd]}]",
        "transformers: [a.yaml]",
        "generators: ['apiVersion: builtin\\nkind: ConfigMapGenerator\\nfiles: [/etc/passwd]']",
        "resources: ['https://host/a.yaml']",
        "resources: [there]",
        "- no map",
    ],
)
def test_what_a_kustomization_takes_from_elsewhere_is_never_built(content: str) -> None:
    others = ("deploy/there/a.yaml", "deploy/https:/host/a.yaml", "deploy/a.yaml")
    files = {"deploy/kustomization.yaml": content.encode(), **dict.fromkeys(others, b"")}
    with pytest.raises(Invalid):
        check_local(files, "deploy")


def test_a_base_beside_the_path_is_followed_to_its_own_references() -> None:
    good = {
        "apps/shop/kustomization.yaml": b"resources: [../../base, app.yaml]\nconfigMapGenerator: [{name: a, files: [k=x.ini]}]",
        "apps/shop/app.yaml": b"",
        "apps/shop/x.ini": b"",
        "base/kustomization.yml": b"resources: [web.yaml]",
        "base/web.yaml": b"",
    }
    check_local(good, "apps/shop")
    bad = {**good, "base/kustomization.yml": b"resources: ['https://git.example.test/x']"}
    with pytest.raises(Invalid, match="no file of the repository"):
        check_local(bad, "apps/shop")


def test_labels_may_be_called_anything() -> None:
    content = b"resources: [a.yaml]\ncommonLabels: {Env: prod, Path: x}\nlabels: [{pairs: {Files: a}}]\n"
    check_local({"a/kustomization.yaml": content, "a/a.yaml": b""}, "a")


def test_a_ring_of_bases_is_no_endless_walk() -> None:
    check_local({"a/kustomization.yaml": b"resources: [../b]", "b/kustomization.yaml": b"resources: [../a]"}, "a")


@pytest.mark.parametrize("path", ["..", "../x", "a/../../x", "./../x"])
def test_a_path_out_of_the_repository_is_refused(path: str) -> None:
    with pytest.raises(Invalid, match="out of the repository"):
        folder_of(path)


def test_a_missing_folder_is_said() -> None:
    with pytest.raises(Invalid, match="no folder"):
        lay_out({"a.yaml": b""}, "deploy", EMPTY)


def test_an_artifact_lacks_what_source_controller_leaves_out() -> None:
    files = dict.fromkeys((".github/x.yaml", ".gitlab-ci.yml", "a/.sops.yaml", "a/b.yaml", "appveyor.yml"), b"")
    assert [*source_files(files)] == ["a/b.yaml"]
