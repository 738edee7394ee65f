"""The configuration check of a Kustomization."""

from __future__ import annotations

from typing import Any

import pytest

from console.engines.dispatch.constants import ConditionReason
from console.engines.dispatch.types import ObjectName, Source
from console.engines.ports.applier import GIT_REPOSITORIES, KUSTOMIZATIONS
from console.errors import Forbidden, TimedOut
from tests.engines.dispatch.world import SHOP, URL, Simulated, kustomization, repository

pytestmark = pytest.mark.looptime


def cluster(spec: dict[str, Any] | None = None, ref: dict[str, Any] | None = None) -> Simulated:
    """A cluster without running controllers."""
    world = Simulated()
    world.api.create(GIT_REPOSITORIES, repository(ref=ref))
    world.api.create(KUSTOMIZATIONS, kustomization(**spec or {}))
    return world


@pytest.mark.scenario("dispatch:V1")
async def test_a_kustomization_on_a_branch_is_fit() -> None:
    verdict = await cluster().client.validate(SHOP)
    assert (verdict.ok, verdict.reason) == (True, ConditionReason.SUCCEEDED)
    assert verdict.source == Source(URL, "main", ObjectName("flux-system", "shop"))


@pytest.mark.scenario("dispatch:V2")
async def test_a_cluster_without_flux_has_no_such_applier_and_is_asked_once() -> None:
    world = Simulated()
    world.api.unserved = {"Kustomization", "GitRepository"}
    verdict = await world.client.validate(SHOP)
    assert (verdict.ok, verdict.reason) == (False, ConditionReason.APPLIER_NOT_FOUND)
    assert world.api.reads.total() == 1


@pytest.mark.scenario("dispatch:V3")
async def test_a_missing_kustomization_is_not_found() -> None:
    assert (await Simulated().client.validate(SHOP)).reason is ConditionReason.APPLIER_NOT_FOUND


@pytest.mark.scenario("dispatch:V4")
@pytest.mark.parametrize("kind", ["OCIRepository", "Bucket"])
async def test_what_is_no_git_repository_is_unsupported(kind: str) -> None:
    verdict = await cluster({"sourceRef": {"kind": kind, "name": "shop"}}).client.validate(SHOP)
    assert (verdict.reason, verdict.source) == (ConditionReason.UNSUPPORTED_SOURCE, None)


async def test_a_git_repository_of_another_group_is_unsupported() -> None:
    reference = {"kind": "GitRepository", "name": "shop", "apiVersion": "example.test/v1"}
    assert (await cluster({"sourceRef": reference}).client.validate(SHOP)).reason is ConditionReason.UNSUPPORTED_SOURCE


@pytest.mark.scenario("dispatch:V5")
@pytest.mark.parametrize(
    ("ref", "named"),
    [
        ({"tag": "v1"}, "tag v1"),
        ({"semver": ">=1"}, "semver >=1"),
        ({"commit": "abc"}, "commit abc"),
        ({"commit": "abc", "branch": "main"}, "commit abc"),
        ({"name": "refs/heads/main"}, "name refs/heads/main"),
        ({"name": "refs/heads/main", "branch": "main"}, "name refs/heads/main"),
        # S5 of the specification ranks semver above tag, as Flux's documentation does; the controller looks at the tag first.
        ({"tag": "v1", "semver": ">=1"}, "tag v1"),
    ],
)
async def test_a_pinned_source_is_unsupported_and_the_pin_is_named(ref: dict[str, Any], named: str) -> None:
    verdict = await cluster(ref=ref).client.validate(SHOP)
    assert verdict.reason is ConditionReason.UNSUPPORTED_SOURCE
    assert named in verdict.message
    assert verdict.source is not None
    assert (verdict.source.url, verdict.source.revision) == (URL, "")


@pytest.mark.scenario("dispatch:V6")
async def test_a_source_without_a_reference_follows_master() -> None:
    verdict = await cluster(ref={}).client.validate(SHOP)
    assert verdict.ok
    assert verdict.source is not None
    assert verdict.source.revision == "master"


@pytest.mark.scenario("dispatch:V7")
async def test_a_parent_that_applies_suspend_owns_it() -> None:
    world = cluster()
    world.parent_sets(False)
    verdict = await world.client.validate(SHOP)
    assert verdict.reason is ConditionReason.SUSPEND_OWNED_ELSEWHERE
    assert "kustomize-controller" in verdict.message
    assert verdict.source is not None


@pytest.mark.scenario("dispatch:V8")
async def test_a_flux_suspend_does_not_stand_in_the_way() -> None:
    world = cluster()
    await world.flux("suspend")
    assert (await world.client.validate(SHOP)).ok


@pytest.mark.scenario("dispatch:V9")
async def test_a_source_that_may_not_be_patched_is_forbidden_by_name() -> None:
    world = cluster()
    world.api.denied = {("patch", "GitRepository")}
    verdict = await world.client.validate(SHOP)
    assert verdict.reason is ConditionReason.FORBIDDEN
    assert "GitRepository flux-system/shop" in verdict.message


@pytest.mark.scenario("dispatch:V10")
async def test_a_kustomization_that_may_not_be_read_is_forbidden() -> None:
    world = cluster()
    world.api.fail("get", KUSTOMIZATIONS, Forbidden("no", status=403))
    verdict = await world.client.validate(SHOP)
    assert (verdict.reason, verdict.source) == (ConditionReason.FORBIDDEN, None)


@pytest.mark.scenario("dispatch:V11")
@pytest.mark.parametrize(("verb", "kind"), [("get", KUSTOMIZATIONS), ("get", GIT_REPOSITORIES), ("review", GIT_REPOSITORIES)])
async def test_a_check_that_could_not_complete_decides_nothing(verb: str, kind: Any) -> None:
    world = cluster()
    world.api.fail(verb, kind, TimedOut("no answer in 5 s"))
    verdict = await world.client.validate(SHOP)
    assert (verdict.ok, verdict.reason) == (False, ConditionReason.FAILED)
    assert isinstance(verdict.error, TimedOut)


async def test_a_missing_source_is_unsupported_and_named() -> None:
    world = Simulated()
    world.api.create(KUSTOMIZATIONS, kustomization())
    verdict = await world.client.validate(SHOP)
    assert verdict.reason is ConditionReason.UNSUPPORTED_SOURCE
    assert "GitRepository flux-system/shop" in verdict.message


@pytest.mark.scenario("dispatch:V17")
async def test_the_source_may_be_in_another_namespace() -> None:
    world = Simulated()
    reference = {"kind": "GitRepository", "name": "shop", "namespace": "sources"}
    elsewhere = repository()
    elsewhere["metadata"]["namespace"] = "sources"
    world.api.create(GIT_REPOSITORIES, elsewhere)
    world.api.create(KUSTOMIZATIONS, kustomization(sourceRef=reference))
    verdict = await world.client.validate(SHOP)
    assert verdict.ok
    assert verdict.source is not None
    assert verdict.source.git_repository == ObjectName("sources", "shop")
