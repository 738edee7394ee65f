"""Triggers that change under a request, a pass or a Lease, and what a local one keeps beside its operation."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import msgspec
import pytest

from console.engines.dispatch.constants import FINALIZER, ConditionReason, Outcome, Reason
from console.engines.dispatch.faults import RetryableError, StaleError
from console.engines.dispatch.judgement import Condition, apply_trigger_ready
from console.engines.dispatch.local import LocalTrigger
from console.engines.dispatch.modes import Leadership, lease_holder
from console.engines.dispatch.references import clusters_of_one_server
from console.engines.dispatch.requests import ApplyRequest
from console.engines.dispatch.resources import applier_key
from console.engines.dispatch.tokens import written
from console.engines.dispatch.types import Binding, ObjectName, Operation, Source, TriggerRef, TriggerStatus
from console.engines.ports.applier import CLUSTER_PROVIDERS, FLUX_TRIGGERS, GIT_TARGETS, KUSTOMIZATIONS, LEASES
from console.errors import Conflict
from console.kit.timing import LoopClock
from tests.engines.dispatch.apiserver import ApiServer
from tests.engines.dispatch.local_console import TRIGGER, LocalConsole, local, recorded
from tests.engines.dispatch.reverser import KEY, TEAM, cluster, consoles, flux_trigger, put, set_up, target
from tests.engines.dispatch.test_external import kept, pushed
from tests.engines.dispatch.test_reconciler import Engine, bound
from tests.engines.dispatch.world import START, URL, WANT, A, C, eventually, simulated

pytestmark = pytest.mark.looptime

LEASE = ObjectName("reverser-system", "gitops-reverser")


@pytest.mark.scenario("dispatch:R26")
@pytest.mark.parametrize("how", ["being deleted", "gone", "made anew", "elsewhere"])
async def test_a_trigger_that_is_not_what_it_was_asks_nothing(how: str) -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            trigger, targets = console.ref(), console.targets("web")
            if how == "being deleted":
                world.api.delete(FLUX_TRIGGERS, TEAM, "shop")
            elif how == "elsewhere":
                patch = {"spec": {"clusterProviderRef": {"name": "other"}}}
                world.api.patch(FLUX_TRIGGERS, TEAM, "shop", patch, "kubectl-edit")
            else:
                world.api._objects.pop(("FluxTrigger", TEAM, "shop"))
            if how == "made anew":
                put(world.api, flux_trigger())
            request = ApplyRequest(
                trigger=trigger,
                key=KEY,
                binding=WANT,
                commit=A,
                reason=Reason.REPAIR,
                targets=targets,
                report=console.reports.append,
            )
            console.dispatcher.request_apply(request)
            await console.done()
            assert isinstance(console.error, StaleError)
            assert f"FluxTrigger {TEAM}/shop" in console.error.message
            assert not world.api.writes(KUSTOMIZATIONS)
            assert not console.events.seen


@pytest.mark.scenario("dispatch:X13")
@pytest.mark.parametrize("why", ["deleted", "no target"])
async def test_nothing_is_handed_back_while_its_operation_is_followed(why: str) -> None:
    async with simulated(held=False) as world:
        bound(world)
        world.kustomize.apply_seconds = 60
        async with consoles(world) as console:
            engine = Engine(world, console.dispatcher)
            await asyncio.sleep(70)
            await engine.until_quiet()
            console.request(A, Reason.REPAIR)
            await eventually(lambda: "Running" in console.outcomes)
            kind, name = (FLUX_TRIGGERS, "shop") if why == "deleted" else (GIT_TARGETS, "web")
            world.api.delete(kind, TEAM, name)
            world.new_writes()
            assert await engine.reconciler.reconcile(TriggerRef("FluxTrigger", TEAM, "shop")) > 0
            assert engine.holding()
            assert not world.api.writes(KUSTOMIZATIONS)
            await console.done()
            await engine.until_quiet()
            assert "suspend" not in world.k["spec"]


async def test_a_lease_given_back_too_late_is_not_taken_from_its_new_holder() -> None:
    clock = LoopClock(START)
    clock.now()
    api = ApiServer(clock)
    us, them = Leadership(api, LEASE, "us", clock), Leadership(api, LEASE, "them", clock)
    assert await us.claim()
    await asyncio.sleep(16)
    # They take it over between our look and our write.
    api.before("merge", LEASES, them.claim)
    await us.resign()
    assert api.peek(LEASES, LEASE.namespace, LEASE.name)["spec"]["holderIdentity"] == "them"
    assert them.held
    gone = Leadership(ApiServer(clock), LEASE, "us", clock)
    await gone.resign()
    assert not gone.held, "nothing to give back is no error"


@pytest.mark.parametrize("renewed", [None, "", "yesterday", 7])
def test_a_lease_of_odd_shape_belongs_to_whom_it_names(renewed: object) -> None:
    spec = {"holderIdentity": "them", "renewTime": renewed, "leaseDurationSeconds": 15}
    assert lease_holder({"spec": spec}, START) == "them"


def test_a_lease_runs_out_just_after_its_time() -> None:
    def at(age: float) -> str:
        renewed = written(START - timedelta(seconds=age))
        return lease_holder({"spec": {"holderIdentity": "t", "renewTime": renewed, "leaseDurationSeconds": 15}}, START)

    assert (at(14.9), at(15), at(15.1)) == ("t", "t", "")


async def test_only_one_secret_and_key_is_one_server() -> None:
    clock = LoopClock(START)
    clock.now()
    api = ApiServer(clock)
    put(api, cluster("default"))
    for name, secret, key in (("a", "east", "one"), ("b", "east", "two"), ("c", "west", "one"), ("d", "east", "one")):
        spec = {"kubeConfig": {"secretRef": {"name": secret, "key": key}}}
        api.create(CLUSTER_PROVIDERS, {"metadata": {"name": name}, "spec": spec})
    assert await clusters_of_one_server(api) == [("a", "d")]


def test_a_target_without_its_provider_has_no_mismatch_of_its_own() -> None:
    source, good = Source(URL, "main"), Condition("True", ConditionReason.SUCCEEDED)
    assert apply_trigger_ready(good, source, None, "t").status == "Unknown"
    bad = Condition("False", ConditionReason.FORBIDDEN, "no")
    assert apply_trigger_ready(bad, None, Binding(URL, "dev"), "t") == bad


async def test_what_may_not_be_driven_is_not_called_fit() -> None:
    async with simulated() as world:
        world.api.unserved = {"FluxTrigger"}
        console = LocalConsole(world)
        assert not (await console.triggers.validate(TRIGGER)).ok, "a namesake's hold"
        other = msgspec.structs.replace(TRIGGER, binding=Binding(URL, "dev"), confirmed=True)
        mismatch = await console.triggers.validate(other)
        assert (mismatch.ok, mismatch.reason) == (False, ConditionReason.SOURCE_MISMATCH)
        world.api.unserved = set()
        put(world.api, flux_trigger("theirs"))
        assert not (await console.triggers.validate(TRIGGER)).ok


async def test_a_pending_repair_is_kept_beside_the_operation_on_the_applier() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            console.writer.publish(TRIGGER.ref, TriggerStatus(repair_pending=True))
            await eventually(lambda: recorded(world).repair_pending)
            console.request(A)
            await console.done()
            await eventually(lambda: not recorded(world).operation.in_flight)
            assert recorded(world).repair_pending
            assert recorded(world).holding
            console.writer.publish(TRIGGER.ref, TriggerStatus(repair_pending=False))
            await eventually(lambda: not recorded(world).repair_pending)


async def test_an_applier_that_never_stands_still_is_not_held_on_trust() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world, held=False) as console:
            world.api.fail("merge", KUSTOMIZATIONS, Conflict("changed", status=409), times=50)
            with pytest.raises(RetryableError, match="could not be noted"):
                await console.triggers.hold(TRIGGER)
            assert not [call for call in world.api.writes(KUSTOMIZATIONS) if call.verb == "apply"]
            assert "suspend" not in world.k["spec"]


async def test_a_finalizer_of_somebody_else_stays() -> None:
    async with simulated(held=False) as world:
        bound(world)
        theirs = {"metadata": {"finalizers": ["example.test/theirs"]}}
        world.api.patch(FLUX_TRIGGERS, TEAM, "shop", theirs, "kubectl-edit")
        engine = Engine(world)
        await engine.until_quiet()
        assert engine.obj()["metadata"]["finalizers"] == ["example.test/theirs", FINALIZER]
        world.api.delete(GIT_TARGETS, TEAM, "web")
        await engine.until_quiet()
        assert engine.obj()["metadata"]["finalizers"] == ["example.test/theirs"]


async def test_a_held_condition_of_an_older_generation_lets_nothing_through() -> None:
    async with simulated() as world:
        set_up(world, generation=7)
        async with consoles(world) as console:
            console.request(A, Reason.REPAIR)
            await console.done()
            assert isinstance(console.error, RetryableError)
            assert "changed since it was last seen to hold" in console.error.message
            assert not world.resumes


async def test_a_decision_that_does_not_know_its_triggers_incarnation_goes_by_the_name() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            request = ApplyRequest(
                trigger=TriggerRef("FluxTrigger", TEAM, "shop"),
                key=KEY,
                binding=WANT,
                commit=A,
                reason=Reason.REPAIR,
                targets=console.targets("web"),
                report=console.reports.append,
            )
            console.dispatcher.request_apply(request)
            await console.done()
            assert console.outcomes[-1] == "Succeeded"


@pytest.mark.scenario("dispatch:X11")
async def test_who_waits_for_an_applier_is_not_ready_and_says_for_whom() -> None:
    async with simulated(held=False) as world:
        bound(world)
        engine = Engine(world)
        await engine.until_quiet()
        put(world.api, flux_trigger("next", holding=False), target("next", "next"))
        assert await engine.reconciler.reconcile(TriggerRef("FluxTrigger", TEAM, "next")) > 0
        assert engine.condition("Ready", "next") == engine.condition("Configured", "next") == ("False", "HeldByAnotherTrigger")
        told = [condition["message"] for condition in engine.obj("next")["status"]["conditions"]]
        assert all(f"is held by FluxTrigger {TEAM}/shop; this trigger takes over when" in message for message in told)


def test_a_declaration_that_says_no_more_permits_no_more() -> None:
    plain = LocalTrigger(cluster="c", cluster_uid="u", kind="Kustomization", namespace="a", name="b", binding=WANT)
    assert (plain.hold, plain.revert_refused_edits, plain.confirmed) == (False, False, False)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("T", "c"), ("T", "c"), True),
        (("T", "c"), ("U", "c"), False),
        (("T", "c"), ("T", "d"), False),
        (("", "c"), ("", "c"), False),
    ],
)
def test_operations_are_one_by_token_and_commit_and_never_by_nothing(
    one: tuple[str, str], other: tuple[str, str], same: bool
) -> None:
    first, second = (
        Operation(token=token, commit=commit, reason=Reason.REPAIR, outcome=Outcome.RUNNING) for token, commit in (one, other)
    )
    assert first.same_as(second) is same
    assert not first.same_as(None)


@pytest.mark.scenario("dispatch:J5")
@pytest.mark.parametrize("how", ["refused", "no target"])
async def test_what_was_handed_back_is_no_longer_said_to_be_held(how: str) -> None:
    async with simulated(held=False) as world:
        bound(world)
        engine = Engine(world)
        await engine.until_quiet()
        assert engine.condition("Held") == ("True", "Suspended")
        if how == "refused":
            world.api.patch(GIT_TARGETS, TEAM, "web", {"spec": {"branch": "dev"}}, "kubectl-edit")
        else:
            world.api.delete(GIT_TARGETS, TEAM, "web")
        await engine.until_quiet()
        assert engine.condition("Held") == ("False", "Resumed")
        assert "suspend" not in world.k["spec"]


async def test_a_trigger_names_its_applier_in_its_own_namespace_unless_it_says_another() -> None:
    _, trigger = flux_trigger()
    trigger["kind"] = "FluxTrigger"
    assert applier_key(trigger).namespace == "flux-system"
    del trigger["spec"]["kustomizationRef"]["namespace"]
    assert applier_key(trigger).namespace == TEAM
    assert applier_key(trigger).cluster == "default"
    trigger["spec"]["clusterProviderRef"] = {"name": "west"}
    assert applier_key(trigger).cluster == "west"


async def test_a_pending_repair_survives_an_apply_of_somebody_else() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            console.writer.publish(TRIGGER.ref, TriggerStatus(repair_pending=True))
            await eventually(lambda: recorded(world).repair_pending)
            await kept(console)
            await pushed(world, C)
            await world.flux("resume")
            await asyncio.sleep(8)
            await kept(console)
            assert recorded(world).operation.reason is Reason.EXTERNAL
            assert recorded(world).repair_pending
