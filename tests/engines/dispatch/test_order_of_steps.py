"""Steps whose order decides, and what a restart must not do too early."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta

import msgspec
import pytest

from console.engines.dispatch.admission import admit
from console.engines.dispatch.clients import ClusterClients
from console.engines.dispatch.constants import LOCAL_RECORD, ConditionReason, Outcome, Reason
from console.engines.dispatch.faults import PermanentError, RetryableError
from console.engines.dispatch.flux_step import apply_verdict
from console.engines.dispatch.records import read_operation
from console.engines.dispatch.types import ApplierKey, Binding, Operation
from console.engines.ports.applier import CLUSTER_PROVIDERS, FLUX_TRIGGERS, GIT_REPOSITORIES, KUSTOMIZATIONS, JsonObject
from console.errors import Conflict, Forbidden
from tests.engines.dispatch.flux_steps import asked
from tests.engines.dispatch.local_console import TRIGGER, local, recorded
from tests.engines.dispatch.reverser import Console, OneCluster, consoles, set_up
from tests.engines.dispatch.world import SHOP, A, Asking, B, eventually, simulated, to_the_end

pytestmark = pytest.mark.looptime


@pytest.mark.scenario("dispatch:R16", "dispatch:R20")
async def test_not_even_a_fetch_is_asked_for_what_another_manager_suspends() -> None:
    async with simulated() as world:
        world.parent_sets(True)
        world.new_writes()
        with pytest.raises(PermanentError) as caught:
            await world.client.request(SHOP, Asking(commit="").ask())
        assert caught.value.reason is ConditionReason.SUSPEND_OWNED_ELSEWHERE
        assert not world.api.writes()


@pytest.mark.scenario("dispatch:R8", "dispatch:R3")
async def test_a_commit_that_is_applied_but_no_longer_offered_is_not_called_current() -> None:
    async with simulated() as world:
        await world.push(B)
        world.patch(GIT_REPOSITORIES, {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "now"}}})
        await eventually(lambda: B in world.g["status"]["artifact"]["revision"])
        world.new_writes()
        with pytest.raises(RetryableError, match="cannot fetch"):
            await world.client.request(SHOP, Asking(commit=A, reason=Reason.CATCH_UP).ask())
        assert len(world.api.writes(GIT_REPOSITORIES)) == 1
        assert not world.api.writes(KUSTOMIZATIONS)


@pytest.mark.scenario("dispatch:P16", "dispatch:P25")
async def test_what_was_applied_before_is_told_when_nothing_ran_or_it_was_interrupted() -> None:
    async with simulated() as world:
        started = await asked(world)
        world.api.calls.clear()
        revision = f"main@sha1:{A}"
        started.resume_generation = 99
        ran_not = apply_verdict({"status": {"lastAppliedRevision": revision}}, started, 1, final=True)
        assert ran_not is not None
        assert (ran_not.outcome, ran_not.applied_revision) == (Outcome.FAILED, revision)
        conditions = [{"type": "Ready", "status": "Unknown", "observedGeneration": 99}]
        state = {"status": {"conditions": conditions, "lastAppliedRevision": revision}}
        cut = apply_verdict(state, started, 1, final=True)
        assert cut is not None
        assert (cut.outcome, cut.applied_revision) == (Outcome.FAILED, revision)
        assert apply_verdict(state, started, 1, final=False) is None
        assert apply_verdict({"status": {}}, started, 1, final=False) is None


@pytest.mark.scenario("dispatch:X6")
@pytest.mark.parametrize(("seconds", "seen"), [(-1.0, True), (-1.5, False), (0.0, True), (30.0, True)])
async def test_without_guards_only_what_ended_since_the_record_counts(seconds: float, seen: bool) -> None:
    async with simulated() as world:
        started = await asked(world)
        started.resume_generation = started.guard_generation = 0
        when = (started.requested_at + timedelta(seconds=seconds)).isoformat()
        by_ready = {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": when}]}
        by_history = {"conditions": [{"type": "Ready", "status": "True"}], "history": [{"lastReconciled": when}, {}]}
        for state in (by_ready, by_history):
            verdict = apply_verdict({"status": state}, started, 1.0, final=False)
            assert (verdict is not None) is seen


@pytest.mark.scenario("dispatch:X7")
async def test_nothing_is_read_for_a_recovered_operation_before_the_start() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            world.kustomize.apply_seconds = 30
            console.request(A, Reason.REPAIR)
            await eventually(lambda: console.operation().get("outcome") == "Running")
            await console.stop()
            left = read_operation(console.operation(), "shop")
        assert left is not None
        second = Console(world, world.api)
        second.writer.start()
        world.new_writes()
        second.request(A, Reason.REPAIR, recovered=left)
        await asyncio.sleep(60)
        assert world.api.reads["Kustomization"] == 0
        assert not world.api.writes()
        second.dispatcher.start()
        await second.done()
        await second.stop()


@pytest.mark.scenario("dispatch:X14")
async def test_an_applier_stays_busy_while_its_operation_is_followed_again_after_a_crash() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            world.kustomize.apply_seconds = 60
            console.request(A, Reason.REPAIR)
            await eventually(lambda: "Running" in console.outcomes)
            attempt = next(iter(console.dispatcher._attempts.values()))
            look, broken = attempt._look, iter([True])

            async def crash(started: object) -> bool:
                if next(broken, False):
                    raise ZeroDivisionError
                return await look(started)  # type: ignore[arg-type]

            attempt._look = crash  # type: ignore[method-assign]
            await asyncio.sleep(10)
            assert next(broken, None) is None, "it crashed"
            console.request(A, Reason.REPAIR)
            await eventually(lambda: console.error is not None)
            assert "busy" in str(console.error)
            await console.done(2)
            assert console.outcomes[-1] == "Succeeded"


@pytest.mark.scenario("dispatch:W4")
async def test_a_status_that_changes_during_every_try_is_written_later() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            world.api.fail("replace", FLUX_TRIGGERS, Conflict("changed", status=409), times=6)
            console.request(A, Reason.REPAIR)
            await console.done()
            assert isinstance(console.error, RetryableError)
            assert "changed during each try to record" in console.error.message
            assert not world.resumes
            world.kustomize.apply_seconds = 20
            console.request(A, Reason.REPAIR)
            await eventually(lambda: "Running" in console.outcomes)
            world.api.fail("replace", FLUX_TRIGGERS, Conflict("changed", status=409), times=20)
            await console.done(2)
            await eventually(lambda: console.operation()["outcome"] == "Succeeded", 60)


async def test_fields_of_a_local_record_that_we_do_not_know_are_kept() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            world.kustomize.apply_seconds = 20
            console.request(A)
            await eventually(lambda: "Running" in console.outcomes)
            await asyncio.sleep(1)
            value = json.loads(world.k["metadata"]["annotations"][LOCAL_RECORD])
            value["operation"]["future"] = 1
            world.patch(KUSTOMIZATIONS, {"metadata": {"annotations": {LOCAL_RECORD: json.dumps(value)}}})
            await console.done()
            await eventually(lambda: not recorded(world).operation.in_flight)
            assert json.loads(world.k["metadata"]["annotations"][LOCAL_RECORD])["operation"]["future"] == 1


@pytest.mark.scenario("dispatch:R26")
async def test_nothing_is_recorded_on_an_applier_that_begins_to_be_deleted() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            await world.kustomize.stop()
            await world.delete(wait=False)
            with pytest.raises(RetryableError, match="is being deleted"):
                await console.writer.record(TRIGGER.ref, Operation(token="T", reason=Reason.REPAIR, outcome=Outcome.REQUESTED))
            assert recorded(world).operation is None


async def test_what_this_console_holds_itself_is_fit_to_be_driven() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            assert recorded(world).holding
            verdict = await console.triggers.validate(TRIGGER)
            assert (verdict.ok, verdict.reason) == (True, ConditionReason.SUCCEEDED)


@pytest.mark.scenario("dispatch:P9")
async def test_a_confirmed_resume_that_is_stamped_over_before_anybody_saw_it_is_waited_for() -> None:
    async with simulated() as world:
        world.kustomize.apply_seconds = 20
        started = await asked(world)
        await world.flux("reconcile")
        running = await world.client.progress(SHOP, started)
        assert (running.outcome, started.seen, world.suspends) == (Outcome.RUNNING, False, 0)
        ended = await to_the_end(world, started)
        assert ended.outcome is Outcome.SUCCEEDED
        assert world.k["spec"]["suspend"] is True


async def test_a_hold_that_is_refused_is_not_noted() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world, held=False) as console:
            elsewhere = msgspec.structs.replace(TRIGGER, binding=Binding("https://git.example.test/other", "main"))
            with pytest.raises(PermanentError) as caught:
                await console.triggers.hold(elsewhere)
            assert caught.value.reason is ConditionReason.SOURCE_MISMATCH
            assert not world.api.writes(KUSTOMIZATIONS)
            assert not recorded(world).holding


@pytest.mark.scenario("dispatch:R23", "dispatch:W17")
async def test_the_journal_says_of_a_withdrawn_operation_that_nothing_was_asked() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            world.api.fail("apply", KUSTOMIZATIONS, Forbidden("no", status=403))
            console.request(A)
            await console.done()
            assert isinstance(console.reports[-1].error, PermanentError)
            await eventually(lambda: recorded(world).operation is None)
            assert [line.outcome for line in console.log.lines] == [Outcome.REQUESTED, Outcome.FAILED]
            assert len({line.token for line in console.log.lines}) == 1
            assert "withdrawn" in console.log.lines[-1].message
            console.request(A)
            await console.done(2)
            await eventually(lambda: recorded(world).operation.outcome is Outcome.SUCCEEDED)
            assert console.log.lines[-1].outcome is Outcome.SUCCEEDED


@pytest.mark.scenario("dispatch:J9")
@pytest.mark.parametrize(
    "spec", [{}, {"allowedNamespaces": None}, {"allowedNamespaces": {}}, {"allowedNamespaces": {"names": []}}]
)
async def test_a_provider_that_says_nothing_admits_nobody(spec: JsonObject) -> None:
    async with simulated() as world:
        world.api.create(CLUSTER_PROVIDERS, {"metadata": {"name": "mute"}, "spec": spec})
        answer = await admit(world.api, "mute", "team-a")
        assert (answer.ok, answer.reason) == (False, ConditionReason.NAMESPACE_NOT_AUTHORIZED)


async def test_no_client_drives_an_unknown_kind() -> None:
    async with simulated() as world:
        clients = ClusterClients(OneCluster(world.api), world.clock, world.tokens)
        with pytest.raises(PermanentError, match="HelmRelease is no kind of applier"):
            await clients.client(ApplierKey("default", "HelmRelease", "a", "b"))
