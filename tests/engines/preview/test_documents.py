"""Objects out of YAML that somebody else wrote."""

from __future__ import annotations

import pytest

from console.engines.preview.documents import MOST_BYTES, Identity, identity, objects_in, read_yaml
from console.errors import Invalid

BOMB = b"a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + b"".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n".encode() for level in range(1, 10)
)


def test_documents_and_lists_become_objects() -> None:
    found = objects_in(
        b"---\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: a, namespace: shop}\n---\n---\n"
        b"kind: List\napiVersion: v1\nitems:\n- {kind: Deployment, apiVersion: apps/v1, metadata: {name: b}}\n",
        "app.yaml",
    )
    assert [identity(obj) for obj in found] == [Identity("", "ConfigMap", "shop", "a"), Identity("apps", "Deployment", "", "b")]
    assert [identity(obj).words for obj in found] == ["ConfigMap shop/a", "Deployment b"]


def test_a_date_stays_text() -> None:
    assert read_yaml(b"at: 2026-03-01\nthen: 2026-03-01T12:00:00Z\n", "x") == [
        {"at": "2026-03-01", "then": "2026-03-01T12:00:00Z"}
    ]


@pytest.mark.parametrize(
    "content",
    [
        BOMB,
        b"[" * 5000,
        b"{a: " * 5000,
        b"- " * 5000 + b"x",
        b"a: &a [*a]\n",
        b"a: b: c",
        b"!!python/object/apply:os.system ['true']",
        b"\xff\xfe\x00",
        b"a: !!binary aGVsbG8=",
        b"{1: {[a]: b}}",
        b"x" * (MOST_BYTES + 1),
    ],
    ids=["bomb", "lists", "maps", "dashes", "itself", "colons", "tag", "bytes", "binary", "keys", "size"],
)
def test_what_is_no_manifest_is_refused_quickly(content: bytes) -> None:
    with pytest.raises(Invalid):
        read_yaml(content, "app.yaml")


def test_something_that_is_no_object_makes_the_whole_file_invalid() -> None:
    for content in (
        b"name: shop\n",
        b"- a\n",
        b"kind: ConfigMap\napiVersion: v1\n",
        b"kind: List\nitems: [1]\napiVersion: v1\n",
    ):
        with pytest.raises(Invalid, match="no Kubernetes object"):
            objects_in(content, "values.yaml")


def test_argo_cd_leaves_out_what_is_no_manifest_at_all() -> None:
    content = b"name: shop\n---\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n"
    assert len(objects_in(content, "values.yaml", lenient=True)) == 1
    with pytest.raises(Invalid):
        objects_in(b"kind: ConfigMap\n", "values.yaml", lenient=True)


def test_a_file_name_can_not_steer_the_terminal() -> None:
    with pytest.raises(Invalid) as caught:
        read_yaml(b"a: b: c", "\x1b[31mapp.yaml")
    assert "\x1b" not in caught.value.message
