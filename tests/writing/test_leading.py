"""A cluster whose triggers have no engine: this console becomes it, leads, and hands the Lease back. Over the demo."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from console.config.fleet import Fleet
from console.config.settings import Settings
from console.demo.fleet import DemoFleet
from console.errors import Forbidden, Refused
from console.model.operations import State
from console.model.plan import Intent
from console.model.refs import Ref
from console.model.trigger_report import TriggerReport
from console.runtime.discovery import discover
from console.runtime.runtime import Runtime
from console.views.cells import Context
from console.views.describe import as_text
from console.views.trigger_sheet import sheet

PAYMENTS = Ref("borealis", "ArgoCDTrigger", "team-b", "payments-eu")
ON_ATLAS = Ref("atlas", "FluxTrigger", "team-a", "payments")
PLACE = ("gitops-reverser-system", "gitops-reverser")


@pytest_asyncio.fixture
async def demo() -> AsyncIterator[DemoFleet]:
    async with DemoFleet(speed=20) as fleet:
        yield fleet


@pytest_asyncio.fixture
async def console(demo: DemoFleet, tmp_path: Path) -> AsyncIterator[Runtime]:
    targets = discover(demo.write_config(tmp_path / "found"), Fleet()).targets
    async with Runtime(Settings(), Fleet(), targets, connect=("atlas", "borealis"), state=tmp_path / "state") as runtime:
        await until(lambda: _both(runtime))
        for name in ("atlas", "borealis"):
            runtime.arming.arm(name)
        yield runtime


async def _both(runtime: Runtime) -> bool:
    return runtime.dispatching is not None and {"atlas", "borealis"} <= set(runtime.dispatching.engines)


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while not await true():
            await asyncio.sleep(0.02)


def lease(demo: DemoFleet) -> dict[str, Any]:
    found = demo.world.clusters["borealis"].store.find("Lease", *PLACE)
    return dict(found["spec"]) if found else {}


async def report(console: Runtime, ref: Ref) -> TriggerReport:
    found = await console.trigger_report(ref)
    assert found is not None
    return found


async def done(console: Runtime, verb: str, ref: Ref) -> State:
    plan = await console.commands.plan(Intent(verb=verb, targets=(ref,)))
    return await console.commands.wait(await console.commands.run(plan, plan.confirmation))


async def test_the_lease_is_taken_over_led_with_and_handed_back(demo: DemoFleet, console: Runtime) -> None:
    assert "take-over" in console.commands.verbs(PAYMENTS)
    before = await report(console, PAYMENTS)
    assert "No engine is alive" in before.driver[0]
    assert [(item.who, item.state) for item in before.written] == [("GitTarget team-b/payments-eu", "eligible")]

    assert await done(console, "take-over", PAYMENTS) is State.SUCCEEDED
    assert lease(demo)["holderIdentity"].startswith("quarterdeck-")
    assert "This console is the engine" in (await report(console, PAYMENTS)).driver[0]
    again = await console.commands.plan(Intent(verb="take-over", targets=(PAYMENTS,)))
    assert (again.steps, again.nothing) == ((), "this console is the engine already")
    taken = lease(demo)["renewTime"]

    async def renewed() -> bool:
        return bool(lease(demo)["renewTime"] != taken)

    await until(renewed)

    assert await done(console, "hand-back", PAYMENTS) is State.SUCCEEDED
    assert lease(demo)["holderIdentity"] == ""
    assert "No engine is alive" in (await report(console, PAYMENTS)).driver[0]
    nothing = await console.commands.plan(Intent(verb="hand-back", targets=(PAYMENTS,)))
    assert nothing.nothing == "this console is not the engine"


async def test_a_console_that_ends_gives_its_lease_back(demo: DemoFleet, tmp_path: Path) -> None:
    targets = discover(demo.write_config(tmp_path / "found"), Fleet()).targets
    async with Runtime(Settings(), Fleet(), targets, connect=("borealis",), state=tmp_path / "state") as runtime:
        assert runtime.dispatching is not None
        engines = runtime.dispatching.engines

        async def met() -> bool:
            return "borealis" in engines

        await until(met)
        runtime.arming.arm("borealis")
        assert await done(runtime, "take-over", PAYMENTS) is State.SUCCEEDED
        assert lease(demo)["holderIdentity"] != ""
    assert lease(demo)["holderIdentity"] == ""


async def test_a_live_engine_is_not_pushed_aside(console: Runtime) -> None:
    with pytest.raises(Refused, match="gitops-reverser-manager-0 is the engine, and it is alive"):
        await console.commands.plan(Intent(verb="take-over", targets=(ON_ATLAS,)))
    assert "gitops-reverser-manager-0 is the engine" in (await report(console, ON_ATLAS)).driver[0]


async def test_without_the_engines_namespace_it_is_said_beforehand_how_to_go_on(demo: DemoFleet, console: Runtime) -> None:
    store = demo.world.clusters["borealis"].store
    store.remove(store.by_word["Namespace"], "", PLACE[0])
    with pytest.raises(Refused, match=f"The namespace {PLACE[0]}, .* does not exist on borealis") as refusal:
        await console.commands.plan(Intent(verb="take-over", targets=(PAYMENTS,)))
    assert f"kubectl create namespace {PLACE[0]}" in refusal.value.hint


async def test_a_trigger_says_whether_what_is_written_is_what_is_applied(console: Runtime) -> None:
    good = await report(console, ON_ATLAS)
    (written,) = good.written
    assert (written.repository, written.branch) == ("https://git.example.test/shop/payments.git", "release")
    assert (written.state, written.differs, good.branch) == ("eligible", (), "release")
    assert good.configured is not None and (good.configured.status, good.configured.reason) == ("True", "Succeeded")
    other = await report(console, Ref("atlas", "FluxTrigger", "team-a", "search"))
    assert other.configured is not None
    assert (other.configured.status, other.configured.reason) == ("False", "SourceMismatch")
    assert [item.differs for item in other.written] == [("repository",)]
    assert "shop/live.git is written" in other.written[0].why
    text = as_text(sheet(other, console.store.get(other.ref), Context(console.clock.now()), 120))
    assert "≠" in text and "GitTarget team-a/search may not ask it" in text


async def test_a_lease_that_could_not_be_taken_is_not_taken_later(demo: DemoFleet, console: Runtime) -> None:
    plan = await console.commands.plan(Intent(verb="take-over", targets=(PAYMENTS,)))
    await demo.fail("borealis", "forbidden:Lease")
    assert console.dispatching is not None
    engine = console.dispatching.engines["borealis"]
    with pytest.raises(Forbidden):
        await engine.claim()
    await demo.heal("borealis")
    assert not engine.leadership.held and not engine.claims
    assert lease(demo) == {}
    assert await console.commands.wait(await console.commands.run(plan, plan.confirmation)) is State.SUCCEEDED


async def test_only_the_engine_applies_a_commit_for_a_trigger_and_its_record_says_so(demo: DemoFleet, console: Runtime) -> None:
    with pytest.raises(Refused, match="This console is not the engine"):
        await console.commands.plan(Intent(verb="apply", targets=(PAYMENTS,)))
    assert await done(console, "take-over", PAYMENTS) is State.SUCCEEDED
    plan = await console.commands.plan(Intent(verb="apply", targets=(PAYMENTS,), arguments={"because": "Repair"}))
    assert "For team-b/payments-eu." in plan.effects
    assert await console.commands.wait(await console.commands.run(plan, plan.confirmation)) is State.SUCCEEDED
    trigger = demo.world.clusters["borealis"].store.find("ArgoCDTrigger", PAYMENTS.namespace, PAYMENTS.name)
    assert trigger is not None
    record = trigger["status"]["operation"]
    assert (record["outcome"], record["commit"], record["reason"]) == ("Succeeded", plan.steps[0].request["commit"], "Repair")
    assert await done(console, "hand-back", PAYMENTS) is State.SUCCEEDED
    with pytest.raises(Refused, match="This console is not the engine"):
        await console.commands.plan(Intent(verb="apply", targets=(PAYMENTS,)))
