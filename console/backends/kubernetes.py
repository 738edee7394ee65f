"""A cluster as a live source: all its kinds kept true by informers, whole objects and logs on demand, writes by plan."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from console.backends.dispatch_objects import ClusterObjects
from console.backends.dry_run import DryRun
from console.backends.informer import Informer
from console.backends.kube_assembler import Assembler
from console.backends.kube_kinds import KINDS, ON_DEMAND, SHOWN, STANDING, Kind
from console.backends.kube_logs import containers, pod_logs, pods_of, sources
from console.backends.kube_served import ServedKinds
from console.backends.kube_writer import KubeWriter
from console.clients.kubernetes import KubernetesClient
from console.errors import Forbidden, NotFound, NotServed
from console.kit.supervisor import cancel
from console.model.connections import Identity
from console.model.kubernetes import LogLine, LogQuery
from console.model.plan import Intent, Plan, PlanStep
from console.model.refs import Ref
from console.model.resource import Change, KindState

LISTS_AT_ONCE = 4
"""Kinds that list at the same time: the triggers come first, and the loop and a slow line stay usable meanwhile."""
_HAVE_PODS = frozenset({"Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicaSet"})


class KubernetesBackend:
    """One cluster, or some namespaces of it.

    :param namespaces: where these credentials may read; empty: everywhere.
    :param who: the operator, as ``user@host``, for what a server itself records of who asked.
    """

    kinds = SHOWN

    def __init__(
        self, name: str, client: KubernetesClient, *, namespaces: tuple[str, ...] = (), who: str = "quarterdeck"
    ) -> None:
        self.endpoint = client.endpoint.label
        self._name = name
        self._client = client
        self._namespaces = namespaces or ("",)
        self._served = ServedKinds(client)
        self._assembler = Assembler(name, _nobody)
        self._writer = KubeWriter(client, self._served.path_of, who=who)
        self._heard: Callable[[], None] = _nothing
        self._turn = asyncio.Semaphore(LISTS_AT_ONCE)
        self._informers: dict[str, tuple[Informer, ...]] = {}
        self._waiting_for: dict[str, set[Informer]] = {}
        self._wanted: frozenset[str] = frozenset()
        self._wanted_changed = asyncio.Event()

    @property
    def objects(self) -> ClusterObjects:
        """Plain objects with guarded writes, for engines that need more than single verbs."""
        return ClusterObjects(self._client)

    @property
    def dry_run(self) -> DryRun:
        """What the server would make of objects; one for each look, since kinds come and go."""
        return DryRun(self._client)

    async def connect(self) -> Identity:
        """The server's version and the uid of ``kube-system``, which no two clusters share."""
        version = await self._client.version()
        try:
            system = await self._client.get("/api/v1/namespaces/kube-system", timeout=15)
            uid = str(system.get("metadata", {}).get("uid", ""))
        except (Forbidden, NotFound):
            uid = ""
        return Identity(uid, ("kubernetes",), f"Kubernetes {version.git_version}".strip())

    async def ping(self) -> None:
        """The version again: answered without touching storage, allowed to everybody."""
        await self._client.version()

    def want(self, kinds: frozenset[str]) -> None:
        """Which on-demand kinds are looked at now."""
        self._wanted = kinds & ON_DEMAND
        self._wanted_changed.set()

    async def watch(self, emit: Callable[[Change], None], heard: Callable[[], None]) -> None:
        """Keep all standing and wanted kinds until cancelled. A second call goes on where the first one broke off."""
        self._assembler.emit = self._telling(emit)
        self._heard = heard
        running: dict[str, list[asyncio.Task[None]]] = {}
        changed: asyncio.Task[bool] | None = None
        try:
            while True:
                self._wanted_changed.clear()
                await self._start_and_stop(running)
                changed = asyncio.create_task(self._wanted_changed.wait())
                tasks = {task for group in running.values() for task in group}
                done, _ = await asyncio.wait({changed, *tasks}, return_when=asyncio.FIRST_COMPLETED)
                await cancel((changed,))
                for task in done & tasks:
                    task.result()
        finally:
            everything = [task for group in running.values() for task in group]
            await cancel([*everything, *([changed] if changed else [])])
            self._assembler.emit = _nobody

    async def close(self) -> None:
        """Give back every connection."""
        await self._served.close()
        await self._client.close()

    async def raw(self, ref: Ref) -> dict[str, Any]:
        """The whole object as the server has it."""
        kind = KINDS.get(ref.kind)
        served = await self._served.find(kind) if kind else None
        if served is None:
            raise NotServed(f"{self._name} doesn't serve {ref.kind}.", "Is its custom resource definition installed?")
        return await self._client.get(served.path(ref.namespace, ref.name))

    async def log_sources(self, ref: Ref) -> tuple[str, ...]:
        """Containers of a pod (of the first pod of a workload), those that initialise it last."""
        pods = await self._pods(ref)
        return containers(pods[0]) if pods else ()

    async def logs(self, ref: Ref, query: LogQuery) -> AsyncGenerator[LogLine, None]:
        """Lines of a pod, or of all pods of a workload; of all containers that run in them unless the query names one."""
        found = sources(ref.namespace, await self._pods(ref), query)
        async with aclosing(pod_logs(self._client, found, query)) as lines:
            async for line in lines:
                yield line

    def verbs(self, kind: str) -> tuple[str, ...]:
        """What can be planned for objects of this kind."""
        return self._writer.verbs(kind)

    async def plan(self, intent: Intent) -> Plan:
        """What would be done."""
        return await self._writer.plan(intent)

    async def execute(self, step: PlanStep) -> str:
        """Make one write."""
        return await self._writer.execute(step)

    async def applied(self, step: PlanStep) -> bool | None:
        """Whether a write whose answer was lost is there."""
        return await self._writer.applied(step)

    async def observe(self, plan: Plan) -> tuple[bool, str]:
        """Whether the effect of a plan is complete."""
        return await self._writer.observe(plan)

    async def _pods(self, ref: Ref) -> list[dict[str, Any]]:
        if ref.kind == "Pod":
            return [await self.raw(ref)]
        if ref.kind not in _HAVE_PODS:
            raise NotServed(f"{ref.kind} has no log of its own.", "Choose one of its pods.")
        return await pods_of(self._client, ref.namespace, await self.raw(ref))

    async def _start_and_stop(self, running: dict[str, list[asyncio.Task[None]]]) -> None:
        desired = {kind.name: kind for kind in STANDING} | {name: KINDS[name] for name in self._wanted}
        for name in [name for name in running if name not in desired]:
            await cancel(running.pop(name))
            del self._informers[name]
            self._assembler.clear(KINDS[name])
            self._assembler.state(KINDS[name], "syncing")
        for name, kind in desired.items():
            if name not in running:
                informers = self._informers.get(name) or self._make(kind)
                running[name] = [asyncio.create_task(one.run(), name=f"{name} of {self._name}") for one in informers]

    def _make(self, kind: Kind) -> tuple[Informer, ...]:
        waiting: set[Informer] = set()
        made: list[Informer] = []
        for namespace in self._namespaces if kind.namespaced else ("",):

            def listed(polled: bool, place: int = len(made)) -> None:
                waiting.discard(made[place])
                if not waiting:
                    self._assembler.complete(kind, polled=polled)

            made.append(
                Informer(
                    kind, namespace, self._client, self._served, self._assembler, self._turn, lambda: self._heard(), listed
                )
            )
        waiting.update(made)
        self._informers[kind.name] = tuple(made)
        return tuple(made)

    def _telling(self, emit: Callable[[Change], None]) -> Callable[[Change], None]:
        """Operations have no list of their own: they are known once all kinds that show them are."""
        open_kinds = {kind.name for kind in STANDING if kind.operation is not None}

        def tell(change: Change) -> None:
            emit(change)
            if isinstance(change, KindState) and change.state != "syncing" and change.kind in open_kinds:
                open_kinds.discard(change.kind)
                if not open_kinds:
                    emit(KindState(self._name, "Operation", "listed"))

        return tell


def _nobody(_: Change) -> None:
    return None


def _nothing() -> None:
    return None
