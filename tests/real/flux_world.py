"""A Kustomization of its own on the real kustomize-controller, its commits, and the people who interfere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import yaml

from console.backends.dispatch_objects import ClusterObjects
from console.clients.endpoint import Endpoint
from console.clients.kubernetes import KubernetesClient
from console.engines.dispatch.constants import REQUESTED_AT, Timing
from console.engines.dispatch.flux import FluxClient
from console.engines.dispatch.flux_reading import last_handled
from console.engines.dispatch.tokens import Tokens
from console.engines.dispatch.types import Binding, ObjectName
from console.engines.ports.applier import KUSTOMIZATIONS, JsonObject, Objects
from console.errors import NotFound
from console.kit.timing import SystemClock
from tests.engines.dispatch.world import commit_id, eventually
from tests.real import fleet
from tests.real.flux import FluxLab
from tests.real.flux_cli import FluxCli
from tests.real.kube_client import Object
from tests.real.watching import versions

GATE = "gate"
"""A Deployment of a slow commit: nothing here runs Deployments, so it is healthy only when a test says so."""

PATIENCE = 90.0
BROKEN = yaml.safe_dump({"resources": ["missing.yaml"]})


def condition_of(obj: JsonObject, kind: str) -> JsonObject:
    """A condition of an object, {} when it has none of that type."""
    return next((entry for entry in obj.get("status", {}).get("conditions", []) if entry["type"] == kind), {})


class RealFlux:
    """A Kustomization ``shop`` of its own on real controllers; satisfies ``FluxWorld``."""

    def __init__(
        self, lab: FluxLab, client: KubernetesClient, cli: FluxCli | None = None, timing: Timing | None = None
    ) -> None:
        self.lab = lab
        self.cli = cli
        self.objects: Objects = ClusterObjects(client)
        self.clock = SystemClock()
        self.tokens = Tokens(self.clock)
        self.timing = timing or Timing(poll_interval=0.5)
        self.client = FluxClient(self.objects, self.clock, self.tokens, self.timing)
        self.name = ObjectName(lab.kube.namespace(), "shop")
        self.binding = Binding("https://git.example.test/team/shop.git", "main")
        self.manifest = {key: value for key, value in fleet.kustomization(self.name.namespace).items() if key != "status"}

    @property
    def api(self) -> Objects:
        return self.objects

    def token(self) -> str:
        return self.tokens.new()

    async def push(self, *, broken: bool = False, slow: bool = False, files: dict[str, str] | None = None) -> str:
        """A new commit in the source: one that can't be built, or one whose health check waits for `let_go`."""
        commit = commit_id(self.token())
        namespace = self.name.namespace
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "paint", "namespace": namespace}}
        tree = {"shop/map.yaml": yaml.safe_dump({**body, "data": {"commit": commit}}), **(files or {})}
        if broken:
            tree["shop/kustomization.yaml"] = BROKEN
        if slow:
            tree["shop/gate.yaml"] = yaml.safe_dump(self._gate(commit))
        await asyncio.to_thread(self.lab.publish, namespace, "shop", tree, commit)
        return commit

    def _gate(self, commit: str = "") -> Object:
        labels = {"app": GATE}
        container = {"name": "one", "image": "example.test/nothing"}
        # Each commit changes it, so that none finds it healthy already.
        template = {"metadata": {"labels": labels, "annotations": {"commit": commit}}, "spec": {"containers": [container]}}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": GATE, "namespace": self.name.namespace},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
        }

    async def let_go(self, *, healthy: bool = True) -> None:
        """Have the Deployment of a slow commit become healthy, or fail for good."""
        live = await asyncio.to_thread(self.lab.kube.client.get, "apps/v1", "Deployment", self.name.namespace, GATE)
        counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), int(healthy))
        told = [
            fleet.condition("Available", "True" if healthy else "False", "MinimumReplicasAvailable"),
            fleet.condition(
                "Progressing", *(("True", "NewReplicaSetAvailable") if healthy else ("False", "ProgressDeadlineExceeded"))
            ),
        ]
        status = {**counts, "observedGeneration": live["metadata"]["generation"], "conditions": told}
        await asyncio.to_thread(self.lab.kube.client.set_status, {**self._gate(), "status": status})

    async def checking(self) -> JsonObject:
        """Wait until the controller waits for the health of a slow commit."""
        return await self.until(lambda obj: "health check" in condition_of(obj, "Reconciling").get("message", ""))

    async def stop(self) -> None:
        await asyncio.to_thread(self.lab.kill)

    async def start(self) -> None:
        await asyncio.to_thread(self.lab.start)

    async def applied_objects(self) -> bool:
        return await self.painted() != ""

    async def painted(self) -> str:
        """The commit that the applied ConfigMap is of, "" when there is none."""
        find = self.lab.kube.client.find
        found = await asyncio.to_thread(find, "v1", "ConfigMap", self.name.namespace, "paint")
        return str(found["data"]["commit"]) if found else ""

    async def flux(self, verb: str) -> None:
        """By the real command line where there is one; what it writes otherwise."""
        if self.cli is not None:
            await self.cli(verb, "kustomization", "shop", namespace=self.name.namespace)
        elif verb == "reconcile":
            await self.stamp(self.token())
        else:
            await self.patch({"spec": {"suspend": True if verb == "suspend" else None}}, "flux")

    async def stamp(self, token: str) -> None:
        await self.patch({"metadata": {"annotations": {REQUESTED_AT: token}}}, "stamper")

    async def patch(self, patch: JsonObject, manager: str = "kubectl-edit") -> JsonObject:
        return await self.objects.merge(KUSTOMIZATIONS, self.name.namespace, self.name.name, patch, manager=manager)

    async def handles(self) -> JsonObject:
        """Somebody asks for a reconcile; wait until it is handled."""
        token = self.token()
        await self.stamp(token)
        return await self.until(lambda obj: last_handled(obj) == token)

    async def parent_applies(self, suspend: bool) -> None:
        body = {**self.manifest, "spec": {**self.manifest["spec"], "suspend": suspend}}
        await self.objects.apply(KUSTOMIZATIONS, body, manager="kustomize-controller", force=True)

    async def delete(self, *, wait: bool = True) -> None:
        await asyncio.to_thread(self.lab.kube.client.delete, self.manifest)
        if not wait:
            return

        async def gone() -> bool:
            try:
                await self.shop()
            except NotFound:
                return True
            return False

        await eventually(gone)

    async def shop(self) -> JsonObject:
        return await self.objects.get(KUSTOMIZATIONS, self.name.namespace, self.name.name)

    async def until(self, holds: Callable[[JsonObject], Any]) -> JsonObject:
        """Wait until the Kustomization is so."""

        async def look() -> JsonObject | None:
            found = await self.shop()
            return found if holds(found) else None

        found: JsonObject = await eventually(look, PATIENCE, every=0.1)
        return found

    async def begin(self, **spec: Any) -> str:
        """Have a first commit applied; `spec` is more of the Kustomization's."""
        commit = await self.push()
        self.manifest["spec"] = {**self.manifest["spec"], "interval": "1h", **spec}
        await self.objects.apply(KUSTOMIZATIONS, self.manifest, manager="kustomize-controller", force=True)
        await asyncio.to_thread(self.lab.wait_applied, self.name.namespace, self.name.name, commit)
        return commit

    async def hold(self) -> None:
        """Take it into hold, and wait until that is handled."""
        await self.client.suspend(self.name)

        async def complete() -> bool:
            return (await self.client.suspension(self.name)).complete

        await eventually(complete, PATIENCE)

    def versions(self) -> AbstractAsyncContextManager[list[JsonObject]]:
        """Every version of the Kustomization from now on, in order."""
        path = f"/apis/{fleet.FLUX_KUSTOMIZE}/namespaces/{self.name.namespace}/kustomizations"
        return versions(self.lab.kube, path, self.name.name)


@asynccontextmanager
async def real_flux(lab: FluxLab, cli: FluxCli | None = None, timing: Timing | None = None) -> AsyncIterator[RealFlux]:
    """A Kustomization to be; `begin` makes it."""
    kube = lab.kube
    headers = (("Authorization", f"Bearer {kube.token()}"),)
    client = KubernetesClient(Endpoint(base_url=kube.url, ca=str(kube.authority), headers=headers))
    try:
        yield RealFlux(lab, client, cli, timing)
    finally:
        await client.close()
