"""The engine's wire as it really is: TLS beside misleading variables, a real sshd, streams that freeze and break."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import psutil
import pytest

from console import errors
from console.clients.docker import DockerClient
from console.clients.docker_contexts import DockerContext, read_docker_contexts
from console.clients.endpoint import Endpoint
from tests.real.docker_engine import DockerEngine
from tests.real.images import BROKEN, SHELL, WEB
from tests.real.proxy import FaultProxy
from tests.real.ssh import ALIAS, SshServer

# Real servers on a busy machine: this is only ever reached by a test that is going to fail.
PATIENCE = 60.0


@pytest.fixture
async def clients() -> AsyncIterator[list[DockerClient]]:
    """Clients made by the test; closed at its end."""
    made: list[DockerClient] = []
    yield made
    for client in made:
        await client.close()


def connect(clients: list[DockerClient], host: str, **context: Any) -> DockerClient:
    clients.append(DockerClient(DockerContext(name="it", host=host, **context).endpoint()))
    return clients[-1]


def through_tcp(clients: list[DockerClient], proxy: FaultProxy) -> DockerClient:
    clients.append(DockerClient(Endpoint(base_url=f"http://{proxy.address}")))
    return clients[-1]


def tls_context(engine: DockerEngine, url: str) -> dict[str, Any]:
    files = engine.certificates
    return {
        "host": url,
        "tls": True,
        "ca": str(files.authority),
        "cert": str(files.certificate),
        "key": str(files.key),
    }


async def make_noise(client: DockerClient, number: int, name: str = "noise") -> None:
    """Something that the engine tells as an event."""
    await client.post("/volumes/create", json={"Name": f"{name}-{number}"})


async def test_an_engine_is_reached_over_its_socket(docker_engine: DockerEngine, clients: list[DockerClient]) -> None:
    client = connect(clients, docker_engine.url)
    ping = await client.ping()
    assert ping.api >= (1, 24)
    assert ping.at is not None
    assert (await client.get("/info"))["ID"]


async def test_tls_trusts_the_contexts_authority_beside_any_variable(
    docker_engine: DockerEngine, clients: list[DockerClient], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.setenv(name, str(docker_engine.certificates.stranger_authority))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    client = connect(clients, **tls_context(docker_engine, docker_engine.tls_url))
    assert (await client.get("/info"))["ID"]


async def test_tls_by_the_environment_is_what_docker_makes_of_it(
    docker_engine: DockerEngine, clients: list[DockerClient], tmp_path: Path
) -> None:
    folder = docker_engine.certificates.authority.parent
    env = {
        "HOME": str(tmp_path),
        "DOCKER_HOST": docker_engine.tls_url,
        "DOCKER_TLS_VERIFY": "1",
        "DOCKER_CERT_PATH": str(folder),
    }
    context = read_docker_contexts(env).contexts[0]
    clients.append(DockerClient(context.endpoint()))
    assert (await clients[-1].ping()).api >= (1, 24)


async def test_a_stranger_is_told_about_the_certificate_on_both_sides(
    docker_engine: DockerEngine, clients: list[DockerClient]
) -> None:
    files = docker_engine.certificates
    right = tls_context(docker_engine, docker_engine.tls_url)
    stranger = connect(clients, **{**right, "cert": str(files.stranger_certificate), "key": str(files.stranger_key)})
    with pytest.raises(errors.LoginExpired, match="client certificate"):
        await stranger.get("/info")
    nobody = connect(clients, **{**right, "cert": "", "key": ""})
    with pytest.raises(errors.LoginExpired, match="client certificate"):
        await nobody.post("/volumes/create", json={})
    other_server = connect(clients, **{**right, "ca": str(files.stranger_authority)})
    with pytest.raises(errors.Unreachable, match="certificate is not accepted"):
        await other_server.get("/info")


async def test_frozen_events_are_noticed_and_a_healed_route_works_again(
    docker_engine: DockerEngine, clients: list[DockerClient]
) -> None:
    async with FaultProxy(f"unix:{docker_engine.socket}") as proxy, asyncio.timeout(PATIENCE):
        client = through_tcp(clients, proxy)
        began = asyncio.Event()
        reading = asyncio.create_task(anext(client.events(silence=1.0, heard=began.set)))
        await began.wait()
        await proxy.set("freeze")
        with pytest.raises(errors.ConnectionProblem):
            await reading
        await proxy.set()
        assert (await client.get("/info"))["ID"]


async def test_cut_events_are_interrupted_and_the_next_stream_takes_over(
    docker_engine: DockerEngine, clients: list[DockerClient]
) -> None:
    async with FaultProxy(f"unix:{docker_engine.socket}") as proxy, asyncio.timeout(PATIENCE):
        client, direct = through_tcp(clients, proxy), connect(clients, docker_engine.url)
        began = asyncio.Event()
        names: list[str] = []
        last = ""

        async def read() -> None:
            nonlocal last
            async for event in client.events(heard=began.set):
                if event["Action"] != "create":
                    continue
                names.append(event["Actor"]["ID"])
                last = f"{event['timeNano'] // 10**9}.{event['timeNano'] % 10**9:09d}"
                proxy.cut()

        reading = asyncio.create_task(read())
        await began.wait()
        await make_noise(direct, 1)
        with pytest.raises(errors.Interrupted):
            await reading
        await make_noise(direct, 2)
        async with aclosing(client.events(last)) as events:
            async for event in events:
                if (event["Action"], event["Actor"]["ID"]) == ("create", "noise-2"):
                    break
        assert names == ["noise-1"]


async def test_events_survive_a_renewal_of_their_stream(docker_engine: DockerEngine, clients: list[DockerClient]) -> None:
    client = connect(clients, docker_engine.url)
    signs: list[None] = []
    quiet = asyncio.Event()

    def heard() -> None:
        signs.append(None)
        if len(signs) > 6:
            quiet.set()

    async def read() -> list[str]:
        names: list[str] = []
        async with aclosing(client.events(silence=0.2, renew=0.4, heard=heard)) as events:
            async for event in events:
                # Events of this very second from before the call, an earlier test's, may come along.
                if event["Actor"]["ID"].startswith("renewal"):
                    names.append(event["Actor"]["ID"])
                if names[-1:] == ["renewal-3"]:
                    break
        return names

    async with asyncio.timeout(PATIENCE):
        reading = asyncio.create_task(read())
        await quiet.wait()
        for number in (1, 2, 3):
            await make_noise(client, number, "renewal")
        assert await reading == ["renewal-1", "renewal-2", "renewal-3"]


async def test_an_answer_cut_after_two_hundred_bytes_is_interrupted(
    docker_engine: DockerEngine, clients: list[DockerClient]
) -> None:
    async with FaultProxy(f"unix:{docker_engine.socket}") as proxy:
        client = through_tcp(clients, proxy)
        await client.ping()
        await proxy.set(cut_after=500)
        with pytest.raises(errors.Interrupted):
            await client.get("/info")
        await proxy.set()
        assert (await client.get("/info"))["ID"]


async def test_a_hanging_engine_is_timed_out_for_reads_and_unclear_for_writes(
    docker_engine: DockerEngine, clients: list[DockerClient]
) -> None:
    client = connect(clients, docker_engine.url)
    await client.get("/info")
    docker_engine.hang()
    with pytest.raises(errors.TimedOut):
        await client.request("GET", "/info", timeout=1.0)
    with pytest.raises(errors.UnclearAnswer):
        await client.request("POST", "/volumes/create", json={"Name": "late"}, timeout=1.0)
    docker_engine.unhang()
    assert (await client.get("/info"))["ID"]


async def test_a_dead_engine_is_unreachable_and_found_again(docker_engine: DockerEngine, clients: list[DockerClient]) -> None:
    client = connect(clients, docker_engine.url)
    await client.ping()
    await asyncio.to_thread(docker_engine.kill)
    with pytest.raises(errors.ConnectionProblem):
        await client.post("/volumes/create", json={"Name": "never"})
    await asyncio.to_thread(docker_engine.start)
    assert (await client.get("/info"))["ID"]


async def test_logs_of_both_streams_are_told_apart(docker_engine: DockerEngine, clients: list[DockerClient]) -> None:
    docker_engine.docker("run", "-d", "--name", "broken", BROKEN)
    docker_engine.docker("run", "--name", "talks", SHELL, "sh", "-c", "echo out; echo err >&2; printf end")
    docker_engine.docker("run", "--tty", "--name", "terminal", SHELL, "sh", "-c", "echo seen")
    client = connect(clients, docker_engine.url)
    async with asyncio.timeout(PATIENCE):
        lines = [line async for line in client.logs("/containers/talks/logs", {"follow": True})]
        assert sorted(lines) == [("stderr", "err"), ("stdout", "end"), ("stdout", "out")]
        assert [line async for line in client.logs("/containers/broken/logs", {"follow": True})] == [("stderr", "cannot start")]
        assert [line async for line in client.logs("/containers/terminal/logs", tty=True)] == [("stdout", "seen")]


async def test_samples_and_a_command_inside_a_container(docker_engine: DockerEngine, clients: list[DockerClient]) -> None:
    docker_engine.docker("run", "-d", "--name", "web", f"{WEB}:1")
    client = connect(clients, docker_engine.url)
    async with asyncio.timeout(PATIENCE):
        async with aclosing(client.stats("web")) as samples:
            assert (await anext(samples))["name"] == "/web"
        command = {"Cmd": ["sh", "-c", "echo in; exit 3"], "AttachStdout": True, "AttachStderr": True}
        made = await client.post("/containers/web/exec", json=command)
        assert [line async for line in client.exec_output(made["Id"])] == [("stdout", "in")]
        assert (await client.get(f"/exec/{made['Id']}/json"))["ExitCode"] == 3


async def test_refusals_of_a_real_engine_mean_what_they_say(docker_engine: DockerEngine, clients: list[DockerClient]) -> None:
    client = connect(clients, docker_engine.url)
    with pytest.raises(errors.NotFound, match="No such container: nobody"):
        await client.get("/containers/nobody/json")
    with pytest.raises(errors.NotServed, match="page not found"):
        await client.get("/nothing/of/the/kind")
    with pytest.raises(errors.NotServed, match="swarm"):
        await client.get("/services")
    with pytest.raises(errors.NotFound):
        await client.post("/containers/create", json={"Image": "absent:1"})
    with pytest.raises(errors.Invalid):
        await client.post("/volumes/create", json={"Name": "two words"})


@pytest.fixture
def tools(ssh: SshServer, monkeypatch: pytest.MonkeyPatch) -> SshServer:
    """The ssh server, with its own ``ssh`` first on the PATH."""
    monkeypatch.setenv("PATH", f"{ssh.tools}:{os.environ['PATH']}")
    return ssh


async def test_an_engine_behind_ssh_is_reached_with_one_login(tools: SshServer, clients: list[DockerClient]) -> None:
    for url in (tools.url, f"ssh://{ALIAS}"):
        client = connect(clients, url)
        async with asyncio.timeout(PATIENCE):
            for _ in range(10):
                assert (await client.get("/info"))["ID"]
            await asyncio.gather(*(client.get("/info") for _ in range(10)))
        routes = [it.status for it in psutil.net_connections("tcp") if it.raddr and it.raddr.port == tools.port]
        assert routes.count(psutil.CONN_ESTABLISHED) == 1
        await client.close()
    assert ssh_processes() == []


async def test_streams_over_ssh_are_left_at_once(
    tools: SshServer, docker_engine: DockerEngine, clients: list[DockerClient]
) -> None:
    docker_engine.docker("run", "-d", "--name", "web", f"{WEB}:1")
    client = connect(clients, tools.url)
    async with asyncio.timeout(PATIENCE):
        async with aclosing(client.logs("/containers/web/logs", {"follow": True})) as lines:
            assert await anext(lines) == ("stdout", "serving 1")
        reading = asyncio.create_task(anext(client.events()))
        await make_noise(client, 1)
        while not reading.done():
            await make_noise(client, 2)
            await docker_free(client)
        assert (await reading)["Type"] == "volume"
        await client.close()
    assert ssh_processes() == []


async def docker_free(client: DockerClient) -> None:
    await client.delete("/volumes/noise-2")


async def test_a_lost_ssh_route_is_told_and_found_again(tools: SshServer, clients: list[DockerClient]) -> None:
    client = connect(clients, tools.url)
    async with asyncio.timeout(PATIENCE):
        await client.get("/info")
        began = asyncio.Event()
        reading = asyncio.create_task(anext(client.events(heard=began.set)))
        await began.wait()
        tools.drop_sessions()
        with pytest.raises(errors.ConnectionProblem):
            await reading
        assert (await client.get("/info"))["ID"]
        tools.kill()
        # Whether the child's end is noticed before or after the request leaves is a matter of moments.
        with pytest.raises(errors.ConnectionProblem):
            await client.post("/volumes/create", json={"Name": "never"})
        with pytest.raises(errors.Unreachable, match=r"onnection refused|reset|closed"):
            await client.post("/volumes/create", json={"Name": "never"})


@pytest.mark.parametrize("fault", ["key", "host"])
async def test_why_ssh_refuses_is_the_connections_error(
    ssh: SshServer, clients: list[DockerClient], monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    if fault == "key":
        config, words, hint = ssh.write_config("wrong-key", ssh.stranger, ssh.known_hosts), "Permission denied", "ssh-add"
    else:
        config = ssh.write_config("unknown-host", ssh.key, ssh.known_hosts.with_name("nobody"))
        words, hint = "Host key verification failed", "known_hosts"
    monkeypatch.setenv("PATH", f"{ssh.write_tools(f'tools-{fault}', config)}:{os.environ['PATH']}")
    client = connect(clients, ssh.url)
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(errors.Unreachable, match=words) as caught:
            await client.post("/volumes/create", json={"Name": "never"})
    assert hint in caught.value.hint


def ssh_processes() -> list[list[str]]:
    """Children of ours that are ssh, whatever they were started for."""
    found = []
    for child in psutil.Process().children(recursive=True):
        try:
            if child.name() == "ssh" and child.status() != psutil.STATUS_ZOMBIE:
                found.append(child.cmdline())
        except psutil.NoSuchProcess:
            continue
    return found
