"""What the contract tests of reading stand on: a runtime connected to one server, found by files like any other."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from console.config.fleet import Entry, Fleet
from console.config.settings import Settings
from console.model.connections import Connection, Phase
from console.model.resource import KindState, Resource
from console.runtime.discovery import discover
from console.runtime.runtime import Runtime
from console.runtime.store import Store

PATIENCE = 60.0
"""Seconds in which anything must have happened on a busy machine."""

Json = dict[str, Any]
Do = Callable[[], Awaitable[None]]


class Scene:
    """One connected target.

    ``engine`` speaks to the same server past the console, ``break_off`` and ``mend`` take it away and bring it back.
    """

    def __init__(self, runtime: Runtime, name: str, server: str, break_off: Do, mend: Do, cut: Do) -> None:
        self.runtime = runtime
        self.name = name
        self.server = server
        self.break_off = break_off
        self.mend = mend
        self.cut = cut

    @property
    def store(self) -> Store:
        return self.runtime.store

    @property
    def connection(self) -> Connection:
        found = self.runtime.connection(self.name)
        assert found is not None
        return found

    def find(self, kind: str, name: str) -> Resource | None:
        """The row of this name, whatever its namespace."""
        return next((row for row in self.store.on(self.name, kind) if row.ref.name == name), None)

    def row(self, kind: str, name: str) -> Resource:
        found = self.find(kind, name)
        assert found is not None, f"there is no {kind} {name}"
        return found

    def state(self, kind: str) -> KindState:
        return self.store.kind_state(self.name, kind)

    async def until(self, what: str, holds: Callable[[], bool], patience: float = PATIENCE) -> None:
        """Wait, hearing every change, until something holds."""
        changed = asyncio.Event()
        kinds = {"Connection", *self.runtime.links[self.name].kinds}
        unsubscribe = self.store.subscribe(kinds, lambda _: changed.set())
        try:
            async with asyncio.timeout(patience):
                while not holds():
                    await changed.wait()
                    changed.clear()
        except TimeoutError as error:
            raise AssertionError(f"{what}: not so after {patience:.0f} s; {self.connection}") from error
        finally:
            unsubscribe()

    async def until_phase(self, *phases: Phase) -> None:
        await self.until(f"the phase is {phases}", lambda: self.connection.phase in phases)

    async def settled(self, *kinds: str) -> tuple[KindState, ...]:
        return await self.runtime.settled(kinds, PATIENCE)


@asynccontextmanager
async def connected(env: dict[str, str], entry: Entry, state: Path | None = None) -> AsyncIterator[Runtime]:
    """A runtime with the one target that an entry of the fleet file describes; live when it is given out."""
    found = discover({"HOME": "/nonexistent", **env}, Fleet(discover="listed", connections=(entry,)))
    assert found.problems == ()
    async with Runtime(Settings(), Fleet(), found.targets, state=state) as runtime:
        yield runtime


def docker_context(folder: Path, name: str, host: str) -> None:
    """Write a context into a Docker configuration folder."""
    place = folder / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest()
    place.mkdir(parents=True)
    (place / "meta.json").write_text(json.dumps({"Name": name, "Endpoints": {"docker": {"Host": host}}}))


class DockerScene(Scene):
    """A target that is an engine; :attr:`engine` speaks to it past the console, :attr:`image` is one it has."""

    engine: httpx.AsyncClient
    image: str
    bad_image = "quarterdeck/nowhere:missing"

    async def call(self, method: str, path: str, body: Json | None = None, **params: str) -> Any:
        """One request past the console."""
        answer = await self.engine.request(method, path, json=body, params=params)
        assert answer.status_code < 400, answer.text
        return answer.json() if answer.content.strip() else None
