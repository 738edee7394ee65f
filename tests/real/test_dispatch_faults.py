"""Applies through the engine on the real kustomize-controller, while servers stop, die and come back and people interfere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from console.engines.dispatch.constants import ConditionReason, Outcome, Timing
from console.engines.dispatch.faults import PermanentError, RetryableError, StaleError
from console.engines.dispatch.flux_reading import annotation, last_handled, suspended
from console.engines.dispatch.local import LocalTrigger, read_local
from console.engines.dispatch.requests import Report
from console.engines.dispatch.types import Operation
from console.errors import NotFound
from tests.engines.dispatch.local_console import LocalConsole
from tests.engines.dispatch.world import eventually
from tests.real import fleet
from tests.real.flux import FluxLab
from tests.real.flux_world import PATIENCE, RealFlux, condition_of, real_flux
from tests.real.kube_client import Object

HASTY = Timing(poll_interval=0.3, unresolved_after=3, unresolved_poll_max=1, status_retry_interval=0.5)
PATIENT = Timing(poll_interval=0.3, unresolved_after=600, status_retry_interval=0.5)


class Engine:
    """A Kustomization, and one console whose trigger holds it."""

    def __init__(self, world: RealFlux) -> None:
        self.world = world
        self.trigger = LocalTrigger(
            cluster="east",
            cluster_uid="uid-of-kube-system",
            kind="Kustomization",
            namespace=world.name.namespace,
            name=world.name.name,
            binding=world.binding,
            hold=True,
        )
        self.console = LocalConsole(world, self.trigger)

    async def until(self, outcome: Outcome) -> None:
        """Wait until that was reported."""
        await eventually(lambda: outcome.value in self.console.outcomes, PATIENCE)

    async def ask(self, commit: str) -> None:
        """Ask until it is asked: a controller's own status write in the wrong moment makes a request stale."""
        while isinstance(error := (await self.answer(commit)).error, StaleError | RetryableError):
            pass
        assert error is None

    async def answer(self, commit: str) -> Report:
        """Ask once; the first that is reported of it."""
        before = len(self.console.reports)
        self.console.request(commit)
        await eventually(lambda: len(self.console.reports) > before, PATIENCE)
        return self.console.reports[before]

    async def end(self) -> Operation:
        """Wait for the end of what was asked last, and for its record on the Kustomization, which is held again."""
        await eventually(lambda: self.console.reports[-1].last, PATIENCE)
        told = self.console.reports[-1].operation
        assert told is not None
        obj = await self.world.until(lambda obj: (_recorded(obj).token, _recorded(obj).outcome) == (told.token, told.outcome))
        assert suspended(obj)
        assert last_handled(obj) == annotation(obj), "nothing runs any more"
        return _recorded(obj)


def _recorded(obj: Object) -> Operation:
    operation = read_local(obj).operation
    assert operation is not None
    return operation


@asynccontextmanager
async def engine(flux: FluxLab, timing: Timing) -> AsyncIterator[Engine]:
    """A held Kustomization with health checks, and a running console."""
    async with real_flux(flux, timing=timing) as world:
        await world.begin(wait=True, timeout="5m")
        found = Engine(world)
        found.console.start()
        try:
            await found.console.triggers.hold(found.trigger)
            await world.until(lambda obj: suspended(obj) and last_handled(obj) == annotation(obj))
            yield found
        finally:
            await found.console.stop()


@pytest.fixture
async def hasty(flux: FluxLab) -> AsyncIterator[Engine]:
    """One to which an operation is overdue after three seconds."""
    async with engine(flux, HASTY) as found:
        yield found


@pytest.fixture
async def patient(flux: FluxLab) -> AsyncIterator[Engine]:
    """One to which no operation is ever overdue."""
    async with engine(flux, PATIENT) as found:
        yield found


@pytest.mark.scenario("dispatch:P17", "dispatch:F12", "dispatch:P5")
async def test_an_apply_whose_health_check_hangs_is_suspended_when_it_is_overdue_and_judged_when_it_ends(hasty: Engine) -> None:
    world, console = hasty.world, hasty.console
    commit = await world.push(slow=True)
    await hasty.ask(commit)
    await hasty.until(Outcome.UNRESOLVED)
    obj = await world.until(suspended)
    assert "health check" in condition_of(obj, "Reconciling")["message"], "its pass goes on all the same"
    assert console.events.reasons() == ["ApplyRequested", "ApplyUnresolved"]
    await world.let_go()
    ended = await hasty.end()
    assert (ended.outcome, ended.applied_revision) == (Outcome.SUCCEEDED, f"main@sha1:{commit}")
    assert console.outcomes[-2:] == ["Unresolved", "Succeeded"]

    unhealthy = await world.push(slow=True)
    await hasty.ask(unhealthy)
    await world.checking()
    await world.let_go(healthy=False)
    ended = await hasty.end()
    assert (ended.outcome, ended.applied_revision) == (Outcome.FAILED, f"main@sha1:{commit}")
    assert ended.message.startswith("HealthCheckFailed: ")
    assert await world.painted() == unhealthy, "its objects are there"


@pytest.mark.scenario("dispatch:P4", "dispatch:P6")
async def test_what_can_not_be_built_and_what_waits_for_another_end_as_failed_and_held(patient: Engine) -> None:
    world, console = patient.world, patient.console
    await patient.ask(await world.push(broken=True))
    assert (await patient.end()).message.startswith("BuildFailed: ")
    commit = await world.push()
    await world.patch({"spec": {"dependsOn": [{"name": "other"}]}})
    await world.until(lambda obj: last_handled(obj) == annotation(obj))
    await patient.ask(commit)
    ended = await patient.end()
    assert (ended.outcome, ended.message.partition(":")[0]) == (Outcome.FAILED, "DependencyNotReady")
    assert await world.painted() != commit
    await world.patch({"spec": {"dependsOn": None}})
    await patient.ask(commit)
    assert (await patient.end()).outcome is Outcome.SUCCEEDED
    assert console.events.reasons().count("ApplyFailed") == 1, "once for a run of failures"


@pytest.mark.scenario("dispatch:P15", "dispatch:P16")
async def test_a_controller_that_stands_still_in_mid_flight_is_waited_for_and_its_word_counts(hasty: Engine) -> None:
    world, console = hasty.world, hasty.console
    commit = await world.push(slow=True)
    await hasty.ask(commit)
    await world.checking()
    world.lab.hang()
    await hasty.until(Outcome.UNRESOLVED)
    await world.until(suspended)
    await world.let_go()
    world.lab.unhang()
    ended = await hasty.end()
    assert (ended.outcome, ended.applied_revision) == (Outcome.SUCCEEDED, f"main@sha1:{commit}")

    world.lab.hang()
    later = await world.push()
    await hasty.ask(later)
    await eventually(lambda: console.events.reasons().count("ApplyUnresolved") == 2, PATIENCE)
    await world.until(suspended)
    world.lab.unhang()
    ended = await hasty.end()
    # Whether it had taken up the resume before it learns of the suspend only the controller knows.
    if ended.outcome is Outcome.SUCCEEDED:
        assert (ended.applied_revision, await world.painted()) == (f"main@sha1:{later}", later)
    else:
        assert (ended.message, await world.painted()) == ("nothing ran since the apply was asked", commit)


@pytest.mark.scenario("dispatch:P25")
async def test_a_controller_killed_in_mid_flight_does_it_again_unless_it_was_suspended_meanwhile(hasty: Engine) -> None:
    world = hasty.world
    await hasty.ask(await world.push(slow=True))
    await world.checking()
    await world.stop()
    await hasty.until(Outcome.UNRESOLVED)
    await world.until(suspended)
    await world.start()
    ended = await hasty.end()
    assert (ended.outcome, "interrupted" in ended.message) == (Outcome.FAILED, True)


@pytest.mark.scenario("dispatch:P18", "dispatch:F12")
async def test_a_controller_that_cancels_health_checks_is_told_by_our_suspend_to_do_so(hasty: Engine) -> None:
    world = hasty.world
    await asyncio.to_thread(world.lab.restart, "--feature-gates=CancelHealthCheckOnNewRevision=true")
    commit = await world.push(slow=True)
    await hasty.ask(commit)
    await world.checking()
    ended = await hasty.end()
    assert (ended.outcome, ended.message.partition(":")[0]) == (Outcome.FAILED, "HealthCheckCanceled")
    assert await world.painted() == commit, "its objects are there"


@pytest.mark.scenario("dispatch:P19")
async def test_a_controller_killed_and_an_api_server_killed_in_mid_flight_are_outlived(patient: Engine) -> None:
    world = patient.world
    commit = await world.push(slow=True)
    await patient.ask(commit)
    await world.checking()
    await world.stop()
    await world.start()
    await asyncio.to_thread(world.lab.kube.kill_server)
    await asyncio.to_thread(world.lab.kube.start)
    await world.let_go()
    ended = await patient.end()
    obj = await world.shop()
    assert (ended.outcome, ended.applied_revision) == (Outcome.SUCCEEDED, obj["status"]["lastAppliedRevision"])
    assert ended.applied_revision.endswith(commit)


@pytest.mark.scenario("dispatch:P21", "dispatch:P26")
async def test_a_kustomization_deleted_in_mid_flight_is_not_suspended_and_takes_its_objects_along(hasty: Engine) -> None:
    world, console = hasty.world, hasty.console
    await hasty.ask(await world.push(slow=True))
    await world.checking()
    await world.delete(wait=False)
    await hasty.until(Outcome.UNRESOLVED)
    assert not suspended(await world.shop()), "suspended it would leave its objects"
    await world.let_go()
    report = await console.done()
    assert report.operation is not None
    assert (report.operation.outcome, "deleted" in report.operation.message) == (Outcome.FAILED, True)

    async def gone() -> bool:
        try:
            await world.shop()
        except NotFound:
            return not await world.applied_objects()
        return False

    await eventually(gone, PATIENCE)


@pytest.mark.scenario("dispatch:P7", "dispatch:R15")
async def test_a_source_repointed_in_mid_flight_is_told_truly(patient: Engine) -> None:
    world = patient.world
    commit = await world.push(slow=True)
    await patient.ask(commit)
    await world.checking()
    other = fleet.git_repository(world.name.namespace, "other", commit="7" * 40)
    live = await asyncio.to_thread(world.lab.kube.client.get, fleet.FLUX_SOURCE, "GitRepository", world.name.namespace, "shop")
    other["status"]["artifact"] = {**live["status"]["artifact"], "revision": f"main@sha1:{'7' * 40}"}
    await asyncio.to_thread(world.lab.kube.client.put, other)
    await world.patch({"spec": {"sourceRef": {"name": "other"}}})
    await world.let_go()
    ended = await patient.end()
    revision = (await world.shop())["status"]["lastAppliedRevision"]
    assert (ended.outcome, ended.applied_revision) == (Outcome.SUCCEEDED, revision)
    # Its next pass begins at once; whether that one or our suspend was first is up to the controller.
    assert revision.endswith(commit) or "was applied instead" in ended.message or "was applied after it" in ended.message
    await world.patch({"spec": {"sourceRef": {"name": "elsewhere"}}})
    source = {**other, "metadata": {**other["metadata"], "name": "elsewhere"}}
    source["spec"] = {**other["spec"], "url": "https://git.example.test/team/elsewhere.git"}
    await asyncio.to_thread(world.lab.kube.client.put, source)
    report = await patient.answer(commit)
    assert isinstance(report.error, PermanentError)
    assert report.error.reason is ConditionReason.SOURCE_MISMATCH
    assert suspended(await world.shop())


@pytest.mark.scenario("dispatch:R25", "dispatch:X14", "dispatch:F13")
async def test_of_two_engines_that_ask_at_once_one_applies_and_a_held_one_that_is_deleted_leaves_its_objects(
    patient: Engine,
) -> None:
    world, first = patient.world, patient.console
    second = LocalConsole(world, patient.trigger)
    second.start()
    try:
        commit = await world.push()
        before = (await world.shop())["metadata"]["generation"]
        first.request(commit)
        second.request(commit)
        await asyncio.gather(first.done(), second.done())
        obj = await world.until(lambda obj: not _recorded(obj).in_flight and last_handled(obj) == annotation(obj))
        assert suspended(obj)
        assert obj["metadata"]["generation"] == before + 2, "resumed once, suspended once"
        ends = [console.reports[-1] for console in (first, second)]
        (winner,) = [end.operation for end in ends if end.operation is not None]
        (loser,) = [end.error for end in ends if end.error is not None]
        assert (winner.outcome, winner.token) == (Outcome.SUCCEEDED, _recorded(obj).token)
        assert any(word in str(loser) for word in ("in flight", "changed")), loser
    finally:
        await second.stop()
    await world.delete()
    assert await world.painted() == commit
