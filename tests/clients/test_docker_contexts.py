"""Where engines are, by environment and by the docker command's own store."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from console.clients.docker_contexts import DockerContext, read_docker_contexts
from console.errors import ConfigError


def store(folder: Path, name: str, host: str, *, tls: tuple[str, ...] = (), skip: bool = False, **metadata: Any) -> None:
    identity = hashlib.sha256(name.encode()).hexdigest()
    meta = folder / "contexts" / "meta" / identity / "meta.json"
    meta.parent.mkdir(parents=True)
    endpoint = {"Host": host, "SkipTLSVerify": skip}
    meta.write_text(json.dumps({"Name": name, "Metadata": metadata, "Endpoints": {"docker": endpoint}}))
    for file in tls:
        path = folder / "contexts" / "tls" / identity / "docker" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("PEM")


def by_name(env: dict[str, str]) -> dict[str, DockerContext]:
    return {context.name: context for context in read_docker_contexts(env).contexts}


def test_with_nothing_said_there_is_the_usual_socket(tmp_path: Path) -> None:
    contexts, problems = read_docker_contexts({"HOME": str(tmp_path)})
    (default,) = contexts
    assert (default.name, default.current, default.implied) == ("default", True, True)
    assert default.endpoint().uds == "/var/run/docker.sock"
    assert problems == ()


def test_stored_contexts_come_with_their_certificates(tmp_path: Path) -> None:
    store(tmp_path, "prod", "tcp://10.0.0.5:2376", tls=("ca.pem", "cert.pem", "key.pem"), Description="Production")
    store(tmp_path, "edge", "ssh://ops@edge-1")
    store(tmp_path, "lax", "tcp://10.0.0.6", skip=True)
    (tmp_path / "config.json").write_text('{"currentContext": "prod"}')
    contexts = by_name({"DOCKER_CONFIG": str(tmp_path)})
    assert list(contexts) == ["default", "edge", "lax", "prod"]
    prod = contexts["prod"]
    assert prod.current
    assert prod.description == "Production"
    endpoint = prod.endpoint()
    assert endpoint.base_url == "https://10.0.0.5:2376"
    assert [Path(str(path)).name for path in (endpoint.ca, endpoint.cert, endpoint.key)] == ["ca.pem", "cert.pem", "key.pem"]
    assert endpoint.verify
    assert contexts["edge"].endpoint().ssh == "ssh://ops@edge-1"
    lax = contexts["lax"].endpoint()
    assert (lax.base_url, lax.verify) == ("https://10.0.0.6:2376", False)


@pytest.mark.parametrize(
    ("env", "current"),
    [
        ({}, "chosen"),
        ({"DOCKER_CONTEXT": "other"}, "other"),
        ({"DOCKER_CONTEXT": "other", "DOCKER_HOST": "unix:///run/d.sock"}, "default"),
    ],
)
def test_the_current_context_is_decided_as_docker_does(tmp_path: Path, env: dict[str, str], current: str) -> None:
    for name in ("chosen", "other"):
        store(tmp_path, name, "unix:///run/other.sock")
    (tmp_path / "config.json").write_text('{"currentContext": "chosen"}')
    contexts = by_name({"DOCKER_CONFIG": str(tmp_path), **env})
    assert [name for name, context in contexts.items() if context.current] == [current]


def test_the_environment_names_host_and_certificates(tmp_path: Path) -> None:
    for name in ("ca.pem", "cert.pem", "key.pem"):
        (tmp_path / name).write_text("PEM")
    env = {"HOME": str(tmp_path), "DOCKER_HOST": "10.0.0.7:2376", "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": str(tmp_path)}
    default = by_name(env)["default"]
    endpoint = default.endpoint()
    assert not default.implied
    assert (endpoint.base_url, endpoint.verify) == ("https://10.0.0.7:2376", True)
    assert endpoint.ca == str(tmp_path / "ca.pem")
    lax = by_name({**env, "DOCKER_TLS_VERIFY": "", "DOCKER_TLS": "1"})["default"].endpoint()
    assert (lax.base_url, lax.verify) == ("https://10.0.0.7:2376", False)
    plain = by_name({"HOME": str(tmp_path), "DOCKER_HOST": "tcp://10.0.0.7", "HTTP_PROXY": "http://proxy:3128"})["default"]
    assert (plain.endpoint().base_url, plain.endpoint().proxy) == ("http://10.0.0.7:2375", "http://proxy:3128")


def test_a_broken_context_is_a_named_problem_and_the_others_stay(tmp_path: Path) -> None:
    store(tmp_path, "good", "ssh://ops@edge-1")
    for name, text in (("half", '{"Name": "x", "End'), ("empty", "[]"), ("odd", '{"Name": "y", "Endpoints": {}}')):
        path = tmp_path / "contexts" / "meta" / name / "meta.json"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    (tmp_path / "config.json").write_text('{"currentContext": "gone"}')
    contexts, problems = read_docker_contexts({"DOCKER_CONFIG": str(tmp_path)})
    assert [context.name for context in contexts] == ["default", "good"]
    assert len(problems) == 4
    assert all(str(tmp_path) in problem for problem in problems)
    assert "'gone'" in problems[-1]


@pytest.mark.parametrize("host", ["npipe:////./pipe/docker_engine", "unix://relative.sock", "tcp://", "ssh://jo:secretpw@edge"])
def test_an_address_that_can_not_be_used_says_so_when_it_is_asked_for(host: str) -> None:
    with pytest.raises(ConfigError) as caught:
        DockerContext(name="odd", host=host).endpoint()
    assert "secretpw" not in caught.value.sentence()
