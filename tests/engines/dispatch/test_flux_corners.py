"""What a Kustomization shows when it is not as usual: other conditions first, another incarnation, an end that never comes."""

from __future__ import annotations

import asyncio

import pytest

from console.engines.dispatch.constants import ConditionReason, Outcome, Reason
from console.engines.dispatch.faults import PermanentError, RetryableError
from console.engines.dispatch.flux_reading import already_applied, read_ready, ready_condition, settled
from console.engines.dispatch.holding import keep_held
from console.engines.dispatch.records import read_operation
from console.engines.ports.applier import (
    ARTIFACT_GENERATORS,
    GIT_REPOSITORIES,
    GIT_TARGETS,
    HELM_CHARTS,
    HELM_RELEASES,
    KUSTOMIZATIONS,
    ApiKind,
    JsonObject,
)
from console.errors import ApiError, Forbidden, LoginExpired, QuarterdeckError, TimedOut, Unreachable
from tests.engines.dispatch.flux_steps import asked, restarted, step
from tests.engines.dispatch.reverser import Console, consoles, set_up
from tests.engines.dispatch.world import SHOP, A, Asking, C, eventually, kustomization, simulated, to_the_end

pytestmark = pytest.mark.looptime

ODD = [TimedOut("late"), ApiError("internal", status=500), Unreachable("refused")]


def status(**fields: object) -> JsonObject:
    conditions = [
        {"type": "Reconciling", "status": "True", "reason": "Progressing"},
        {"type": "Healthy", "status": "True"},
        {"type": "Ready", "status": "False", "reason": "BuildFailed", "message": "no such file"},
    ]
    return {"spec": {"suspend": True}, "status": {"conditions": conditions, **fields}}


async def test_the_ready_condition_is_found_among_others() -> None:
    assert (ready_condition(status()) or {})["reason"] == "BuildFailed"
    verdict = read_ready(status(), C)
    assert verdict is not None
    assert (verdict.outcome, verdict.message) == (Outcome.FAILED, "BuildFailed: no such file")
    revision = f"main@sha1:{C}"
    assert not already_applied(status(lastAppliedRevision=revision, lastAttemptedRevision=revision), C)


async def test_an_apply_of_nothing_is_told_as_such() -> None:
    obj = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    verdict = read_ready(obj, C)
    assert verdict is not None
    assert verdict.message == f"nothing was applied instead of {C}"


@pytest.mark.parametrize("error", ODD)
@pytest.mark.parametrize("kind", [KUSTOMIZATIONS, GIT_REPOSITORIES])
async def test_a_read_that_fails_inside_a_request_is_nobodys_configuration(error: QuarterdeckError, kind: ApiKind) -> None:
    async with simulated() as world:
        world.api.fail("get", kind, error)
        with pytest.raises(RetryableError, match="could not be read"):
            await world.client.request(SHOP, Asking(commit=A, reason=Reason.REPAIR).ask())
        assert not world.api.writes()


@pytest.mark.parametrize("error", [Forbidden("no", status=403), LoginExpired("401")])
async def test_what_may_not_be_read_or_written_is_permanent(error: QuarterdeckError) -> None:
    async with simulated() as world:
        world.api.fail("get", KUSTOMIZATIONS, error)
        with pytest.raises(PermanentError, match="may not be read"):
            await world.client.request(SHOP, Asking(commit=A, reason=Reason.REPAIR).ask())
        world.api.fail("apply", KUSTOMIZATIONS, error)
        with pytest.raises(PermanentError, match="could not be suspended"):
            await world.client.suspend(SHOP)


@pytest.mark.parametrize("error", ODD)
async def test_a_hold_or_a_release_that_fails_may_be_tried_again(error: QuarterdeckError) -> None:
    async with simulated() as world:
        world.api.fail("apply", KUSTOMIZATIONS, error)
        with pytest.raises(RetryableError, match="could not be suspended"):
            await world.client.suspend(SHOP)
        world.api.fail("apply", KUSTOMIZATIONS, error)
        with pytest.raises(RetryableError, match="could not be released"):
            await world.client.release(SHOP)
        world.api.fail("get", KUSTOMIZATIONS, error)
        with pytest.raises(RetryableError, match="could not be read"):
            await world.client.release(SHOP)
        assert world.k["spec"]["suspend"] is True


@pytest.mark.scenario("dispatch:X1", "dispatch:R30")
@pytest.mark.parametrize("how", ["recovered", "unconfirmed"])
async def test_a_resume_that_nobody_has_seen_is_fenced_off_by_the_first_look(how: str) -> None:
    async with simulated() as world:
        await world.kustomize.stop()
        started = await asked(world)
        started = restarted(world, started) if how == "recovered" else started
        if how == "unconfirmed":
            started.unconfirmed, started.resume_generation = TimedOut("late"), 0
        started.token = "never-arrived"
        settling = await step(world, started)
        assert settling.outcome is Outcome.SETTLING
        assert world.suspends == 1
        assert settling.suspend_token == started.suspend_token != ""


@pytest.mark.scenario("dispatch:P26")
async def test_what_is_being_deleted_is_not_suspended_again_whoever_resumed_it() -> None:
    async with simulated() as world:
        await world.kustomize.stop()
        started = await asked(world)
        started.overdue = True
        await step(world, started)
        await world.flux("resume")
        await world.delete(wait=False)
        world.new_writes()
        assert (await step(world, started)).outcome is Outcome.SETTLING
        assert not world.api.writes(KUSTOMIZATIONS)
        world.kustomize.start()
        assert (await to_the_end(world, started)).outcome is Outcome.FAILED
        assert world.kustomize.collected == [SHOP.name]


@pytest.mark.scenario("dispatch:P22", "dispatch:X1")
async def test_a_recovered_operation_knows_its_kustomization_from_another_of_its_name() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            world.kustomize.apply_seconds = 30
            console.request(A, Reason.REPAIR)
            await eventually(lambda: console.operation().get("outcome") == "Running")
            await console.stop()
            left = read_operation(console.operation(), "shop")
        assert left is not None
        world.recreate(KUSTOMIZATIONS, kustomization())
        world.new_writes()
        async with consoles(world) as second:
            second.request(A, Reason.REPAIR, recovered=left)
            await second.done()
            operation = second.reports[-1].operation
            assert operation is not None
            assert (operation.outcome, "replaced" in operation.message) == (Outcome.FAILED, True)
            assert not world.api.writes(KUSTOMIZATIONS)


async def test_a_refused_request_is_reported_once_and_once_only() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            world.api.fail("get", GIT_TARGETS, TimedOut("late"))
            world.api.fail("list", GIT_TARGETS, TimedOut("late"))
            console.request(A, Reason.REPAIR)
            await asyncio.sleep(60)
            assert len(console.reports) == 1
            assert console.events.reasons() == ["ApplyRequestFailed"]
            world.patch(GIT_REPOSITORIES, {"spec": {"ref": {"branch": "dev"}}})
            console.request(A, Reason.REPAIR)
            await asyncio.sleep(60)
            assert len(console.reports) == 2
            assert isinstance(console.error, PermanentError)
            assert not console.dispatcher._desk.slots


@pytest.mark.scenario("dispatch:X19")
async def test_a_generator_of_other_sources_is_no_consumer() -> None:
    async with simulated() as world:
        other = {"kind": "GitRepository", "name": "other"}
        bucket = {"kind": "Bucket", "name": SHOP.name}
        metadata = {"name": "apps", "namespace": SHOP.namespace}
        world.api.create(ARTIFACT_GENERATORS, {"metadata": metadata, "spec": {"sources": [other, bucket]}})
        world.api.create(KUSTOMIZATIONS, kustomization("elsewhere", sourceRef=other))
        assert [consumer.name for consumer in await world.client.consumers(SHOP)] == [SHOP.name]


async def test_a_record_on_a_trigger_names_the_version_that_the_resume_is_bound_to() -> None:
    async with simulated() as world:
        set_up(world)
        before = world.k["metadata"]
        async with consoles(world) as console:
            console.request(A, Reason.REPAIR)
            await console.done()
            record = read_operation(console.operation(), "shop")
            assert record is not None
            guards = (record.applier_uid, record.guard_generation)
            assert guards == (before["uid"], before["generation"])
            resume = world.resumes[0]["metadata"]
            assert record.guard_resource_version == resume["resourceVersion"] == before["resourceVersion"]


@pytest.mark.scenario("dispatch:X7")
async def test_a_request_before_the_start_fails_once_and_takes_nothing() -> None:
    async with simulated() as world:
        set_up(world)
        console = Console(world, world.api)
        console.request(A, Reason.REPAIR)
        await asyncio.sleep(60)
        assert [str(report.error) for report in console.reports] == ["the dispatcher is not started"]
        assert not console.dispatcher._desk.slots
        assert not world.api.writes()
        await console.stop()


@pytest.mark.scenario("dispatch:W15")
async def test_a_cluster_that_refuses_is_reported_once_with_its_cause() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            console.clusters.refusing = {"default"}
            console.request(A, Reason.REPAIR)
            await asyncio.sleep(60)
            (report,) = console.reports
            assert isinstance(report.error, RetryableError)
            assert isinstance(report.error.__cause__, Unreachable)
            assert "could not be asked: default cannot be reached" in report.error.message
            assert console.events.reasons() == ["ApplyRequestFailed"]
            assert not console.dispatcher._desk.slots


@pytest.mark.scenario("dispatch:L2")
async def test_what_is_resumed_already_is_not_taken_back_to_be_released() -> None:
    async with simulated() as world:
        await world.flux("suspend")
        world.patch(KUSTOMIZATIONS, {"spec": {"suspend": False}}, "flux")
        world.new_writes()
        assert await world.client.release(SHOP) == ""
        assert [call.body.get("spec") for call in world.api.writes(KUSTOMIZATIONS)] == [None]


@pytest.mark.scenario("dispatch:X19")
@pytest.mark.parametrize(("namespace", "counts"), [("flux-system", True), ("elsewhere", False), ("", True)])
async def test_a_release_of_a_chart_counts_by_the_namespace_of_the_chart(namespace: str, counts: bool) -> None:
    async with simulated() as world:
        metadata = {"name": "c", "namespace": SHOP.namespace}
        world.api.create(
            HELM_CHARTS[0], {"metadata": metadata, "spec": {"sourceRef": {"kind": "GitRepository", "name": "shop"}}}
        )
        chart = {"kind": "HelmChart", "name": "c", "namespace": namespace}
        home = SHOP.namespace if not namespace else "apps"
        world.api.create(HELM_RELEASES[0], {"metadata": {"name": "r", "namespace": home}, "spec": {"chartRef": chart}})
        assert ("HelmRelease" in [consumer.kind for consumer in await world.client.consumers(SHOP)]) is counts


async def test_a_hold_whose_suspend_is_not_handled_yet_is_no_hold_yet() -> None:
    async with simulated() as world:
        await world.kustomize.stop()
        await world.client.suspend(SHOP)
        world.new_writes()
        condition, again = await keep_held(world.client, SHOP, applying=False, fresh=False)
        assert (condition.status, condition.reason, again) == ("False", ConditionReason.SUSPENDING, True)
        assert not world.api.writes()
        world.kustomize.start()
        await eventually(lambda: settled(world.k))
        condition, again = await keep_held(world.client, SHOP, applying=False, fresh=False)
        assert (condition.status, condition.reason, again) == ("True", ConditionReason.SUSPENDED, False)


@pytest.mark.scenario("dispatch:V9", "dispatch:V11")
async def test_a_review_that_fails_or_denies_makes_nothing_fit() -> None:
    async with simulated() as world:
        world.api.fail("review", KUSTOMIZATIONS, TimedOut("late"))
        unknown = await world.client.validate(SHOP)
        assert (unknown.ok, unknown.reason) == (False, ConditionReason.FAILED)
        assert unknown.error is not None
        world.api.denied = {("patch", "GitRepository")}
        denied = await world.client.validate(SHOP)
        assert (denied.ok, denied.reason, denied.error) == (False, ConditionReason.FORBIDDEN, None)
        assert unknown.source is not None
        assert unknown.source == denied.source


@pytest.mark.scenario("dispatch:V4", "dispatch:V5", "dispatch:V7", "dispatch:V3")
async def test_whatever_stands_in_the_way_is_never_called_fit() -> None:
    async with simulated() as world:
        world.patch(GIT_REPOSITORIES, {"spec": {"ref": {"tag": "v1"}}})
        assert not (await world.client.validate(SHOP)).ok
        world.patch(GIT_REPOSITORIES, {"spec": {"ref": {"tag": None}}})
        assert (await world.client.validate(SHOP)).ok
        world.parent_sets(True)
        assert not (await world.client.validate(SHOP)).ok
        world.patch(KUSTOMIZATIONS, {"spec": {"sourceRef": {"kind": "Bucket"}}})
        assert not (await world.client.validate(SHOP)).ok
        world.api._objects.pop(("Kustomization", SHOP.namespace, SHOP.name))
        assert not (await world.client.validate(SHOP)).ok
