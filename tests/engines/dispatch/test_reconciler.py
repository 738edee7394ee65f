"""A trigger's own pass: what it publishes, what it holds, and what it hands back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from console.engines.dispatch.clients import ClusterClients
from console.engines.dispatch.constants import FINALIZER, Reason
from console.engines.dispatch.reconciler import TriggerReconciler
from console.engines.dispatch.types import TriggerRef
from console.engines.ports.applier import (
    APPLICATIONS,
    ARGOCD_TRIGGERS,
    FLUX_TRIGGERS,
    GIT_TARGETS,
    HELM_RELEASES,
    KUSTOMIZATIONS,
    JsonObject,
)
from console.errors import QuarterdeckError, TimedOut
from tests.engines.dispatch.argo_world import application
from tests.engines.dispatch.reverser import (
    TEAM,
    Console,
    OneCluster,
    argo_trigger,
    cluster,
    consoles,
    flux_trigger,
    provider,
    put,
    target,
)
from tests.engines.dispatch.world import A, Simulated, eventually, simulated

pytestmark = pytest.mark.looptime


class Nobody:
    def following(self, trigger: TriggerRef, token: str) -> bool:
        return False


class Engine:
    """A reconciler over the simulated world, without and with a dispatcher that follows."""

    def __init__(self, world: Simulated, following: Any = None) -> None:
        self.world = world
        clients = ClusterClients(OneCluster(world.api), world.clock, world.tokens, world.timing)
        self.reconciler = TriggerReconciler(world.api, clients, following or Nobody(), world.clock)

    async def until_quiet(self, name: str = "shop", kind: Any = FLUX_TRIGGERS) -> None:
        """Passes until none is due."""
        for _ in range(20):
            wait = await self.reconciler.reconcile(TriggerRef(kind.kind, TEAM, name))
            if not wait:
                return
            await asyncio.sleep(wait)

    def obj(self, name: str = "shop", kind: Any = FLUX_TRIGGERS) -> JsonObject:
        return self.world.api.peek(kind, TEAM, name)

    def condition(self, which: str, name: str = "shop", kind: Any = FLUX_TRIGGERS) -> tuple[str, str]:
        for condition in self.obj(name, kind)["status"].get("conditions", []):
            if condition["type"] == which:
                return condition["status"], condition["reason"]
        return "", ""

    def holding(self, name: str = "shop") -> bool:
        return FINALIZER in self.obj(name)["metadata"].get("finalizers", [])


def bound(world: Simulated, *more: tuple[Any, JsonObject]) -> None:
    put(world.api, provider(), cluster(), target("web"), flux_trigger(holding=False), *more)


async def test_an_eligible_trigger_takes_its_kustomization_into_hold() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        bound(world)
        engine = Engine(world)
        # The finalizer must be there before the first suspend.
        world.api.before("apply", KUSTOMIZATIONS, lambda: seen.append(engine.holding()))
        seen: list[bool] = []
        await engine.reconciler.reconcile(TriggerRef("FluxTrigger", TEAM, "shop"))
        assert seen == [True]
        assert engine.condition("Held") == ("False", "Suspending")
        await engine.until_quiet()
        assert engine.condition("Held") == ("True", "Suspended")
        assert engine.condition("Configured") == ("True", "Succeeded")
        assert engine.condition("Ready")[0] == "True"
        assert engine.obj()["status"]["source"] == {
            "gitRepository": {"namespace": "flux-system", "name": "shop"},
            "url": "https://git.example.test/team/shop.git",
            "revision": "main",
            "prefetch": True,
        }
        assert world.k["spec"]["suspend"] is True


async def test_a_pass_that_finds_nothing_new_writes_nothing() -> None:
    async with simulated(held=False) as world:
        bound(world)
        engine = Engine(world)
        await engine.until_quiet()
        world.new_writes()
        await engine.until_quiet()
        assert not world.api.writes()


@pytest.mark.scenario("dispatch:X19")
async def test_another_consumer_of_the_source_ends_fetching_ahead() -> None:
    async with simulated(held=False) as world:
        chart = {"spec": {"sourceRef": {"kind": "GitRepository", "name": "shop"}}}
        bound(world, (HELM_RELEASES[0], {"metadata": {"name": "r", "namespace": "flux-system"}, "spec": {"chart": chart}}))
        engine = Engine(world)
        await engine.until_quiet()
        assert engine.obj()["status"]["source"]["prefetch"] is False


@pytest.mark.scenario("dispatch:X20")
async def test_unknown_consumers_are_treated_as_shared() -> None:
    async with simulated(held=False) as world:
        bound(world)
        engine = Engine(world)
        world.api.fail("list", KUSTOMIZATIONS, TimedOut("no answer"))
        await engine.reconciler.reconcile(TriggerRef("FluxTrigger", TEAM, "shop"))
        assert engine.obj()["status"]["source"]["prefetch"] is False


@pytest.mark.scenario("dispatch:J1")
async def test_a_trigger_without_targets_is_ready_and_hands_back_what_it_holds() -> None:
    async with simulated(held=False) as world:
        bound(world)
        engine = Engine(world)
        await engine.until_quiet()
        world.api.delete(GIT_TARGETS, TEAM, "web")
        await engine.until_quiet()
        assert engine.condition("Configured") == ("Unknown", "NotReferenced")
        assert engine.condition("Ready")[0] == "True"
        assert engine.condition("Held")[0] == "False"
        assert not engine.holding()
        assert "suspend" not in world.k["spec"]


@pytest.mark.scenario("dispatch:J5")
async def test_a_conclusive_refusal_hands_the_kustomization_back() -> None:
    async with simulated(held=False) as world:
        bound(world)
        engine = Engine(world)
        await engine.until_quiet()
        world.api.patch(GIT_TARGETS, TEAM, "web", {"spec": {"branch": "dev"}}, "kubectl-edit")
        await engine.until_quiet()
        assert engine.condition("Configured") == ("False", "SourceMismatch")
        assert not engine.holding()
        assert "suspend" not in world.k["spec"]


@pytest.mark.scenario("dispatch:J4")
async def test_an_undecided_trigger_keeps_what_it_holds() -> None:
    async with simulated(held=False) as world:
        bound(world)
        engine = Engine(world)
        await engine.until_quiet()
        world.api._objects.pop(("GitProvider", TEAM, "git"))
        await engine.until_quiet()
        assert engine.condition("Configured") == ("Unknown", "NotBound")
        assert engine.holding()
        assert world.k["spec"]["suspend"] is True


@pytest.mark.scenario("dispatch:V11", "dispatch:J10")
async def test_a_check_that_could_not_complete_leaves_what_was_published() -> None:
    async with simulated(held=False) as world:
        bound(world)
        engine = Engine(world)
        await engine.until_quiet()
        before = engine.obj()["status"]
        world.api.fail("get", KUSTOMIZATIONS, TimedOut("no answer"))
        with pytest.raises(QuarterdeckError):
            await engine.until_quiet()
        assert engine.obj()["status"] == before


@pytest.mark.scenario("dispatch:X13")
async def test_a_deleted_holder_hands_over_and_the_next_adopts_with_its_own_token() -> None:
    async with simulated(held=False) as world:
        bound(world)
        engine = Engine(world)
        await engine.until_quiet()
        await asyncio.sleep(2)
        put(world.api, flux_trigger("next", holding=False), target("next", "next"))
        await engine.reconciler.reconcile(TriggerRef("FluxTrigger", TEAM, "next"))
        assert engine.condition("Configured", "next") == ("False", "HeldByAnotherTrigger")
        assert not engine.holding("next")
        first = world.k["metadata"]["annotations"]
        world.api.delete(FLUX_TRIGGERS, TEAM, "shop")
        await engine.until_quiet()
        assert not world.api.exists(FLUX_TRIGGERS, TEAM, "shop")
        assert "suspend" not in world.k["spec"]
        await engine.until_quiet("next")
        assert engine.condition("Held", "next") == ("True", "Suspended")
        assert engine.holding("next")
        assert world.k["metadata"]["annotations"] != first


@pytest.mark.scenario("dispatch:X16")
async def test_a_kustomization_resumed_for_an_operation_that_nobody_follows_is_suspended() -> None:
    async with simulated(held=False) as world:
        bound(world)
        engine = Engine(world)
        await engine.until_quiet()
        operation = {"token": "t", "reason": "CatchUp", "outcome": "Running"}
        world.api.edit(FLUX_TRIGGERS, TEAM, "shop", lambda t: t["status"].update(operation=operation), "gotk-x")
        await world.flux("resume")
        await engine.reconciler.reconcile(TriggerRef("FluxTrigger", TEAM, "shop"))
        assert world.k["spec"]["suspend"] is True
        assert engine.condition("Held") == ("False", "Resumed")
        assert engine.obj()["status"]["operation"] == operation, "the record is not the reconciler's"


async def test_a_kustomization_resumed_for_an_operation_that_is_followed_is_left_alone() -> None:
    async with simulated(held=False) as world:
        bound(world)
        world.kustomize.apply_seconds = 20
        async with consoles(world) as console:
            engine = Engine(world, console.dispatcher)
            await asyncio.sleep(30)
            await passes(engine, console)
            assert console.outcomes[-1] == "Succeeded"
            await engine.until_quiet()
            assert engine.condition("Held") == ("True", "Suspended")


async def passes(engine: Engine, console: Console) -> None:
    """Passes all through an operation."""
    await engine.until_quiet()
    console.request(A, Reason.REPAIR)
    await eventually(lambda: "Running" in console.outcomes)
    writes = engine.world.suspends
    await engine.reconciler.reconcile(TriggerRef("FluxTrigger", TEAM, "shop"))
    assert engine.condition("Held") == ("True", "Applying")
    assert engine.world.suspends == writes
    await console.done()


@pytest.mark.scenario("dispatch:P24")
async def test_a_manager_that_applies_suspend_takes_the_trigger_out() -> None:
    async with simulated(held=False) as world:
        bound(world)
        engine = Engine(world)
        await engine.until_quiet()
        world.parent_sets(False)
        await engine.until_quiet()
        assert engine.condition("Configured") == ("False", "SuspendOwnedElsewhere")
        assert engine.condition("Held")[0] == "False"


async def test_who_keeps_it_suspended_is_told_and_the_finalizer_goes_all_the_same() -> None:
    async with simulated(held=False) as world:
        bound(world)
        engine = Engine(world)
        await engine.until_quiet()
        world.parent_sets(True)
        world.api.delete(GIT_TARGETS, TEAM, "web")
        await engine.until_quiet()
        assert not engine.holding()
        messages = [condition["message"] for condition in engine.obj()["status"]["conditions"]]
        assert any("kustomize-controller keeps the Kustomization suspended" in message for message in messages)


async def test_an_argo_trigger_holds_nothing() -> None:
    async with simulated() as world:
        put(world.api, provider(), cluster(), argo_trigger())
        put(world.api, target("app", applyTriggerRef={"kind": "ArgoCDTrigger", "name": "shop"}))
        engine = Engine(world)
        await engine.until_quiet(kind=ARGOCD_TRIGGERS)
        assert engine.condition("Configured", kind=ARGOCD_TRIGGERS) == ("False", "ApplierNotFound")
        world.api.create(APPLICATIONS, application())
        await engine.until_quiet(kind=ARGOCD_TRIGGERS)
        assert engine.condition("Configured", kind=ARGOCD_TRIGGERS) == ("True", "Succeeded")
        assert engine.condition("Held", kind=ARGOCD_TRIGGERS) == ("", "")
        source = engine.obj(kind=ARGOCD_TRIGGERS)["status"]["source"]
        assert source == {"url": "https://git.example.test/team/shop.git", "revision": "main"}


async def test_a_trigger_that_is_gone_needs_no_pass() -> None:
    async with simulated(held=False) as world:
        assert await Engine(world).reconciler.reconcile(TriggerRef("FluxTrigger", TEAM, "none")) == 0
