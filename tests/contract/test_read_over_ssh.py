"""A host behind ssh: the whole of it is read through children that speak to a remote engine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from console.config.fleet import Entry
from console.model.connections import Phase
from tests.contract.scene import connected
from tests.contract.test_read_refused import scene
from tests.real.docker_engine import DockerEngine
from tests.real.images import SHELL
from tests.real.ssh import SshServer


@pytest.fixture(autouse=True)
def path(ssh: SshServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{ssh.tools}:{os.environ['PATH']}")


async def test_a_host_behind_ssh_is_live_follows_events_and_survives_a_dropped_session(
    ssh: SshServer, docker_engine: DockerEngine, tmp_path: Path
) -> None:
    async with connected({}, Entry(name="far", endpoint=ssh.url), tmp_path / "state") as runtime:
        it = scene(runtime, "far")
        await it.until_phase(Phase.LIVE)
        await it.settled("Container")
        docker_engine.docker("create", "--name", "one", SHELL)
        await it.until("it appears", lambda: it.find("Container", "one") is not None)
        ssh.drop_sessions()
        docker_engine.docker("create", "--name", "two", SHELL)
        await it.until("what happened meanwhile is seen", lambda: it.find("Container", "two") is not None)
        await it.until_phase(Phase.LIVE)


async def test_an_ssh_server_that_is_down_says_what_ssh_said(ssh: SshServer, tmp_path: Path) -> None:
    ssh.kill()
    async with connected({}, Entry(name="far", endpoint=ssh.url), tmp_path / "state") as runtime:
        it = scene(runtime, "far")
        await it.until_phase(Phase.UNREACHABLE)
        assert "refused" in it.connection.reason.lower()
