"""Flux's real kustomize-controller on an API server of its own, with sources that a test publishes itself.

The controller fetches artifacts over HTTP from loopback as it would from source-controller; `publish` plays that part: it packs
files into an archive, serves it and writes the GitRepository's status.
(`source_controller.py` brings the real one, for what a test marks; it can't be built everywhere.)
The API server is separate from the `kube` fixture's, where a live controller would overwrite the statuses that tests make up.
"""

import hashlib
import io
import signal
import sys
import tarfile
from functools import partial
from types import TracebackType
from typing import Self

import httpx

from tests.real import definitions, fleet
from tests.real.binaries import KUSTOMIZE_CONTROLLER
from tests.real.kube import KubeServer
from tests.real.kube_client import Object
from tests.real.place import Place
from tests.real.ports import free_port, listens
from tests.real.processes import HAPPENED, STARTED, HarnessError, Process, wait_until


class FluxLab:
    """An API server with all custom resources, a file server of artifacts, and kustomize-controller.

    The controller applies what is published; with no other controllers, only objects that need none (ConfigMaps, custom
    resources) become healthy.
    """

    def __init__(self, place: Place) -> None:
        self.kube = KubeServer(place)
        self._place = place
        self._name = place.unique("flux")
        self._files = place.folder(f"{self._name}-artifacts")
        self._file_server: Process | None = None
        self._controller: Process | None = None
        self._flags: tuple[str, ...] = ()
        self._port = 0

    def __enter__(self) -> Self:
        self.kube.__enter__()
        try:
            self.kube.client.apply_definitions([*definitions.flux_and_argo(), *definitions.own()])
            self._serve_files()
            self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for process in (self._controller, self._file_server):
            if process:
                process.kill()
        self.kube.__exit__(kind, error, trace)

    def publish(self, namespace: str, name: str, files: dict[str, str], commit: str) -> Object:
        """Make a commit (40 hex digits) the newest of a GitRepository, which is made when missing; returns the object.

        `files` are paths and texts, for instance `{"shop/map.yaml": "..."}`; a Kustomization finds `./shop` in it.
        """
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            for path, text in files.items():
                data = text.encode()
                entry = tarfile.TarInfo(path)
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
        packed = buffer.getvalue()
        file = self._files / namespace / name / f"{commit}.tar.gz"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(packed)
        body = fleet.git_repository(namespace, name, commit=commit)
        artifact = body["status"]["artifact"]
        artifact["path"] = str(file.relative_to(self._files))
        artifact["url"] = f"http://127.0.0.1:{self._port}/{artifact['path']}"
        artifact["digest"] = f"sha256:{hashlib.sha256(packed).hexdigest()}"
        artifact["size"] = len(packed)
        return self.kube.client.put(body)

    def kustomization(self, namespace: str, name: str) -> Object:
        """Read a Kustomization."""
        return self.kube.client.get(fleet.FLUX_KUSTOMIZE, "Kustomization", namespace, name)

    def applied(self, namespace: str, name: str, commit: str) -> bool:
        """True when a Kustomization is ready at a commit."""
        status = self.kustomization(namespace, name).get("status", {})
        ready = [entry["status"] for entry in status.get("conditions", []) if entry["type"] == "Ready"]
        return ready == ["True"] and str(status.get("lastAppliedRevision", "")).endswith(commit)

    def wait_applied(self, namespace: str, name: str, commit: str, timeout: float = 2 * HAPPENED) -> None:
        """Wait until a Kustomization is ready at a commit."""
        wait_until(lambda: self.applied(namespace, name, commit), f"{name} is applied at {commit[:7]}", timeout, 0.2)

    def restart(self, *flags: str) -> None:
        """Start the controller anew, with more flags than usual until the next `mend`."""
        self.kill()
        self._flags = flags
        self.start()

    def start(self) -> None:
        """Start the controller unless it runs, and wait until it says it is ready."""
        if self._controller and self._controller.running:
            return
        for attempt in range(3):
            port = free_port()
            self._controller = self._launch(port)
            try:
                self._controller.wait_ready(partial(_healthy, port), STARTED)
            except HarnessError:
                self._controller.kill()
                if attempt == 2:
                    raise
            else:
                return

    def kill(self) -> None:
        """End the controller; Kustomizations stay as they are until `start`."""
        if self._controller:
            self._controller.kill()

    def hang(self) -> None:
        """Freeze the controller in whatever it does."""
        if self._controller:
            self._controller.signal(signal.SIGSTOP)

    def unhang(self) -> None:
        """Let the controller go on."""
        if self._controller:
            self._controller.signal(signal.SIGCONT)

    def mend(self) -> None:
        """Bring the server and the controller back to running, with the usual flags."""
        self.kube.mend()
        self.unhang()
        if self._flags:
            self.restart()
        self.start()

    def _launch(self, port: int) -> Process:
        kubeconfig = self.kube.kubeconfig("admin")
        scratch = self._place.folder(f"{self._name}-tmp")
        return self._place.spawn(
            self._name,
            *(str(KUSTOMIZE_CONTROLLER.find()), "--metrics-addr=0", f"--health-addr=127.0.0.1:{port}", "--log-level=info"),
            *(
                "--enable-leader-election=false",
                "--requeue-dependency=1s",
                "--no-remote-bases=true",
                "--watch-all-namespaces=true",
            ),
            *self._flags,
            environment={"KUBECONFIG": str(kubeconfig), "RUNTIME_NAMESPACE": "flux-system", "TMPDIR": str(scratch)},
        )

    def _serve_files(self) -> None:
        for attempt in range(3):
            port = free_port()
            serve = (sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(self._files))
            server = self._place.spawn(f"{self._name}-files", *serve)
            try:
                server.wait_ready(partial(listens, port))
            except HarnessError:
                server.kill()
                if attempt == 2:
                    raise
            else:
                self._port, self._file_server = port, server
                return


def _healthy(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=5, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False
