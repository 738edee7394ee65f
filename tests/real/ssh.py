"""An ssh server on loopback through which a client reaches a Docker engine, with keys of its own."""

import signal
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.real.engine import Engine
from tests.real.leftovers import descendants
from tests.real.place import Place
from tests.real.ports import free_port, listens
from tests.real.processes import HarnessError, Process, run

ALIAS = "quarterdeck-host"
"""A host name that only the harness's ssh configuration knows."""


class SshServer:
    """An sshd for root on 127.0.0.1; `docker` on its far side reaches the given engine (`docker system dial-stdio` works).

    `config` is an ssh configuration file that reaches it as `ALIAS` or by address. ssh ignores `$HOME`, so programs that call
    plain `ssh` get `tools` first in their `PATH`: a folder with an `ssh` that uses `config`.
    """

    def __init__(self, place: Place, engine: Engine) -> None:
        self.port = 0
        self._name = place.unique("ssh")
        self._place = place
        self._engine = engine
        self._home = place.folder(self._name)
        self._process: Process | None = None
        for key in ("host", "client", "stranger"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", key, "-f", str(self._home / key))
        (self._home / "authorized").write_text((self._home / "client.pub").read_text())

    def __enter__(self) -> Self:
        for attempt in range(3):
            self.port = free_port()
            try:
                self.start()
            except HarnessError:
                self.kill()
                if attempt == 2:
                    raise
            else:
                break
        algorithm, key, _ = (self._home / "host.pub").read_text().split()
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port},{ALIAS} {algorithm} {key}\n")
        self.config = self.write_config("config", self.key, self.known_hosts)
        self.tools = self.write_tools("tools", self.config)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.kill()

    @property
    def url(self) -> str:
        """The engine's address through this server (`ssh://root@127.0.0.1:PORT`)."""
        return f"ssh://root@127.0.0.1:{self.port}"

    @property
    def key(self) -> Path:
        """The private key the server accepts."""
        return self._home / "client"

    @property
    def stranger(self) -> Path:
        """A private key the server refuses."""
        return self._home / "stranger"

    @property
    def known_hosts(self) -> Path:
        """A file with the server's own host key."""
        return self._home / "known_hosts"

    def write_config(self, name: str, key: Path, known_hosts: Path) -> Path:
        """An ssh configuration with this key and these known hosts, for what must fail too; never asks anything."""
        file = self._home / name
        options = (
            f"Host {ALIAS} 127.0.0.1\n  HostName 127.0.0.1\n  HostKeyAlias [127.0.0.1]:{self.port}\n"
            f"  Port {self.port}\n  User root\n"
            f"  IdentityFile {key}\n  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile {known_hosts}\n"
            "  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n  BatchMode yes\n  ConnectTimeout 30\n"
        )
        file.write_text(options)
        file.chmod(0o600)
        return file

    def write_tools(self, name: str, config: Path) -> Path:
        """A folder with an `ssh` that uses a configuration file, to be put first in `PATH`."""
        folder = self._home / name
        folder.mkdir(exist_ok=True)
        wrapper = folder / "ssh"
        wrapper.write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {config} "$@"\n')
        wrapper.chmod(0o755)
        return folder

    def start(self) -> None:
        """Start listening (again, on the same port, after `kill`)."""
        home = self._home
        (home / "far").mkdir(exist_ok=True)
        lines = (
            *("ListenAddress 127.0.0.1", f"Port {self.port}", f"HostKey {home}/host", f"AuthorizedKeysFile {home}/authorized"),
            *("StrictModes no", "UsePAM no", "PidFile none", "PermitRootLogin prohibit-password", "PasswordAuthentication no"),
            *("KbdInteractiveAuthentication no", "MaxStartups 100", "MaxSessions 100", "UseDNS no", "PrintMotd no"),
            # A home without start files: the machine's own may do anything, and a session that is killed there leaves locks.
            f"SetEnv DOCKER_HOST={self._engine.url} HOME={home / 'far'}",
        )
        file = home / "sshd_config"
        file.write_text("\n".join(lines) + "\n")
        # sshd wants /run/sshd; a /run of its own leaves nothing on the machine.
        script = 'mount -t tmpfs tmpfs /run && mkdir /run/sshd && exec "$@"'
        self._process = self._place.spawn(
            self._name,
            *("unshare", "--mount", "--propagation", "slave", "--", "sh", "-c", script, "sh"),
            *("/usr/sbin/sshd", "-D", "-e", "-f", str(file)),
        )
        self._process.wait_ready(lambda: listens(self.port))

    def kill(self) -> None:
        """End the server and every session through it."""
        if self._process:
            self.drop_sessions()
            self._process.kill()

    def drop_sessions(self) -> None:
        """End every session at once, as a lost route would; the server goes on listening."""
        if self._process and self._process.running:
            for session in descendants(self._process.identity.pid):
                session.send(signal.SIGKILL)

    def hang(self) -> None:
        """Freeze the server and its sessions: connections are accepted by the kernel and nothing answers."""
        self._signal_all(signal.SIGSTOP)

    def unhang(self) -> None:
        """Let it go on."""
        self._signal_all(signal.SIGCONT)

    def mend(self) -> None:
        """Bring it back to listening, with no sessions."""
        if self._process is None or not self._process.running:
            self.start()
        self.unhang()
        self.drop_sessions()

    def _signal_all(self, number: signal.Signals) -> None:
        if self._process and self._process.running:
            self._process.identity.send(number)
            for session in descendants(self._process.identity.pid):
                session.send(number)
