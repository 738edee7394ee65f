"""Held Kustomizations on which a console is killed in mid-apply: on the demo's simulated Flux and on the real controller."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

import httpx
import yaml

from console.demo.config_files import Endpoint, write_kubeconfig
from console.engines.dispatch.flux_reading import annotation, last_handled, suspended
from console.engines.dispatch.local import read_local
from console.engines.dispatch.types import Operation
from tests.cli.running import isolated
from tests.crash.tap import Tap
from tests.engines.dispatch.world import commit_id
from tests.real import fleet
from tests.real.flux import FluxLab

NAME = "cluster"


class Held:
    """One Kustomization that can be declared as a trigger, read past every tap.

    ``authority`` is the file of the server's certificate authority, "" for plain HTTP.
    """

    def __init__(self, endpoint: Endpoint, authority: str, namespace: str, name: str, url: str) -> None:
        self.endpoint = endpoint
        self.authority = authority
        self.namespace = namespace
        self.name = name
        self.url = url

    async def read(self) -> dict[str, Any]:
        """The object as it is now."""
        path = f"/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/{self.namespace}/kustomizations/{self.name}"
        trust = ssl.create_default_context(cafile=self.authority) if self.authority else True
        headers = {"Authorization": f"Bearer {self.endpoint.token}"}
        async with httpx.AsyncClient(
            base_url=self.endpoint.url, headers=headers, verify=trust, trust_env=False, timeout=30
        ) as client:
            answer = await client.get(path)
            answer.raise_for_status()
            found: dict[str, Any] = answer.json()
            return found

    def tap(self) -> Tap:
        """A new way to its server."""
        return Tap(self.endpoint.url, self.authority)

    def account(self, folder: Path, port: int) -> dict[str, str]:
        """The environment of an account whose fleet file declares it as the trigger ``it``, behind a tap's port."""
        env = isolated(folder, KUBECONFIG=str(folder / "kubeconfig"))
        config = folder / "config"
        config.mkdir(parents=True, exist_ok=True)
        reached = Endpoint(name=NAME, kind="kubernetes", url=f"http://127.0.0.1:{port}", token=self.endpoint.token)
        write_kubeconfig(folder / "kubeconfig", [reached])
        trigger = {
            "name": "it",
            "connection": NAME,
            "kind": "flux",
            "namespace": self.namespace,
            "object": self.name,
            "url": self.url,
            "branch": "main",
            "hold": True,
        }
        listed = {"connections": [{"name": NAME, "kubernetes": NAME}], "triggers": [trigger]}
        (config / "fleet.yaml").write_text(yaml.safe_dump(listed))
        return env


class Stage(Protocol):
    """Where held Kustomizations come from."""

    async def make(self) -> Held:
        """One of its own, which has applied a first commit and follows its source."""
        ...

    async def commit(self, held: Held) -> str:
        """Give its source something to apply; returns the commit, "" when the present one is to be applied again."""
        ...


class DemoStage:
    """The demo's own: what they hold is applied again."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._names = iter(("infrastructure", "flux-system", "ingress"))

    async def make(self) -> Held:
        url = "https://git.example.test/platform/fleet.git"
        return Held(self._endpoint, "", "flux-system", next(self._names), url)

    async def commit(self, held: Held) -> str:
        return ""


class RealStage:
    """Real kustomize-controller, each Kustomization in a namespace of its own, with new commits."""

    def __init__(self, lab: FluxLab) -> None:
        self._lab = lab
        self._count = 0

    async def make(self) -> Held:
        kube = self._lab.kube
        endpoint = Endpoint(name=NAME, kind="kubernetes", url=kube.url, token=kube.token())
        namespace = await asyncio.to_thread(kube.namespace)
        held = Held(endpoint, str(kube.authority), namespace, "shop", "https://git.example.test/team/shop.git")
        commit = await self.commit(held)
        manifest = {key: value for key, value in fleet.kustomization(namespace).items() if key != "status"}
        await asyncio.to_thread(kube.client.apply, manifest)
        await asyncio.to_thread(self._lab.wait_applied, namespace, "shop", commit)
        return held

    async def commit(self, held: Held) -> str:
        self._count += 1
        commit = commit_id(f"{held.namespace}/{self._count}")
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "paint", "namespace": held.namespace}}
        files = {"shop/map.yaml": yaml.safe_dump({**body, "data": {"commit": commit}})}
        await asyncio.to_thread(self._lab.publish, held.namespace, "shop", files, commit)
        return commit


def recorded(raw: dict[str, Any]) -> Operation | None:
    """The operation in the record on the object."""
    return read_local(raw).operation


def in_flight(raw: dict[str, Any]) -> Operation | None:
    """That operation, if it has not ended."""
    operation = recorded(raw)
    return operation if operation is not None and operation.in_flight else None


def at_rest(raw: dict[str, Any]) -> bool:
    """Held, with nothing under way and the last suspend handled."""
    return suspended(raw) and in_flight(raw) is None and last_handled(raw) == annotation(raw)


async def until(true: Callable[[], Awaitable[bool]], seconds: float = 90) -> None:
    """Wait for a condition of a server."""
    async with asyncio.timeout(seconds):
        while not await true():
            await asyncio.sleep(0.1)
