"""One Docker engine in namespaces of its own: a machine that can lose power, hang and come back.

A network namespace gives it interfaces and firewall rules of its own, a UTS namespace its host name, a mount namespace its
mounts (and its own `/run`, where engines keep sockets outside their folders), and a process namespace one process whose death
ends the daemon, containerd and every container at once: a power cut.
"""

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import httpx

from tests.real.place import Place
from tests.real.processes import HAPPENED, STARTED, HarnessError, Identity, Process, children, run, wait_until

# The distribution's client is as old as its engine; a newer one elsewhere on the PATH would do as well.
CLI = "/usr/bin/docker" if Path("/usr/bin/docker").exists() else (shutil.which("docker") or "docker")


class Engine:
    """A dockerd on a unix socket (and on whatever `flags` add), inside an existing network namespace.

    `start` may be called again after `kill` or `stop`: the data survives, as on a machine that reboots.
    """

    def __init__(self, place: Place, name: str, namespace: str, *flags: str) -> None:
        self.name = name
        self.key = place.unique(name)
        self.namespace = namespace
        self._place = place
        self._flags = flags
        self._home = place.folder(self.key)
        self._cgroup = place.cgroup(self.key)
        self._process: Process | None = None

    @property
    def socket(self) -> Path:
        """The engine's unix socket, reachable from the whole machine."""
        return self._home / "docker.sock"

    @property
    def url(self) -> str:
        """The engine's address as docker clients take it (`unix:///...`)."""
        return f"unix://{self.socket}"

    def start(self) -> None:
        """Start the daemon and wait until it answers; raises `HarnessError` with its log when it does not."""
        self.launch()
        self.wait_ready()

    def launch(self) -> None:
        """Start the daemon without waiting for it (`wait_ready` waits), so that several can start side by side."""
        for stale in ("docker.pid", "docker.sock"):
            (self._home / stale).unlink(missing_ok=True)
        shutil.rmtree(self._home / "exec", ignore_errors=True)
        home = self._home
        daemon = [
            *(
                "dockerd",
                "--data-root",
                f"{home}/data",
                "--exec-root",
                f"{home}/exec",
                "-H",
                self.url,
                "-p",
                f"{home}/docker.pid",
            ),
            *(f"--cgroup-parent=/{self._cgroup}", "--shutdown-timeout", "2", *self._flags),
        ]
        script = f'mount -t tmpfs tmpfs /run && hostname {self.name} && exec docker-init -- "$@"'
        self._process = self._place.spawn(
            self.key,
            *("nsenter", f"--net=/run/netns/{self.namespace}", "--"),
            *("unshare", "--uts", "--mount", "--propagation", "slave", "--pid", "--fork", "--kill-child", "--mount-proc", "--"),
            *("sh", "-c", script, "sh", *daemon),
        )

    def wait_ready(self) -> None:
        """Wait until the daemon answers a ping."""
        if self._process is None:
            raise HarnessError(f"{self.name} was not started")
        self._process.wait_ready(self.answers, STARTED)

    def answers(self) -> bool:
        """True when a ping is answered within two seconds."""
        try:
            with self.client(2) as client:
                return client.get("/_ping").status_code == 200
        except httpx.TransportError:
            return False

    @property
    def running(self) -> bool:
        """True while the machine has power (a hung daemon counts)."""
        return self._process is not None and self._process.running

    def kill(self) -> None:
        """Cut the power: everything in the engine's process namespace dies at once; returns when it has."""
        init = self._init()
        if self._process:
            self._process.kill()
        if init:
            wait_until(lambda: not init.alive, f"{self.name} loses power")

    def stop(self) -> None:
        """Shut it down in good order; containers are stopped."""
        init = self._init()
        if self._process is None or init is None:
            return
        self.unhang()
        init.send(signal.SIGTERM)
        try:
            self._process.wait(HAPPENED)
        except HarnessError:
            self.kill()

    def wipe(self) -> None:
        """Cut the power and empty the disk, for an engine that is beyond repair."""
        self.kill()
        shutil.rmtree(self._home / "data", ignore_errors=True)

    def hang(self) -> None:
        """Freeze the daemon: its sockets accept connections and nothing answers; containers go on."""
        self._daemon().send(signal.SIGSTOP)

    def unhang(self) -> None:
        """Let a frozen daemon go on (does nothing to one that runs, or has only just been launched)."""
        init = self._init()
        for daemon in children(init.pid, "dockerd") if init else []:
            daemon.send(signal.SIGCONT)

    def docker(self, *argv: str, check: bool = True, timeout: float = STARTED) -> str:
        """Run the docker command line against this engine and return its standard output (a configuration of its own)."""
        config = self._place.folder("docker-config")
        return run(
            CLI,
            "--config",
            str(config),
            "-H",
            self.url,
            *argv,
            check=check,
            timeout=timeout,
            environment={"DOCKER_CONTEXT": ""},
        )

    def client(self, timeout: float = HAPPENED) -> httpx.Client:
        """A plain HTTP client of the Engine API (relative paths), for what a test wants to see or set up itself."""
        transport = httpx.HTTPTransport(uds=str(self.socket))
        return httpx.Client(transport=transport, base_url="http://docker", timeout=timeout, trust_env=False)

    def api(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        """One Engine API call; returns the decoded answer (None when it is empty). Raises `HarnessError` on a refusal."""
        with self.client() as client:
            answer = client.request(method, path, json=body, params=query)
        if answer.is_error:
            raise HarnessError(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer.json() if answer.content and "json" in answer.headers.get("content-type", "") else None

    def sweep(self) -> None:
        """Remove all containers, unused networks and volumes; images stay. For a clean start of each test."""
        for container in self.api("GET", "/containers/json", all="1"):
            if "com.docker.swarm.task.id" not in container["Labels"]:  # the swarm's own; its reaper removes them
                self.forget(f"/containers/{container['Id']}", force="1", v="1")
        self.api("POST", "/networks/prune")
        for volume in self.api("GET", "/volumes")["Volumes"] or []:  # newer engines prune nameless ones only
            self.forget(f"/volumes/{volume['Name']}", force="1")

    def log(self) -> str:
        """The end of the daemon's log."""
        return self._process.tail() if self._process else ""

    def forget(self, path: str, **query: str) -> None:
        """Delete an object; one that is gone or going already is fine. Raises `HarnessError` on any other refusal."""
        with self.client() as client:
            answer = client.delete(path, params=query)
        if answer.is_error and answer.status_code not in (404, 409):
            raise HarnessError(f"DELETE {path}: {answer.status_code} {answer.text}")

    def try_forget(self, path: str) -> bool:
        """Delete an object if the engine agrees; True when it is gone."""
        with self.client() as client:
            answer = client.delete(path)
        return not answer.is_error or answer.status_code == 404

    def _init(self) -> Identity | None:
        """Process 1 of the engine's namespace, whose end is the power cut."""
        if self._process is None or not self._process.running:
            return None
        found = children(self._process.identity.pid)
        return found[0] if found else None

    def _daemon(self) -> Identity:
        init = self._init()
        found = children(init.pid, "dockerd") if init else []
        if not found:
            raise HarnessError(f"{self.name} has no daemon\n{self.log()}")
        return found[0]


def ip(*argv: str, namespace: str = "") -> None:
    """Run `ip`, in a network namespace when one is named."""
    run("ip", *(("-n", namespace) if namespace else ()), *argv)


def why_no_engine() -> str:
    """Why no Docker engine can run here, or an empty string when one can."""
    if os.getuid() != 0:
        return "a Docker engine in namespaces of its own needs root"
    missing = [
        tool for tool in ("dockerd", "docker-init", "docker", "ip", "nsenter", "unshare", "iptables") if not shutil.which(tool)
    ]
    if missing:
        return f"not installed: {', '.join(missing)}"
    probe = subprocess.run(
        ["unshare", "--net", "--mount", "--pid", "--fork", "true"], capture_output=True, text=True, check=False
    )
    return f"this machine allows no namespaces: {probe.stderr.strip()}" if probe.returncode else ""
