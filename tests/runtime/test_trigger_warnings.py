"""What a trigger's report warns of beside what it says."""

from __future__ import annotations

import pytest

from console.engines.ports.applier import CLUSTER_PROVIDERS, FLUX_TRIGGERS
from console.errors import Forbidden
from console.model.refs import Ref
from console.runtime.cluster_engine import ClusterEngine
from console.runtime.trigger_notes import trigger_report
from tests.engines.dispatch.reverser import TEAM, EventLog, cluster, set_up
from tests.engines.dispatch.world import SHOP, simulated

pytestmark = pytest.mark.looptime


async def test_two_names_of_one_server_are_pointed_out_in_the_report() -> None:
    async with simulated() as world:
        set_up(world)
        engine = ClusterEngine("east", "uid", world.api, None, EventLog(), world.clock, "us", world.timing)
        ref = Ref("east", "FluxTrigger", TEAM, "shop")
        assert len((await trigger_report(engine, ref)).driver) == 1
        world.api.create(*cluster("copy"))
        elsewhere = {"kubeConfig": {"secretRef": {"name": "west", "key": "value"}}}
        world.api.create(CLUSTER_PROVIDERS, {"metadata": {"name": "west"}, "spec": elsewhere})
        warned = (await trigger_report(engine, ref)).driver[1]
        assert "default is the same server as copy" in warned
        world.api.fail("list", CLUSTER_PROVIDERS, Forbidden("may not list", status=403))
        assert len((await trigger_report(engine, ref)).driver) == 1, "who may not see them is not kept from the rest"


async def test_a_hold_that_a_repointed_trigger_left_behind_is_told_with_what_ends_it() -> None:
    async with simulated() as world:
        set_up(world)
        engine = ClusterEngine("east", "uid", world.api, None, EventLog(), world.clock, "us", world.timing)
        left = Ref("east", "Kustomization", SHOP.namespace, SHOP.name)
        assert "drives it" in (await trigger_report(engine, left)).driver[0]
        world.api.patch(FLUX_TRIGGERS, TEAM, "shop", {"spec": {"kustomizationRef": {"name": "other"}}}, "kubectl-edit")
        told = " ".join((await trigger_report(engine, left)).driver)
        assert "nobody will hand it back" in told
        assert f"flux resume kustomization {SHOP.name} -n {SHOP.namespace}" in told
