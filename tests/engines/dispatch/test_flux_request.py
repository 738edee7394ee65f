"""Requests to a Kustomization: the source, the record and the order of things."""

from __future__ import annotations

import asyncio

import pytest

from console.engines.dispatch.constants import REQUESTED_AT, ConditionReason, Reason, RequestOutcome
from console.engines.dispatch.faults import PermanentError, RetryableError, StaleError
from console.engines.ports.applier import GIT_REPOSITORIES, KUSTOMIZATIONS
from console.errors import Forbidden
from tests.engines.dispatch.world import MANAGER, SHOP, A, Asking, B, C, repository, simulated

pytestmark = pytest.mark.looptime


@pytest.mark.scenario("dispatch:R1")
async def test_a_held_kustomization_is_resumed_by_one_guarded_write_after_the_record() -> None:
    async with simulated() as world:
        await world.push(C)
        await world.client._flux.stamp(world.g)
        await asyncio.sleep(5)
        world.new_writes()
        before = world.k
        asking = Asking(commit=C)
        asking.while_recording = lambda: order.append(len(world.api.writes()))
        order: list[int] = []
        started = await world.client.request(SHOP, asking.ask())
        assert started.outcome is RequestOutcome.RESUMED
        assert order == [0], "the record comes before the write"
        (call,) = world.api.writes()
        assert call.body == {
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
            "kind": "Kustomization",
            "metadata": {
                "name": "shop",
                "namespace": "flux-system",
                "uid": before["metadata"]["uid"],
                "resourceVersion": before["metadata"]["resourceVersion"],
                "annotations": {REQUESTED_AT: "T"},
            },
            "spec": {"suspend": False},
        }
        assert (call.manager, call.force) == (MANAGER, True)
        assert asking.recorded[0].resource_version == before["metadata"]["resourceVersion"]
        assert started.resume_generation == world.k["metadata"]["generation"]


@pytest.mark.scenario("dispatch:R2", "dispatch:R3")
@pytest.mark.parametrize("reason", [Reason.FOREIGN_COMMIT, Reason.CATCH_UP])
async def test_a_commit_that_is_applied_is_not_applied_again(reason: Reason) -> None:
    async with simulated() as world:
        started = await world.client.request(SHOP, Asking(commit=A, reason=reason).ask())
        assert started.outcome is RequestOutcome.CURRENT
        assert not world.api.writes()


@pytest.mark.scenario("dispatch:R4")
@pytest.mark.parametrize("reason", [Reason.REFUSAL, Reason.REPAIR])
async def test_a_refusal_or_a_repair_applies_the_unchanged_commit_again(reason: Reason) -> None:
    async with simulated() as world:
        started = await world.client.request(SHOP, Asking(commit=A, reason=reason).ask())
        assert started.outcome is RequestOutcome.RESUMED
        assert len(world.resumes) == 1


@pytest.mark.scenario("dispatch:R5")
@pytest.mark.parametrize(("attempted", "status"), [(B, "False"), (B, "True"), (A, "False")])
async def test_a_commit_is_not_current_when_another_was_attempted_or_the_last_apply_failed(attempted: str, status: str) -> None:
    async with simulated() as world:
        world.kustomization_status(lastAttemptedRevision=f"main@sha1:{attempted}")
        world.kustomize.set_ready(SHOP.namespace, SHOP.name, status, "HealthCheckFailed", "half-way")
        started = await world.client.request(SHOP, Asking(commit=A, reason=Reason.CATCH_UP).ask())
        assert started.outcome is RequestOutcome.RESUMED


@pytest.mark.scenario("dispatch:R6")
async def test_a_commit_is_not_current_while_a_request_is_not_handled() -> None:
    async with simulated() as world:
        await world.kustomize.stop()
        await world.flux("reconcile")
        started = await world.client.request(SHOP, Asking(commit=A, reason=Reason.CATCH_UP).ask())
        assert started.outcome is RequestOutcome.RESUMED


@pytest.mark.scenario("dispatch:R7")
async def test_the_source_is_asked_to_fetch_and_waited_for() -> None:
    async with simulated() as world:
        await world.push(C)
        started = await world.client.request(SHOP, Asking(commit=C).ask())
        assert started.outcome is RequestOutcome.RESUMED
        assert [call.kind for call in world.api.writes()] == ["GitRepository", "Kustomization"]
        stamp = world.api.writes(GIT_REPOSITORIES)[0].body
        assert stamp["metadata"]["uid"] == world.g["metadata"]["uid"]
        assert "spec" not in stamp
        assert world.g["status"]["artifact"]["revision"] == f"main@sha1:{C}"


@pytest.mark.scenario("dispatch:R8")
async def test_a_fetch_that_ends_on_another_commit_fails_and_names_it() -> None:
    async with simulated() as world:
        await world.push(B)
        asking = Asking(commit=C)
        with pytest.raises(RetryableError, match=f"it holds main@sha1:{B}"):
            await world.client.request(SHOP, asking.ask())
        assert not asking.recorded
        assert not world.api.writes(KUSTOMIZATIONS)


@pytest.mark.scenario("dispatch:R9")
async def test_a_fetch_for_a_decision_that_ended_meanwhile_is_stale() -> None:
    async with simulated() as world:
        await world.push(B)
        asking = Asking(commit=C)
        world.api.before("apply", GIT_REPOSITORIES, lambda: setattr(asking, "stands", False))
        with pytest.raises(StaleError):
            await world.client.request(SHOP, asking.ask())
        assert not world.api.writes(KUSTOMIZATIONS)


@pytest.mark.scenario("dispatch:R10")
async def test_a_failed_fetch_says_why() -> None:
    async with simulated() as world:
        world.remote.refuses = "authentication required"
        with pytest.raises(RetryableError, match="GitOperationFailed: authentication required"):
            await world.client.request(SHOP, Asking(commit=C).ask())


@pytest.mark.scenario("dispatch:R11")
async def test_a_suspended_source_is_said_to_be_suspended() -> None:
    async with simulated() as world:
        await world.push(C)
        world.patch(GIT_REPOSITORIES, {"spec": {"suspend": True}})
        with pytest.raises(RetryableError, match="the source is suspended"):
            await world.client.request(SHOP, Asking(commit=C).ask())


@pytest.mark.scenario("dispatch:R13")
async def test_a_stamp_over_ours_ends_the_fetch_when_it_is_handled() -> None:
    async with simulated() as world:
        await world.source.stop()
        await world.push(B)

        async def stamp_over() -> None:
            await asyncio.sleep(3)
            world.patch(GIT_REPOSITORIES, {"metadata": {"annotations": {REQUESTED_AT: "X"}}}, "flux")
            world.source.start()

        task = asyncio.create_task(stamp_over())
        with pytest.raises(RetryableError, match=f"it holds main@sha1:{B}"):
            await asyncio.wait_for(world.client.request(SHOP, Asking(commit=C).ask()), 30)
        await task
        assert world.g["status"]["lastHandledReconcileAt"] == "X"


@pytest.mark.scenario("dispatch:R14")
@pytest.mark.parametrize("reason", list(Reason)[:4])
async def test_a_source_on_another_branch_is_refused(reason: Reason) -> None:
    async with simulated() as world:
        world.patch(GIT_REPOSITORIES, {"spec": {"ref": {"branch": "dev"}}})
        with pytest.raises(PermanentError, match="'dev'") as caught:
            await world.client.request(SHOP, Asking(reason=reason).ask())
        assert caught.value.reason is ConditionReason.SOURCE_MISMATCH
        assert not world.api.writes()


@pytest.mark.scenario("dispatch:R15")
async def test_the_live_source_is_compared_not_the_published_one() -> None:
    async with simulated() as world:
        world.api.create(GIT_REPOSITORIES, repository("other", url="https://git.example.test/team/other.git"))
        world.patch(KUSTOMIZATIONS, {"spec": {"sourceRef": {"name": "other"}}})
        with pytest.raises(PermanentError, match=r"team/other\.git") as caught:
            await world.client.request(SHOP, Asking().ask())
        assert caught.value.reason is ConditionReason.SOURCE_MISMATCH


@pytest.mark.scenario("dispatch:R16")
@pytest.mark.parametrize("reason", [Reason.FOREIGN_COMMIT, Reason.REPAIR])
async def test_an_empty_commit_only_has_the_source_look(reason: Reason) -> None:
    async with simulated() as world:
        started = await world.client.request(SHOP, Asking(commit="", reason=reason).ask())
        assert (started.outcome, started.token) == (RequestOutcome.CURRENT, "")
        assert [call.kind for call in world.api.writes()] == ["GitRepository"]


@pytest.mark.scenario("dispatch:R17")
async def test_an_empty_commit_whose_stamp_is_refused_is_an_error() -> None:
    async with simulated() as world:
        world.api.fail("apply", GIT_REPOSITORIES, Forbidden("no", status=403))
        with pytest.raises(RetryableError):
            await world.client.request(SHOP, Asking(commit="").ask())
        assert not world.api.writes(KUSTOMIZATIONS)
