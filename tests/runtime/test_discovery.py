"""What is found in kubeconfigs, Docker contexts and the fleet file, and under which names."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from console.config.fleet import Entry, Fleet, Group
from console.errors import ConfigError
from console.runtime.discovery import Discovery, discover

Env = dict[str, str]


@pytest.fixture
def env(tmp_path: Path) -> Env:
    """An environment that leads nowhere else."""
    return {"HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "kubeconfig"), "DOCKER_CONFIG": str(tmp_path / "docker")}


def kubeconfig(env: Env, contexts: dict[str, tuple[str, str]], users: dict[str, Any] | None = None, current: str = "") -> None:
    """``contexts``: name -> (server, user)."""
    body = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": current,
        "clusters": [{"name": f"c-{name}", "cluster": {"server": server}} for name, (server, _) in contexts.items()],
        "contexts": [{"name": name, "context": {"cluster": f"c-{name}", "user": user}} for name, (_, user) in contexts.items()],
        "users": [
            {"name": user, "user": (users or {}).get(user, {"token": user})} for user in {u for _, u in contexts.values()}
        ],
    }
    Path(env["KUBECONFIG"]).write_text(json.dumps(body))


def docker_context(env: Env, name: str, host: str) -> None:
    folder = Path(env["DOCKER_CONFIG"]) / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest()
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps({"Name": name, "Endpoints": {"docker": {"Host": host}}}))


def names(found: Discovery) -> list[str]:
    return [target.name for target in found.targets]


def test_contexts_of_both_kinds_become_targets_and_nothing_is_guessed(env: Env) -> None:
    kubeconfig(env, {"prod": ("https://prod.test", "ada")})
    docker_context(env, "edge", "tcp://edge.test:2376")
    found = discover(env)
    assert [(t.name, t.platforms, t.endpoint, t.origin) for t in found.targets] == [
        ("edge", ("host",), "edge.test:2376", "docker context"),
        ("prod", ("kubernetes",), "prod.test", "kubeconfig"),
    ]
    assert found.problems == ()


def test_nothing_at_all_is_no_problem(env: Env) -> None:
    assert discover(env) == Discovery((), ())


def test_docker_host_is_a_target(env: Env) -> None:
    found = discover({**env, "DOCKER_HOST": "tcp://engine.test"})
    assert [(t.name, t.endpoint) for t in found.targets] == [("default", "engine.test:2375")]


def test_a_context_has_one_name_that_leads_to_the_same_with_the_same_credentials(env: Env) -> None:
    kubeconfig(
        env,
        {
            "prod": ("https://prod.test", "ada"),
            "prod-shop": ("https://prod.test/", "ada"),
            "prod-ro": ("https://prod.test", "bob"),
        },
    )
    docker_context(env, "edge", "tcp://edge.test:2376")
    found = discover({**env, "DOCKER_HOST": "tcp://edge.test:2376"})
    assert names(found) == ["edge", "prod", "prod-ro"], "other credentials can do other things"
    assert {t.name: t.aliases for t in found.targets} == {"edge": ("default",), "prod": ("prod-shop",), "prod-ro": ()}


def test_the_current_context_gives_the_name(env: Env) -> None:
    kubeconfig(env, {"a": ("https://prod.test", "ada"), "chosen": ("https://prod.test", "ada")}, current="chosen")
    assert names(discover(env)) == ["chosen"]


def test_names_are_unique_over_all_platforms(env: Env) -> None:
    kubeconfig(env, {"prod": ("https://prod.test", "ada")})
    docker_context(env, "prod", "tcp://edge.test:2376")
    assert sorted(names(discover(env))) == ["prod", "prod-docker"] or sorted(names(discover(env))) == [
        "prod",
        "prod-kubernetes",
    ]


def test_the_fleet_file_names_groups_and_protects(env: Env) -> None:
    kubeconfig(env, {"arn:prod": ("https://prod.test", "ada"), "dev": ("https://dev.test", "ada")})
    fleet = Fleet(
        groups={"eu": Group(colour="red", protected=True)},
        connections=(
            Entry(name="prod", kubernetes="arn:prod", group="eu", labels={"region": "eu"}),
            Entry(name="bastion", endpoint="ssh://ops@bastion.test", read_only=True),
        ),
    )
    found = discover(env, fleet)
    assert names(found) == ["prod", "bastion", "dev"]
    prod, bastion, _ = found.targets
    assert (prod.group, prod.colour, prod.protected, prod.labels, prod.aliases) == (
        "eu",
        "red",
        True,
        {"region": "eu"},
        ("arn:prod",),
    )
    assert (bastion.endpoint, bastion.read_only, bastion.origin) == ("ssh://ops@bastion.test", True, "fleet file")
    listed = discover(env, Fleet(discover="listed", connections=fleet.connections))
    assert names(listed) == ["prod", "bastion"]


def test_an_entry_whose_context_is_gone_stays_visible_with_the_reason(env: Env) -> None:
    found = discover(env, Fleet(connections=(Entry(name="prod", kubernetes="nope"), Entry(name="edge", docker="nope"))))
    assert names(found) == ["prod", "edge"]
    assert len(found.problems) == 2
    for target in found.targets:
        with pytest.raises(ConfigError, match="nope"):
            target.make_backend()


def test_a_broken_file_is_a_problem_and_hides_nothing_else(env: Env, tmp_path: Path) -> None:
    kubeconfig(env, {"prod": ("https://prod.test", "ada")})
    broken = tmp_path / "broken"
    broken.write_text("clusters: [")
    found = discover({**env, "KUBECONFIG": f"{broken}:{env['KUBECONFIG']}"})
    assert names(found) == ["prod"]
    assert any(str(broken) in problem for problem in found.problems)


async def test_a_backend_has_the_name_and_what_the_entry_says(env: Env) -> None:
    kubeconfig(env, {"ctx": ("https://prod.test", "ada")})
    docker_context(env, "edge", "tcp://edge.test:2376")
    entries = (Entry(name="prod", kubernetes="ctx", namespaces=("shop",), insecure=True), Entry(name="host", docker="edge"))
    for target in discover(env, Fleet(connections=entries)).targets:
        backend = target.make_backend()
        assert backend.endpoint == target.endpoint
        await backend.close()


def test_a_certificate_that_is_not_checked_is_warned_of(env: Env) -> None:
    kubeconfig(env, {"prod": ("https://prod.test", "ada"), "dev": ("https://dev.test", "ada")})
    (prod, dev) = discover(env, Fleet(connections=(Entry(name="prod", kubernetes="prod", insecure=True),))).targets
    assert "not verified" in prod.warning
    assert dev.warning == ""


async def test_a_kubeconfig_that_changed_on_disk_is_read_again(env: Env) -> None:
    kubeconfig(env, {"prod": ("https://old.test", "ada")})
    (target,) = discover(env).targets
    kubeconfig(env, {"prod": ("https://new-address.test", "ada")})
    backend = target.make_backend()
    assert backend.endpoint == "new-address.test"
    await backend.close()
    kubeconfig(env, {"other": ("https://new.test", "ada")})
    with pytest.raises(ConfigError, match="no longer in the kubeconfig"):
        target.make_backend()


def test_a_context_that_leads_nowhere_is_shown_and_says_why_when_it_is_used(env: Env) -> None:
    docker_context(env, "odd", "npipe:////./pipe/docker_engine")
    (target,) = discover(env).targets
    assert target.endpoint == ""
    with pytest.raises(ConfigError):
        target.make_backend()
