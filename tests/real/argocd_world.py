"""An Application of its own on a real Argo CD, its repository, and the people who interfere."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import yaml

from console.backends.dispatch_objects import ClusterObjects
from console.clients.endpoint import Endpoint
from console.clients.kubernetes import KubernetesClient
from console.engines.dispatch.argo import ArgoClient
from console.engines.dispatch.constants import Reason, Timing
from console.engines.dispatch.tokens import Tokens
from console.engines.dispatch.types import Binding, ObjectName, Progress, Started
from console.engines.ports.applier import APPLICATIONS, JsonObject
from console.kit.timing import SystemClock
from tests.engines.dispatch.world import Asking, eventually
from tests.real import fleet
from tests.real.argocd import NAMESPACE, ArgoLab
from tests.real.git import GitServer
from tests.real.watching import versions

GATE = "gate"
"""A Pod that a slow commit wants to have ended before anything is applied; nothing here runs Pods."""

JANE = {"username": "jane"}
SOON = {"limit": 1, "backoff": {"duration": "4s", "factor": 1, "maxDuration": "4s"}}
"""One more try, four seconds later."""


class RealArgo:
    """The Application `name` that applies `deploy` of its repository to `namespace`."""

    def __init__(self, lab: ArgoLab, git: GitServer, client: KubernetesClient) -> None:
        self.lab = lab
        self.git = git
        self.clock = SystemClock()
        self.tokens = Tokens(self.clock)
        self.timing = Timing(poll_interval=0.5)
        self.api = ClusterObjects(client)
        self.client = ArgoClient(self.api, self.clock, self.timing)
        self.name = ObjectName(NAMESPACE, f"shop-{secrets.token_hex(4)}")
        self.namespace = lab.kube.namespace()
        self.binding = Binding(git.url(self.name.name), "main")

    def manifest(self, **spec: Any) -> JsonObject:
        """The Application as somebody would write it, automated sync off."""
        source = {"repoURL": self.binding.url, "targetRevision": self.binding.branch, "path": "deploy"}
        destination = {"server": "https://kubernetes.default.svc", "namespace": self.namespace}
        return {
            "apiVersion": fleet.ARGO,
            "kind": "Application",
            "metadata": {"name": self.name.name, "namespace": NAMESPACE},
            "spec": {"project": "default", "source": source, "destination": destination, **spec},
        }

    async def begin(self, **spec: Any) -> str:
        """Make the Application and wait until Argo CD has compared it; returns the first commit, which is not applied."""
        commit = await self.push()
        await self.api.apply(APPLICATIONS, self.manifest(**spec), manager="git", force=True)
        await self.until(lambda app: app.get("status", {}).get("reconciledAt"))
        return commit

    async def push(self, *, broken: bool = False, slow: bool = False) -> str:
        """A new commit on the branch: one that the API server refuses, or one that waits for `let_go`."""
        paint = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "paint"}, "data": {"mark": self.tokens.new()}}
        wrong = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "No_Such_Name"}}
        hook = {"name": GATE, "annotations": {"argocd.argoproj.io/hook": "PreSync"}}
        container = {"name": "one", "image": "example.test/nothing"}
        gate = {"apiVersion": "v1", "kind": "Pod", "metadata": hook, "spec": {"containers": [container]}}
        files = {
            "deploy/paint.yaml": yaml.safe_dump(paint),
            "deploy/wrong.yaml": yaml.safe_dump(wrong) if broken else "",
            "deploy/gate.yaml": yaml.safe_dump(gate) if slow else "",
        }
        return await asyncio.to_thread(self.git.commit, self.name.name, files)

    async def let_go(self) -> None:
        """Have the gate of a slow commit end well."""
        await eventually(self.gate)
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": GATE, "namespace": self.namespace}}
        await asyncio.to_thread(self.lab.kube.client.set_status, {**pod, "status": {"phase": "Succeeded"}})

    async def gate(self) -> bool:
        """Whether the gate of a slow commit is there and stays."""
        pod = await asyncio.to_thread(self.lab.kube.client.find, "v1", "Pod", self.namespace, GATE)
        return pod is not None and "deletionTimestamp" not in pod["metadata"]

    async def applied(self) -> bool:
        """Whether anything of the repository was applied."""
        return await asyncio.to_thread(self.lab.kube.client.find, "v1", "ConfigMap", self.namespace, "paint") is not None

    async def app(self) -> JsonObject:
        return await self.api.get(APPLICATIONS, NAMESPACE, self.name.name)

    async def state(self) -> JsonObject:
        """What Argo CD says of the last operation that it began."""
        found: JsonObject = (await self.app()).get("status", {}).get("operationState") or {}
        return found

    async def patch(self, patch: JsonObject, manager: str = "argocd-server") -> None:
        await self.api.merge(APPLICATIONS, NAMESPACE, self.name.name, patch, manager=manager)

    async def user_syncs(self, commit: str, **more: Any) -> None:
        """Somebody starts a sync as Argo CD's API server does: set the operation, clear the last state."""
        operation = {"sync": {"revision": commit}, "initiatedBy": JANE, **more}
        await self.patch({"operation": operation, "status": {"operationState": None}})

    async def until(self, holds: Callable[[JsonObject], Any]) -> JsonObject:
        """Wait until the Application is so."""

        async def look() -> JsonObject | None:
            app = await self.app()
            return app if holds(app) else None

        found: JsonObject = await eventually(look)
        return found

    async def until_phase(self, *phases: str) -> JsonObject:
        """Wait until the last operation has one of these phases, and return its state."""
        app = await self.until(lambda app: app.get("status", {}).get("operationState", {}).get("phase") in phases)
        state: JsonObject = app["status"]["operationState"]
        return state

    def asking(self, commit: str) -> Asking:
        return Asking(self.tokens.new(), commit, Reason.FOREIGN_COMMIT)

    async def ask(self, commit: str, client: ArgoClient | None = None) -> Started:
        return await (client or self.client).request(self.name, self.asking(commit).ask(self.binding))

    async def look(self, started: Started) -> Progress:
        return await self.client.progress(self.name, started)

    async def end(self, started: Started) -> Progress:
        async def look() -> Progress | None:
            progress = await self.look(started)
            return progress if progress.outcome.complete else None

        found: Progress = await eventually(look)
        return found

    @asynccontextmanager
    async def versions(self) -> AsyncIterator[list[JsonObject]]:
        """Every version of the Application from now on, in order."""
        path = f"/apis/{fleet.ARGO}/namespaces/{NAMESPACE}/applications"
        async with versions(self.lab.kube, path, self.name.name) as seen:
            yield seen


@asynccontextmanager
async def real_argo(lab: ArgoLab, git: GitServer) -> AsyncIterator[RealArgo]:
    """An Application to be; `begin` makes it."""
    headers = (("Authorization", f"Bearer {lab.kube.token()}"),)
    client = KubernetesClient(Endpoint(base_url=lab.kube.url, ca=str(lab.kube.authority), headers=headers))
    try:
        yield RealArgo(lab, git, client)
    finally:
        await client.close()
