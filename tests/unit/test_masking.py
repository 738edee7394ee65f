"""Secrets are masked by name and by shape, and facts that are no secrets stay."""

from __future__ import annotations

from typing import Any

import pytest

from console.kit.masking import MASK, is_secret_key, mask_env, mask_object, mask_text


@pytest.mark.parametrize(
    "key",
    ["password", "DB_PASSWORD", "apiKey", "API_KEY", "access-key", "token", "GITHUB_TOKEN", "clientSecret", "client-key-data",
     "Authorization", "auth", "POSTGRES_PASSWD", "passphrase", "connection_string", "SENTRY_DSN", ".dockerconfigjson"],
)  # fmt: skip
def test_a_key_that_names_a_secret_is_one(key: str) -> None:
    assert is_secret_key(key)


@pytest.mark.parametrize(
    "key",
    ["secretRef", "secretName", "imagePullSecrets", "automountServiceAccountToken", "PASSWORD_FILE", "tokenTTL", "author",
     "name", "authority", "image", "SecretID", "secretKeyRef", "expirationSeconds"],
)  # fmt: skip
def test_a_reference_or_a_policy_is_no_secret(key: str) -> None:
    assert not is_secret_key(key)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("https://ops:hunter2@git.internal/x.git", f"https://{MASK}@git.internal/x.git"),
        ("Authorization: Bearer abcdefghij0123", f"Authorization: Bearer {MASK}"),
        ("login with password=hunter2 failed", f"login with password={MASK} failed"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----", MASK),
        ("an ordinary sentence about a token bucket", "an ordinary sentence about a token bucket"),
    ],
)
def test_credentials_in_free_text_are_masked_by_shape(text: str, masked: str) -> None:
    assert mask_text(text) == masked


def test_an_environment_keeps_its_names() -> None:
    assert mask_env(["A=1", "DB_PASSWORD=x", "URL=redis://u:p@h", "EMPTY_TOKEN="]) == [
        "A=1",
        f"DB_PASSWORD={MASK}",
        f"URL=redis://{MASK}@h",
        "EMPTY_TOKEN=",
    ]


def test_a_kubernetes_secret_shows_its_keys_only() -> None:
    secret = {"kind": "Secret", "data": {"user": "b3Bz", "pass": "eA=="}, "stringData": {"note": "x"}, "type": "Opaque"}
    assert mask_object(secret) == {
        "kind": "Secret",
        "data": {"user": MASK, "pass": MASK},
        "stringData": {"note": MASK},
        "type": "Opaque",
    }


def test_what_kubectl_left_in_an_annotation_is_masked_whole() -> None:
    raw = {"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{...}", "team": "core"}}}
    assert mask_object(raw)["metadata"]["annotations"] == {
        "kubectl.kubernetes.io/last-applied-configuration": MASK,
        "team": "core",
    }


def test_a_named_entry_of_an_environment_list_is_masked_by_its_name() -> None:
    env: list[dict[str, Any]] = [
        {"name": "DB_PASSWORD", "value": "x"},
        {"name": "MODE", "value": "fast"},
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "db", "key": "pw"}}},
    ]
    masked = mask_object({"env": env})["env"]
    assert [entry.get("value") for entry in masked] == [MASK, "fast", None]
    assert masked[2]["valueFrom"] == {"secretKeyRef": {"name": "db", "key": "pw"}}


def test_everything_under_a_secret_key_is_masked_and_the_original_is_untouched() -> None:
    raw = {"credentials": {"user": "ops", "parts": ["a", "b"], "on": True}}
    assert mask_object(raw) == {"credentials": {"user": MASK, "parts": [MASK, MASK], "on": True}}
    assert raw["credentials"]["user"] == "ops"
