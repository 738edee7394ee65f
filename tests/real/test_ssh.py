"""The ssh server of the harness: the docker command line gets through, strangers do not, and it can be broken."""

import os

import pytest

from tests.real.engine import CLI
from tests.real.processes import HarnessError, run, wait_until
from tests.real.ssh import ALIAS, SshServer


def _engine_version(ssh: SshServer) -> str:
    path = f"{ssh.tools}:{os.environ['PATH']}"
    return run(CLI, "-H", ssh.url, "version", "--format", "{{.Server.Version}}", environment={"PATH": path})


def test_the_docker_command_line_reaches_the_engine(ssh: SshServer) -> None:
    assert _engine_version(ssh).strip()


def test_a_strange_key_is_refused(ssh: SshServer) -> None:
    config = ssh.write_config("wrong-key", ssh.stranger, ssh.known_hosts)
    with pytest.raises(HarnessError, match="Permission denied"):
        run("ssh", "-F", str(config), ALIAS, "true")


def test_an_unknown_host_key_is_refused(ssh: SshServer) -> None:
    config = ssh.write_config("unknown-host", ssh.key, ssh.known_hosts.with_name("nothing-known"))
    with pytest.raises(HarnessError, match="Host key verification failed"):
        run("ssh", "-F", str(config), ALIAS, "true")


def test_a_killed_server_comes_back_on_its_port(ssh: SshServer) -> None:
    ssh.kill()
    with pytest.raises(HarnessError, match="Connection refused"):
        run("ssh", "-F", str(ssh.config), ALIAS, "true")
    ssh.start()
    wait_until(lambda: _engine_version(ssh), "the engine is reached again")
