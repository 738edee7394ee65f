"""Kubeconfig files: merged like kubectl does, read forgivingly, and every way to log in."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from console import errors
from console.clients.endpoint import Endpoint
from console.clients.http import HttpClient
from console.clients.kubeconfig import KubeContext, read_kubeconfig
from tests.clients.servers import Reply, Seen, serve


def document(name: str = "prod", *, user: dict[str, Any] | None = None, **cluster: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}.example:6443", **cluster}}],
        "users": [{"name": name, "user": {"token": f"{name}-token"} if user is None else user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "shop"}}],
    }


def write(path: Path, content: dict[str, Any] | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


def only(path: Path, **env: str) -> KubeContext:
    config = read_kubeconfig({"KUBECONFIG": str(path), **env})
    assert config.problems == ()
    (context,) = config.contexts
    return context


def endpoint(
    tmp_path: Path,
    *,
    user: dict[str, Any] | None = None,
    cluster: dict[str, Any] | None = None,
    env: dict[str, str] | None = None,
) -> Endpoint:
    return only(write(tmp_path / "config", document(user=user, **(cluster or {}))), **(env or {})).endpoint()


async def headers(endpoint: Endpoint) -> dict[str, str]:
    assert endpoint.auth is not None
    return await endpoint.auth()


async def test_the_first_file_that_has_a_name_wins(tmp_path: Path) -> None:
    first = document("prod")
    first["current-context"] = ""
    second = document("prod", user={"token": "other"})
    second["clusters"][0]["cluster"]["server"] = "https://other.example"
    second["contexts"].append({"name": "mixed", "context": {"cluster": "prod", "user": "dev"}})
    second["users"].append({"name": "dev", "user": {"token": "dev-token"}})
    second["current-context"] = "mixed"
    paths = [write(tmp_path / "one", first), tmp_path / "missing", write(tmp_path / "two", second), tmp_path / "one"]
    config = read_kubeconfig({"KUBECONFIG": os.pathsep.join(map(str, paths))})
    assert config.problems == ()
    assert [(context.name, context.current) for context in config.contexts] == [("prod", False), ("mixed", True)]
    assert config.current is config.context("mixed")
    prod, mixed = (context.endpoint() for context in config.contexts)
    assert prod.base_url == mixed.base_url == "https://prod.example:6443"
    assert await headers(prod) == {"Authorization": "Bearer prod-token"}
    assert await headers(mixed) == {"Authorization": "Bearer dev-token"}


def test_without_kubeconfig_the_home_folders_file_counts(tmp_path: Path) -> None:
    write(tmp_path / ".kube" / "config", document())
    config = read_kubeconfig({"HOME": str(tmp_path)})
    assert [context.namespace for context in config.contexts] == ["shop"]
    assert read_kubeconfig({"HOME": str(tmp_path / "nobody")}).contexts == ()


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ("clusters: [\n  - {name: a", "is not YAML"),
        ("just words", "not a mapping"),
        ("clusters: 5", "clusters is not a list"),
        ("users:\n- user: {}", "entry 1 of users"),
        ("contexts:\n- name: a\n  context: [1]", "entry 1 of contexts"),
    ],
)
def test_a_broken_file_is_a_named_problem_and_the_others_stay(tmp_path: Path, broken: str, words: str) -> None:
    bad, good = write(tmp_path / "bad", broken), write(tmp_path / "good", document())
    config = read_kubeconfig({"KUBECONFIG": f"{bad}{os.pathsep}{good}"})
    assert [context.name for context in config.contexts] == ["prod"]
    (problem,) = config.problems
    assert str(bad) in problem
    assert words in problem


def test_a_file_that_may_not_be_read_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (problem,) = read_kubeconfig({"KUBECONFIG": str(tmp_path / "folder")}).problems
    assert "can't be read" in problem


def test_names_that_look_like_numbers_are_names(tmp_path: Path) -> None:
    path = write(
        tmp_path / "config",
        "clusters: [{name: 1, cluster: {server: 'https://a'}}]\nusers: [{name: 2, user: {token: 3}}]\n"
        "contexts: [{name: 2024, context: {cluster: 1, user: 2}}]\ncurrent-context: 2024",
    )
    context = only(path)
    assert (context.name, context.current, context.endpoint().base_url) == ("2024", True, "https://a")


def test_a_context_without_its_cluster_or_user_says_so_when_it_is_used(tmp_path: Path) -> None:
    lost = document()
    lost["contexts"] = [
        {"name": "a", "context": {"cluster": "gone", "user": "prod"}},
        {"name": "b", "context": {"cluster": "prod", "user": "gone"}},
    ]
    path = write(tmp_path / "config", lost)
    for context in read_kubeconfig({"KUBECONFIG": str(path)}).contexts:
        with pytest.raises(errors.ConfigError, match="'gone'") as caught:
            context.endpoint()
        assert str(path) in caught.value.message


def test_paths_count_from_the_folder_of_their_file(tmp_path: Path) -> None:
    user = {
        "client-certificate": "pki/jo.crt",
        "client-key": "/etc/jo.key",
    }
    path = write(tmp_path / "kube" / "config", document(user=user, **{"certificate-authority": "pki/ca.crt"}))
    found = only(path).endpoint()
    assert (found.ca, found.cert, found.key) == (
        str(tmp_path / "kube/pki/ca.crt"),
        str(tmp_path / "kube/pki/jo.crt"),
        "/etc/jo.key",
    )


def test_a_plugin_with_a_path_counts_from_there_too_and_a_name_from_the_path(tmp_path: Path) -> None:
    for command, expected in (("bin/login", str(tmp_path / "bin/login")), ("login", "login")):
        user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": command}}
        assert f"run `{expected}`" in endpoint(tmp_path, user=user).login_hint


def test_data_wins_over_paths(tmp_path: Path) -> None:
    data = base64.b64encode(b"PEM").decode()
    found = endpoint(
        tmp_path,
        user={"client-certificate": "x", "client-certificate-data": data, "client-key": "x", "client-key-data": data},
        cluster={"certificate-authority": "x", "certificate-authority-data": data},
    )
    assert (found.ca, found.cert, found.key) == (b"PEM", b"PEM", b"PEM")


def test_the_clusters_other_settings_are_kept(tmp_path: Path) -> None:
    found = endpoint(tmp_path, cluster={"tls-server-name": "api.internal", "proxy-url": "socks5://127.0.0.1:1080"})
    assert (found.server_name, found.proxy, found.verify) == ("api.internal", "socks5://127.0.0.1:1080", True)
    assert endpoint(tmp_path, cluster={"insecure-skip-tls-verify": True}).verify is False


def test_the_environments_proxy_counts_unless_the_cluster_has_its_own(tmp_path: Path) -> None:
    env = {"HTTPS_PROXY": "http://proxy:3128"}
    assert endpoint(tmp_path, env=env).proxy == "http://proxy:3128"
    assert endpoint(tmp_path, env=env, cluster={"proxy-url": "http://own:8080"}).proxy == "http://own:8080"
    assert endpoint(tmp_path, env={**env, "NO_PROXY": "prod.example"}).proxy == ""


@pytest.mark.parametrize(
    ("user", "cluster", "words"),
    [
        ({"token": "t", "username": "jo"}, {}, "a token and a password"),
        ({"client-certificate-data": "UEVN"}, {}, "no client-key"),
        ({"client-certificate-data": "%%%"}, {}, "not base64"),
        ({"auth-provider": {"name": "gcp"}}, {}, "gcp"),
        ({"auth-provider": {"name": "oidc"}, "exec": {"command": "x"}}, {}, "an exec plugin and an auth provider"),
        ({}, {"server": ""}, "no server"),
        ({}, {"server": "unix:///run/kube.sock"}, "neither http nor https"),
        ({}, {"insecure-skip-tls-verify": True, "certificate-authority-data": "UEVN"}, "exclude each other"),
    ],
)
def test_what_contradicts_itself_is_refused_by_name(
    tmp_path: Path, user: dict[str, Any], cluster: dict[str, Any], words: str
) -> None:
    with pytest.raises(errors.ConfigError, match=words) as caught:
        endpoint(tmp_path, user=user, cluster=cluster)
    assert "context prod" in caught.value.message


async def test_a_password_is_sent_as_one(tmp_path: Path) -> None:
    found = endpoint(tmp_path, user={"username": "jo", "password": "päss"})
    assert await headers(found) == {"Authorization": "Basic " + base64.b64encode("jo:päss".encode()).decode()}


async def test_a_token_file_is_read_again_and_its_last_token_bridges_a_gap(tmp_path: Path) -> None:
    token = write(tmp_path / "token", "one\n")
    found = endpoint(tmp_path, user={"tokenFile": "token", "token": "ignored"})
    assert await headers(found) == {"Authorization": "Bearer one"}
    token.write_text("two")
    assert await headers(found) == {"Authorization": "Bearer two"}
    token.unlink()
    assert await headers(found) == {"Authorization": "Bearer two"}
    assert found.rejected is not None
    found.rejected()
    with pytest.raises(errors.LoginExpired, match="token"):
        await headers(found)


async def test_a_login_made_in_a_shell_is_noticed_after_a_refusal(tmp_path: Path) -> None:
    async def only_new(seen: Seen, reply: Reply) -> None:
        good = seen.header("authorization") == "Bearer new-token"
        await reply.json({"message": "fine" if good else "Unauthorized"}, 200 if good else 401)

    async with serve(only_new) as server:
        path = write(tmp_path / "config", document(user={"token": "old-token"}, server=server.url))
        client = HttpClient(only(path).endpoint())
        with pytest.raises(errors.LoginExpired):
            await client.request("GET", "/version")
        write(path, document(user={"token": "new-token"}, server=server.url))
        assert (await client.request("GET", "/version")).status == 200
        await client.close()


async def test_impersonation_is_sent_with_every_group(tmp_path: Path) -> None:
    async def ok(seen: Seen, reply: Reply) -> None:
        await reply.json({})

    user = {
        "as": "jo@example.org",
        "as-uid": "u-1",
        "as-groups": ["ops", "dev"],
        "as-user-extra": {"example.org/Scope": ["a", "b"]},
    }
    async with serve(ok) as server:
        client = HttpClient(endpoint(tmp_path, user=user, cluster={"server": server.url}))
        await client.request("GET", "/version")
        await client.close()
    sent = [(name.lower(), value) for name, value in server.seen[0].headers if name.lower().startswith("impersonate")]
    assert sent == [
        ("impersonate-user", "jo@example.org"),
        ("impersonate-uid", "u-1"),
        ("impersonate-group", "ops"),
        ("impersonate-group", "dev"),
        ("impersonate-extra-example.org%2fscope", "a"),
        ("impersonate-extra-example.org%2fscope", "b"),
    ]


async def test_inside_a_pod_its_service_account_is_a_context(tmp_path: Path) -> None:
    write(tmp_path / "sa" / "token", "pod-token")
    write(tmp_path / "sa" / "namespace", "console\n")
    env = {"HOME": str(tmp_path), "KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    (context,) = read_kubeconfig(env, service_account=tmp_path / "sa").contexts
    found = context.endpoint()
    assert (context.name, context.namespace, found.base_url) == ("in-cluster", "console", "https://[fd00::1]:443")
    assert found.ca == str(tmp_path / "sa" / "ca.crt")
    assert await headers(found) == {"Authorization": "Bearer pod-token"}
    assert read_kubeconfig({"HOME": str(tmp_path)}, service_account=tmp_path / "sa").contexts == ()


def test_nothing_secret_is_in_what_is_printed(tmp_path: Path) -> None:
    context = only(write(tmp_path / "config", document(user={"token": "s3cr3t-token"})))
    assert "s3cr3t" not in f"{context!r} {context.endpoint()!r}"


CASES: dict[str, dict[str, Any]] = {
    "token": {"user": {"token": "abc"}},
    "token file": {"user": {"tokenFile": "token"}},
    "password": {"user": {"username": "jo", "password": "pw"}},
    "skip verification": {"user": {"token": "abc"}, "cluster": {"insecure-skip-tls-verify": True}},
    "server name": {"user": {"token": "abc"}, "cluster": {"tls-server-name": "api.internal"}},
    "prefix": {"user": {"token": "abc"}, "cluster": {"server": "https://rancher.example/k8s/clusters/c-1"}},
    "exec": {
        "user": {
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1beta1",
                "command": "./plugin",
                "interactiveMode": "Never",
            }
        }
    },
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_the_official_client_would_connect_in_the_same_way(tmp_path: Path, case: dict[str, Any]) -> None:
    official = pytest.importorskip("kubernetes.config", reason="the official client is not installed")
    write(tmp_path / "token", "from-file")
    credential = {
        "kind": "ExecCredential",
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "status": {"token": "from-plugin"},
    }
    write(tmp_path / "plugin", f"#!/bin/sh\necho '{json.dumps(credential)}'\n").chmod(0o755)
    path = write(tmp_path / "config", document(user=case["user"], **case.get("cluster", {})))
    theirs = official.new_client_from_config(str(path), context="prod")
    try:
        found = only(path, PATH=os.environ["PATH"]).endpoint()
        configuration = theirs.configuration
        assert found.base_url == configuration.host
        assert found.verify == configuration.verify_ssl
        assert (found.server_name or None) == configuration.tls_server_name
        sent = {}
        for setting in configuration.auth_settings().values():
            sent[setting["key"]] = setting["value"]
        assert {name.lower(): value for name, value in (await headers(found)).items()} == {
            name.lower(): value for name, value in sent.items()
        } or await headers(found) == {"Authorization": configuration.get_basic_auth_token()}
    finally:
        theirs.close()
