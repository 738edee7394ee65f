"""Every version of one object on a real API server, as a watch shows them."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import httpx

from tests.real.kube import KubeServer
from tests.real.kube_client import Object


@asynccontextmanager
async def versions(kube: KubeServer, collection: str, name: str) -> AsyncIterator[list[Object]]:
    """Every version from now on, in order; `collection` is the path of its kind in its namespace.

    The last one of a deleted object carries what it was when it went. The list grows while the context is open.
    """
    seen: list[Object] = []
    trust = ssl.create_default_context(cafile=kube.authority)
    headers = {"Authorization": f"Bearer {kube.token()}"}
    async with httpx.AsyncClient(base_url=kube.url, headers=headers, verify=trust, timeout=120, trust_env=False) as client:
        now = (await client.get(f"{collection}/{name}")).raise_for_status().json()
        where = {
            "watch": "1",
            "fieldSelector": f"metadata.name={name}",
            "resourceVersion": now["metadata"]["resourceVersion"],
        }
        async with client.stream("GET", collection, params=where) as answer:

            async def follow() -> None:
                async for line in answer.aiter_lines():
                    seen.append(json.loads(line)["object"])

            task = asyncio.create_task(follow())
            try:
                yield seen
            finally:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
