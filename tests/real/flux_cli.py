"""Flux's real command line against the lab's API server: what somebody else types in mid-flight."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from tests.real.binaries import FLUX
from tests.real.kube import KubeServer
from tests.real.place import Place
from tests.real.processes import STARTED, HarnessError


class Said(NamedTuple):
    """How a command ended, and all that it printed."""

    code: int
    text: str


class FluxCli:
    """`flux suspend|resume|reconcile ...` as the lab's admin."""

    def __init__(self, place: Place, kube: KubeServer) -> None:
        self._kubeconfig = str(kube.kubeconfig("admin"))
        self._home = str(place.folder(place.unique("flux-cli")))

    async def __call__(self, *arguments: str, namespace: str) -> Said:
        """Run a command to its end; `resume` and `reconcile` wait for the controller, as they do for their users."""
        environment = {"HOME": self._home, "KUBECONFIG": self._kubeconfig, "NO_COLOR": "1"}
        process = await asyncio.create_subprocess_exec(
            *("flux", *arguments, f"--namespace={namespace}", "--timeout=60s"),
            # The name by which it was called is its field manager.
            executable=str(FLUX.find()),
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(2 * STARTED):
                out, _ = await process.communicate()
        except TimeoutError as late:
            raise HarnessError(f"flux {' '.join(arguments)}: not done within {2 * STARTED:g} s") from late
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return Said(process.returncode or 0, out.decode())
