"""Credential plugins: run rarely, alone, without a terminal, and never for long."""

import asyncio
import json
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from console.clients.exec_plugin import ExecPlugin, plugin_from
from console.errors import ConfigError, LoginExpired

V1 = "client.authentication.k8s.io/v1"
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


class FixedClock:
    def __init__(self) -> None:
        self.at = NOW

    def now(self) -> datetime:
        return self.at


class Program:
    """A plugin that notes each run and prints what it is told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = folder / "runs"
        self.clock = FixedClock()

    def plugin(self, body: str, *, deadline: float = 20.0) -> ExecPlugin:
        path = self.folder / "plugin.py"
        path.write_text(f"import json, os, sys, time\nopen({str(self.runs)!r}, 'a').write('x')\n{body}\n")
        argv = [sys.executable, "-IS", str(path)]
        return ExecPlugin("context prod", argv, dict(os.environ), V1, deadline=deadline, clock=self.clock)

    def printing(self, *, wait: float = 0, **status: Any) -> ExecPlugin:
        credential = {"kind": "ExecCredential", "apiVersion": V1, "status": status}
        return self.plugin(f"time.sleep({wait})\nprint({json.dumps(credential)!r})")

    @property
    def count(self) -> int:
        return len(self.runs.read_text()) if self.runs.exists() else 0


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


async def test_a_token_is_kept_until_shortly_before_it_expires(program: Program) -> None:
    plugin = program.printing(token="t0ken", expirationTimestamp="2026-11-30T13:00:00Z")
    for _ in range(3):
        assert await plugin.headers() == {"Authorization": "Bearer t0ken"}
    assert program.count == 1
    program.clock.at += timedelta(minutes=59, seconds=55)
    await plugin.headers()
    assert program.count == 2


async def test_a_token_without_an_end_is_kept_until_it_is_refused(program: Program) -> None:
    plugin = program.printing(token="t0ken")
    await plugin.headers()
    program.clock.at += timedelta(days=30)
    await plugin.headers()
    assert program.count == 1
    plugin.rejected()
    await plugin.headers()
    assert program.count == 2


async def test_all_who_ask_at_once_share_one_run(program: Program) -> None:
    plugin = program.printing(token="t0ken", wait=0.1)
    answers = await asyncio.gather(*(plugin.headers() for _ in range(10)), plugin.certificate())
    assert answers[:10] == [{"Authorization": "Bearer t0ken"}] * 10
    assert program.count == 1


async def test_one_who_gives_up_does_not_take_the_run_from_the_others(program: Program) -> None:
    plugin = program.printing(token="t0ken", wait=0.2)
    impatient, patient = asyncio.create_task(plugin.headers()), asyncio.create_task(plugin.headers())
    await asyncio.sleep(0)
    impatient.cancel()
    assert await patient == {"Authorization": "Bearer t0ken"}
    assert impatient.cancelled()
    assert program.count == 1


async def test_the_last_who_gives_up_ends_the_run(program: Program) -> None:
    plugin = program.plugin("time.sleep(600)")
    task = asyncio.create_task(plugin.headers())
    while not program.count:
        await asyncio.sleep(0.01)
    task.cancel()
    async with asyncio.timeout(20):
        await asyncio.gather(task, return_exceptions=True)


async def test_a_client_certificate_is_given_as_well(program: Program) -> None:
    plugin = program.printing(clientCertificateData="CERT", clientKeyData="KEY")
    assert await plugin.certificate() == (b"CERT", b"KEY")
    assert await plugin.headers() == {}


async def test_a_plugin_that_waits_for_a_person_is_ended_and_says_what_to_run(program: Program) -> None:
    plugin = program.plugin("time.sleep(600)", deadline=0.3)
    with pytest.raises(LoginExpired, match="did not answer within") as caught:
        await plugin.headers()
    assert caught.value.hint.startswith("Login needed: run `")
    assert "plugin.py" in caught.value.hint


async def test_a_failing_plugins_words_are_the_error_without_its_secrets(program: Program) -> None:
    plugin = program.plugin("sys.exit('SSO session expired, token=abcdef1234567890')")
    with pytest.raises(LoginExpired, match="SSO session expired") as caught:
        await plugin.headers()
    assert "abcdef1234567890" not in caught.value.sentence()


async def test_a_plugin_that_has_just_failed_is_not_run_for_each_watch(program: Program) -> None:
    plugin = program.plugin("sys.exit('log in first')")
    for _ in range(3):
        with pytest.raises(LoginExpired, match="log in first"):
            await plugin.headers()
    assert program.count == 1
    program.clock.at += timedelta(seconds=11)
    with pytest.raises(LoginExpired):
        await plugin.headers()
    assert program.count == 2


async def test_a_plugin_has_neither_our_terminal_nor_our_input(program: Program) -> None:
    body = (
        "assert sys.stdin.read() == ''\n"
        "assert os.getsid(0) == os.getpid()\n"
        "try: os.open('/dev/tty', os.O_RDWR)\nexcept OSError: pass\nelse: sys.exit('a terminal')\n"
        f"print(json.dumps({{'kind': 'ExecCredential', 'apiVersion': {V1!r}, 'status': {{'token': 'x'}}}}))"
    )
    assert await program.plugin(body).headers() == {"Authorization": "Bearer x"}


@pytest.mark.parametrize(
    ("printed", "kind", "words"),
    [
        ("hello", LoginExpired, "did not print"),
        ("", LoginExpired, "did not print"),
        ('{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1beta1"}', ConfigError, "v1beta1"),
        (json.dumps({"kind": "ExecCredential", "apiVersion": V1, "status": {}}), LoginExpired, "no credential"),
        (json.dumps({"kind": "ExecCredential", "apiVersion": V1}), LoginExpired, "no credential"),
    ],
)
async def test_nonsense_from_a_plugin_is_said_so(program: Program, printed: str, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        await program.plugin(f"print({printed!r})").headers()


async def test_a_missing_plugin_comes_with_its_authors_advice() -> None:
    entry = {"apiVersion": V1, "command": "no-such-plugin-here", "installHint": "Get it from your platform team."}
    plugin = plugin_from("context prod", entry, {}, ENDPOINT, {"PATH": "/nowhere"})
    assert plugin is not None
    with pytest.raises(ConfigError, match="no-such-plugin-here") as caught:
        await plugin.headers()
    assert caught.value.hint == "Get it from your platform team."


ENDPOINT = {"base_url": "https://api:6443", "server_name": "", "verify": True, "ca": b"CA"}


async def test_a_plugin_is_told_about_the_cluster_if_it_wants_to_know(tmp_path: Path) -> None:
    script = tmp_path / "plugin.py"
    script.write_text(
        "import json, os\ninfo = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "token = json.dumps([info['spec'], os.environ['AWS_PROFILE'], os.environ['HOME']])\n"
        "print(json.dumps({'kind': 'ExecCredential', 'apiVersion': info['apiVersion'], 'status': {'token': token}}))"
    )
    entry = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": sys.executable,
        "args": ["-IS", str(script)],
        "env": [{"name": "AWS_PROFILE", "value": "prod"}],
        "provideClusterInfo": True,
    }
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "prod"}}
    plugin = plugin_from("context prod", entry, {"extensions": [extension]}, ENDPOINT, {"HOME": "/home/jo"})
    assert plugin is not None
    token = (await plugin.headers())["Authorization"].removeprefix("Bearer ")
    spec, profile, home = json.loads(token)
    assert (profile, home) == ("prod", "/home/jo")
    assert spec == {
        "interactive": False,
        "cluster": {"server": "https://api:6443", "certificate-authority-data": "Q0E=", "config": {"audience": "prod"}},
    }


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"apiVersion": V1}, "no command"),
        ({"apiVersion": "client.authentication.k8s.io/v1alpha1", "command": "x"}, "v1alpha1"),
        ({"apiVersion": V1, "command": "x", "interactiveMode": "Always"}, "terminal"),
    ],
)
def test_a_plugin_that_can_not_work_here_is_refused_at_once(entry: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        plugin_from("context prod", entry, {}, ENDPOINT, {})
