"""Engines behind ssh: one child a connection, shared handshakes, ssh's own words for what went wrong."""

import asyncio
import os
from pathlib import Path

import psutil
import pytest

from console import errors
from console.clients.endpoint import Endpoint
from console.clients.http import HttpClient
from console.clients.ssh_address import parse_destination
from tests.clients.servers import FakeSsh, Reply, Seen, serve


async def engine(seen: Seen, reply: Reply) -> None:
    if seen.method == "HEAD":
        await reply.head(200, {"Api-Version": "1.41"})
    elif seen.path == "/endless":
        await reply.stream()
        await reply.chunk(b"first")
        await reply.never()
    elif seen.path == "/broken":
        reply.cut()
    else:
        await reply.json({"path": seen.path})


@pytest.fixture
def fake_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSsh:
    fake = FakeSsh(tmp_path, tmp_path / "docker.sock")
    monkeypatch.setenv("PATH", f"{fake.folder}:{os.environ['PATH']}")
    return fake


def at(url: str = "ssh://ops@bastion:2222") -> Endpoint:
    return Endpoint(base_url="http://localhost", ssh=url)


async def test_requests_go_through_one_kept_child(fake_ssh: FakeSsh, tmp_path: Path) -> None:
    async with serve(engine, unix=tmp_path / "docker.sock") as server:
        client = HttpClient(at())
        for _ in range(5):
            assert (await client.request("GET", "/info")).json() == {"path": "/info"}
        await client.close()
    (call,) = fake_ssh.calls()
    assert call.endswith("-l ops -p 2222 -- bastion docker system dial-stdio")
    assert "BatchMode=yes" in call
    assert "ControlMaster=auto" in call
    assert server.connections == 1
    assert no_children()


async def test_a_first_connection_goes_alone_so_that_the_others_share_its_session(fake_ssh: FakeSsh, tmp_path: Path) -> None:
    async with serve(engine, unix=tmp_path / "docker.sock"):
        client = HttpClient(at())
        await asyncio.gather(*(client.request("GET", "/info") for _ in range(4)))
        await client.close()
    calls = fake_ssh.calls()
    assert 1 <= len(calls) <= 4
    assert len({part for call in calls for part in call.split() if part.startswith("ControlPath=")}) == 1
    assert no_children()


async def test_the_users_own_control_path_is_left_alone(fake_ssh: FakeSsh, tmp_path: Path) -> None:
    fake_ssh = FakeSsh(
        tmp_path, tmp_path / "docker.sock", config="controlpath /home/jo/.ssh/m\nserveraliveinterval 5\nconnecttimeout 7"
    )
    async with serve(engine, unix=tmp_path / "docker.sock"):
        client = HttpClient(at("ssh://bastion"))
        await client.request("GET", "/info")
        await client.close()
    (call,) = fake_ssh.calls()
    assert "Control" not in call
    assert "ServerAlive" not in call
    assert "ConnectTimeout" not in call


async def test_a_stream_over_ssh_can_be_left_and_its_child_goes(fake_ssh: FakeSsh, tmp_path: Path) -> None:
    async with serve(engine, unix=tmp_path / "docker.sock"):
        client = HttpClient(at())
        async with client.stream("GET", "/endless") as answer:
            assert await anext(answer.body) == b"first"
        assert no_children()
        assert (await client.request("GET", "/info")).status == 200
        await client.close()


async def test_a_closed_client_ends_streams_that_are_still_open(fake_ssh: FakeSsh, tmp_path: Path) -> None:
    async with serve(engine, unix=tmp_path / "docker.sock"):
        client = HttpClient(at())
        async with client.stream("GET", "/endless") as answer:
            assert await anext(answer.body) == b"first"
            await client.close()
            assert no_children()


async def test_what_ssh_says_becomes_the_error_and_a_write_has_not_left(fake_ssh: FakeSsh) -> None:
    fake_ssh.set(
        "Warning: Permanently added 'bastion' to the list of known hosts.\nops@bastion: Permission denied (publickey)."
    )
    client = HttpClient(at())
    with pytest.raises(errors.Unreachable) as caught:
        await client.request("POST", "/services/create")
    await client.close()
    assert caught.value.message == "ssh://ops@bastion:2222: ops@bastion: Permission denied (publickey)."
    assert "ssh-add" in caught.value.hint


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("Host key verification failed.", "known_hosts"),
        ("sh: 1: docker: not found", "docker command"),
        ("ssh: Could not resolve hostname bastion: Name or service not known", "alias"),
        ("permission denied while trying to connect to the Docker daemon socket", "docker group"),
    ],
)
async def test_each_failure_comes_with_what_to_do(fake_ssh: FakeSsh, words: str, hint: str) -> None:
    fake_ssh.set(words)
    client = HttpClient(at())
    with pytest.raises(errors.Unreachable) as caught:
        await client.request("GET", "/info")
    await client.close()
    assert hint in caught.value.hint


async def test_a_hanging_ssh_is_given_up_and_killed(fake_ssh: FakeSsh) -> None:
    fake_ssh.set("hang")
    client = HttpClient(Endpoint(base_url="http://localhost", ssh="ssh://bastion", connect_timeout=0.3))
    with pytest.raises(errors.Unreachable, match="in time"):
        await client.request("GET", "/info")
    assert no_children()
    await client.close()


async def test_without_an_ssh_program_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    client = HttpClient(at())
    with pytest.raises(errors.Unreachable, match="no ssh program") as caught:
        await client.request("GET", "/info")
    await client.close()
    assert "Install" in caught.value.hint


async def test_a_connection_lost_on_the_far_side_is_interrupted_or_unclear(fake_ssh: FakeSsh, tmp_path: Path) -> None:
    async with serve(engine, unix=tmp_path / "docker.sock"):
        client = HttpClient(at())
        with pytest.raises(errors.Interrupted):
            await client.request("GET", "/broken")
        with pytest.raises(errors.UnclearAnswer):
            await client.request("POST", "/broken")
        await client.close()


async def test_no_folder_stays_behind(fake_ssh: FakeSsh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "t"
    own.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(own))
    async with serve(engine, unix=tmp_path / "docker.sock"):
        client = HttpClient(at())
        await client.request("GET", "/info")
        assert [path.stat().st_mode & 0o777 for path in own.iterdir()] == [0o700]
        await client.close()
    assert list(own.iterdir()) == []


@pytest.mark.parametrize(
    "url",
    ["ssh://", "tcp://host", "ssh://-oProxyCommand=evil", "ssh://-x@host", "ssh://jo:pw@host", "ssh://host:ssh", "ssh://h?x=1"],
)
def test_an_address_that_is_none_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(errors.ConfigError) as caught:
        parse_destination(url)
    assert "pw" not in caught.value.sentence()


def test_an_address_is_taken_apart() -> None:
    there = parse_destination("ssh://ops@Prod-Bastion:2222/run/user/1000/docker.sock")
    assert there.arguments() == ["-l", "ops", "-p", "2222", "--", "Prod-Bastion"]
    assert there.command() == "docker --host unix:///run/user/1000/docker.sock system dial-stdio"
    assert parse_destination("ssh://[fe80::1]:22/").arguments() == ["-p", "22", "--", "fe80::1"]


def no_children() -> bool:
    return not [child for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE]
