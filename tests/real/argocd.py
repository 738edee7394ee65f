"""Argo CD's real application controller, repository server and cache on an API server of their own.

Applications live in the namespace `argocd`, as in most installations; each test takes a name of its own and applies to a
namespace of its own. The API server is separate from the `kube` fixture's, where a live controller would overwrite the
statuses that tests make up. Argo CD's API server is started for tests that need its own word (`serve`, `cli`); what its users
do is written to the Application directly everywhere else.
"""

import shutil
import signal
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Self

import httpx

from tests.real import definitions, fleet
from tests.real.binaries import ARGOCD
from tests.real.kube import KubeServer
from tests.real.kube_client import Object
from tests.real.place import Place
from tests.real.ports import free_port, listens
from tests.real.processes import STARTED, HarnessError, Process, run

NAMESPACE = "argocd"
"""Where Argo CD looks for Applications, projects and its settings."""

_PART_OF = {"app.kubernetes.io/part-of": "argocd"}


class ArgoLab:
    """An API server with Argo CD's custom resources, redis, the repository server and the application controller.

    No other controllers run: a Pod stays pending until a test says that it ended, everything else is healthy at once.
    """

    def __init__(self, place: Place) -> None:
        self.kube = KubeServer(place)
        self._place = place
        self._name = place.unique("argocd")
        self._home = place.folder(self._name)
        self._redis_port = self._repository_port = self._api_port = 0
        self._redis: Process | None = None
        self._repository_server: Process | None = None
        self._controller: Process | None = None
        self._api: Process | None = None

    def __enter__(self) -> Self:
        self.kube.__enter__()
        try:
            self.kube.client.apply_definitions(definitions.argo())
            self._settings()
            self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for process in (self._api, self._controller, self._repository_server, self._redis):
            if process:
                process.kill()
        self.kube.__exit__(kind, error, trace)

    @property
    def redis_port(self) -> int:
        """Where redis listens."""
        return self._redis_port

    @property
    def repository_port(self) -> int:
        """Where the repository server listens."""
        return self._repository_port

    def start(self) -> None:
        """Start what does not run, in the order in which each needs the other, and wait until all say they are ready."""
        before = (self._redis_port, self._repository_port)
        if not _runs(self._redis):
            self._redis, self._redis_port = self._begin("redis", self._launch_redis, listens, self._redis_port)
        if not _runs(self._repository_server):
            launch = self._launch_repository_server
            self._repository_server, self._repository_port = self._begin("repo", launch, listens, self._repository_port)
        if before != (self._redis_port, self._repository_port):
            # Addresses are learned at the start only.
            self.kill()
            self._stop_serving()
        if not _runs(self._controller):
            self._controller, _ = self._begin("controller", self._launch_controller, _healthy)

    def stop(self) -> None:
        """End the controller as a deployment does: what it is doing it does to the end. Applications stay as they are."""
        if self._controller:
            self._controller.terminate()

    def kill(self) -> None:
        """End the controller at once, in whatever it does."""
        if self._controller:
            self._controller.kill()

    def kill_redis(self) -> None:
        """End the cache at once; what it held is gone."""
        if self._redis:
            self._redis.kill()

    def kill_repository(self) -> None:
        """End the repository server at once."""
        if self._repository_server:
            self._repository_server.kill()

    def serve(self) -> str:
        """Start Argo CD's API server unless it runs; returns its address for `cli`. It knows everybody as an admin."""
        if not _runs(self._api):
            self._api, self._api_port = self._begin("api", self._launch_api, _healthy)
        return f"127.0.0.1:{self._api_port}"

    def cli(self, *arguments: str) -> str:
        """Run a command of `argocd` against `serve`; returns what it printed. Raises `HarnessError` with that when it fails."""
        home = str(self._place.folder(f"{self._name}-cli"))
        options = (f"--server={self.serve()}", "--plaintext", f"--config={home}/config")
        return run(str(ARGOCD.find()), "cli", *arguments, *options, environment={"HOME": home})

    def hang_repository(self) -> None:
        """Freeze the repository server: a sync that begins now stays on its way until `unhang_repository`."""
        if self._repository_server:
            self._repository_server.signal(signal.SIGSTOP)

    def unhang_repository(self) -> None:
        """Let the repository server go on."""
        if self._repository_server:
            self._repository_server.signal(signal.SIGCONT)

    def mend(self) -> None:
        """Bring everything back to running."""
        self.kube.mend()
        self.unhang_repository()
        self.start()

    def application(self, name: str) -> Object:
        """Read an Application."""
        return self.kube.client.get(fleet.ARGO, "Application", NAMESPACE, name)

    def _settings(self) -> None:
        """What an installation brings: settings, and the project that allows everything."""
        meta = {"namespace": NAMESPACE, "labels": _PART_OF}
        self.kube.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        self.kube.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "argocd-cm", **meta}})
        keys = {"server.secretkey": "not-a-secret-of-anybody"}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "argocd-secret", **meta}, "stringData": keys}
        self.kube.client.create(secret)
        self.kube.client.put(fleet.project(NAMESPACE))

    def _stop_serving(self) -> None:
        if self._api:
            self._api.kill()

    def _begin(
        self, what: str, launch: Callable[[str, int], Process], ready: Callable[[int], bool], port: int = 0
    ) -> tuple[Process, int]:
        """Start a server on a port (0: any free one), with another one when somebody was faster."""
        for attempt in range(3):
            port = port if port and attempt == 0 else free_port()
            process = launch(f"{self._name}-{what}", port)
            try:
                process.wait_ready(partial(ready, port), STARTED)
            except HarnessError:
                process.kill()
                if attempt == 2:
                    raise
            else:
                return process, port
        raise AssertionError("three attempts end in a server or an error")

    def _launch_redis(self, name: str, port: int) -> Process:
        server = shutil.which("redis-server") or "redis-server"
        options = ("--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(self._home))
        return self._place.spawn(name, server, *options)

    def _launch_repository_server(self, name: str, port: int) -> Process:
        home = self._place.folder(f"{self._name}-repo")
        environment = {
            "HOME": str(home),
            "TMPDIR": str(home),
            "ARGOCD_ASK_PASS_SOCK": str(home / "ask.sock"),
            "ARGOCD_GPG_ENABLED": "false",
            "ARGOCD_TLS_DATA_PATH": str(home),
            "ARGOCD_SSH_DATA_PATH": str(home),
            # After three failures of one Application it would rest for an hour.
            "ARGOCD_PAUSE_GEN_AFTER_FAILED_ATTEMPTS": "0",
        }
        return self._place.spawn(
            name,
            *(str(ARGOCD.find()), "repo-server", f"--redis=127.0.0.1:{self._redis_port}", "--disable-tls"),
            *("--address=127.0.0.1", f"--port={port}", "--metrics-address=127.0.0.1", f"--metrics-port={free_port()}"),
            environment=environment,
        )

    def _launch_api(self, name: str, port: int) -> Process:
        kubeconfig = str(self.kube.kubeconfig("admin", namespace=NAMESPACE))
        home = self._place.folder(f"{self._name}-api")
        environment = {
            "HOME": str(home),
            "TMPDIR": str(home),
            "KUBECONFIG": kubeconfig,
            "ARGOCD_FAKE_IN_CLUSTER": "true",
            "ARGOCD_TLS_DATA_PATH": str(home),
            "ARGOCD_SSH_DATA_PATH": str(home),
        }
        return self._place.spawn(
            name,
            *(str(ARGOCD.find()), "server", f"--kubeconfig={kubeconfig}", f"--namespace={NAMESPACE}", "--disable-auth"),
            *(f"--redis=127.0.0.1:{self._redis_port}", f"--repo-server=127.0.0.1:{self._repository_port}", "--insecure"),
            *("--repo-server-plaintext", "--address=127.0.0.1", f"--port={port}", f"--staticassets={home}"),
            *("--metrics-address=127.0.0.1", f"--metrics-port={free_port()}"),
            environment=environment,
        )

    def _launch_controller(self, name: str, port: int) -> Process:
        kubeconfig = str(self.kube.kubeconfig("admin", namespace=NAMESPACE))
        home = self._place.folder(f"{self._name}-controller")
        # The cluster that Argo CD runs in is the one of the kubeconfig.
        environment = {
            "HOME": str(home),
            "TMPDIR": str(home),
            "KUBECONFIG": kubeconfig,
            "ARGOCD_FAKE_IN_CLUSTER": "true",
            "ARGOCD_TLS_DATA_PATH": str(home),
            "ARGOCD_SSH_DATA_PATH": str(home),
        }
        return self._place.spawn(
            name,
            *(str(ARGOCD.find()), "controller", f"--kubeconfig={kubeconfig}", f"--namespace={NAMESPACE}"),
            *(f"--redis=127.0.0.1:{self._redis_port}", f"--repo-server=127.0.0.1:{self._repository_port}"),
            *("--repo-server-plaintext", f"--metrics-port={port}", "--status-processors=4", "--operation-processors=4"),
            environment=environment,
        )


def _runs(process: Process | None) -> bool:
    return process is not None and process.running


def _healthy(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=5, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False
