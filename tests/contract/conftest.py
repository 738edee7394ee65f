"""One test body over the simulated API server and over a real one."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator

import httpx
import pytest

from console.demo.fleet import DemoFleet
from tests.contract.ground import Ground
from tests.real.kube import KubeServer


@pytest.fixture(params=["demo", "real"])
async def ground(request: pytest.FixtureRequest) -> AsyncIterator[Ground]:
    """A name for one Kustomization on a server that acts by itself in no way."""
    if request.param == "real":
        kube: KubeServer = request.getfixturevalue("kube")
        headers = {"Authorization": f"Bearer {kube.token()}"}
        verify = ssl.create_default_context(cafile=kube.authority)
        async with httpx.AsyncClient(base_url=kube.url, headers=headers, verify=verify, timeout=30, trust_env=False) as client:
            yield Ground(client, "real", kube.namespace())
        return
    async with DemoFleet(speed=0) as fleet:
        endpoint = fleet.endpoint("atlas")
        headers = {"Authorization": f"Bearer {endpoint.token}"}
        async with httpx.AsyncClient(base_url=endpoint.url, headers=headers, trust_env=False, verify=False) as client:
            yield Ground(client, "demo")
