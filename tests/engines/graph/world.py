"""A world of pretend objects for the graph engine: kinds that note every call, and storage that does."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from itertools import count
from typing import Any

import msgspec

from console.engines.graph import (
    Backoff,
    Desired,
    DesiredGraph,
    InMemoryStorage,
    Kind,
    Kinds,
    Listener,
    Reconciler,
    Request,
    resource,
)
from console.engines.ports.storage import ResourceStorage
from console.model.graph import Deployed, Identity, Intent
from console.model.graph_events import GraphEvent

PROJECT = "shop"


class Words(msgspec.Struct, frozen=True):
    """Input of the test kinds."""

    text: str = ""
    add: str = ""
    number: float = 0
    labels: dict[str, str] = {}
    parts: list[str] = []


class Said(msgspec.Struct, frozen=True):
    """Output of the test kinds."""

    text: str | None = None
    extra: str | None = None


class World:
    """What the kinds made: objects by id, every call in order, and who ran when (loop time)."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.objects: dict[str, tuple[Identity, str]] = {}
        self.spans: dict[str, tuple[float, float]] = {}
        self.scripts: dict[str, list[Any]] = {}
        self.delays: dict[str, float] = {}
        self.requests: dict[str, Request[Any, Any]] = {}
        self.running = 0
        self.most = 0
        self.tick: Callable[[str], Awaitable[None]] | None = None

    def of(self, verb: str) -> list[str]:
        """Names for which this was called, in order."""
        return [call.split(" ", 1)[1] for call in self.calls if call.startswith(verb + " ")]

    @property
    def texts(self) -> dict[Identity, str]:
        """Text of each object that exists; fails if two objects share an identity."""
        found = Counter(identity for identity, _text in self.objects.values())
        assert not [identity for identity, times in found.items() if times > 1]
        return dict(self.objects.values())

    async def step(self, point: str) -> None:
        """A place at which a crash may be arranged."""
        if self.tick is not None:
            await self.tick(point)

    async def act(self, verb: str, req: Request[Any, Any], effect: Callable[[], None]) -> None:
        """Note the call, take the time that the name asks for, follow its script, then have the effect."""
        key = f"{verb} {req.identity.name}"
        self.calls.append(key)
        self.requests[key] = req
        self.running += 1
        self.most = max(self.most, self.running)
        began = asyncio.get_running_loop().time()
        try:
            await self.step(f"before {key}")
            if (delay := self.delays.get(req.identity.name, 0.0)) > 0:
                await asyncio.sleep(delay)
            if self.scripts.get(key):
                step = self.scripts[key].pop(0)
                if isinstance(step, BaseException):
                    raise step
                if callable(step):
                    await step()
            effect()
            await self.step(f"after {key}")
        finally:
            self.running -= 1
            self.spans[req.identity.name] = (began, asyncio.get_running_loop().time())


class Concat(Kind[Words, Said]):
    """Output text is input text plus what is to be added."""

    input_model = Words
    output_model = Said

    def __init__(self, world: World) -> None:
        self.world = world

    def output(self, req: Request[Words, Said]) -> Said:
        """What the object says."""
        return Said(text=req.input.text + req.input.add)

    def put(self, req: Request[Words, Said]) -> None:
        """The outside effect of create and update."""
        self.world.objects[req.id] = (req.identity, self.output(req).text or "")

    async def create(self, req: Request[Words, Said]) -> Said:
        """Make an object, idempotent by id."""
        await self.world.act("create", req, lambda: self.put(req))
        return self.output(req)

    async def update(self, req: Request[Words, Said]) -> Said:
        """Change it in place."""
        await self.world.act("update", req, lambda: self.put(req))
        return self.output(req)

    async def delete(self, req: Request[Words, Said]) -> None:
        """Remove it; absent is success."""
        await self.world.act("delete", req, lambda: (self.world.objects.pop(req.id, None), None)[1])


class Upper(Concat):
    """Output text is the input in capitals."""

    def output(self, req: Request[Words, Said]) -> Said:
        """Capitals."""
        return Said(text=req.input.text.upper())


class Nop(Concat):
    """Output does not depend on the input."""

    def output(self, req: Request[Words, Said]) -> Said:
        """Always the same."""
        return Said(text="same")


class Readable(Concat):
    """Can be read by id."""

    async def read(self, req: Request[Words, Said]) -> Said | None:
        """The object's text, None if it is not there."""
        self.world.calls.append(f"read {req.identity.name}")
        found = self.world.objects.get(req.id)
        return None if found is None else Said(text=found[1])


class Versioned(Concat):
    """A change of its text needs a new object."""

    replace_on = frozenset({"text"})


class Single(Versioned):
    """As above, and two can't stand side by side."""

    singleton_name = True


def kinds(world: World, **more: Any) -> Kinds:
    """The registry of all test kinds."""
    standard: dict[str, Any] = {
        "concat": Concat(world),
        "upper": Upper(world),
        "nop": Nop(world),
        "readable": Readable(world),
        "versioned": Versioned(world),
        "single": Single(world),
    }
    return Kinds(standard | more)


class PlainStorage:
    """The three required calls and nothing else, each noted in the world's calls."""

    def __init__(self, world: World, records: Iterable[Deployed] = ()) -> None:
        self.world = world
        self.records = {(record.identity, record.id): record for record in records}

    async def list_resources(self, project: str) -> list[Deployed]:
        """All of them."""
        self.world.calls.append("list")
        return list(self.records.values())

    async def put_resource(self, project: str, deployed: Deployed) -> None:
        """Note and keep."""
        await self.world.step(f"before put {deployed.name}")
        self.world.calls.append(f"put {deployed.name}")
        self.records[deployed.identity, deployed.id] = deployed
        await self.world.step(f"after put {deployed.name}")

    async def delete_resource(self, project: str, deployed: Deployed) -> None:
        """Note and drop."""
        await self.world.step(f"before drop {deployed.name}")
        self.world.calls.append(f"drop {deployed.name}")
        self.records.pop((deployed.identity, deployed.id), None)
        await self.world.step(f"after drop {deployed.name}")

    def named(self, name: str) -> Deployed:
        """The one record of this name."""
        (found,) = (record for record in self.records.values() if record.name == name)
        return found

    @property
    def names(self) -> list[str]:
        """Names of all records, sorted."""
        return sorted(record.name for record in self.records.values())


class Storage(InMemoryStorage):
    """The full storage in memory, with places for crashes and faults."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        self.put_faults: list[BaseException] = []

    def forget_locks(self) -> None:
        """As if every holder had gone silent long ago."""
        self._locks.clear()

    async def put_intent(self, project: str, intent: Intent) -> None:
        """Remember, between two places where a crash may come."""
        await self.world.step(f"before intent {intent.name}")
        await super().put_intent(project, intent)
        await self.world.step(f"after intent {intent.name}")

    async def put_resource(self, project: str, deployed: Deployed) -> None:
        """Store, or fail as arranged."""
        await self.world.step(f"before put {deployed.name}")
        if self.put_faults:
            raise self.put_faults.pop(0)
        await super().put_resource(project, deployed)
        self.world.calls.append(f"put {deployed.name}")
        await self.world.step(f"after put {deployed.name}")

    async def delete_resource(self, project: str, deployed: Deployed) -> None:
        """Remove, between two places where a crash may come."""
        await self.world.step(f"before drop {deployed.name}")
        await super().delete_resource(project, deployed)
        self.world.calls.append(f"drop {deployed.name}")
        await self.world.step(f"after drop {deployed.name}")


def deployed(name: str, kind: str = "concat", *, deps: Iterable[str] = (), **more: Any) -> Deployed:
    """A stored record; ``deps`` are names of the same kind. The output is what the kind would have given."""
    values = more.pop("input", {})
    text = (values.get("text") or "") + (values.get("add") or "")
    return Deployed(
        id=more.pop("id", f"id-{name}"),
        kind=kind,
        name=name,
        input=values,
        output=more.pop("output", {"text": text}),
        deps=tuple(Identity(kind, dep) for dep in deps),
        **more,
    )


def quick_backoff() -> Backoff:
    """The usual waits without the jitter."""
    return Backoff(jitter=0.0)


def counter() -> Callable[[], str]:
    """Ids id1, id2, ..."""
    numbers = count(1)
    return lambda: f"id{next(numbers)}"


def reconciler(
    world: World, storage: ResourceStorage, *, events: Listener | None = None, registry: Kinds | None = None, **more: Any
) -> Reconciler:
    """A reconciler over the test kinds with counted ids and waits without jitter."""
    return Reconciler(
        storage,
        registry or kinds(world),
        id_gen=counter(),
        backoff=more.pop("backoff", quick_backoff),
        events=events,
        **more,
    )


def graph(*resources: Desired) -> DesiredGraph:
    """Short for a graph of these."""
    return DesiredGraph(resources)


def concat(name: str, text: Any = "", add: Any = "", *, kind: str = "concat", **more: Any) -> Desired:
    """A resource of a test kind."""
    given = {"text": text, "add": add}
    return resource(kind, name, {key: value for key, value in given.items() if value != ""}, **more)


class Heard(list[GraphEvent]):
    """A listener that keeps what it hears."""

    def __call__(self, event: GraphEvent) -> None:
        """Keep it."""
        self.append(event)

    def of(self, *types: type[GraphEvent]) -> list[Any]:
        """Events of these types."""
        return [event for event in self if isinstance(event, types)]
