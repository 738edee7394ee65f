"""A demo fleet in which nothing moves by itself, and plain HTTP clients to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import httpx
import pytest

from console.demo.fleet import DemoFleet

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


def client_of(fleet: DemoFleet, name: str, **more: str) -> httpx.AsyncClient:
    """A client to one target; the caller closes it."""
    endpoint = fleet.endpoint(name)
    if endpoint.socket:
        transport = httpx.AsyncHTTPTransport(uds=str(endpoint.socket), verify=False)
        return httpx.AsyncClient(transport=transport, base_url="http://docker", timeout=20)
    headers = {"Authorization": f"Bearer {endpoint.token}", **more}
    return httpx.AsyncClient(base_url=endpoint.url, headers=headers, timeout=20, trust_env=False, verify=False)


@pytest.fixture
async def fleet() -> AsyncIterator[DemoFleet]:
    """The fleet, with a clock that stands at `NOW` until a test steps it."""
    async with DemoFleet(speed=0, now=NOW) as fleet:
        yield fleet


@pytest.fixture
async def atlas(fleet: DemoFleet) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the cluster with Flux."""
    async with client_of(fleet, "atlas") as client:
        yield client


@pytest.fixture
async def borealis(fleet: DemoFleet) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the cluster with Argo CD."""
    async with client_of(fleet, "borealis") as client:
        yield client


@pytest.fixture
async def harbour(fleet: DemoFleet) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the Swarm's manager."""
    async with client_of(fleet, "harbour") as client:
        yield client


@pytest.fixture
async def heron(fleet: DemoFleet) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a plain host."""
    async with client_of(fleet, "heron") as client:
        yield client
