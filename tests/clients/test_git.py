"""Repositories read by the operator's own git: never asking, running nothing of theirs, in bounded time and space."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from console.clients.git import GitProgram
from console.clients.git_address import address
from console.errors import Invalid, NotFound, ProtocolError, Refused, TimedOut, Unreachable
from tests.clients.git_origin import IDENTITY, Origin

ALL = ("file", "http", "https", "ssh")


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    return Origin(tmp_path)


def program(**options: object) -> GitProgram:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": IDENTITY["GIT_CONFIG_GLOBAL"], "GIT_CONFIG_NOSYSTEM": "1"}
    return GitProgram(env, transports=ALL, **options)  # type: ignore[arg-type]


def stub(folder: Path, body: str) -> dict[str, str]:
    """An environment whose git is this shell script."""
    file = folder / "bin" / "git"
    file.parent.mkdir()
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return {"PATH": f"{file.parent}:/usr/bin:/bin"}


@asynccontextmanager
async def silent_server() -> AsyncIterator[int]:
    """Takes connections and never says a word."""
    gone = asyncio.Event()

    async def hold(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await gone.wait()
        writer.close()

    server = await asyncio.start_server(hold, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        gone.set()
        server.close()
        await server.wait_closed()


async def test_the_head_of_a_branch_is_told_and_a_missing_branch_is_none(origin: Origin) -> None:
    commit = origin.commit({"a.yaml": "a: 1\n"})
    origin.git("tag", "main-1")
    assert await program().head(origin.url, "main") == commit
    assert await program().head(origin.url, "release") == ""
    assert await program().head(origin.url, "main-1") == "", "a tag is no branch"


async def test_commits_are_described_and_one_that_is_gone_does_not_hide_the_others(origin: Origin) -> None:
    first = origin.commit({"a.yaml": "a: 1\n"}, "Pin every image")
    second = origin.commit({"a.yaml": "a: 2\n"}, "Open 20 connections\n\nBecause of the sale.")
    lost = "a" * 40
    one, gone, two = await program().describe(origin.url, (first, lost, second))
    assert (one.subject, one.author, one.when) == ("Pin every image", "Ana Prieto", datetime(2026, 3, 1, 10, tzinfo=UTC))
    assert two.subject == "Open 20 connections"
    assert gone.hash == lost and "does not have it" in gone.unread and not gone.subject


async def test_escapes_and_overrides_in_a_commit_never_reach_the_terminal(origin: Origin) -> None:
    commit = origin.commit({}, "\x1b]0;owned\x07Fix \u202egnp.exe \x9b31m")
    (info,) = await program().describe(origin.url, (commit,))
    assert not any(ord(letter) < 32 or 0x7F <= ord(letter) < 0xA0 or letter == "\u202e" for letter in info.subject)
    assert "Fix" in info.subject


async def test_a_subject_of_ten_megabytes_is_cut(origin: Origin) -> None:
    file = origin.folder.parent / "message"
    file.write_text("x" * 10_000_000)
    origin.git("commit", "-q", "--allow-empty", "-F", str(file))
    commit = origin.git("rev-parse", "HEAD").strip()
    (info,) = await program().describe(origin.url, (commit,))
    assert len(info.subject) <= 200


async def test_the_files_of_an_old_commit_are_had_without_its_links_and_big_files(origin: Origin, tmp_path: Path) -> None:
    old = origin.commit({"deploy/app.yaml": "kind: ConfigMap\n", "big.bin": os.urandom(1_200_000), "run.sh": "true\n"})
    origin.link("deploy/secret.yaml", "/etc/passwd")
    newest = origin.commit({"deploy/app.yaml": "kind: Secret\n"})
    assert await program().tree(origin.url, old) == {"deploy/app.yaml": b"kind: ConfigMap\n", "run.sh": b"true\n"} | {
        # A server that filters leaves it out already; one that doesn't sends it.
        path: content
        for path, content in (await program().tree(origin.url, old)).items()
        if path == "big.bin"
    }
    files = await program().tree(origin.url, newest)
    assert files["deploy/app.yaml"] == b"kind: Secret\n"
    assert "deploy/secret.yaml" not in files


@pytest.mark.parametrize("name", ["..", ".git"])
async def test_a_tree_that_leads_out_of_itself_is_refused(origin: Origin, name: str) -> None:
    commit = origin.forged("100644", name)
    with pytest.raises((ProtocolError, Unreachable)):
        await program().tree(origin.url, commit)


async def test_a_commit_that_is_bigger_than_any_manifests_is_not_taken(origin: Origin) -> None:
    commit = origin.commit({f"blob-{index}": os.urandom(400_000) for index in range(6)})
    with pytest.raises(Invalid, match=r"(more|bigger) than 1 MiB"):
        await program(most_bytes=1 << 20).tree(origin.url, commit)


async def test_a_missing_commit_is_not_found_and_a_missing_repository_unreachable(origin: Origin) -> None:
    origin.commit({})
    with pytest.raises(NotFound):
        await program().tree(origin.url, "b" * 40)
    with pytest.raises(Unreachable, match="can't read"):
        await program().head(f"{origin.url}-nowhere", "main")
    with pytest.raises(Refused, match="is no commit"):
        await program().tree(origin.url, "--upload-pack=true")


async def test_a_branch_that_looks_like_an_option_is_only_a_branch(origin: Origin, tmp_path: Path) -> None:
    origin.commit({})
    assert await program().head(origin.url, f"--upload-pack=touch {tmp_path}/ran") == ""
    assert not (tmp_path / "ran").exists()


async def test_a_repository_can_run_nothing_here(origin: Origin, tmp_path: Path) -> None:
    commit = origin.commit({".gitattributes": "* filter=evil\n", "a.yaml": "a: 1\n"})
    ran = tmp_path / "ran"
    env = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig"),
        "GIT_TRACE": "1",
        "GIT_DIR": str(tmp_path / "nowhere"),
    }
    evil = f'[filter "evil"]\n\tsmudge = touch {ran}\n\tclean = touch {ran}\n[core]\n\thooksPath = {tmp_path}\n'
    (tmp_path / "gitconfig").write_text(evil)
    hook = tmp_path / "reference-transaction"
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    assert await GitProgram(env, transports=ALL).tree(origin.url, commit) == {
        ".gitattributes": b"* filter=evil\n",
        "a.yaml": b"a: 1\n",
    }
    assert not ran.exists()


async def test_a_server_that_never_answers_is_left_and_its_child_killed() -> None:
    async with silent_server() as port:
        with pytest.raises(TimedOut, match=r"within 0\.5 s"):
            await program(deadline=0.5).head(f"http://127.0.0.1:{port}/shop.git", "main")
    left = [child for child in psutil.Process().children(recursive=True) if "git" in child.name()]
    assert not left


async def test_wrong_credentials_are_an_error_not_a_question() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = b'HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm="git"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
        writer.write(head)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        url = f"http://ana:hunter2@127.0.0.1:{server.sockets[0].getsockname()[1]}/shop.git"
        with pytest.raises(Unreachable) as caught:
            await program().head(url, "main")
    assert "prompts disabled" in caught.value.message and "hunter2" not in caught.value.sentence()


async def test_without_git_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="git can't be started"):
        await GitProgram({"PATH": str(tmp_path)}, transports=ALL).head("file:///x", "main")


async def test_ten_megabytes_of_errors_are_one_short_line(tmp_path: Path) -> None:
    env = stub(tmp_path, "head -c 10000000 /dev/zero | tr '\\0' 'e' >&2; exit 1")
    with pytest.raises(Unreachable) as caught:
        await GitProgram(env, transports=ALL).head("file:///x", "main")
    assert len(caught.value.message) < 500


async def test_ten_megabytes_of_references_are_no_head(tmp_path: Path) -> None:
    env = stub(tmp_path, "yes 'aaaa\trefs/heads/other' | head -c 10000000")
    assert await GitProgram(env, transports=ALL).head("file:///x", "main") == ""


async def test_ssh_is_asked_in_batch_mode_by_the_operators_own_command(tmp_path: Path) -> None:
    env = stub(tmp_path, 'if [ "$1" = config ]; then echo "ssh -i ~/.ssh/fleet"; else echo "$GIT_SSH_COMMAND" >&2; exit 1; fi')
    with pytest.raises(Unreachable, match=r"ssh -i ~/\.ssh/fleet -oBatchMode=yes"):
        await GitProgram(env).head("git@git.example.test:shop.git", "main")


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c 'touch /tmp/ran'",
        "ext::sh",
        "-oProxyCommand=touch",
        "--upload-pack=touch",
        "ssh://-oProxyCommand=touch/x",
        "ssh://-x@host/x",
        "-x@host:path",
        "file:///etc",
        "/etc",
        "../here",
        "git://host/x",
        "fd::7",
        "http::https://host/x",
        "https://host/a\nb",
        "",
    ],
)
def test_what_is_no_address_of_a_remote_repository_is_never_given_to_git(url: str) -> None:
    with pytest.raises(Refused):
        address(url)


@pytest.mark.parametrize(
    ("url", "given"),
    [
        ("https://git.example.test/shop.git", "https://git.example.test/shop.git"),
        ("https://ana:token@git.example.test/shop.git", "https://git.example.test/shop.git"),
        ("https://token@git.example.test/shop.git", "https://git.example.test/shop.git"),
        ("ssh://git:secret@git.example.test:2222/shop.git", "ssh://git@git.example.test:2222/shop.git"),
        (" git@git.example.test:a/b.git ", "git@git.example.test:a/b.git"),
    ],
)
def test_a_password_in_an_address_stays_here(url: str, given: str) -> None:
    assert address(url) == given
