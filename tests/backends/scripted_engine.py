"""An engine that answers as a test says and counts what it is asked."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import msgspec

from console.backends.docker import DockerBackend
from console.clients.docker import DockerClient, Ping
from console.kit.supervisor import cancel
from console.model.connections import Identity
from console.model.resource import Change
from console.runtime.store import Store
from tests.backends.swarm_json import Json, node


class Answer:
    """A decoded-on-demand body."""

    def __init__(self, body: Any) -> None:
        self._body = msgspec.json.encode(body)

    def decode(self, decoder: msgspec.json.Decoder[Any]) -> Any:
        return decoder.decode(self._body)


class Engine:
    """Paths and their answers (an exception is raised); ``asked`` counts requests by path."""

    def __init__(self, *, manager: bool = True) -> None:
        self.endpoint = SimpleNamespace(label="unix:///run/docker.sock")
        self.swarm = "active/manager" if manager else "inactive"
        swarm: Json = {"LocalNodeState": "active", "ControlAvailable": True, "Cluster": {"ID": "swarm-1"}} if manager else {}
        self.answers: dict[str, Any] = {
            "/info": {"ID": "engine-1", "Name": "n1", "ServerVersion": "20.10.24", "Swarm": swarm},
            "/services": [],
            "/tasks": [],
            "/nodes": [node("n1", role="manager")],
            "/networks": [],
            "/configs": [],
            "/secrets": [],
            "/volumes": {"Volumes": None},
            "/containers/json": [],
        }
        self.asked: Counter[str] = Counter()
        self.closed = 0
        self._events: asyncio.Queue[Any] = asyncio.Queue()

    def happens(self, event: Any) -> None:
        """An event (or an error of the stream)."""
        self._events.put_nowait(event)

    async def ping(self) -> Ping:
        return Ping((1, 41), self.swarm)

    async def request(self, method: str, path: str, params: Any = None, json: Any = None, **_: Any) -> Answer:
        self.asked[path] += 1
        answer = self.answers[path]
        await asyncio.sleep(0.01)
        if isinstance(answer, float):
            await asyncio.sleep(answer)
        if isinstance(answer, Exception):
            raise answer
        return Answer(answer)

    async def events(self, since: str = "", *, heard: Callable[[], None] | None = None) -> AsyncGenerator[Json, None]:
        while True:
            event = await self._events.get()
            if isinstance(event, Exception):
                raise event
            yield event

    async def close(self) -> None:
        self.closed += 1


class Watched:
    """A backend at work on a scripted engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.store = Store()
        self.changes: list[Change] = []
        self.backend = DockerBackend("harbour", cast(DockerClient, engine))
        self.identity: Identity | None = None
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        self.identity = await self.backend.connect()
        await self.backend.watch(self._emit, lambda: None)

    def _emit(self, change: Change) -> None:
        self.changes.append(change)
        self.store.apply(change)

    def state(self, kind: str) -> str:
        return self.store.kind_state("harbour", kind).state

    def names(self, kind: str) -> list[str]:
        return sorted(row.ref.name for row in self.store.of(kind).values())


@asynccontextmanager
async def watched(engine: Engine) -> AsyncIterator[Watched]:
    found = Watched(engine)
    try:
        yield found
    finally:
        await cancel((found.task,))
