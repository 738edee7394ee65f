"""A cluster with Argo CD, simulated."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from console.engines.dispatch.argo import ArgoClient
from console.engines.dispatch.constants import Timing
from console.engines.dispatch.tokens import Tokens
from console.engines.dispatch.types import ObjectName
from console.engines.ports.applier import APPLICATIONS, JsonObject
from console.kit.timing import LoopClock
from tests.engines.dispatch.apiserver import ApiServer
from tests.engines.dispatch.argo_controller import ArgoController
from tests.engines.dispatch.world import START, URL

APP = ObjectName("argocd", "shop")
MAIN = {"repoURL": URL, "targetRevision": "main", "path": "deploy"}
USERS = {"sync": {"revision": "users"}, "initiatedBy": {"username": "jane"}}


def application(**spec: Any) -> JsonObject:
    """An Application of ``main`` with automated sync off."""
    return {"metadata": {"name": APP.name, "namespace": APP.namespace}, "spec": {"project": "default", "source": MAIN, **spec}}


class ArgoWorld:
    """The Application ``shop`` and its controller."""

    def __init__(self, spec: dict[str, Any] | None = None, timing: Timing | None = None) -> None:
        self.clock = LoopClock(START)
        self.clock.now()
        self.api = ApiServer(self.clock)
        self.controller = ArgoController(self.api, self.clock)
        self.tokens, self.timing = Tokens(self.clock), timing or Timing()
        self.client = ArgoClient(self.api, self.clock, self.timing)
        self.api.create(APPLICATIONS, application(**spec or {}))

    @property
    def app(self) -> JsonObject:
        return self.api.peek(APPLICATIONS, APP.namespace, APP.name)

    @property
    def state(self) -> JsonObject:
        found: JsonObject = self.app.get("status", {}).get("operationState", {})
        return found

    def patch(self, patch: JsonObject, manager: str = "argocd-server") -> None:
        self.api.patch(APPLICATIONS, APP.namespace, APP.name, patch, manager)

    def user_syncs(self, revision: str = "users") -> None:
        """Somebody starts a sync, as Argo CD's API server does: set the operation, clear the last state."""
        operation = {**USERS, "sync": {"revision": revision}}
        self.patch({"operation": operation, "status": {"operationState": None}})

    def recreate(self) -> None:
        self.vanish()
        self.api.create(APPLICATIONS, application())

    def vanish(self) -> None:
        self.api._objects.pop(("Application", APP.namespace, APP.name))


@asynccontextmanager
async def argo(
    spec: dict[str, Any] | None = None, timing: Timing | None = None, *, running: bool = True
) -> AsyncIterator[ArgoWorld]:
    """An idle Application; ``running``: its controller is up."""
    world = ArgoWorld(spec, timing)
    if running:
        world.controller.start()
    try:
        yield world
    finally:
        await world.controller.stop()
