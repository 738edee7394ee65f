"""Two states of an object, field by field, without anything secret."""

from __future__ import annotations

from typing import Any

from console.engines.preview.differences import changes
from console.kit.masking import MASK


def deployment(image: str, **env: str) -> dict[str, Any]:
    environment = [{"name": name, "value": value} for name, value in env.items()]
    container = {"name": "web", "image": image, "env": environment}
    return {"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"template": {"spec": {"containers": [container]}}}}


def test_lists_of_named_things_are_compared_by_name() -> None:
    before, after = deployment("web:1", A="1", B="2"), deployment("web:2", B="2", C="3", A="1")
    where = "spec.template.spec.containers[web]"
    assert [(change.path, change.before, change.after) for change in changes(before, after)] == [
        (f"{where}.env[C].value", "absent", "3"),
        (f"{where}.image", "web:1", "web:2"),
    ]


def test_what_the_server_keeps_for_itself_is_no_change() -> None:
    before = {
        "kind": "A",
        "metadata": {"name": "a", "resourceVersion": "1", "managedFields": [1]},
        "status": 1,
    }
    after = {"kind": "A", "metadata": {"name": "a", "resourceVersion": "2", "generation": 2, "uid": "x"}, "status": 2}
    assert changes(before, after) == ()


def test_secrets_are_told_to_differ_and_never_shown() -> None:
    before = {"kind": "Secret", "metadata": {"name": "a"}, "data": {"password": "aHVudGVyMg==", "same": "eA=="}}
    after = {"kind": "Secret", "metadata": {"name": "a"}, "data": {"password": "bmV3", "same": "eA=="}}
    (change,) = changes(before, after)
    assert (change.path, change.before, change.after) == ("data.password", MASK, f"{MASK} (another value)")
    (named,) = changes(deployment("a", API_TOKEN="one"), deployment("a", API_TOKEN="two"))
    assert "one" not in named.before and "two" not in named.after


def test_a_value_that_came_out_of_a_secret_is_hidden_wherever_it_stands() -> None:
    (change,) = changes(deployment("a", URL="x"), deployment("a", URL="db://hunter2@host"), hidden=("hunter2",))
    assert "hunter2" not in change.after and MASK in change.after


def test_long_and_hostile_values_are_one_harmless_line() -> None:
    (change,) = changes(deployment("a", X="1"), deployment("a", X="\x1b[31m\n" + "y" * 10_000))
    assert len(change.after) <= 160 and "\x1b" not in change.after and "\n" not in change.after


def test_empty_and_absent_are_two_things() -> None:
    (change,) = changes({"a": "", "metadata": {}}, {"metadata": {}})
    assert (change.before, change.after) == ('""', "absent")
