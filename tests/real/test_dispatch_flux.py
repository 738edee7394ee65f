"""The dispatch engine against the real kustomize-controller: the same bodies as on the simulated one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import yaml

from console.backends.dispatch_objects import ClusterObjects
from console.clients.endpoint import Endpoint
from console.clients.kubernetes import KubernetesClient
from console.engines.dispatch.constants import REQUESTED_AT, Timing
from console.engines.dispatch.flux import FluxClient
from console.engines.dispatch.tokens import Tokens
from console.engines.dispatch.types import Binding, ObjectName
from console.engines.ports.applier import KUSTOMIZATIONS, JsonObject, Objects
from console.errors import NotFound
from console.kit.timing import SystemClock
from tests.engines.dispatch.flux_bodies import BODIES, Body
from tests.engines.dispatch.world import commit_id, eventually
from tests.real import fleet
from tests.real.flux import FluxLab


class RealFlux:
    """A Kustomization ``shop`` of its own on real controllers; satisfies ``FluxWorld``."""

    def __init__(self, lab: FluxLab, client: KubernetesClient) -> None:
        self._lab = lab
        self.objects: Objects = ClusterObjects(client)
        self._tokens = Tokens(SystemClock())
        self.client = FluxClient(self.objects, SystemClock(), self._tokens, Timing(poll_interval=0.5))
        self.name = ObjectName(lab.kube.namespace(), "shop")
        self.binding = Binding("https://git.example.test/team/shop.git", "main")
        self.manifest = {key: value for key, value in fleet.kustomization(self.name.namespace).items() if key != "status"}

    def token(self) -> str:
        return self._tokens.new()

    async def push(self, *, broken: bool = False) -> str:
        commit = commit_id(self.token())
        namespace = self.name.namespace
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "paint", "namespace": namespace}}
        files = {"shop/map.yaml": yaml.safe_dump({**body, "data": {"commit": commit}})}
        if broken:
            files["shop/kustomization.yaml"] = yaml.safe_dump({"resources": ["missing.yaml"]})
        await asyncio.to_thread(self._lab.publish, namespace, "shop", files, commit)
        return commit

    async def stop(self) -> None:
        await asyncio.to_thread(self._lab.kill)

    async def start(self) -> None:
        await asyncio.to_thread(self._lab.start)

    async def applied_objects(self) -> bool:
        find = self._lab.kube.client.find
        return await asyncio.to_thread(find, "v1", "ConfigMap", self.name.namespace, "paint") is not None

    async def flux(self, verb: str) -> None:
        if verb == "reconcile":
            await self.stamp(self.token())
            return
        patch: JsonObject = {"spec": {"suspend": True if verb == "suspend" else None}}
        await self.objects.merge(KUSTOMIZATIONS, self.name.namespace, self.name.name, patch, manager="flux")

    async def stamp(self, token: str) -> None:
        patch: JsonObject = {"metadata": {"annotations": {REQUESTED_AT: token}}}
        await self.objects.merge(KUSTOMIZATIONS, self.name.namespace, self.name.name, patch, manager="stamper")

    async def parent_applies(self, suspend: bool) -> None:
        body = {**self.manifest, "spec": {**self.manifest["spec"], "suspend": suspend}}
        await self.objects.apply(KUSTOMIZATIONS, body, manager="kustomize-controller", force=True)

    async def delete(self, *, wait: bool = True) -> None:
        await asyncio.to_thread(self._lab.kube.client.delete, self.manifest)
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

    async def begin(self) -> None:
        """Have a first commit applied."""
        commit = await self.push()
        await self.objects.apply(KUSTOMIZATIONS, self.manifest, manager="kustomize-controller", force=True)
        await asyncio.to_thread(self._lab.wait_applied, self.name.namespace, self.name.name, commit)


@pytest.fixture
async def world(flux: FluxLab) -> AsyncIterator[RealFlux]:
    """The Kustomization, with a first commit applied."""
    kube = flux.kube
    headers = (("Authorization", f"Bearer {kube.token()}"),)
    client = KubernetesClient(Endpoint(base_url=kube.url, ca=str(kube.authority), headers=headers))
    try:
        found = RealFlux(flux, client)
        await found.begin()
        yield found
    finally:
        await client.close()


@pytest.mark.parametrize("body", BODIES)
async def test_on_real_controllers(body: Body, world: RealFlux) -> None:
    await body(world)
