"""The same job by this console's engine and by Flux's own command line, on one real API server with Flux's controllers.

A commit was just pushed, nobody has fetched it. Flux's command line either reconciles a Kustomization that is free to run, or
does what the engine does: let a suspended one go, reconcile it, suspend it again. They take turns, so that both meet the same
machine. What reads the cluster to see when a commit is applied costs both the same.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import secrets
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

import msgspec
import yaml

from console.backends.dispatch_objects import ClusterObjects
from console.clients.endpoint import Endpoint
from console.clients.kubernetes import KubernetesClient
from console.engines.dispatch.constants import Reason
from console.engines.dispatch.faults import DispatchError
from console.engines.dispatch.local import LocalTrigger
from console.engines.dispatch.requests import Report
from console.engines.dispatch.types import Binding, TargetRef
from console.engines.ports.applier import GIT_REPOSITORIES, KUSTOMIZATIONS, ApiKind, JsonObject
from console.errors import QuarterdeckError
from console.kit.supervisor import cancel
from console.kit.timing import SystemClock
from console.model.refs import Ref
from console.runtime.cluster_engine import ClusterEngine
from tests.bench.figures import Figure
from tests.crash.child import journal_at
from tests.engines.dispatch.reverser import EventLog
from tests.real import fleet
from tests.real.flux import FluxLab
from tests.real.flux_cli import FluxCli
from tests.real.git import GitServer
from tests.real.kube import KubeServer
from tests.real.place import Place
from tests.real.requires import why_not
from tests.real.source_controller import FETCHED, SourceController

ROUNDS = 9
ROUND_SECONDS = 60.0
_ANY: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])


class Took(NamedTuple):
    """Seconds from the decision to the commit applied, and to the job done; seconds of CPU of whoever did it."""

    applied: float
    done: float
    cpu: float


class Shop:
    """A Kustomization on a repository and a source of its own."""

    def __init__(self, git: GitServer, objects: ClusterObjects, namespace: str) -> None:
        self.git, self.objects, self.namespace = git, objects, namespace
        self.repository = f"shop-{secrets.token_hex(4)}"

    async def push(self) -> str:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "paint", "namespace": self.namespace}}
        files = {"shop/map.yaml": yaml.safe_dump({**body, "data": {"mark": secrets.token_hex(4)}})}
        return await asyncio.to_thread(self.git.commit, self.repository, files)

    async def begin(self) -> None:
        """The first commit, fetched and applied."""
        commit = await self.push()
        source = fleet.git_repository(self.namespace, "shop")
        source["metadata"]["labels"] = FETCHED
        source["spec"] |= {"url": self.git.url(self.repository), "ref": {"branch": "main"}, "interval": "1h"}
        await self.objects.apply(GIT_REPOSITORIES, _bare(source), manager="git", force=True)
        await self.objects.apply(KUSTOMIZATIONS, _bare(fleet.kustomization(self.namespace)), manager="git", force=True)
        await self.applied(commit)

    async def applied(self, commit: str) -> None:
        """Wait until it is."""
        async with asyncio.timeout(ROUND_SECONDS):
            while True:
                shop = await self.objects.get(KUSTOMIZATIONS, self.namespace, "shop")
                if str(shop.get("status", {}).get("lastAppliedRevision", "")).endswith(commit):
                    return
                await asyncio.sleep(0.02)

    async def take(self, act: Callable[[str], Awaitable[None]], cpu: Callable[[], float]) -> Took:
        """Push, decide, and see how long it takes."""
        commit = await self.push()
        before, began = cpu(), time.perf_counter()
        acting = asyncio.ensure_future(act(commit))
        try:
            await self.applied(commit)
            applied = time.perf_counter() - began
            async with asyncio.timeout(ROUND_SECONDS):
                await acting
        finally:
            await cancel([acting])
        return Took(applied, time.perf_counter() - began, cpu() - before)


def _bare(obj: JsonObject) -> JsonObject:
    return {key: value for key, value in obj.items() if key != "status"}


def beside_clis() -> Sequence[Figure]:
    """Ours and Flux's command line in turns; what is missing is said."""
    logging.getLogger("console").setLevel(logging.ERROR)
    for name in ("flux", "source-controller", "flux-cli", "git"):
        if missing := why_not(name):
            return [Figure("apply a pushed commit, ours and by the flux command line", [], missing)]
    with Place() as place, FluxLab(place) as lab, SourceController(place, lab.kube), GitServer(place) as git:
        return asyncio.run(_flux(place, lab, git))


async def _flux(place: Place, lab: FluxLab, git: GitServer) -> list[Figure]:
    cli = FluxCli(place, lab.kube)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(client_of(lab.kube))
        objects = ClusterObjects(client)
        held, free, turned = (Shop(git, objects, lab.kube.namespace()) for _ in range(3))
        for shop in (held, free, turned):
            await shop.begin()
        engine, act = await stack.enter_async_context(_engine(client, held))

        async def reconcile(commit: str) -> None:
            await _flux_says(cli, free, "reconcile", "kustomization", "shop", "--with-source")

        async def around(commit: str) -> None:
            await _flux_says(cli, turned, "resume", "kustomization", "shop")
            await _flux_says(cli, turned, "reconcile", "kustomization", "shop", "--with-source")
            await _flux_says(cli, turned, "suspend", "kustomization", "shop")

        await _flux_says(cli, turned, "suspend", "kustomization", "shop")
        took: dict[str, list[Took]] = {"ours": [], "reconcile": [], "around": []}
        for _ in range(ROUNDS):
            took["ours"].append(await held.take(act, time.process_time))
            took["reconcile"].append(await free.take(reconcile, children))
            took["around"].append(await turned.take(around, children))
        assert engine.running
    return _figures(took)


def _figures(took: dict[str, list[Took]]) -> list[Figure]:
    names = {
        "ours": "ours, held before and after",
        "reconcile": "flux reconcile --with-source, never held",
        "around": "flux resume, reconcile, suspend",
    }
    figures = []
    for key, name in names.items():
        figures += [
            Figure(f"pushed commit applied: {name}", [one.applied * 1000 for one in took[key]], "ms"),
            Figure(f"job done: {name}", [one.done * 1000 for one in took[key]], "ms"),
            Figure(f"CPU for it: {name}", [one.cpu * 1000 for one in took[key]], "ms"),
        ]
    for other in ("reconcile", "around"):
        for part in ("applied", "done"):
            ratios = [getattr(a, part) / getattr(b, part) for a, b in zip(took["ours"], took[other], strict=True)]
            figures.append(Figure(f"{part}: ours / {names[other]}", ratios, "x"))
    assert all(statistics.median(figure.values) > 0 for figure in figures)
    return figures


def children() -> float:
    """Seconds of CPU of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


async def _flux_says(cli: FluxCli, shop: Shop, *arguments: str) -> None:
    said = await cli(*arguments, namespace=shop.namespace)
    if said.code:
        raise RuntimeError(f"flux {' '.join(arguments)}: {said.text.strip().splitlines()[-1]}")


@asynccontextmanager
async def client_of(kube: KubeServer) -> AsyncIterator[KubernetesClient]:
    """A client as the console makes it."""
    token = kube.token()

    async def login() -> dict[str, str]:
        return {"Authorization": f"Bearer {token}"}

    client = KubernetesClient(Endpoint(base_url=kube.url, ca=kube.authority.read_bytes(), auth=login))
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def _engine(
    client: KubernetesClient, shop: Shop
) -> AsyncIterator[tuple[ClusterEngine, Callable[[str], Awaitable[None]]]]:
    key = (KUSTOMIZATIONS.kind, shop.namespace, "shop")
    binding = Binding(shop.git.url(shop.repository), "main")
    async with engine_for(client, shop.objects, key, binding, (KUSTOMIZATIONS, GIT_REPOSITORIES)) as (engine, trigger, act):
        await engine.hold(trigger)
        await _held(engine, trigger)
        yield engine, act


@asynccontextmanager
async def engine_for(
    client: KubernetesClient, objects: ClusterObjects, applier: tuple[str, str, str], binding: Binding, kinds: Iterable[ApiKind]
) -> AsyncIterator[tuple[ClusterEngine, LocalTrigger, Callable[[str], Awaitable[None]]]]:
    """The engine as the console runs it: a journal on the disk, and watches that wake it. The third applies a commit."""
    with tempfile.TemporaryDirectory() as folder:
        journal = await journal_at(folder)
        engine = ClusterEngine("real", "uid", objects, journal, EventLog(), SystemClock(), "bench")
        kind, namespace, name = applier
        trigger = LocalTrigger(
            cluster=engine.local_cluster,
            cluster_uid="uid",
            kind=kind,
            namespace=namespace,
            name=name,
            binding=binding,
            hold=kind == KUSTOMIZATIONS.kind,
        )
        engine.declarations.adopt(trigger)
        engine.start()
        watching = [asyncio.create_task(_watch(client, engine, kind)) for kind in kinds]

        async def act(commit: str) -> None:
            while (error := await _ask(engine, trigger, commit)) is not None:
                # As a worker does: the decision stands, so it is asked again.
                print(f"asked again: {error}")

        try:
            yield engine, trigger, act
        finally:
            await cancel(watching)
            await engine.stop()
            await journal.close()


async def _ask(engine: ClusterEngine, trigger: LocalTrigger, commit: str) -> DispatchError | None:
    """One request, until nothing more comes of it; why nothing was asked, if so."""
    last: asyncio.Future[DispatchError | None] = asyncio.get_running_loop().create_future()

    def heard(report: Report) -> None:
        if report.last and not last.done():
            last.set_result(report.error)

    targets = (TargetRef(trigger.namespace, trigger.name),)
    engine.request(trigger.ref, trigger.key, trigger.binding, commit, Reason.FOREIGN_COMMIT, targets, report=heard)
    return await last


async def _held(engine: ClusterEngine, trigger: LocalTrigger) -> None:
    flux = await engine.clients.flux(trigger.cluster)
    async with asyncio.timeout(ROUND_SECONDS):
        while not (await flux.suspension(trigger.key.ref)).complete:
            await asyncio.sleep(0.05)


async def _watch(client: KubernetesClient, engine: ClusterEngine, kind: ApiKind) -> None:
    path = f"/apis/{kind.api_version}/{kind.plural}"
    while True:
        version = ""
        async for page in client.list_pages(path, _ANY):
            version = page.resource_version
        try:
            async for event in client.watch(path, version, _ANY):
                metadata = (event.object or {}).get("metadata", {})
                engine.look([Ref("real", kind.kind, metadata.get("namespace", ""), metadata.get("name", ""))])
        except QuarterdeckError:
            await asyncio.sleep(0.1)
