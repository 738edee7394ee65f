"""Flux's real source-controller beside the kustomize-controller of `FluxLab`, for the sources that a test marks as its own.

It sees only what carries `FETCHED`: the GitRepositories that tests publish themselves are none of its business.
"""

from functools import partial
from types import TracebackType
from typing import Self

import httpx

from tests.real.binaries import SOURCE_CONTROLLER
from tests.real.kube import KubeServer
from tests.real.place import Place
from tests.real.ports import free_port
from tests.real.processes import STARTED, HarnessError, Process

FETCHED = {"quarterdeck.test/fetched": "true"}
"""The label of a source that this controller fetches."""


class SourceController:
    """One source-controller on an API server that has Flux's definitions."""

    def __init__(self, place: Place, kube: KubeServer) -> None:
        self._place = place
        self._kube = kube
        self._name = place.unique("source")
        self._process: Process | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.kill()

    def start(self) -> None:
        """Start it unless it runs, and wait until it says that it is ready."""
        if self._process and self._process.running:
            return
        for attempt in range(3):
            port = free_port()
            self._process = self._launch(port)
            try:
                self._process.wait_ready(partial(_healthy, port), STARTED)
            except HarnessError:
                self._process.kill()
                if attempt == 2:
                    raise
            else:
                return

    def kill(self) -> None:
        """End it; sources stay as they are until `start`."""
        if self._process:
            self._process.kill()

    def _launch(self, port: int) -> Process:
        store = self._place.folder(f"{self._name}-store")
        serving = free_port()
        ((label, value),) = FETCHED.items()
        return self._place.spawn(
            self._name,
            *(str(SOURCE_CONTROLLER.find()), "--metrics-addr=0", f"--health-addr=127.0.0.1:{port}", "--log-level=info"),
            *(f"--storage-path={store}", f"--storage-addr=127.0.0.1:{serving}", f"--storage-adv-addr=127.0.0.1:{serving}"),
            *("--enable-leader-election=false", "--watch-all-namespaces=true", f"--watch-label-selector={label}={value}"),
            environment={
                "KUBECONFIG": str(self._kube.kubeconfig("admin")),
                "RUNTIME_NAMESPACE": "flux-system",
                "TMPDIR": str(self._place.folder(f"{self._name}-tmp")),
            },
        )


def _healthy(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=5, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False
