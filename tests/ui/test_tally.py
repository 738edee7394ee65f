"""Counts beside views and on cards: each thing once, kept up with every change."""

from __future__ import annotations

from console.model.health import Health
from console.model.kubernetes import Trigger
from console.model.refs import Ref
from console.model.resource import Removed
from console.ui.tally import Tally
from console.views import bridge, tables
from console.views.cells import Context
from tests.ui.fleet import trigger
from tests.ui.stand_in import NOW, StandIn

APPLIER = Trigger(ref=Ref("prod-eu", "Kustomization", "shop", "web", "uid-k"), health=Health.BAD)


def counted(runtime: StandIn) -> Tally:
    tally = Tally(runtime.store, (tables.TABLES[name] for name in tables.MAIN))
    tally.count_all()
    return tally


def test_an_applier_that_a_trigger_names_is_counted_once_on_its_card() -> None:
    runtime = StandIn()
    runtime.put(APPLIER, trigger("prod-eu", "shop", "web", Health.BAD), trigger("prod-eu", "shop", "cart"))
    tally = counted(runtime)
    assert tally.places == {"prod-eu": {Health.BAD: 1, Health.OK: 1}}
    assert tally.count("bridge").number == 1
    assert tally.count("triggers").number == 2, "the list of triggers has a row for each"


def test_an_applier_is_counted_again_when_nobody_names_it_any_more() -> None:
    runtime = StandIn()
    tally = counted(runtime)
    web = trigger("prod-eu", "shop", "web")
    for first, second in ((APPLIER, web), (web, APPLIER)):
        for resource in (first, second):
            runtime.put(resource)
            tally.take({resource.ref})
        assert tally.places == {"prod-eu": {Health.OK: 1}}
        runtime.store.apply(Removed(web.ref))
        tally.take({web.ref})
        assert tally.places == {"prod-eu": {Health.BAD: 1}}
        runtime.store.apply(Removed(APPLIER.ref))
        tally.take({APPLIER.ref})
        assert tally.places == {"prod-eu": {}}


def test_cards_and_rows_count_alike() -> None:
    runtime = StandIn()
    connection = runtime.connect("prod-eu")
    found = (APPLIER, trigger("prod-eu", "shop", "web", Health.BAD))
    (card,) = bridge.cards([connection], found, Context(NOW))
    assert card.counts == ((Health.BAD, 1),) and len(bridge.attention_list(found)) == 1
