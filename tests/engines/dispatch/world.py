"""A world to drive: a cluster with Flux, a Git server, and the people who interfere.

:class:`FluxWorld` is what a test body needs when it interferes by ordinary means only; such a body can run against real
controllers as well. :class:`Simulated` is the world in memory, which can also lose answers and stop the clock's owner.
Times are virtual there: bodies wait for conditions, never for a fixed pause.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Protocol

from console.engines.dispatch.constants import FIELD_MANAGER, REQUESTED_AT, Reason, Timing
from console.engines.dispatch.flux import FluxClient
from console.engines.dispatch.tokens import Tokens
from console.engines.dispatch.types import Ask, Binding, Guards, ObjectName, Progress, Recorded, Started
from console.engines.ports.applier import GIT_REPOSITORIES, KUSTOMIZATIONS, ApiKind, JsonObject, Objects
from console.kit.timing import LoopClock
from tests.engines.dispatch.apiserver import ApiServer
from tests.engines.dispatch.flux_controllers import FINALIZER, Controller, KustomizeController, Remote, SourceController

URL = "https://git.example.test/team/shop.git"
WANT = Binding(URL, "main")
SHOP = ObjectName("flux-system", "shop")
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def commit_id(name: str) -> str:
    """A commit of that name."""
    return hashlib.sha1(name.encode()).hexdigest()


MANAGER = FIELD_MANAGER
A, B, C, D = (commit_id(name) for name in "ABCD")


async def eventually(look: Callable[[], Any], seconds: float = 60.0, every: float = 0.25) -> Any:
    """Wait until ``look()`` gives something true."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while True:
        found = look()
        if isinstance(found, Awaitable):
            found = await found
        if found:
            return found
        assert loop.time() < end, "it did not come to that in time"
        await asyncio.sleep(every)


def kustomization(name: str = "shop", **spec: Any) -> JsonObject:
    """A Kustomization on the GitRepository ``shop``."""
    reference = {"kind": "GitRepository", "name": "shop"}
    metadata = {"name": name, "namespace": SHOP.namespace, "finalizers": [FINALIZER]}
    return {"metadata": metadata, "spec": {"interval": "1h", "path": "./deploy", "sourceRef": reference, **spec}}


def repository(name: str = "shop", ref: JsonObject | None = None, **spec: Any) -> JsonObject:
    """A GitRepository that follows ``main``, unless ``ref`` says otherwise (``{}``: says nothing)."""
    reference = {"branch": "main"} if ref is None else ref
    body: JsonObject = {"interval": "1h", "url": URL, **spec}
    if reference:
        body["ref"] = reference
    return {"metadata": {"name": name, "namespace": SHOP.namespace}, "spec": body}


class FluxWorld(Protocol):
    """What can be done to a Flux cluster, simulated or real."""

    @property
    def objects(self) -> Objects:
        """The cluster's API."""
        ...

    @property
    def client(self) -> FluxClient:
        """The client under test."""
        ...

    @property
    def binding(self) -> Binding:
        """What ``shop`` applies."""
        ...

    @property
    def name(self) -> ObjectName:
        """Where ``shop`` is."""
        ...

    def token(self) -> str:
        """A token that was never used."""
        ...

    async def push(self, *, broken: bool = False) -> str:
        """Make a new commit on the branch, one that cannot be built if ``broken``; returns its id."""
        ...

    async def stop(self) -> None:
        """Kill kustomize-controller."""
        ...

    async def start(self) -> None:
        """Start kustomize-controller again."""
        ...

    async def flux(self, verb: str) -> None:
        """What ``flux suspend|resume|reconcile kustomization shop`` does."""
        ...

    async def stamp(self, token: str) -> None:
        """Somebody else asks for a reconcile, whether it is suspended or not."""
        ...

    async def parent_applies(self, suspend: bool) -> None:
        """A parent Kustomization applies the manifest of ``shop`` with this ``spec.suspend``."""
        ...

    async def delete(self, *, wait: bool = True) -> None:
        """Delete ``shop``; unless told otherwise, wait until it is gone."""
        ...

    async def applied_objects(self) -> bool:
        """Whether what ``shop`` applied is still there."""
        ...

    async def shop(self) -> JsonObject:
        """The Kustomization now."""
        ...


class Simulated:
    """The world in memory; made by :func:`simulated`."""

    def __init__(self) -> None:
        self.clock = LoopClock(START)
        self.clock.now()
        self.api = ApiServer(self.clock)
        self.objects: Objects = self.api
        self.remote = Remote({(URL, "main"): A})
        self.source = SourceController(self.api, self.clock, self.remote)
        self.kustomize = KustomizeController(self.api, self.clock)
        self.tokens = Tokens(self.clock)
        self.timing = Timing()
        self.client = FluxClient(self.api, self.clock, self.tokens, self.timing)

    @property
    def controllers(self) -> tuple[Controller, ...]:
        return self.source, self.kustomize

    binding = WANT
    name = SHOP

    def token(self) -> str:
        return self.tokens.new()

    async def push(self, commit: str = "", *, broken: bool = False) -> str:
        commit = commit or commit_id(self.tokens.new())
        self.remote.branches[URL, "main"] = commit
        if broken:
            self.kustomize.broken.add(commit)
        return commit

    async def stop(self) -> None:
        await self.kustomize.stop()

    async def start(self) -> None:
        self.kustomize.start()

    async def applied_objects(self) -> bool:
        return not self.kustomize.collected

    async def stamp(self, token: str) -> None:
        self.patch(KUSTOMIZATIONS, {"metadata": {"annotations": {REQUESTED_AT: token}}}, "notification-controller")

    async def parent_applies(self, suspend: bool) -> None:
        self.parent_sets(suspend)

    async def delete(self, *, wait: bool = True) -> None:
        self.api.delete(KUSTOMIZATIONS, SHOP.namespace, SHOP.name)
        if wait:
            await eventually(lambda: not self.api.exists(KUSTOMIZATIONS, SHOP.namespace, SHOP.name))

    async def flux(self, verb: str) -> None:
        if verb == "reconcile":
            stamp = {"metadata": {"annotations": {REQUESTED_AT: self.tokens.new()}}}
            self.patch(KUSTOMIZATIONS, stamp, "flux")
        else:
            self.patch(KUSTOMIZATIONS, {"spec": {"suspend": True if verb == "suspend" else None}}, "flux")

    async def shop(self) -> JsonObject:
        return self.k

    def patch(self, kind: ApiKind, patch: JsonObject, manager: str = "kubectl-edit") -> None:
        self.api.patch(kind, SHOP.namespace, SHOP.name, patch, manager)

    @property
    def k(self) -> JsonObject:
        return self.api.peek(KUSTOMIZATIONS, *_pair(SHOP))

    @property
    def g(self) -> JsonObject:
        return self.api.peek(GIT_REPOSITORIES, *_pair(SHOP))

    def kustomization_status(self, **status: Any) -> None:
        """Write into the status as the controller would, past any pass of it."""
        self.kustomize.write_status(SHOP.namespace, SHOP.name, lambda state: state.update(status))

    def parent_sets(self, suspend: bool) -> None:
        """A parent Kustomization applies a manifest with ``spec.suspend``."""
        body = kustomization(suspend=suspend)
        self.api._apply(KUSTOMIZATIONS, body, "kustomize-controller", True)

    def recreate(self, kind: ApiKind, obj: JsonObject) -> None:
        """Delete and create again under the same name."""
        key = (kind.kind, SHOP.namespace, SHOP.name)
        del self.api._objects[key]
        self.api.create(kind, obj)

    async def hold(self) -> None:
        """Let the first apply end, and take the Kustomization into our hold."""
        await eventually(lambda: ready(self.k))
        await self.client.suspend(SHOP)
        await eventually(self._held)

    async def _held(self) -> bool:
        return (await self.client.suspension(SHOP)).complete

    def new_writes(self) -> None:
        """Forget the writes so far."""
        self.api.calls.clear()
        self.api.reads.clear()

    @property
    def suspends(self) -> int:
        """How often the Kustomization was suspended by us since :meth:`new_writes`."""
        return sum(1 for call in self.resumes_and_suspends if call["spec"]["suspend"])

    @property
    def resumes(self) -> list[JsonObject]:
        return [body for body in self.resumes_and_suspends if not body["spec"]["suspend"]]

    @property
    def resumes_and_suspends(self) -> list[JsonObject]:
        writes = self.api.writes(KUSTOMIZATIONS)
        return [call.body for call in writes if call.verb == "apply" and "suspend" in call.body.get("spec", {})]


def _pair(name: ObjectName) -> tuple[str, str]:
    return name.namespace, name.name


def ready(obj: JsonObject) -> bool:
    return any(c["type"] == "Ready" and c["status"] == "True" for c in obj.get("status", {}).get("conditions", []))


@asynccontextmanager
async def simulated(*, held: bool = True) -> AsyncIterator[Simulated]:
    """A cluster in which Flux runs and ``shop`` applies commit A; unless ``held`` is false, we hold it."""
    world = Simulated()
    world.api.create(GIT_REPOSITORIES, repository())
    world.api.create(KUSTOMIZATIONS, kustomization(), "kustomize-controller", "Apply")
    for controller in world.controllers:
        controller.start()
    try:
        if held:
            await world.hold()
            world.new_writes()
        yield world
    finally:
        for controller in world.controllers:
            await controller.stop()


class Asking:
    """The rest of the console as a request sees it: whether the decision stands, the record, the hold."""

    def __init__(self, token: str = "T", commit: str = B, reason: Reason = Reason.FOREIGN_COMMIT) -> None:
        self.stands = True
        self.recorded: list[Guards] = []
        self.record_error: Exception | None = None
        self.held_error: Exception | None = None
        self.while_recording: Callable[[], object] = lambda: None
        self.asked_current = 0
        self.commit, self.token, self.reason = commit, token, reason

    def ask(self, want: Binding = WANT) -> Ask:
        return Ask(
            want=want,
            commit=self.commit,
            reason=self.reason,
            token=self.token,
            current=self._current,
            record=self._record,
            held=self._held,
        )

    def _current(self) -> bool:
        self.asked_current += 1
        return self.stands

    async def _record(self, guards: Guards) -> Recorded:
        if self.record_error is not None:
            raise self.record_error
        self.recorded.append(guards)
        self.while_recording()
        return Recorded()

    async def _held(self) -> None:
        if self.held_error is not None:
            raise self.held_error


async def to_the_end(world: Simulated, started: Started, seconds: float = 120.0) -> Progress:
    """Follow an operation until it is complete."""

    async def look() -> Progress | None:
        progress = await world.client.progress(SHOP, started)
        return progress if progress.outcome.complete else None

    found: Progress = await eventually(look, seconds, every=1.0)
    return found
