"""The same sync by this console's engine and by Argo CD's own command line, on one real API server with a real Argo CD.

`argocd app sync --core` starts an API server inside the command and reaches redis and the repository server by port-forwards to
their pods, which are plain processes here. So the API server runs beside them instead, and the command talks to it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from console.engines.ports.applier import APPLICATIONS
from console.kit.supervisor import cancel
from tests.bench.beside_clis import ROUND_SECONDS, ROUNDS, Took, children, client_of, engine_for
from tests.bench.figures import Figure
from tests.real.argocd import NAMESPACE, ArgoLab
from tests.real.argocd_world import RealArgo, real_argo
from tests.real.binaries import ARGOCD
from tests.real.git import GitServer
from tests.real.place import Place
from tests.real.ports import free_port, listens
from tests.real.requires import why_not


def beside_argocd() -> Sequence[Figure]:
    """Ours and Argo CD's command line in turns; what is missing is said."""
    logging.getLogger("console").setLevel(logging.ERROR)
    for name in ("argocd", "git"):
        if missing := why_not(name):
            return [Figure("sync a pushed commit, ours and by the argocd command line", [], missing)]
    with Place() as place, ArgoLab(place) as lab, GitServer(place) as git:
        return asyncio.run(_sync(place, lab, git))


async def _sync(place: Place, lab: ArgoLab, git: GitServer) -> list[Figure]:
    took: dict[str, list[Took]] = {"ours": [], "argocd app sync": []}
    async with (
        client_of(lab.kube) as client,
        real_argo(lab, git) as ours,
        real_argo(lab, git) as theirs,
        _command(place, lab, theirs) as sync,
    ):
        for world in (ours, theirs):
            await world.begin()
        key = (APPLICATIONS.kind, NAMESPACE, ours.name.name)
        async with engine_for(client, ours.api, key, ours.binding, (APPLICATIONS,)) as (_, _, act):
            for _ in range(ROUNDS):
                took["ours"].append(await _take(ours, act, time.process_time))
                took["argocd app sync"].append(await _take(theirs, sync, children))
    figures = []
    for name, found in took.items():
        figures += [
            Figure(f"pushed commit synced: {name}", [one.applied * 1000 for one in found], "ms"),
            Figure(f"job done: {name}", [one.done * 1000 for one in found], "ms"),
            Figure(f"CPU for it: {name}", [one.cpu * 1000 for one in found], "ms"),
        ]
    for part in ("applied", "done"):
        pairs = zip(took["ours"], took["argocd app sync"], strict=True)
        figures.append(Figure(f"{part}: ours / argocd app sync", [getattr(a, part) / getattr(b, part) for a, b in pairs], "x"))
    return figures


async def _take(world: RealArgo, act: Callable[[str], Awaitable[None]], cpu: Callable[[], float]) -> Took:
    commit = await world.push()
    before, began = cpu(), time.perf_counter()
    acting = asyncio.ensure_future(act(commit))
    try:
        async with asyncio.timeout(ROUND_SECONDS):
            while True:
                state = await world.state()
                if state.get("phase") == "Succeeded" and (state.get("syncResult") or {}).get("revision") == commit:
                    break
                await asyncio.sleep(0.02)
            applied = time.perf_counter() - began
            await acting
    finally:
        await cancel([acting])
    return Took(applied, time.perf_counter() - began, cpu() - before)


@asynccontextmanager
async def _command(place: Place, lab: ArgoLab, world: RealArgo) -> AsyncIterator[Callable[[str], Awaitable[None]]]:
    """Argo CD's API server, and its command line as a function of a commit."""
    program, port = str(ARGOCD.find()), free_port()
    home = str(place.folder(place.unique("argocd-cli")))
    server = place.spawn(
        place.unique("argocd-server"),
        *(program, "server", f"--kubeconfig={lab.kube.kubeconfig('admin', namespace=NAMESPACE)}", f"--namespace={NAMESPACE}"),
        *(f"--redis=127.0.0.1:{lab.redis_port}", f"--repo-server=127.0.0.1:{lab.repository_port}", "--repo-server-plaintext"),
        *("--disable-auth", "--insecure", "--address=127.0.0.1", f"--port={port}"),
        *("--metrics-address=127.0.0.1", f"--metrics-port={free_port()}"),
        environment={"HOME": home, "TMPDIR": home, "ARGOCD_TLS_DATA_PATH": home, "ARGOCD_SSH_DATA_PATH": home},
    )
    try:
        await asyncio.to_thread(server.wait_ready, lambda: listens(port), ROUND_SECONDS)

        async def sync(commit: str) -> None:
            process = await asyncio.create_subprocess_exec(
                *(program, "cli", "app", "sync", world.name.name, f"--revision={commit}", "--timeout=50"),
                *(f"--server=127.0.0.1:{port}", "--plaintext"),
                env={"HOME": home},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            try:
                said, _ = await process.communicate()
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
            if process.returncode:
                raise RuntimeError(f"argocd app sync: {said.decode().strip().splitlines()[-1]}")

        yield sync
    finally:
        server.kill()
