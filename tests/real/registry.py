"""An image registry with a user and a password, on loopback or inside a swarm lab's switch."""

import sys
from functools import partial
from types import TracebackType
from typing import Self

import yaml

from tests.real.engine import Engine
from tests.real.place import Place
from tests.real.ports import free_port
from tests.real.processes import HarnessError, Process, run

USER, PASSWORD = "alice", "s3cret-of-alice"
REALM = "quarterdeck"


class Registry:
    """A `docker-registry` that wants `USER` and `PASSWORD`.

    With a `namespace` it listens inside it (the lab's switch: `SwarmLab.switch`, at `swarm.SWITCH` port 5000), where only the
    lab's engines reach it. Without one it listens on a free port of 127.0.0.1.
    """

    def __init__(self, place: Place, host: str = "127.0.0.1", port: int = 0, namespace: str = "") -> None:
        self.host = host
        self.port = port
        self._name = place.unique("registry")
        self._namespace = namespace
        self._place = place
        self._process: Process | None = None

    @property
    def address(self) -> str:
        """`host:port`, the first part of its images' references."""
        return f"{self.host}:{self.port}"

    def __enter__(self) -> Self:
        for attempt in range(3):
            port = self.port or free_port()
            process = self._launch(port)
            try:
                process.wait_ready(partial(self._answers, port))
            except HarnessError:
                process.kill()
                if self.port or attempt == 2:
                    raise
                continue
            self.port, self._process = port, process
            break
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._process:
            self._process.kill()

    def login(self, engine: Engine, password: str = PASSWORD) -> None:
        """Log the engine's command line in (its own configuration folder, never the user's)."""
        engine.docker("login", "-u", USER, "-p", password, self.address)

    def push(self, engine: Engine, image: str, name: str) -> str:
        """Push a local image as `address/name` and return the reference by digest."""
        reference = f"{self.address}/{name}"
        self.login(engine)
        engine.docker("tag", image, reference)
        engine.docker("push", reference)
        digests: list[str] = engine.api("GET", f"/images/{reference}/json")["RepoDigests"]
        return next(digest for digest in digests if digest.startswith(f"{self.address}/"))

    def _launch(self, port: int) -> Process:
        home = self._place.folder(self._name)
        (home / "htpasswd").write_text(run("htpasswd", "-Bbn", USER, PASSWORD))
        config = {
            "version": 0.1,
            "log": {"level": "warn"},
            "storage": {"filesystem": {"rootdirectory": str(home / "data")}, "delete": {"enabled": True}},
            "http": {"addr": f"{self.host}:{port}"},
            "auth": {"htpasswd": {"realm": REALM, "path": str(home / "htpasswd")}},
        }
        file = home / "config.yml"
        file.write_text(yaml.safe_dump(config))
        return self._place.spawn(self._name, *self._enter(), "docker-registry", "serve", str(file))

    def _enter(self) -> tuple[str, ...]:
        return ("nsenter", f"--net=/run/netns/{self._namespace}", "--") if self._namespace else ()

    def _answers(self, port: int) -> bool:
        """True when it asks for credentials; the probe runs where the registry listens."""
        request = f"import socket; socket.create_connection(({self.host!r}, {port}), 2).close()"
        return _succeeds(*self._enter(), sys.executable, "-I", "-c", request)


def _succeeds(*argv: str) -> bool:
    try:
        run(*argv, timeout=10)
    except HarnessError:
        return False
    return True
