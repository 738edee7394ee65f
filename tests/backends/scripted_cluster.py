"""A cluster that answers lists and watches as a test says, and an informer at work on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from console.backends.informer import Informer
from console.backends.kube_kinds import KINDS
from console.backends.kube_served import ServedKinds
from console.clients.kubernetes_wire import ApiGroup, ApiResource, GroupVersion, Page, WatchEvent
from console.errors import ProtocolError
from console.kit.supervisor import cancel
from console.model.resource import KindState
from tests.backends.decoding import Cluster, Json

Step = Exception | list[Json]


def kustomization(name: str, version: str = "1") -> Json:
    return {
        "kind": "Kustomization",
        "metadata": {"name": name, "namespace": "a", "uid": f"u-{name}", "resourceVersion": version},
    }


def pages(*found: list[Json], version: str = "10") -> list[Json]:
    return [{"items": items, "version": version} for items in found]


class Server:
    """Lists and watches are taken from two scripts; the last entry of each is repeated. A watch step may be a list of events,
    an error, or both: ``[event, event, error]``; without an error it stays open until cancelled when it ends with None."""

    def __init__(self, kind: str = "Kustomization") -> None:
        self.kind = KINDS[kind]
        self.lists: list[Step] = [pages([])]
        self.watches: list[list[Any]] = [[None]]
        self.asked: list[str] = []
        self.verbs: tuple[str, ...] = ("list", "watch")
        self.served = True
        self.discoveries = 0

    async def groups(self) -> tuple[ApiGroup, ...]:
        self.discoveries += 1
        versions = (GroupVersion(f"{self.kind.group}/v1", "v1"), GroupVersion(f"{self.kind.group}/v1beta2", "v1beta2"))
        return (ApiGroup(self.kind.group, versions, versions[0]),) if self.served else ()

    async def resources(self, group_version: str) -> tuple[ApiResource, ...]:
        return (ApiResource(self.kind.plural, self.kind.name, True, self.verbs),)

    async def list_pages(
        self, path: str, decoder: msgspec.json.Decoder[Any], *, on_bad: Callable[[ProtocolError], None] | None = None
    ) -> AsyncGenerator[Page[Any], None]:
        self.asked.append(f"list {path}")
        step = self.lists.pop(0) if len(self.lists) > 1 else self.lists[0]
        if isinstance(step, Exception):
            raise step
        for page in step:
            if "error" in page:
                raise page["error"]
            items = []
            for item in page["items"]:
                try:
                    items.append(decoder.decode(msgspec.json.encode(item)))
                except msgspec.ValidationError as error:
                    assert on_bad is not None
                    on_bad(ProtocolError(f"odd: {error}"))
            yield Page(items, page["version"], 0)
            await asyncio.sleep(0)

    async def watch(
        self,
        path: str,
        resource_version: str,
        decoder: msgspec.json.Decoder[Any],
        *,
        on_bad: Callable[[ProtocolError], None] | None = None,
    ) -> AsyncGenerator[WatchEvent[Any], None]:
        self.asked.append(f"watch from {resource_version}")
        steps = self.watches.pop(0) if len(self.watches) > 1 else self.watches[0]
        for step in steps:
            if isinstance(step, Exception):
                raise step
            if isinstance(step, float):
                await asyncio.sleep(step)
            elif step is None:
                await asyncio.sleep(1_000_000)
            else:
                kind, body = step
                found = None if kind == "BOOKMARK" else decoder.decode(msgspec.json.encode(body))
                yield WatchEvent(kind, found, body["metadata"]["resourceVersion"])


class Watched:
    """An informer at work on a scripted server."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.cluster = Cluster()
        self.heard = 0
        self.informer = Informer(
            server.kind,
            "",
            server,
            ServedKinds(server),
            self.cluster.assembler,
            asyncio.Semaphore(4),
            self._hear,
            self._listed,
        )
        self.task = asyncio.create_task(self.informer.run())

    def _hear(self) -> None:
        self.heard += 1

    def _listed(self, polled: bool) -> None:
        self.cluster.assembler.complete(self.server.kind, polled=polled)

    @property
    def state(self) -> KindState:
        return self.cluster.store.kind_state("prod", self.server.kind.name)

    @property
    def names(self) -> set[str]:
        return {row.ref.name for row in self.cluster.store.of(self.server.kind.name).values()}


@asynccontextmanager
async def watched(server: Server) -> AsyncIterator[Watched]:
    found = Watched(server)
    try:
        yield found
    finally:
        await cancel((found.task,))
