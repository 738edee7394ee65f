"""Applies through the engine on a real Argo CD while its parts die in mid-flight and come back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import msgspec
import pytest

from console.engines.dispatch.constants import ARGOCD_INITIATOR, Outcome, Timing
from console.engines.dispatch.local import LocalTrigger, read_local
from console.engines.dispatch.types import Operation
from tests.engines.dispatch.local_console import LocalConsole
from tests.engines.dispatch.world import eventually
from tests.real.argocd import NAMESPACE, ArgoLab
from tests.real.argocd_world import RealArgo, real_argo
from tests.real.git import GitServer
from tests.real.kube_client import Refused

PATIENCE = 90.0


class Engine:
    """An Application, and one console whose trigger drives it."""

    def __init__(self, world: RealArgo) -> None:
        self.world = world
        world.timing = Timing(poll_interval=0.3, unresolved_after=3, unresolved_poll_max=1, status_retry_interval=0.5)
        self.trigger = LocalTrigger(
            cluster="east",
            cluster_uid="uid-of-kube-system",
            kind="Application",
            namespace=NAMESPACE,
            name=world.name.name,
            binding=world.binding,
            hold=False,
        )
        self.console = LocalConsole(world, self.trigger)

    async def until(self, outcome: Outcome) -> None:
        await eventually(lambda: outcome.value in self.console.outcomes, PATIENCE)

    async def end(self) -> Operation:
        """Wait for the end of the last request, and for its record on the Application."""
        await eventually(self._over, PATIENCE, every=0.5)
        told = self.console.reports[-1].operation
        assert told is not None, self.console.reports[-1].error
        recorded: list[Operation] = []

        async def written() -> bool:
            found = read_local(await self.world.app()).operation
            recorded[:] = [found] if found is not None and found.token == told.token and not found.in_flight else []
            return bool(recorded)

        await eventually(written, PATIENCE)
        return recorded[0]

    async def _over(self) -> bool:
        # What Argo CD has not written down when a part of it dies it does again, a hook too.
        if await self.world.gate():
            with suppress(Refused):
                await self.world.let_go()
        return self.console.reports[-1].last

    async def synced(self, commit: str) -> int:
        """How often Argo CD says that it deployed a commit for us."""
        history = (await self.world.app())["status"].get("history", [])
        return sum(
            entry["revision"] == commit and entry["initiatedBy"].get("username") == ARGOCD_INITIATOR for entry in history
        )


@pytest.fixture
async def engine(argocd: ArgoLab, git: GitServer) -> AsyncIterator[Engine]:
    """An Application that Argo CD has compared, and a running console."""
    async with real_argo(argocd, git) as world:
        await world.begin()
        found = Engine(world)
        found.console.start()
        try:
            yield found
        finally:
            await found.console.stop()


@pytest.mark.scenario("dispatch:A4", "dispatch:AC17", "dispatch:AC33")
async def test_a_controller_killed_in_mid_flight_goes_on_with_the_same_operation(engine: Engine) -> None:
    world, console = engine.world, engine.console
    commit = await world.push()
    # It waits for the manifests, so that it has begun and applied nothing.
    world.lab.hang_repository()
    console.request(commit)
    await world.until_phase("Running")
    await asyncio.to_thread(world.lab.kill)
    await engine.until(Outcome.UNRESOLVED)
    assert console.events.reasons() == ["ApplyRequested", "ApplyUnresolved"]
    world.lab.unhang_repository()
    await asyncio.to_thread(world.lab.start)
    ended = await engine.end()
    assert (ended.outcome, ended.applied_revision, await engine.synced(commit)) == (Outcome.SUCCEEDED, commit, 1)


@pytest.mark.scenario("dispatch:A5", "dispatch:AC18")
async def test_an_operation_without_its_repository_server_and_cache_is_tried_again_as_the_same(engine: Engine) -> None:
    world, console = engine.world, engine.console
    soon = {"limit": 20, "backoff": {"duration": "2s", "factor": 1, "maxDuration": "2s"}}
    await world.patch({"spec": {"syncPolicy": {"retry": soon}}}, manager="git")
    commit = await world.push()
    await asyncio.to_thread(world.lab.kill_redis)
    await asyncio.to_thread(world.lab.kill_repository)
    console.request(commit)
    state = (await world.until(lambda app: app.get("status", {}).get("operationState", {}).get("retryCount")))["status"][
        "operationState"
    ]
    assert (state["phase"], state["operation"]["sync"]["revision"]) == ("Running", commit), "it could not be compared"
    await asyncio.to_thread(world.lab.start)
    ended = await engine.end()
    assert (ended.outcome, ended.applied_revision, await engine.synced(commit)) == (Outcome.SUCCEEDED, commit, 1)


@pytest.mark.scenario("dispatch:R25", "dispatch:AC9")
async def test_an_api_server_killed_in_mid_flight_is_outlived_and_of_two_engines_one_asks(engine: Engine) -> None:
    world, first = engine.world, engine.console
    slow = await world.push(slow=True)
    first.request(slow)
    await eventually(world.gate, PATIENCE)
    await asyncio.to_thread(world.lab.kube.kill_server)
    await asyncio.to_thread(world.lab.kube.start)
    await world.let_go()
    ended = await engine.end()
    assert (ended.outcome, ended.applied_revision, await engine.synced(slow)) == (Outcome.SUCCEEDED, slow, 1)

    second = LocalConsole(world, msgspec.structs.replace(engine.trigger))
    second.start()
    try:
        commit = await world.push()
        asked = len(first.reports)
        first.request(commit)
        second.request(commit)
        await eventually(lambda: first.reports[-1].last and len(first.reports) > asked, PATIENCE)
        await second.done()
    finally:
        await second.stop()
    ends = [console.reports[-1] for console in (first, second)]
    assert await engine.synced(commit) == 1
    (winner,) = [end.operation for end in ends if end.operation is not None]
    assert (winner.outcome, winner.applied_revision) == (Outcome.SUCCEEDED, commit)
    assert [end.error for end in ends if end.error is not None], "the other was refused"
