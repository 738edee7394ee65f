"""Simulated Flux controllers, by the facts F1 to F16 and S1 to S8 of the specification.

What must be exactly right: a token is marked handled on *every* return; conditions are written before the rest of the
status; the suspend check is made once, at the start of a pass; passes of one object don't overlap.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from console.engines.dispatch.constants import REQUESTED_AT
from console.engines.ports.applier import GIT_REPOSITORIES, KUSTOMIZATIONS, ApiKind, JsonObject
from console.errors import NotFound
from console.kit.timing import Clock
from tests.engines.dispatch.apiserver import ApiServer

FINALIZER = "finalizers.fluxcd.io"


class Controller:
    """A work queue over one kind: changes of generation or of the request enqueue, one pass at a time."""

    kind: ApiKind

    def __init__(self, api: ApiServer, clock: Clock) -> None:
        self.api = api
        self.clock = clock
        self._queue: dict[tuple[str, str], None] = {}
        self._event = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.passes = 0
        api.listeners.append(self._changed)

    def start(self) -> None:
        """Run, beginning with every object there is."""
        for key, _ in self.api._of(self.kind):
            self.enqueue(key[1], key[2])
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Stop at once, in the middle of whatever it does."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self._task = None

    def enqueue(self, namespace: str, name: str) -> None:
        self._queue[namespace, name] = None
        self._event.set()

    def _changed(self, kind: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if kind != self.kind.kind or new is None:
            return
        request = _annotation(new)
        if (
            old is None
            or old["metadata"]["generation"] != new["metadata"]["generation"]
            or (request and request != _annotation(old))
        ):
            self.enqueue(new["metadata"]["namespace"], new["metadata"]["name"])

    async def _run(self) -> None:
        while True:
            await self._event.wait()
            self._event.clear()
            while self._queue:
                namespace, name = next(iter(self._queue))
                del self._queue[namespace, name]
                if self.api.exists(self.kind, namespace, name):
                    self.passes += 1
                    await self.reconcile(namespace, name)

    async def reconcile(self, namespace: str, name: str) -> None:
        raise NotImplementedError

    def write_status(self, namespace: str, name: str, change: Callable[[JsonObject], object]) -> None:
        def edit(obj: JsonObject) -> None:
            change(obj.setdefault("status", {}))

        if self.api.exists(self.kind, namespace, name):
            self.api.edit(self.kind, namespace, name, edit, f"gotk-{self.kind.plural}-controller")

    def set_ready(self, namespace: str, name: str, status: str, reason: str, message: str) -> None:
        """A condition takes the generation of the moment of its write, and a new time only when it changed."""
        if not self.api.exists(self.kind, namespace, name):
            return
        generation = self.api.peek(self.kind, namespace, name)["metadata"]["generation"]
        now = self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")

        def change(state: JsonObject) -> None:
            new: dict[str, Any] = {"type": "Ready", "status": status, "reason": reason, "message": message}
            old = next((c for c in state.get("conditions", []) if c["type"] == "Ready"), None)
            if old is not None and {key: old[key] for key in new} == new:
                return
            new |= {"observedGeneration": generation, "lastTransitionTime": now}
            state["conditions"] = [new]

        self.write_status(namespace, name, change)

    async def finish(self, namespace: str, name: str, token: str, change: Callable[[JsonObject], object]) -> None:
        """The rest of the status, after the conditions: what every return of a pass does."""
        await asyncio.sleep(0.01)

        def rest(state: JsonObject) -> None:
            change(state)
            if token:
                state["lastHandledReconcileAt"] = token

        self.write_status(namespace, name, rest)


def _annotation(obj: JsonObject) -> str:
    return str(obj["metadata"].get("annotations", {}).get(REQUESTED_AT, ""))


def _nothing(state: JsonObject) -> None:
    pass


@dataclass
class Remote:
    """The Git server: commits by URL and branch."""

    branches: dict[tuple[str, str], str] = field(default_factory=dict)
    refuses: str = ""


class SourceController(Controller):
    """source-controller, as far as a branch goes. A tag outranks a semver range, whatever its documentation says."""

    kind = GIT_REPOSITORIES
    fetch_seconds = 1.0

    def __init__(self, api: ApiServer, clock: Clock, remote: Remote) -> None:
        super().__init__(api, clock)
        self.remote = remote

    async def reconcile(self, namespace: str, name: str) -> None:
        obj = self.api.peek(self.kind, namespace, name)
        token = _annotation(obj)
        if obj["spec"].get("suspend"):
            await self.finish(namespace, name, token, _nothing)
            return
        await asyncio.sleep(self.fetch_seconds)
        branch = obj["spec"].get("ref", {}).get("branch", "master")
        commit = self.remote.branches.get((obj["spec"]["url"], branch))
        if self.remote.refuses or commit is None:
            message = self.remote.refuses or f"couldn't find remote ref refs/heads/{branch}"
            self.set_ready(namespace, name, "False", "GitOperationFailed", message)
            await self.finish(namespace, name, token, _nothing)
            return
        self.set_ready(namespace, name, "True", "Succeeded", f"stored artifact for {branch}@sha1:{commit}")
        await self.finish(namespace, name, token, lambda s: s.update(artifact={"revision": f"{branch}@sha1:{commit}"}))


class KustomizeController(Controller):
    """kustomize-controller. ``fails``: reason and message with which the next passes end, from the given stage on."""

    kind = KUSTOMIZATIONS
    apply_seconds = 1.0
    health_seconds = 0.0
    cancels_health_checks = False

    def __init__(self, api: ApiServer, clock: Clock) -> None:
        super().__init__(api, clock)
        self.fails: tuple[str, str] | None = None
        self.broken: set[str] = set()
        self.applied: list[str] = []
        self.collected: list[str] = []

    def _changed(self, kind: str, old: JsonObject | None, new: JsonObject | None) -> None:
        super()._changed(kind, old, new)
        if kind != GIT_REPOSITORIES.kind or new is None:
            return
        if (old or {}).get("status", {}).get("artifact") != new.get("status", {}).get("artifact"):
            for key, obj in self.api._of(KUSTOMIZATIONS):
                if obj["spec"].get("sourceRef", {}).get("name") == new["metadata"]["name"]:
                    self.enqueue(key[1], key[2])

    async def reconcile(self, namespace: str, name: str) -> None:
        obj = self.api.peek(self.kind, namespace, name)
        token = _annotation(obj)
        if obj["metadata"].get("deletionTimestamp"):
            await self._finalize(obj, token)
            return
        if FINALIZER not in obj["metadata"].get("finalizers", []):
            self.api.edit(self.kind, namespace, name, lambda o: o["metadata"].update(finalizers=[FINALIZER]), "gotk-finalizer")
            await self.finish(namespace, name, token, _nothing)
            self.enqueue(namespace, name)
            return
        if obj["spec"].get("suspend"):
            await self.finish(namespace, name, token, _nothing)
            return
        await self._apply(obj, token)

    async def _finalize(self, obj: JsonObject, token: str) -> None:
        namespace, name = obj["metadata"]["namespace"], obj["metadata"]["name"]
        if not obj["spec"].get("suspend"):
            self.collected.append(name)
        await self.finish(namespace, name, token, _nothing)
        if self.api.exists(self.kind, namespace, name):
            self.api.edit(self.kind, namespace, name, lambda o: o["metadata"].update(finalizers=[]), "gotk-finalizer")

    async def _apply(self, obj: JsonObject, token: str) -> None:
        namespace, name = obj["metadata"]["namespace"], obj["metadata"]["name"]
        reason, message = self.fails or ("", "")
        if reason == "DependencyNotReady":
            self.set_ready(namespace, name, "False", reason, message)
            await self.finish(namespace, name, token, _nothing)
            return
        source = obj["spec"]["sourceRef"]
        try:
            repository = self.api.peek(GIT_REPOSITORIES, source.get("namespace", namespace), source["name"])
            revision = repository["status"]["artifact"]["revision"]
        except (KeyError, NotFound):
            self.set_ready(namespace, name, "False", "ArtifactFailed", "source artifact not found")
            await self.finish(namespace, name, token, _nothing)
            return
        if revision.rpartition(":")[2] in self.broken:
            reason, message = "BuildFailed", "no such file"
        self.set_ready(namespace, name, "Unknown", "Progressing", f"reconciling {revision}")
        await asyncio.sleep(self.apply_seconds)
        if reason == "ArtifactFailed":
            self.set_ready(namespace, name, "False", reason, message)
            await self.finish(namespace, name, token, _nothing)
            return
        result: dict[str, Any] = {"lastAttemptedRevision": revision}
        if not reason or reason in ("PruneFailed", "HealthCheckFailed"):
            self.applied.append(revision)
            result["history"] = [{"lastReconciled": self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")}]
        if not reason and self.health_seconds and not await self._healthy(namespace, name):
            reason, message = "HealthCheckCanceled", "a new event arrived"
        if reason:
            self.set_ready(namespace, name, "False", reason, message)
        else:
            result["lastAppliedRevision"] = revision
            self.set_ready(namespace, name, "True", "ReconciliationSucceeded", f"Applied revision: {revision}")
        await self.finish(namespace, name, token, lambda state: state.update(result))

    async def _healthy(self, namespace: str, name: str) -> bool:
        """Wait for health; False when an event cancelled the wait."""
        end = asyncio.get_running_loop().time() + self.health_seconds
        while asyncio.get_running_loop().time() < end:
            await asyncio.sleep(1)
            if self.cancels_health_checks and (namespace, name) in self._queue:
                return False
        return True
