"""The resume: what must still be so just before it, and what its answer means."""

from __future__ import annotations

import asyncio

import pytest

from console.engines.dispatch.constants import ConditionReason, Reason, RequestOutcome
from console.engines.dispatch.faults import PermanentError, RetryableError, StaleError
from console.engines.dispatch.flux_reading import suspend_owners
from console.engines.dispatch.types import Binding
from console.engines.ports.applier import GIT_REPOSITORIES, KUSTOMIZATIONS
from console.errors import Forbidden, UnclearAnswer, Unreachable
from tests.engines.dispatch.world import MANAGER, SHOP, A, Asking, C, D, kustomization, repository, simulated

pytestmark = pytest.mark.looptime


@pytest.mark.scenario("dispatch:R18")
async def test_a_kustomization_replaced_during_the_fetch_is_left_alone() -> None:
    async with simulated() as world:
        await world.push(C)
        world.api.before("apply", GIT_REPOSITORIES, lambda: world.recreate(KUSTOMIZATIONS, kustomization(suspend=True)))
        asking = Asking(commit=C)
        with pytest.raises(StaleError):
            await world.client.request(SHOP, asking.ask())
        assert not world.api.writes(KUSTOMIZATIONS)
        assert not asking.recorded


async def test_a_source_replaced_during_the_request_makes_it_stale() -> None:
    async with simulated() as world:
        asking = Asking(commit=A, reason=Reason.REPAIR)
        again = {**repository(), "status": world.g["status"]}
        # The first read of the source is over when the Kustomization is read for the second time.
        world.api.before(
            "get",
            GIT_REPOSITORIES,
            lambda: world.api.before("get", KUSTOMIZATIONS, lambda: world.recreate(GIT_REPOSITORIES, again)),
        )
        with pytest.raises(StaleError, match="replaced"):
            await world.client.request(SHOP, asking.ask())
        assert not asking.recorded


@pytest.mark.scenario("dispatch:R19")
async def test_a_source_changed_during_the_fetch_is_a_mismatch() -> None:
    async with simulated() as world:
        await world.push(C)
        world.api.create(GIT_REPOSITORIES, repository("other"))
        change = {"spec": {"sourceRef": {"name": "other"}}}
        world.api.before("apply", GIT_REPOSITORIES, lambda: world.patch(KUSTOMIZATIONS, change))
        with pytest.raises(PermanentError) as caught:
            await world.client.request(SHOP, Asking(commit=C).ask())
        assert caught.value.reason is ConditionReason.SOURCE_MISMATCH


@pytest.mark.scenario("dispatch:R20")
async def test_a_manager_that_begins_to_apply_suspend_during_the_fetch_stops_us() -> None:
    async with simulated() as world:
        await world.push(C)
        world.api.before("apply", GIT_REPOSITORIES, lambda: world.parent_sets(True))
        with pytest.raises(PermanentError, match="kustomize-controller") as caught:
            await world.client.request(SHOP, Asking(commit=C).ask())
        assert caught.value.reason is ConditionReason.SUSPEND_OWNED_ELSEWHERE


@pytest.mark.scenario("dispatch:R21")
async def test_an_artifact_that_moves_on_before_the_resume_makes_it_stale() -> None:
    async with simulated() as world:
        asking = Asking(commit=A, reason=Reason.REPAIR)
        moved = {"artifact": {"revision": f"main@sha1:{D}"}}
        # The first read of the Kustomization is over, the second has not begun.
        world.api.before(
            "get",
            GIT_REPOSITORIES,
            lambda: world.api.before(
                "get",
                KUSTOMIZATIONS,
                lambda: world.source.write_status(SHOP.namespace, SHOP.name, lambda state: state.update(moved)),
            ),
        )
        with pytest.raises(StaleError, match=D):
            await world.client.request(SHOP, asking.ask())
        assert not asking.recorded


@pytest.mark.scenario("dispatch:R22")
async def test_a_decision_that_ends_before_the_record_asks_nothing() -> None:
    async with simulated() as world:
        asking = Asking(commit=A, reason=Reason.REPAIR)
        asking.stands = False
        with pytest.raises(StaleError):
            await world.client.request(SHOP, asking.ask())
        assert not asking.recorded
        assert not world.api.writes()


@pytest.mark.scenario("dispatch:R23")
async def test_a_decision_that_ends_while_recording_resumes_nothing() -> None:
    async with simulated() as world:
        asking = Asking(commit=A, reason=Reason.REPAIR)
        asking.while_recording = lambda: setattr(asking, "stands", False)
        with pytest.raises(StaleError):
            await world.client.request(SHOP, asking.ask())
        assert asking.recorded
        assert not world.api.writes()


@pytest.mark.scenario("dispatch:R24")
async def test_what_is_not_held_yet_is_not_resumed() -> None:
    async with simulated() as world:
        asking = Asking(commit=A, reason=Reason.REPAIR)
        asking.held_error = RetryableError("Held is False")
        with pytest.raises(RetryableError):
            await world.client.request(SHOP, asking.ask())
        assert not asking.recorded
        assert not world.api.writes()


@pytest.mark.scenario("dispatch:R27")
async def test_any_change_between_the_last_read_and_the_resume_makes_it_stale() -> None:
    async with simulated() as world:
        asking = Asking(commit=A, reason=Reason.REPAIR)
        asking.while_recording = lambda: world.patch(KUSTOMIZATIONS, {"metadata": {"labels": {"team": "a"}}})
        with pytest.raises(StaleError):
            await world.client.request(SHOP, asking.ask())
        assert world.k["spec"]["suspend"] is True


@pytest.mark.scenario("dispatch:R28")
async def test_a_forbidden_resume_is_permanent() -> None:
    async with simulated() as world:
        world.api.fail("apply", KUSTOMIZATIONS, Forbidden("no", status=403))
        with pytest.raises(PermanentError) as caught:
            await world.client.request(SHOP, Asking(commit=A, reason=Reason.REPAIR).ask())
        assert caught.value.reason is ConditionReason.FORBIDDEN


@pytest.mark.scenario("dispatch:R31")
async def test_a_connection_that_never_opened_resumed_nothing() -> None:
    async with simulated() as world:
        world.api.fail("apply", KUSTOMIZATIONS, Unreachable("connection refused"))
        with pytest.raises(RetryableError):
            await world.client.request(SHOP, Asking(commit=A, reason=Reason.REPAIR).ask())
        assert world.k["spec"]["suspend"] is True


@pytest.mark.scenario("dispatch:R32")
@pytest.mark.parametrize("done", [True, False])
async def test_a_resume_without_an_answer_is_sent_once(done: bool) -> None:
    async with simulated() as world:
        world.api.fail("apply", KUSTOMIZATIONS, UnclearAnswer("connection lost"), done=done)
        started = await world.client.request(SHOP, Asking(commit=A, reason=Reason.REPAIR).ask())
        assert started.outcome is RequestOutcome.RESUMED
        assert started.unconfirmed is not None
        assert started.resume_generation == 0
        assert len(world.resumes) == 1


async def test_a_resume_that_is_never_answered_is_unconfirmed_after_its_own_timeout() -> None:
    async with simulated() as world:
        world.api.hang("apply", KUSTOMIZATIONS, done=True)
        began = asyncio.get_running_loop().time()
        started = await world.client.request(SHOP, Asking(commit=A, reason=Reason.REPAIR).ask())
        assert started.unconfirmed is not None
        assert asyncio.get_running_loop().time() - began == pytest.approx(10, abs=1)


async def test_a_cancelled_request_still_says_what_became_of_its_resume() -> None:
    async with simulated() as world:
        world.api.latency = 1.0
        asking = Asking(commit=A, reason=Reason.REPAIR)
        task = asyncio.create_task(world.client.request(SHOP, asking.ask()))
        while not world.resumes:
            await asyncio.sleep(0.1)
        task.cancel()
        started = await task
        assert started.outcome is RequestOutcome.RESUMED
        assert started.resume_generation == world.k["metadata"]["generation"]


@pytest.mark.scenario("dispatch:R33")
async def test_a_kustomization_deleted_before_the_resume_is_not_made_anew() -> None:
    async with simulated() as world:
        asking = Asking(commit=A, reason=Reason.REPAIR)
        asking.while_recording = lambda: world.api._objects.pop(("Kustomization", SHOP.namespace, SHOP.name))
        with pytest.raises(StaleError):
            await world.client.request(SHOP, asking.ask())
        assert not world.api.exists(KUSTOMIZATIONS, SHOP.namespace, SHOP.name)


@pytest.mark.scenario("dispatch:R34")
async def test_the_resume_takes_the_field_from_an_updater_as_well() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(10)
        await world.flux("suspend")
        await world.client.suspend(SHOP)
        owners = suspend_owners(world.k, MANAGER)
        assert (owners.ours, owners.updaters) == (True, ("flux",))
        await asyncio.sleep(5)
        await world.client.request(SHOP, Asking(commit=A, reason=Reason.REPAIR).ask())
        owners = suspend_owners(world.k, MANAGER)
        assert world.k["spec"]["suspend"] is False
        assert (owners.ours, owners.appliers, owners.updaters) == (True, (), ())


async def test_a_kustomization_that_is_being_deleted_is_not_asked() -> None:
    async with simulated() as world:
        await world.kustomize.stop()
        world.api.delete(KUSTOMIZATIONS, SHOP.namespace, SHOP.name)
        with pytest.raises(PermanentError) as caught:
            await world.client.request(SHOP, Asking().ask())
        assert caught.value.reason is ConditionReason.APPLIER_NOT_FOUND


async def test_ssh_and_https_of_one_repository_are_one_binding() -> None:
    async with simulated() as world:
        want = Binding("git@git.example.test:team/shop", "main")
        started = await world.client.request(SHOP, Asking(commit=A).ask(want))
        assert started.outcome is RequestOutcome.CURRENT
