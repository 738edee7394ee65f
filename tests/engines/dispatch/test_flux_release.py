"""Handing a Kustomization back to Flux, and who else applies a source."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from console.engines.dispatch.constants import REQUESTED_AT, ConditionReason
from console.engines.dispatch.faults import NotPrefetchedError, PermanentError, PrefetchHeldError, RetryableError
from console.engines.dispatch.types import Consumer, ObjectName
from console.engines.ports.applier import (
    ARTIFACT_GENERATORS,
    GIT_REPOSITORIES,
    HELM_CHARTS,
    HELM_RELEASES,
    KUSTOMIZATIONS,
    ApiKind,
)
from console.errors import TimedOut
from tests.engines.dispatch.world import MANAGER, SHOP, A, B, Simulated, repository, simulated

pytestmark = pytest.mark.looptime


@pytest.mark.scenario("dispatch:L1")
async def test_what_only_we_hold_is_resumed_and_nothing_of_us_stays() -> None:
    async with simulated() as world:
        assert await world.client.release(SHOP) == ""
        assert "suspend" not in world.k["spec"]
        assert REQUESTED_AT not in world.k["metadata"].get("annotations", {})
        assert all(entry["manager"] != MANAGER for entry in world.k["metadata"]["managedFields"])


@pytest.mark.scenario("dispatch:L2")
async def test_a_field_shared_with_an_updater_is_taken_back_first() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        await world.flux("suspend")
        await world.client.suspend(SHOP)
        await asyncio.sleep(1)
        world.new_writes()
        assert await world.client.release(SHOP) == ""
        assert [call.body.get("spec") for call in world.api.writes()] == [{"suspend": False}, None]
        assert "suspend" not in world.k["spec"]


@pytest.mark.scenario("dispatch:L3")
async def test_dropping_our_share_alone_would_leave_it_suspended() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        await world.flux("suspend")
        await world.client.suspend(SHOP)
        await world.client._flux.give_up(world.k)
        assert world.k["spec"]["suspend"] is True


@pytest.mark.scenario("dispatch:L4")
async def test_a_parent_that_keeps_it_suspended_is_named() -> None:
    async with simulated() as world:
        world.parent_sets(True)
        assert await world.client.release(SHOP) == "kustomize-controller"
        assert world.k["spec"]["suspend"] is True


@pytest.mark.scenario("dispatch:L5")
async def test_releasing_what_is_gone_makes_nothing() -> None:
    async with simulated() as world:
        world.api._objects.pop(("Kustomization", SHOP.namespace, SHOP.name))
        assert await world.client.release(SHOP) == ""
        world.api.create(KUSTOMIZATIONS, {"metadata": {"name": "shop", "namespace": "flux-system"}, "spec": {"suspend": True}})
        gone = lambda: world.api._objects.pop(("Kustomization", SHOP.namespace, SHOP.name))  # noqa: E731
        world.api.before("apply", KUSTOMIZATIONS, gone)
        assert await world.client.release(SHOP) == ""
        assert not world.api.exists(KUSTOMIZATIONS, SHOP.namespace, SHOP.name)


async def test_a_release_that_meets_a_change_reads_again() -> None:
    async with simulated() as world:
        await world.flux("resume")
        await world.flux("suspend")
        label: Callable[[], object] = lambda: world.patch(KUSTOMIZATIONS, {"metadata": {"labels": {"a": "b"}}})  # noqa: E731
        world.api.before("apply", KUSTOMIZATIONS, label)
        assert await world.client.release(SHOP) == ""


async def test_another_managers_suspend_is_not_taken() -> None:
    async with simulated() as world:
        world.parent_sets(False)
        with pytest.raises(PermanentError) as caught:
            await world.client.suspend(SHOP)
        assert caught.value.reason is ConditionReason.SUSPEND_OWNED_ELSEWHERE


async def test_a_suspension_tells_hold_and_last_apply() -> None:
    async with simulated() as world:
        suspension = await world.client.suspension(SHOP)
        assert suspension.complete
        assert suspension.applied.applied_revision == f"main@sha1:{A}"
        await world.flux("resume")
        assert not (await world.client.suspension(SHOP)).suspended


def reads(kind: ApiKind, name: str, **spec: Any) -> tuple[ApiKind, dict[str, Any]]:
    return kind, {"metadata": {"name": name, "namespace": "flux-system"}, "spec": spec}


SOURCE_REF = {"kind": "GitRepository", "name": "shop"}


@pytest.mark.scenario("dispatch:X19")
@pytest.mark.parametrize(
    ("others", "found"),
    [
        ([], []),
        ([reads(HELM_RELEASES[0], "r", chart={"spec": {"sourceRef": SOURCE_REF}})], ["HelmRelease"]),
        (
            [
                reads(HELM_CHARTS[0], "c", sourceRef=SOURCE_REF),
                reads(HELM_RELEASES[0], "r", chartRef={"kind": "HelmChart", "name": "c"}),
            ],
            ["HelmRelease"],
        ),
        ([reads(GIT_REPOSITORIES, "g", url="x", include=[{"repository": {"name": "shop"}}])], ["GitRepository"]),
        ([reads(ARTIFACT_GENERATORS, "a", sources=[{"alias": "x", **SOURCE_REF}])], ["ArtifactGenerator"]),
        ([reads(HELM_RELEASES[0], "r", chart={"spec": {"sourceRef": {"kind": "HelmRepository", "name": "shop"}}})], []),
    ],
)
async def test_everything_that_reads_a_source_is_its_consumer(others: list[tuple[ApiKind, Any]], found: list[str]) -> None:
    async with simulated(held=False) as world:
        for kind, obj in others:
            world.api.create(kind, obj)
        consumers = await world.client.consumers(ObjectName("flux-system", "shop"))
        assert Consumer("Kustomization", "flux-system", "shop") in consumers
        assert [consumer.kind for consumer in consumers if consumer.name != "shop"] == found


@pytest.mark.scenario("dispatch:X20")
async def test_a_chart_without_served_releases_makes_the_consumers_unknown() -> None:
    async with simulated(held=False) as world:
        world.api.unserved = {"HelmRelease"}
        assert len(await world.client.consumers(SHOP)) == 1
        kind, chart = reads(HELM_CHARTS[0], "c", sourceRef=SOURCE_REF)
        world.api.create(kind, chart)
        with pytest.raises(RetryableError):
            await world.client.consumers(SHOP)


async def test_a_list_that_fails_makes_the_consumers_unknown() -> None:
    async with simulated(held=False) as world:
        world.api.fail("list", KUSTOMIZATIONS, TimedOut("no answer"))
        with pytest.raises(RetryableError):
            await world.client.consumers(SHOP)


async def test_a_source_is_fetched_ahead_only_as_it_was_checked_and_when_needed() -> None:
    async with simulated() as world:
        await ahead(world, SHOP, B)
        assert len(world.api.writes(GIT_REPOSITORIES)) == 1
        with pytest.raises(NotPrefetchedError):
            await ahead(world, SHOP, A)
        world.api.create(GIT_REPOSITORIES, repository("other"))
        world.patch(KUSTOMIZATIONS, {"spec": {"sourceRef": {"name": "other"}}})
        with pytest.raises(PrefetchHeldError):
            await ahead(world, SHOP, B)
        assert len(world.api.writes(GIT_REPOSITORIES)) == 1


async def ahead(world: Simulated, checked: ObjectName, commit: str) -> None:
    await world.client.prefetch(SHOP, checked, commit)
