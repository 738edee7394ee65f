"""Building by the operator's own program: kept in its folder, kept from the network, in bounded time and space."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from console.clients.kustomize import KustomizeProgram
from console.errors import Invalid, NotServed, Refused, TimedOut

FILES = {"deploy/kustomization.yaml": b"resources: [a.yaml]\n", "deploy/a.yaml": b"kind: ConfigMap\n"}


def program(folder: Path, body: str, *, name: str = "kustomize", deadline: float = 20) -> KustomizeProgram:
    """A program of this name that is a shell script."""
    file = folder / name
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return KustomizeProgram({**os.environ, "PATH": f"{folder}:/usr/bin:/bin"}, deadline=deadline)


async def test_the_program_sees_the_files_and_nothing_of_the_operators_cluster(tmp_path: Path) -> None:
    made = program(tmp_path, 'echo "$@"; cat deploy/a.yaml; echo "$KUBECONFIG $HTTPS_PROXY $GIT_ALLOW_PROTOCOL"')
    said = (await made.build(FILES, "deploy")).decode()
    assert said.splitlines() == [
        "build --load-restrictor=LoadRestrictionsNone ./deploy",
        "kind: ConfigMap",
        "/dev/null http://127.0.0.1:9 none",
    ]
    assert made.name == "kustomize"


async def test_kubectl_builds_where_there_is_no_kustomize(tmp_path: Path) -> None:
    made = program(tmp_path, 'echo "$1"', name="kubectl")
    made_env = {**os.environ, "PATH": str(tmp_path)}
    assert KustomizeProgram(made_env).name == "kubectl"
    assert (await made.build(FILES, "")).startswith((b"kustomize", b"build"))


async def test_without_either_program_it_says_so(tmp_path: Path) -> None:
    nothing = KustomizeProgram({"PATH": str(tmp_path)})
    assert nothing.name == ""
    with pytest.raises(NotServed, match="Neither kustomize nor kubectl"):
        await nothing.build(FILES, "deploy")


async def test_a_build_that_fails_hangs_or_floods_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="no such field"):
        await program(tmp_path, "echo 'no such field' >&2; exit 1").build(FILES, "deploy")
    with pytest.raises(TimedOut):
        await program(tmp_path, "sleep 60", deadline=0.3).build(FILES, "deploy")
    with pytest.raises(Invalid, match="more than 8 MiB"):
        await program(tmp_path, "head -c 10000000 /dev/zero").build(FILES, "deploy")


@pytest.mark.parametrize("path", ["../out.yaml", "a/../../out.yaml", "/tmp/out.yaml"])
async def test_a_file_that_leads_out_of_the_folder_is_never_written(tmp_path: Path, path: str) -> None:
    with pytest.raises(Refused, match="out of its tree"):
        await program(tmp_path, "true").build({path: b"x"}, "")
