"""What the contract tests of the Docker Engine API stand on: a client, and a way to let time pass."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx

Object = dict[str, Any]
PATIENCE = 60


def client_of(socket: Path | None) -> httpx.AsyncClient:
    """A client to an engine's unix socket; the caller closes it."""
    transport = httpx.AsyncHTTPTransport(uds=str(socket), verify=False)
    return httpx.AsyncClient(transport=transport, base_url="http://docker", timeout=30)


class Dock:
    """One engine, simulated or real."""

    def __init__(self, client: httpx.AsyncClient, wait: Callable[[], Awaitable[None]], image: str) -> None:
        self.client = client
        self._wait = wait
        self.image = image

    async def get(self, path: str, **params: str) -> Any:
        """The decoded answer of a GET that must succeed."""
        answer = await self.client.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def until(self, found: Callable[[], Awaitable[bool]]) -> None:
        """Let time pass until something is so."""
        async with asyncio.timeout(PATIENCE):
            while not await found():
                await self._wait()

    async def container(self, name: str, *, start: bool = True, **body: Any) -> str:
        """A container that sleeps; its id."""
        made = await self.client.post("/containers/create", params={"name": name}, json={"Image": self.image, **body})
        assert made.status_code == 201, made.text
        if start:
            assert (await self.client.post(f"/containers/{name}/start")).status_code == 204
        return str(made.json()["Id"])

    def service(self, name: str, replicas: int = 1) -> Object:
        """The spec of a service that sleeps."""
        return {
            "Name": name,
            "TaskTemplate": {"ContainerSpec": {"Image": self.image, "StopGracePeriod": 1_000_000_000}},
            "Mode": {"Replicated": {"Replicas": replicas}},
            "EndpointSpec": {"Mode": "dnsrr"},
            "UpdateConfig": {"Parallelism": 1, "FailureAction": "pause", "Monitor": 500_000_000},
        }

    async def update(self, obj: Object, table: str = "services", **params: str) -> httpx.Response:
        """Post an object's spec back under the version that was read."""
        version = {"version": str(obj["Version"]["Index"])}
        return await self.client.post(f"/{table}/{obj['ID']}/update", params={**version, **params}, json=obj["Spec"])

    async def tasks(self, service: str) -> list[Object]:
        """The running tasks of a service that shall run."""
        chosen = f'{{"service":["{service}"],"desired-state":["running"]}}'
        return [task for task in await self.get("/tasks", filters=chosen) if task["Status"]["State"] == "running"]


def message(answer: httpx.Response) -> tuple[int, str]:
    """Status and words of a refusal."""
    return answer.status_code, answer.json()["message"]


def frames(raw: bytes) -> list[tuple[int, str]]:
    """The frames of a multiplexed log as (stream, text)."""
    found = []
    while raw:
        number, size = struct.unpack(">BxxxI", raw[:8])
        found.append((number, raw[8 : 8 + size].decode()))
        raw = raw[8 + size :]
    return found
