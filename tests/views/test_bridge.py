from __future__ import annotations

import msgspec

from console.model.connections import Connection
from console.model.health import Health
from console.views.bridge import attention_list, cards, on_bridge, spoken_for, trouble
from tests.views import samples
from tests.views.samples import ALL, CONTEXT


def test_the_worst_comes_first_over_all_platforms() -> None:
    names = [str(item.ref) for item in attention_list(ALL)]
    assert names[:3] == ["prod-eu:FluxTrigger/shop/web", "swarm-a:Stack/shop", "edge-1:Connection/edge-1"]
    assert names[-1] == "swarm-a:Stack/billing"


def test_an_applier_is_spoken_for_by_its_trigger() -> None:
    names = [str(item.ref) for item in attention_list(ALL)]
    assert "prod-eu:Kustomization/shop/web" not in names
    assert "prod-eu:Kustomization/shop/cart" in names


def test_what_supports_a_deployment_shows_only_in_trouble() -> None:
    assert not on_bridge(samples.SOURCE)
    assert on_bridge(msgspec.structs.replace(samples.SOURCE, health=Health.BAD))
    assert not on_bridge(samples.POD) and not on_bridge(samples.LIVE) and on_bridge(samples.GONE)
    assert not on_bridge(msgspec.structs.replace(samples.SWARM_SERVICE, health=Health.BAD))
    alone = msgspec.structs.replace(samples.SWARM_SERVICE, health=Health.BAD, stack="")
    assert on_bridge(alone)


def test_drift_of_a_healthy_stack_is_a_warning() -> None:
    assert trouble(samples.DRIFTED_STACK) is Health.WARN
    assert trouble(samples.STACK) is Health.OK


def test_a_card_counts_trouble_and_says_what_is_known() -> None:
    found = [item for item in ALL if isinstance(item, Connection)]
    gone, live = cards(found, ALL, CONTEXT)
    assert (gone.name, live.name) == ("edge-1", "prod-eu")
    assert gone.phase.text == "unreachable 3m" and gone.protected
    assert dict(gone.lines)["holds"].text == "1 known from then"
    assert dict(gone.lines)["why"].text == "Connection refused. Is the engine running?"
    assert dict(live.lines)["holds"].text == "2 watched, 1 in trouble"
    assert live.operations == 1
    assert live.counts[0] == (Health.BAD, 1)


def test_an_applier_that_no_other_trigger_names_speaks_for_itself() -> None:
    alone = next(item for item in ALL if str(item.ref) == "prod-eu:Kustomization/shop/cart")
    own = msgspec.structs.replace(alone, applier=alone.ref, health=Health.BAD)
    assert own in attention_list([own])
    assert not spoken_for([own])
