"""An engine killed (-9) at every request of an apply by a real Argo CD: no sync runs twice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from console.engines.dispatch.constants import ARGOCD_INITIATOR, Outcome
from tests.crash.engine_child import Order
from tests.crash.held import in_flight, recorded
from tests.crash.tap import Tap
from tests.crash.test_every_point import LANES, Lane, every_point
from tests.real.argocd import NAMESPACE, ArgoLab
from tests.real.argocd_world import RealArgo, real_argo
from tests.real.git import GitServer

COMPLETE = ("Succeeded", "Failed", "Error")


class ArgoLane:
    """An Application; each case applies a commit of its own."""

    def __init__(self, world: RealArgo, state: Path) -> None:
        self._world = world
        self._state = state

    def tap(self) -> Tap:
        kube = self._world.lab.kube
        return Tap(kube.url, str(kube.authority))

    def order(self, port: int) -> Order:
        world = self._world
        return Order(
            address=f"http://127.0.0.1:{port}",
            token=world.lab.kube.token(),
            kind="Application",
            namespace=NAMESPACE,
            name=world.name.name,
            url=world.binding.url,
            state=str(self._state),
        )

    async def commit(self) -> str:
        return await self._world.push()

    async def read(self) -> dict[str, Any]:
        return await self._world.app()

    def rests(self, raw: dict[str, Any]) -> bool:
        phase = raw.get("status", {}).get("operationState", {}).get("phase", "Succeeded")
        return "operation" not in raw and phase in COMPLETE and in_flight(raw) is None

    def check(self, before: dict[str, Any], after: dict[str, Any], commit: str) -> str:
        """What is wrong, "" for nothing."""
        entries = after.get("status", {}).get("history", [])
        ran = [entry for entry in entries if entry["revision"] == commit]
        if len(ran) > 1 or any(entry["initiatedBy"]["username"] != ARGOCD_INITIATOR for entry in ran):
            return f"synced {len(ran)} times"
        operation = recorded(after)
        if operation == recorded(before):
            return "it was synced without a record" if ran else ""
        assert operation is not None
        succeeded = operation.outcome is Outcome.SUCCEEDED
        return "" if succeeded is bool(ran) else f"recorded as {operation}, synced: {bool(ran)}"


@pytest_asyncio.fixture
async def lanes(argocd: ArgoLab, git: GitServer, tmp_path: Path) -> AsyncIterator[list[Lane]]:
    """Applications of their own, compared once."""
    async with AsyncExitStack() as stack:
        found: list[Lane] = []
        for number in range(LANES):
            world = await stack.enter_async_context(real_argo(argocd, git))
            await world.begin()
            found.append(ArgoLane(world, tmp_path / str(number)))
        yield found


@pytest.mark.scenario("dispatch:AC34", "dispatch:AC35", "dispatch:W18")
async def test_at_every_point_of_an_apply_by_argo_cd(lanes: list[Lane]) -> None:
    # The journal is written as for a Kustomization.
    # How often it is looked at meanwhile differs from run to run.
    assert await every_point(lanes, journal=False) >= 10
