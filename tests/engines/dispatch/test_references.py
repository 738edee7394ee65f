"""Who names a trigger, how that is judged, and which of several triggers comes first."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from console.engines.dispatch.admission import BadSelector, selector_matches
from console.engines.dispatch.constants import ConditionReason
from console.engines.dispatch.judgement import (
    Condition,
    Judgement,
    Reference,
    ReferenceState,
    apply_trigger_ready,
    configured,
    ready,
)
from console.engines.dispatch.references import References, clusters_of_one_server
from console.engines.dispatch.resources import names, target_view
from console.engines.dispatch.types import Binding, ObjectName, Source, TargetRef, TriggerRef, Verdict
from console.engines.ports.applier import CLUSTER_PROVIDERS, FLUX_TRIGGERS, GIT_TARGETS, NAMESPACES, JsonObject
from console.errors import ApiError, TimedOut
from console.kit.timing import LoopClock
from tests.engines.dispatch.apiserver import ApiServer
from tests.engines.dispatch.reverser import TEAM, cluster, flux_trigger, provider, put, target
from tests.engines.dispatch.world import START, URL

pytestmark = pytest.mark.looptime

SHOP = TriggerRef("FluxTrigger", TEAM, "shop")
SOURCE = Source(URL, "main", ObjectName("flux-system", "shop"))


def control(*objects: tuple[Any, JsonObject]) -> ApiServer:
    clock = LoopClock(START)
    clock.now()
    api = ApiServer(clock)
    put(api, *objects)
    return api


async def judged(api: ApiServer, source: Source | None = SOURCE) -> Judgement:
    references = References(api)
    return await references.judge(await references.trigger(SHOP), await references.naming_targets(SHOP), source)


@pytest.mark.scenario("dispatch:J1")
async def test_a_trigger_that_nobody_names_is_ready_and_does_nothing() -> None:
    judgement = await judged(control(flux_trigger(), provider(), cluster()))
    assert not judgement.named
    why = configured(judgement, "", None)
    assert (why.status, why.reason) == ("Unknown", ConditionReason.NOT_REFERENCED)
    assert ready(why).status == "True"


@pytest.mark.scenario("dispatch:J2", "dispatch:J3")
async def test_only_living_targets_of_its_own_namespace_name_a_trigger() -> None:
    api = control(
        target("b"),
        target("a"),
        target("elsewhere", namespace="team-b"),
        target("of another", "other"),
        target("of another kind", applyTriggerRef={"kind": "ArgoCDTrigger", "name": "shop"}),
        target("of another group", applyTriggerRef={"kind": "FluxTrigger", "name": "shop", "group": "example.test"}),
        target("with a group", applyTriggerRef={"kind": "FluxTrigger", "name": "shop", "group": "configbutler.ai"}),
        target("without", applyTriggerRef=None),
        target("dying"),
    )
    api.edit(GIT_TARGETS, TEAM, "dying", lambda t: t["metadata"].update(finalizers=["x"]), "kubectl")
    api.delete(GIT_TARGETS, TEAM, "dying")
    found = await References(api).naming_targets(SHOP)
    assert [view.ref.name for view in found] == ["a", "b", "with a group"]
    assert names(found[0], SHOP)


@pytest.mark.scenario("dispatch:J4")
async def test_a_missing_git_provider_leaves_it_undecided() -> None:
    judgement = await judged(control(flux_trigger(), target("web"), cluster()))
    assert [reference.state for reference in judgement.references] == [ReferenceState.UNDECIDED]
    why = configured(judgement, "", None)
    assert (why.status, why.reason) == ("Unknown", ConditionReason.NOT_BOUND)
    assert why.message == "team-a/web: GitProvider team-a/git does not exist"


@pytest.mark.scenario("dispatch:J5")
async def test_a_refusal_that_all_share_is_the_reason() -> None:
    api = control(flux_trigger(), provider(), cluster(), target("a", branch="dev"), target("b", branch="dev"))
    judgement = await judged(api)
    assert judgement.refused
    why = configured(judgement, "", None)
    assert (why.status, why.reason) == ("False", ConditionReason.SOURCE_MISMATCH)
    assert why.message.startswith("team-a/a: ")
    assert "; team-a/b: " in why.message


@pytest.mark.scenario("dispatch:J6")
async def test_different_refusals_are_not_bound() -> None:
    objects = (flux_trigger(), provider(), cluster(), cluster("closed", names=[]), target("a", branch="dev"))
    judgement = await judged(control(*objects, target("b", clusterProviderRef={"name": "closed"})))
    assert [reference.reason for reference in judgement.references] == [
        ConditionReason.SOURCE_MISMATCH,
        ConditionReason.NAMESPACE_NOT_AUTHORIZED,
    ]
    why = configured(judgement, "", None)
    assert (why.status, why.reason) == ("False", ConditionReason.NOT_BOUND)


@pytest.mark.scenario("dispatch:J7")
async def test_one_eligible_reference_is_enough_and_the_others_are_listed() -> None:
    judgement = await judged(control(flux_trigger(), provider(), cluster(), target("a"), target("b", branch="dev")))
    why = configured(judgement, "", None)
    assert (why.status, why.reason) == ("True", ConditionReason.SUCCEEDED)
    assert "team-a/b: " in why.message
    assert "team-a/a" not in why.message


@pytest.mark.scenario("dispatch:J8", "dispatch:J9")
@pytest.mark.parametrize(("admitted", "state"), [(True, ReferenceState.UNDECIDED), (False, ReferenceState.REFUSED)])
async def test_without_a_source_only_a_denial_decides(admitted: bool, state: ReferenceState) -> None:
    api = control(flux_trigger(), provider(), cluster(names=[TEAM] if admitted else []), target("web"))
    judgement = await judged(api, None)
    assert [reference.state for reference in judgement.references] == [state]


@pytest.mark.scenario("dispatch:J10")
async def test_a_namespace_that_cannot_be_read_decides_nothing() -> None:
    api = control(flux_trigger(), provider(), cluster(names=[], selector={"matchLabels": {"a": "b"}}), target("web"))
    api.fail("get", NAMESPACES, ApiError("internal error", status=500))
    with pytest.raises(ApiError):
        await judged(api)


@pytest.mark.scenario("dispatch:J11")
async def test_a_missing_namespace_is_admitted_by_name_but_by_no_selector() -> None:
    by_name = control(flux_trigger(), provider(), cluster(), target("web"))
    assert (await judged(by_name)).eligible
    assert by_name.reads["Namespace"] == 0, "names are compared before labels are read"
    by_label = control(flux_trigger(), provider(), cluster(names=[], selector={"matchLabels": {"a": "b"}}), target("web"))
    assert (await judged(by_label)).reason is ConditionReason.NAMESPACE_NOT_AUTHORIZED


async def test_the_triggers_own_provider_must_admit_its_namespace_too() -> None:
    trigger = flux_trigger()
    trigger[1]["spec"]["clusterProviderRef"] = {"name": "closed"}
    judgement = await judged(control(trigger, provider(), cluster(), cluster("closed", names=[]), target("web")))
    assert judgement.reason is ConditionReason.NAMESPACE_NOT_AUTHORIZED


async def test_a_missing_cluster_provider_leaves_it_undecided() -> None:
    judgement = await judged(control(flux_trigger(), provider(), target("web")))
    assert [reference.reason for reference in judgement.references] == [ConditionReason.CLUSTER_PROVIDER_NOT_FOUND]
    assert not judgement.refused


@pytest.mark.parametrize(
    ("selector", "labels", "matches"),
    [
        ({}, {}, True),
        ({"matchLabels": {"a": "b"}}, {"a": "b", "c": "d"}, True),
        ({"matchLabels": {"a": "b"}}, {}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["b", "c"]}]}, {"a": "c"}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}, {}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}, {"a": "b"}, False),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {"a": ""}, True),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, {"a": ""}, False),
    ],
)
def test_a_label_selector_matches_as_kubernetes_says(selector: JsonObject, labels: dict[str, str], matches: bool) -> None:
    assert selector_matches(selector, labels) is matches


@pytest.mark.parametrize(
    "selector",
    [
        {"matchExpressions": [{"key": "a", "operator": "Like", "values": ["b"]}]},
        {"matchExpressions": [{"operator": "Exists"}]},
        {"matchExpressions": [{"key": "a", "operator": "In"}]},
        {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
        {"matchExpressions": "a"},
        {"matchLabels": ["a"]},
    ],
)
async def test_a_bad_selector_denies_and_says_so(selector: JsonObject) -> None:
    with pytest.raises(BadSelector):
        selector_matches(selector, {})
    judgement = await judged(control(flux_trigger(), provider(), cluster(names=[], selector=selector), target("web")))
    assert judgement.reason is ConditionReason.NAMESPACE_NOT_AUTHORIZED
    assert "selector is invalid" in judgement.message


async def line(*triggers: tuple[Any, JsonObject]) -> str:
    """Who is first in line, by the trigger ``shop``."""
    api = control(provider(), cluster())
    for kind, obj in triggers:
        status = obj.pop("status", {})
        name = obj["metadata"]["name"]
        api.create(kind, {**obj, "status": status})
        put(api, target(f"for-{name}", name))
        await asyncio.sleep(2)
    references = References(api)
    first = await references.held_by_another(await references.trigger(SHOP))
    return "shop" if first is None else first.ref.name


IN_FLIGHT = {"operation": {"token": "t", "reason": "CatchUp", "outcome": "Running"}}
ENDED = {"operation": {"token": "t", "reason": "CatchUp", "outcome": "Succeeded"}}


@pytest.mark.scenario("dispatch:X11", "dispatch:X12")
async def test_in_flight_comes_before_holding_before_age_before_name() -> None:
    older, ours = flux_trigger("older", holding=False), flux_trigger("shop", holding=False)
    assert await line(older, ours) == "older"
    assert await line(flux_trigger("older", holding=False), flux_trigger("shop")) == "shop"
    assert await line(flux_trigger("shop"), flux_trigger("younger", **IN_FLIGHT)) == "younger"  # type: ignore[arg-type]
    assert await line(flux_trigger("shop"), flux_trigger("younger", **ENDED)) == "shop"  # type: ignore[arg-type]


async def test_triggers_of_one_age_are_ordered_by_name() -> None:
    api = control(provider(), cluster(), target("a", "another"), target("s"))
    put(api, flux_trigger("shop", holding=False), flux_trigger("another", holding=False))
    references = References(api)
    first = await references.held_by_another(await references.trigger(SHOP))
    assert first is not None
    assert first.ref.name == "another"


async def test_a_trigger_without_an_admitted_reference_is_not_in_line() -> None:
    api = control(provider(), cluster(), flux_trigger("aa", holding=False), flux_trigger("shop", holding=False), target("s"))
    references = References(api)
    ours = await references.trigger(SHOP)
    assert await references.held_by_another(ours) is None
    put(api, cluster("closed", names=[]), target("a", "aa", clusterProviderRef={"name": "closed"}))
    assert await references.held_by_another(ours) is None
    other = await references.trigger(TriggerRef("FluxTrigger", TEAM, "aa"))
    assert await references.held_by_another(other) is not None


async def test_a_trigger_that_is_being_deleted_stays_in_line_only_while_it_holds() -> None:
    api = control(
        provider(), cluster(), flux_trigger("aa"), flux_trigger("shop", holding=False), target("s"), target("a", "aa")
    )
    api.delete(FLUX_TRIGGERS, TEAM, "aa")
    references = References(api)
    ours = await references.trigger(SHOP)
    first = await references.held_by_another(ours)
    assert first is not None
    assert first.ref.name == "aa"
    api.edit(FLUX_TRIGGERS, TEAM, "aa", lambda t: t["metadata"].update(finalizers=["x"]), "kubectl")
    assert await references.held_by_another(ours) is None


async def test_triggers_of_different_appliers_have_nothing_to_do_with_each_other() -> None:
    other = flux_trigger("aa")
    other[1]["spec"]["kustomizationRef"]["name"] = "another"
    far = flux_trigger("far")
    far[1]["spec"]["clusterProviderRef"] = {"name": "east"}
    api = control(provider(), cluster(), other, far, flux_trigger(), target("s"))
    references = References(api)
    assert await references.triggers_of_applier(await references.trigger(SHOP)) == []


def test_conditions_of_a_target_follow_its_trigger_and_its_own_binding() -> None:
    want = Binding(URL, "main")
    good = Condition("True", ConditionReason.SUCCEEDED)
    assert apply_trigger_ready(good, SOURCE, want, "t").status == "True"
    mismatch = apply_trigger_ready(good, SOURCE, Binding(URL, "dev"), "t")
    assert (mismatch.status, mismatch.reason) == ("False", ConditionReason.SOURCE_MISMATCH)
    assert "'dev'" in mismatch.message
    forbidden = Condition("False", ConditionReason.FORBIDDEN, "no")
    assert apply_trigger_ready(forbidden, SOURCE, want, "t") == forbidden
    assert apply_trigger_ready(Condition("Unknown", ConditionReason.NOT_BOUND), None, want, "t").status == "Unknown"
    assert apply_trigger_ready(good, None, want, "t").status == "Unknown"
    assert apply_trigger_ready(None, None, want, "FluxTrigger a/b").message == "FluxTrigger a/b does not exist"


def test_a_trigger_is_configured_in_this_order() -> None:
    eligible = Judgement((_reference(ReferenceState.ELIGIBLE),))
    verdict = Verdict(False, ConditionReason.FORBIDDEN, "no")
    assert configured(eligible, "held", verdict).reason is ConditionReason.HELD_BY_ANOTHER_TRIGGER
    assert configured(eligible, "", verdict) == Condition("False", ConditionReason.FORBIDDEN, "no")
    failed = Verdict(False, ConditionReason.FAILED, "?", error=TimedOut("?"))
    assert configured(eligible, "", failed).status == "Unknown"
    assert configured(Judgement(), "held", verdict).reason is ConditionReason.NOT_REFERENCED


def _reference(state: ReferenceState) -> Reference:
    return Reference(TargetRef(TEAM, "web"), state)


async def test_two_providers_of_one_server_are_pointed_out() -> None:
    secret = {"kubeConfig": {"secretRef": {"name": "east", "key": "value"}}}
    api = control(cluster("default"), cluster("copy"))
    for name in ("east", "also-east"):
        api.create(CLUSTER_PROVIDERS, {"metadata": {"name": name}, "spec": secret})
    assert await clusters_of_one_server(api) == [("also-east", "east"), ("copy", "default")]


def test_what_a_target_leaves_out_has_its_default() -> None:
    view = target_view(target("web")[1])
    assert (view.cluster_provider, view.consents, view.trigger_group) == ("default", False, "configbutler.ai")
