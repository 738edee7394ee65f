"""An engine killed (-9) at every request and every journal write of an apply: the next one settles what it left, truthfully."""

from __future__ import annotations

import asyncio
import itertools
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Protocol

import httpx
import msgspec
import pytest
import pytest_asyncio

from console.demo.fleet import DemoFleet
from console.engines.dispatch.constants import Outcome
from console.engines.dispatch.types import Operation
from tests.cli.running import ROOT
from tests.crash.engine_child import Order, engine_of
from tests.crash.held import Held, RealStage, at_rest, in_flight, recorded, until
from tests.crash.tap import Tap
from tests.real.flux import FluxLab

LANES = 5
PATIENCE = 90.0


class Point(msgspec.Struct, frozen=True):
    """Where a process dies: `before` or `after` its `count`-th request on the wire, or write of its journal."""

    when: str
    count: int
    journal: bool = False

    def __str__(self) -> str:
        return f"{self.when} {'journal write' if self.journal else 'request'} {self.count}"


class Lane(Protocol):
    """An applier on which one apply after another is killed."""

    def tap(self) -> Tap: ...
    def order(self, port: int) -> Order: ...
    async def commit(self) -> str: ...
    async def read(self) -> dict[str, Any]: ...
    def rests(self, raw: dict[str, Any]) -> bool: ...
    def check(self, before: dict[str, Any], after: dict[str, Any], commit: str) -> str: ...


class FluxLane:
    """A held Kustomization; each case applies a commit of its own, or the same one again."""

    def __init__(self, held: Held, state: Path, push: Callable[[], Any]) -> None:
        self._held = held
        self._state = state
        self._push = push

    def tap(self) -> Tap:
        return self._held.tap()

    def order(self, port: int) -> Order:
        held = self._held
        return Order(
            address=f"http://127.0.0.1:{port}",
            token=held.endpoint.token,
            kind="Kustomization",
            namespace=held.namespace,
            name=held.name,
            url=held.url,
            state=str(self._state),
        )

    async def commit(self) -> str:
        pushed = str(await self._push())
        return pushed or str((await self.read())["status"]["lastAppliedRevision"]).rpartition(":")[2]

    async def read(self) -> dict[str, Any]:
        return await self._held.read()

    def rests(self, raw: dict[str, Any]) -> bool:
        return at_rest(raw)

    def check(self, before: dict[str, Any], after: dict[str, Any], commit: str) -> str:
        """What is wrong, "" for nothing."""
        # Each change of spec.suspend is a generation: one resume and one suspend, or nothing.
        changed = after["metadata"]["generation"] - before["metadata"]["generation"]
        if changed not in (0, 2):
            return f"{changed} changes of the spec"
        applied = str(after["status"]["lastAppliedRevision"]).endswith(commit)
        again = str(before["status"]["lastAppliedRevision"]).endswith(commit)
        operation = recorded(after)
        if operation == recorded(before):
            return "it was resumed without a record" if changed or (applied and not again) else ""
        assert operation is not None
        if changed == 0:
            return "" if _nothing(operation) and (again or not applied) else f"recorded as {operation}"
        if again:
            return ""
        # Whether the pass came before the suspend of the next engine is up to the controller; the record must say which.
        return "" if (operation.outcome is Outcome.SUCCEEDED) is applied else f"recorded as {operation}, applied: {applied}"


def _nothing(operation: Operation) -> bool:
    return operation.outcome is Outcome.FAILED and "nothing ran" in operation.message


class Killer:
    """Watches the requests of one process and kills it at its point; `lines` are all that it sent."""

    def __init__(self, point: Point | None, tap: Tap) -> None:
        self._point = point
        self._tap = tap
        self.lines: list[str] = []
        self.child: asyncio.subprocess.Process | None = None
        self._after: asyncio.Task[None] | None = None
        tap.before_request = self._request

    async def _request(self, line: str) -> None:
        self.lines.append(line)
        point = self._point
        if point is None or point.journal or len(self.lines) != point.count:
            return
        assert self.child is not None
        if point.when == "before":
            self.child.kill()
            raise ConnectionResetError("the engine was killed before its request left")
        self._tap.answered.clear()
        self._tap.mode = "hold"
        self._after = asyncio.create_task(self._kill_when_answered())

    async def _kill_when_answered(self) -> None:
        await self._tap.answered.wait()
        assert self.child is not None
        self.child.kill()

    async def run(self, order: Order) -> tuple[int, str]:
        """Run the process to its end, violent or not; its exit code and what it said."""
        if self._point is not None and self._point.journal:
            order = msgspec.structs.replace(order, point=f"{self._point.when} {self._point.count}")
        self.child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.crash.engine_child", msgspec.json.encode(order).decode()),
            cwd=ROOT,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(PATIENCE):
                out, _ = await self.child.communicate()
        finally:
            if self.child.returncode is None:
                self.child.kill()
                await self.child.wait()
            self._tap.before_request, self._tap.mode = None, "pass"
            if self._after is not None:
                self._after.cancel()
                await asyncio.gather(self._after, return_exceptions=True)
        return self.child.returncode or 0, out.decode().strip()


async def settle(lane: Lane, order: Order) -> None:
    """The next engine, until nothing is left to do."""
    async with engine_of(order):

        async def rests() -> bool:
            return lane.rests(await lane.read())

        await until(rests)


async def one(lane: Lane, point: Point | None) -> tuple[list[str], str]:
    """One apply with one death; returns the requests of the process and what is wrong."""
    commit = await lane.commit()
    before = await lane.read()
    async with lane.tap() as tap:
        order = lane.order(tap.port)
        killer = Killer(point, tap)
        code, said = await killer.run(msgspec.structs.replace(order, commit=commit))
        if code != -signal.SIGKILL:
            # The number of polls differs from run to run, so a late point may not be reached.
            wrong = "" if code == 0 and said == "Succeeded" else f"exit {code}: {said}"
        else:
            await settle(lane, order)
            wrong = ""
        after = await lane.read()
    if not wrong:
        wrong = lane.check(before, after, commit) if lane.rests(after) else f"not at rest: {in_flight(after)}"
    return killer.lines, wrong and f"{point}: {wrong}"


async def every_point(lanes: list[Lane], *, journal: bool = True) -> int:
    """One apply to count, then one for every point; returns how many there were."""
    lines, wrong = await one(lanes[0], None)
    assert not wrong
    points = [Point("before", count) for count in range(1, len(lines) + 1)]
    points += [Point("after", count) for count, line in enumerate(lines, 1) if line.startswith(("PATCH", "PUT"))]
    # Each record is journaled before it is put on the applier.
    records = sum(line.startswith("PATCH") for line in lines) if journal else 0
    points += [Point(when, count, journal=True) for count in range(1, records + 1) for when in ("before", "after")]
    queue, found = iter(points), []

    async def work(lane: Lane) -> None:
        for point in queue:
            _, told = await one(lane, point)
            found.append(told)

    async with asyncio.TaskGroup() as group:
        for lane in lanes:
            group.create_task(work(lane))
    assert not any(found), "\n".join(filter(None, found))
    return len(points)


async def hold(lane: Lane) -> None:
    """Have an engine hold it."""
    async with lane.tap() as tap, engine_of(lane.order(tap.port)) as (engine, trigger):
        await engine.hold(trigger)

        async def rests() -> bool:
            return lane.rests(await lane.read())

        await until(rests)


async def _again() -> str:
    return ""


@pytest_asyncio.fixture
async def demo(tmp_path: Path) -> AsyncIterator[list[Lane]]:
    """Kustomizations of their own on the demo's simulated controller."""
    async with DemoFleet(speed=10) as fleet:
        endpoint = fleet.endpoint("atlas")
        collection = "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations"
        headers = {"Authorization": f"Bearer {endpoint.token}"}
        lanes: list[Lane] = []
        async with httpx.AsyncClient(base_url=endpoint.url, headers=headers, trust_env=False, timeout=30) as client:
            made = (await client.get(f"{collection}/infrastructure")).raise_for_status().json()
            # Its people go on committing; what is applied here is the same commit again and again.
            source = collection.replace("kustomize.", "source.").replace("kustomizations", "gitrepositories") + "/fleet"
            merge = {"Content-Type": "application/merge-patch+json"}
            (await client.patch(source, json={"spec": {"suspend": True}}, headers=merge)).raise_for_status()
            for number in range(LANES):
                name = f"crash-{number}"
                body = {"apiVersion": made["apiVersion"], "kind": made["kind"], "metadata": {"name": name}}
                body["spec"] = {"prune": False, **{key: made["spec"][key] for key in ("interval", "path", "sourceRef")}}
                answer = await client.post(collection, json=body)
                assert answer.status_code == 201, answer.text
                held = Held(endpoint, "", "flux-system", name, "https://git.example.test/platform/fleet.git")
                lanes.append(FluxLane(held, tmp_path / name, _again))
        for lane in lanes:

            async def applied(lane: Lane = lane) -> bool:
                return "lastAppliedRevision" in (await lane.read()).get("status", {})

            await until(applied)
            await hold(lane)
        yield lanes


@pytest.mark.scenario("dispatch:X1", "dispatch:X2", "dispatch:X3", "dispatch:X4", "dispatch:W18")
async def test_at_every_point_of_an_apply_over_the_simulated_controller(demo: list[Lane]) -> None:
    assert await every_point(demo) >= 15


@pytest.mark.scenario("dispatch:X1", "dispatch:X2", "dispatch:X3", "dispatch:X4", "dispatch:W18")
async def test_at_every_point_of_an_apply_over_the_real_controller(flux: FluxLab, tmp_path: Path) -> None:
    stage = RealStage(flux)
    lanes: list[Lane] = []
    for number in itertools.islice(itertools.count(), LANES):
        held = await stage.make()

        async def push(held: Held = held) -> str:
            return await stage.commit(held)

        lanes.append(FluxLane(held, tmp_path / str(number), push))
        await hold(lanes[-1])
    assert await every_point(lanes) >= 15
