"""The store: what it takes in, what it ignores, whom it tells."""

from __future__ import annotations

import asyncio

from console.model.docker import Container
from console.model.refs import Ref
from console.model.resource import KindState, Listed, Removed, Upserted
from console.runtime.store import Store


def container(name: str, *, connection: str = "edge", uid: str = "", state: str = "running") -> Container:
    return Container(ref=Ref(connection, "Container", "", name, uid or f"id-{name}"), state=state)


class Ear:
    """Collects what a subscription was told."""

    def __init__(self) -> None:
        self.heard: list[frozenset[Ref]] = []

    def __call__(self, refs: frozenset[Ref]) -> None:
        self.heard.append(refs)


async def turn() -> None:
    await asyncio.sleep(0)
    await asyncio.sleep(0)


async def test_changes_of_one_turn_are_told_at_once() -> None:
    store, ear = Store(), Ear()
    store.subscribe({"Container"}, ear)
    for name in "abc":
        store.apply(Upserted(container(name)))
    store.apply(Upserted(container("a", state="exited")))
    await turn()
    assert ear.heard == [frozenset(container(name).ref for name in "abc")]


async def test_an_equal_object_changes_nothing() -> None:
    store, ear = Store(), Ear()
    store.apply(Upserted(container("a")))
    store.subscribe({"Container"}, ear)
    revision = store.revision("Container")
    store.apply(Upserted(container("a")))
    await turn()
    assert ear.heard == []
    assert store.revision("Container") == revision


async def test_a_complete_list_removes_what_is_not_in_it_on_that_connection_only() -> None:
    store, ear = Store(), Ear()
    store.apply(Listed("edge", "Container", (container("a"), container("b"))))
    store.apply(Listed("core", "Container", (container("a", connection="core"),)))
    store.subscribe({"Container"}, ear)
    store.apply(Listed("edge", "Container", (container("b"),)))
    await turn()
    assert set(store.of("Container")) == {container("b").ref, container("a", connection="core").ref}
    assert ear.heard == [frozenset({container("a").ref})]
    assert [resource.ref.name for resource in store.on("edge", "Container")] == ["b"]


async def test_removal_without_a_uid_finds_the_object_by_name() -> None:
    store = Store()
    store.apply(Upserted(container("a")))
    store.apply(Removed(Ref("edge", "Container", "", "a")))
    assert not store.of("Container")
    store.apply(Removed(Ref("edge", "Container", "", "never there")))


async def test_removal_with_another_uid_leaves_the_successor() -> None:
    store = Store()
    store.apply(Upserted(container("a", uid="second")))
    store.apply(Removed(Ref("edge", "Container", "", "a", "first")))
    assert store.get(Ref("edge", "Container", "", "a")) == container("a", uid="second")


async def test_a_name_leads_to_the_object_that_has_it_now() -> None:
    store = Store()
    name = Ref("edge", "Container", "", "a")
    assert store.get(name) is None
    store.apply(Upserted(container("a", uid="first")))
    assert store.get(name) == container("a", uid="first")
    store.apply(Listed("edge", "Container", (container("a", uid="second"),)))
    assert store.get(name) == container("a", uid="second")
    assert store.get(container("a", uid="first").ref) is None


async def test_states_of_kinds_are_syncing_until_said_otherwise_and_never_touch_rows() -> None:
    store, ear = Store(), Ear()
    assert store.kind_state("edge", "Container").state == "syncing"
    store.apply(Listed("edge", "Container", (container("a"),)))
    assert store.kind_state("edge", "Container").state == "listed"
    store.subscribe({"Container"}, ear)
    store.apply(KindState("edge", "Container", "failed", "no quorum"))
    store.apply(KindState("edge", "Container", "failed", "no quorum"))
    await turn()
    assert ear.heard == [frozenset()]
    assert len(store.of("Container")) == 1
    assert [state.detail for state in store.kind_states("edge")] == ["no quorum"]


async def test_an_ended_subscription_hears_nothing_more_not_even_what_is_under_way() -> None:
    store, ear = Store(), Ear()
    unsubscribe = store.subscribe({"Container", "Node"}, ear)
    store.apply(Upserted(container("a")))
    unsubscribe()
    unsubscribe()
    store.apply(Upserted(container("b")))
    await turn()
    assert ear.heard == []


async def test_a_view_of_rows_stays_current_and_cannot_be_written() -> None:
    store = Store()
    rows = store.of("Container")
    store.apply(Upserted(container("a")))
    assert [resource.ref.name for resource in rows.values()] == ["a"]
    assert not hasattr(rows, "__setitem__")


async def test_a_subscriber_may_change_the_store_while_it_is_told() -> None:
    store, ear = Store(), Ear()

    def remove_all(refs: frozenset[Ref]) -> None:
        ear(refs)
        for ref in refs:
            store.apply(Removed(ref))

    store.subscribe({"Container"}, remove_all)
    store.apply(Upserted(container("a")))
    await turn()
    await turn()
    assert not store.of("Container")
    assert ear.heard == [frozenset({container("a").ref})] * 2
