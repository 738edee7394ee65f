"""A simulated Argo CD application controller, by the facts A1 to A13 of the specification.

What must be exactly right: a new operation is copied whole into ``operationState``; an unfinished state is *resumed* with
the operation stored in it, not with the one in ``.operation``; the completion patch carries no resourceVersion.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from console.engines.ports.applier import APPLICATIONS, JsonObject
from console.kit.timing import Clock
from tests.engines.dispatch.apiserver import ApiServer

_COMPLETE = ("Succeeded", "Failed", "Error")
MANAGER = "argocd-application-controller"


class ArgoController:
    """Processes the operation of each Application. ``outcomes``: phase and message of the next tries (default: success)."""

    sync_seconds = 1.0
    retry_seconds = 5.0
    window_open = True

    def __init__(self, api: ApiServer, clock: Clock) -> None:
        self.api = api
        self.clock = clock
        self.outcomes: list[tuple[str, str]] = []
        self.synced: list[str] = []
        self.revision_override = ""
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self._task = None

    def patch(self, name: tuple[str, str], patch: JsonObject) -> None:
        """A merge patch without a guard."""
        if self.api.exists(APPLICATIONS, *name):
            self.api.patch(APPLICATIONS, *name, patch, MANAGER)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(0.5)
            for (_, namespace, name), app in list(self.api._of(APPLICATIONS)):
                if app.get("operation"):
                    await self._process((namespace, name), app)

    def _now(self) -> str:
        return self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")

    async def _process(self, name: tuple[str, str], app: JsonObject) -> None:
        state: dict[str, Any] = dict(app.get("status", {}).get("operationState") or {})
        if not state or state.get("phase") in _COMPLETE:
            state = {"phase": "Running", "startedAt": self._now(), "operation": app["operation"], "message": ""}
            if "status" in app and app["status"].get("operationState"):
                self.patch(name, {"status": {"operationState": None}})
            self.patch(name, {"status": {"operationState": state}})
        if state.get("phase") == "Terminating":
            self._complete(name, state, "Failed", "Operation terminated", app)
            return
        if not self.window_open:
            self.patch(name, {"status": {"operationState": {"message": "blocked by a sync window"}}})
            return
        await asyncio.sleep(self.sync_seconds)
        if not self.api.exists(APPLICATIONS, *name):
            return
        fresh = self.api.peek(APPLICATIONS, *name)
        if fresh.get("status", {}).get("operationState", {}).get("phase") == "Terminating":
            self._complete(name, state, "Failed", "Operation terminated", fresh)
            return
        phase, message = self.outcomes.pop(0) if self.outcomes else ("Succeeded", "successfully synced")
        retries = state.get("retryCount", 0)
        if phase == "Failed" and retries < state["operation"].get("retry", {}).get("limit", 0):
            waiting = {"finishedAt": self._now(), "retryCount": retries + 1, "message": f"{message}. Retrying attempt #1"}
            self.patch(name, {"status": {"operationState": waiting}})
            await asyncio.sleep(self.retry_seconds)
            return
        self._complete(name, state, phase, message, fresh)

    def _complete(self, name: tuple[str, str], state: JsonObject, phase: str, message: str, app: JsonObject) -> None:
        """One patch without a resourceVersion: it clears whatever operation is set by now."""
        revision = self.revision_override or state["operation"]["sync"]["revision"]
        done = {**state, "phase": phase, "message": message, "finishedAt": self._now(), "syncResult": {"revision": revision}}
        status: JsonObject = {"operationState": done}
        if phase == "Succeeded":
            self.synced.append(revision)
            entry = {
                "revision": revision,
                "deployStartedAt": state["startedAt"],
                "initiatedBy": state["operation"]["initiatedBy"],
            }
            status["history"] = [*app.get("status", {}).get("history", []), entry]
        self.patch(name, {"operation": None, "status": status})
