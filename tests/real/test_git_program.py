"""Real repositories over HTTP, read by the operator's own git with the operator's own credentials."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from console.clients.git import GitProgram
from console.errors import Invalid, NotFound, Unreachable
from tests.real.git import GitServer
from tests.real.place import Place

LOGIN = "ana:correct-horse"


@pytest.fixture
async def guarded(place: Place, git: GitServer) -> AsyncIterator[GitServer]:
    """A server that wants a password for everything; ``git`` says whether there can be one here at all."""
    server = await asyncio.to_thread(GitServer(place, LOGIN).__enter__)
    try:
        yield server
    finally:
        await asyncio.to_thread(server.__exit__, None, None, None)


def program(config: Path | str = os.devnull, **more: str) -> GitProgram:
    return GitProgram({**os.environ, "GIT_CONFIG_GLOBAL": str(config), "GIT_CONFIG_NOSYSTEM": "1", **more})


async def pushed(server: GitServer, *texts: str) -> tuple[str, list[str]]:
    """A repository with a commit for each text."""
    name = f"shop-{secrets.token_hex(4)}"
    return name, [await asyncio.to_thread(server.commit, name, {"deploy/a.yaml": text}) for text in texts]


async def test_heads_commits_and_files_are_read_over_http(git: GitServer) -> None:
    name, (old, new) = await pushed(git, "a: 1\n", "a: 2\n")
    url, reader = git.url(name), program()
    assert await reader.head(url, "main") == new and await reader.head(url, "nothing") == ""
    found = await reader.describe(url, (old, new, "c" * 40))
    assert [info.subject for info in found] == ["Change what the fleet runs", "Change what the fleet runs", ""]
    assert await reader.tree(url, old) == {"deploy/a.yaml": b"a: 1\n"}
    with pytest.raises(NotFound):
        await reader.tree(url, "c" * 40)
    with pytest.raises(Unreachable):
        await reader.head(git.url("no-such-repository"), "main")


async def test_a_repository_with_a_password_is_read_by_the_operators_helper_alone(guarded: GitServer, tmp_path: Path) -> None:
    # The harness pushes past the server, on this disk.
    name, (commit,) = await pushed(guarded, "a: 1\n")
    helper = '!f() { test "$1" = get && echo username=ana && echo password=correct-horse; }; f'
    config = tmp_path / "gitconfig"
    config.write_text(f'[credential]\n\thelper = "{helper.replace(chr(34), chr(92) + chr(34))}"\n')
    assert await program(config).head(guarded.url(name), "main") == commit
    assert await program(config).tree(guarded.url(name), commit) == {"deploy/a.yaml": b"a: 1\n"}
    with pytest.raises(Unreachable, match="prompts disabled"):
        await program().head(guarded.url(name), "main")
    with_password = guarded.url(name).replace("http://", f"http://{LOGIN}@")
    with pytest.raises(Unreachable) as caught:
        await program().head(with_password, "main")
    assert "correct-horse" not in caught.value.sentence()
    config.write_text(config.read_text().replace("correct-horse", "wrong-horse"))
    with pytest.raises(Unreachable):
        await program(config).head(guarded.url(name), "main")


async def test_an_askpass_of_the_desktop_is_never_opened(guarded: GitServer, tmp_path: Path) -> None:
    name, _ = await pushed(guarded, "a: 1\n")
    asked = tmp_path / "asked"
    window = tmp_path / "askpass"
    window.write_text(f"#!/bin/sh\ntouch {asked}\n")
    window.chmod(0o755)
    config = tmp_path / "gitconfig"
    config.write_text(f"[core]\n\taskPass = {window}\n")
    for more in ({}, {"GIT_ASKPASS": str(window)}, {"SSH_ASKPASS": str(window), "DISPLAY": ":0"}):
        with pytest.raises(Unreachable):
            await program(config, **more).head(guarded.url(name), "main")
    assert not asked.exists()


async def test_a_repository_of_more_than_manifests_is_left_while_it_still_comes(git: GitServer) -> None:
    name = f"big-{secrets.token_hex(4)}"
    noise = {f"{index}.txt": secrets.token_hex(300_000) for index in range(8)}
    commit = await asyncio.to_thread(git.commit, name, noise)
    reader = GitProgram({**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}, most_bytes=1 << 20)
    with pytest.raises(Invalid, match="1 MiB"):
        await reader.tree(git.url(name), commit)
