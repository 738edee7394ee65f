"""The git server of the harness serves what was committed, and keeps strangers out when told to."""

import httpx

from tests.real.git import GitServer
from tests.real.place import Place
from tests.real.processes import run


def test_a_commit_is_what_the_branch_points_to(git: GitServer) -> None:
    first = git.commit("shop", {"shop/map.yaml": "a: 1\n"})
    second = git.commit("shop", {"shop/map.yaml": "a: 2\n"})
    assert first != second
    assert run("git", "ls-remote", git.url("shop"), "refs/heads/main").split()[0] == second


def test_a_clone_can_push_and_the_next_commit_stands_on_it(git: GitServer, place: Place) -> None:
    git.commit("ledger", {"map.yaml": "a: 1\n"})
    work = place.folder("clone-of-ledger")
    run("git", "clone", "-q", git.url("ledger"), str(work))
    identity = ("-c", "user.name=other", "-c", "user.email=other@example.test")
    run("git", "-C", str(work), *identity, "commit", "-q", "--allow-empty", "-m", "Change it by hand")
    run("git", "-C", str(work), "push", "-q", "origin", "main")
    pushed = run("git", "-C", str(work), "rev-parse", "HEAD").strip()
    newest = git.commit("ledger", {"map.yaml": "a: 3\n"})
    run("git", "-C", str(work), "pull", "-q")
    assert run("git", "-C", str(work), "rev-parse", f"{newest}^").strip() == pushed


def test_a_private_server_wants_its_password(place: Place) -> None:
    with GitServer(place, "alice:s3cret") as server:
        server.commit("shop", {"a": "b"})
        url = f"{server.url('shop')}/info/refs"
        query = {"service": "git-upload-pack"}
        assert httpx.get(url, params=query, trust_env=False).status_code == 401
        assert httpx.get(url, params=query, trust_env=False, auth=("alice", "s3cret")).status_code == 200
