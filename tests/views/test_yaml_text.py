from __future__ import annotations

from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from console.kit.masking import MASK
from console.kit.sanitize import sanitize
from console.views.yaml_text import yaml_text

SECRET: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "db", "managedFields": [{"manager": "kubectl"}]},
    "data": {"password": "aHVudGVyMg=="},
}


def test_bookkeeping_is_left_out_unless_asked_for() -> None:
    assert "managedFields" not in yaml_text(SECRET)
    assert "managedFields" in yaml_text(SECRET, managed_fields=True)
    assert "managedFields" in SECRET["metadata"]


def test_secrets_are_masked() -> None:
    text = yaml_text(SECRET)
    assert "aHVudGVyMg" not in text and MASK in text
    assert "hunter2" not in yaml_text({"Env": ["DB_PASSWORD=hunter2"], "url": "https://bob:hunter2@host/"})


def test_keys_keep_the_servers_order_and_text_is_a_literal_block() -> None:
    text = yaml_text({"zeta": 1, "alpha": {"script": "first\nsecond\n"}, "list": ["a"]})
    assert text == "zeta: 1\nalpha:\n  script: |\n    first\n    second\nlist:\n- a\n"


def test_control_characters_become_pictures() -> None:
    text = yaml_text({"note\x1b": "a\x1b[31mb\u202e"})
    assert "\x1b" not in text and "\\e" not in text and "␛[31mb" in text and "\u202e" not in text


def test_equal_parts_are_repeated_instead_of_anchored() -> None:
    part = {"a": 1}
    assert "&" not in yaml_text({"one": part, "two": part})


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None, derandomize=True)
@given(st.dictionaries(st.text(max_size=8), _JSON, max_size=4))
def test_any_object_prints_and_reads_back(raw: dict[str, Any]) -> None:
    text = yaml_text(raw)
    assert sanitize(text, multiline=True) == text
    yaml.safe_load(text)
