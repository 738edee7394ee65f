"""Local triggers: the record on the applier, the journal before it, and keeping off what others drive."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from console.engines.dispatch.constants import LOCAL_RECORD, ConditionReason, Outcome, Reason
from console.engines.dispatch.faults import PermanentError, RetryableError, StaleError
from console.engines.dispatch.local import Declarations, read_local
from console.engines.dispatch.requests import PrefetchRequest
from console.engines.dispatch.types import Operation
from console.engines.ports.applier import (
    FLUX_TRIGGERS,
    GIT_REPOSITORIES,
    HELM_RELEASES,
    KUSTOMIZATIONS,
    JsonObject,
)
from console.errors import ProtocolError, TimedOut, UnclearAnswer
from tests.engines.dispatch.local_console import TRIGGER, LocalConsole, local, recorded
from tests.engines.dispatch.reverser import flux_trigger, put
from tests.engines.dispatch.world import SHOP, WANT, A, C, eventually, simulated

pytestmark = pytest.mark.looptime


async def test_an_apply_is_recorded_on_the_applier_and_in_the_journal() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            assert recorded(world).holding
            await world.push(C)
            console.request(C, Reason.FOREIGN_COMMIT)
            await console.done()
            assert console.outcomes[0] == "Requested"
            assert console.outcomes[-1] == "Succeeded"
            await eventually(lambda: recorded(world).operation.outcome is Outcome.SUCCEEDED)
            assert [line.outcome for line in console.log.lines][:1] == [Outcome.REQUESTED]
            assert console.log.lines[-1] == recorded(world).operation
            assert recorded(world).holding, "the hold is no business of the status writer"
            assert world.k["spec"]["suspend"] is True
            assert console.events.reasons() == ["ApplyRequested"]


async def test_the_record_comes_before_the_resume_and_the_resume_is_bound_to_it() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            console.request(A)
            await console.done()
            verbs = [call.verb for call in world.api.writes(KUSTOMIZATIONS)]
            assert verbs[:2] == ["merge", "apply"]
            (resume,) = world.resumes
            assert resume["metadata"]["annotations"].keys() == {"reconcile.fluxcd.io/requestedAt"}
            assert len(console.log.lines) > 1


async def test_a_change_just_before_the_record_makes_it_stale() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            label: JsonObject = {"metadata": {"labels": {"a": "b"}}}
            world.api.before("merge", KUSTOMIZATIONS, lambda: world.patch(KUSTOMIZATIONS, label))
            console.request(A)
            await console.done()
            assert isinstance(console.reports[-1].error, StaleError)
            assert not world.resumes
            await eventually(lambda: recorded(world).operation is None)


async def test_a_record_whose_answer_was_lost_is_not_resumed_on_trust() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            world.api.fail("merge", KUSTOMIZATIONS, UnclearAnswer("connection lost"), done=True)
            console.request(A)
            await console.done()
            assert isinstance(console.reports[-1].error, StaleError)
            assert not world.resumes
            await eventually(lambda: recorded(world).operation is None)


@pytest.mark.scenario("dispatch:W17")
async def test_a_journal_that_cannot_be_written_keeps_everything_off_the_cluster() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            console.log.full = True
            console.request(A)
            await console.done()
            assert isinstance(console.reports[-1].error, RetryableError)
            assert "disk is full" in console.reports[-1].error.message
            assert not world.api.writes()


@pytest.mark.scenario("dispatch:W18")
async def test_a_process_killed_between_the_record_and_the_write_is_settled() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            # The process dies with the resume unsent: it hangs, and nothing of the rest is run.
            world.api.hang("apply", KUSTOMIZATIONS)
            console.request(A)
            await eventually(lambda: recorded(world).operation)
            await console.stop()
        second = LocalConsole(world)
        second.start()
        found, unread = await second.triggers.in_flight()
        assert unread == []
        ((trigger, operation),) = found
        assert trigger == TRIGGER
        second.request(A, recovered=operation)
        await second.done()
        assert second.outcomes[-1] == "Failed"
        await eventually(lambda: recorded(world).operation.outcome is Outcome.FAILED)
        assert recorded(world).operation.message == "nothing ran since the apply was asked"
        assert await second.triggers.in_flight() == ([], [])
        await second.stop()


async def test_a_cluster_that_cannot_be_read_is_not_taken_for_one_without_operations() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            world.api.fail("get", KUSTOMIZATIONS, TimedOut("no answer"))
            assert await console.triggers.in_flight() == ([], [TRIGGER])


@pytest.mark.scenario("dispatch:W20")
async def test_a_second_operation_of_another_console_is_refused() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            world.kustomize.apply_seconds = 30
            console.request(A)
            await eventually(lambda: "Running" in console.outcomes)
            other = LocalConsole(world)
            other.start()
            with pytest.raises(RetryableError, match="in flight"):
                await other.writer.record(
                    TRIGGER.ref, Operation(token="other", reason=Reason.REPAIR, outcome=Outcome.REQUESTED)
                )
            await other.stop()
            await console.done()
            assert console.outcomes[-1] == "Succeeded"


@pytest.mark.scenario("dispatch:W21")
async def test_a_kustomization_that_a_custom_trigger_names_is_left_to_it() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            world.api.unserved = set()
            put(world.api, flux_trigger("theirs"))
            verdict = await console.triggers.validate(TRIGGER)
            assert verdict.reason is ConditionReason.HELD_BY_ANOTHER_TRIGGER
            assert "FluxTrigger team-a/theirs" in verdict.message
            console.request(A)
            await console.done()
            error = console.reports[-1].error
            assert isinstance(error, PermanentError)
            assert error.reason is ConditionReason.HELD_BY_ANOTHER_TRIGGER
            with pytest.raises(PermanentError):
                await console.triggers.hold(TRIGGER)
            assert not world.api.writes(KUSTOMIZATIONS)
            assert not world.api.writes(FLUX_TRIGGERS)


async def test_a_hold_of_a_namesake_is_not_taken_for_ours_until_the_user_says_so() -> None:
    async with simulated() as world:
        world.api.unserved = {"FluxTrigger"}
        console = LocalConsole(world)
        verdict = await console.triggers.validate(TRIGGER)
        assert verdict.reason is ConditionReason.HELD_BY_ANOTHER_TRIGGER
        assert "gitops-reverser" in verdict.message
        confirmed = msgspec.structs.replace(TRIGGER, confirmed=True)
        assert (await console.triggers.validate(confirmed)).ok


@pytest.mark.scenario("dispatch:W22")
async def test_one_cluster_by_two_connections_gives_one_trigger() -> None:
    declarations = Declarations()
    assert declarations.adopt(TRIGGER) == ""
    assert declarations.adopt(TRIGGER) == "", "again by the same connection is no second one"
    again = msgspec.structs.replace(TRIGGER, cluster="east-by-vpn")
    assert "already a trigger by the connection east" in declarations.adopt(again)
    assert declarations.all() == (TRIGGER,)
    elsewhere = msgspec.structs.replace(TRIGGER, cluster="west", cluster_uid="another")
    assert declarations.adopt(elsewhere) == ""
    declarations.drop(TRIGGER.ref)
    assert declarations.all() == (elsewhere,)


async def test_a_declaration_carries_its_own_consent_and_binding() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            console.request(A, Reason.REFUSAL)
            await console.done()
            assert isinstance(console.reports[-1].error, StaleError)
            console.declarations.adopt(msgspec.structs.replace(TRIGGER, revert_refused_edits=True))
            console.request(A, Reason.REFUSAL)
            await console.done(2)
            assert console.outcomes[-1] == "Succeeded"
            dev = msgspec.structs.replace(TRIGGER, binding=msgspec.structs.replace(WANT, branch="dev"))
            assert (await console.triggers.validate(dev)).reason is ConditionReason.SOURCE_MISMATCH
            console.declarations.adopt(dev)
            console.request(A)
            await console.done(3)
            assert isinstance(console.reports[-1].error, StaleError)
            console.declarations.drop(TRIGGER.ref)
            console.request(A)
            await console.done(4)
            assert isinstance(console.reports[-1].error, StaleError)


@pytest.mark.parametrize("shared", [False, True])
async def test_a_source_is_fetched_ahead_only_by_its_sole_consumer(shared: bool) -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        if shared:
            chart = {"spec": {"sourceRef": {"kind": "GitRepository", "name": "shop"}}}
            world.api.create(
                HELM_RELEASES[0], {"metadata": {"name": "r", "namespace": SHOP.namespace}, "spec": {"chart": chart}}
            )
        async with local(world) as console:
            console.dispatcher.prefetch_source(PrefetchRequest(trigger=TRIGGER.ref, key=TRIGGER.key, commit=C))
            await asyncio.sleep(2)
            assert len(world.api.writes(GIT_REPOSITORIES)) == (0 if shared else 1)


def test_a_record_that_cannot_be_understood_is_an_error() -> None:
    for annotation in ("{", "[]", '{"operation": {"token": 1}}'):
        with pytest.raises(ProtocolError):
            read_local({"metadata": {"annotations": {LOCAL_RECORD: annotation}}})
