"""The informer against a server that answers as the test says, in virtual time."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from console.backends.kube_kinds import KINDS, Kind
from console.clients.kubernetes_wire import ApiGroup, GroupVersion
from console.errors import ApiError, Forbidden, Gone, Interrupted, NotServed, Overloaded, TimedOut, Unreachable
from tests.backends.decoding import Json, kinds_of
from tests.backends.scripted_cluster import Server, kustomization, pages, watched

pytestmark = pytest.mark.looptime


async def test_pages_show_as_they_come_and_the_list_ends_not_synced() -> None:
    server = Server()
    server.lists = [pages([kustomization("a")], [kustomization("b")])]
    async with watched(server) as it:
        assert it.state.state == "syncing"
        await asyncio.sleep(1)
        assert kinds_of(it.cluster.changes) == [
            "+Kustomization/a",
            "+Kustomization/b",
            "=Kustomization:2",
            "Kustomization listed",
        ]
        assert server.asked == ["list /apis/kustomize.toolkit.fluxcd.io/v1/kustomizations", "watch from 10"]


async def test_events_change_add_and_remove() -> None:
    server = Server()
    server.lists = [pages([kustomization("a"), kustomization("b")])]
    server.watches = [
        [
            ("ADDED", kustomization("c", "11")),
            ("DELETED", kustomization("a", "12")),
            ("BOOKMARK", kustomization("", "40")),
            9.0,
        ],
        [None],
    ]
    async with watched(server) as it:
        await asyncio.sleep(20)
        assert it.names == {"b", "c"}
        assert server.asked[-1] == "watch from 40", "an orderly end goes on from the last bookmark"
        assert it.heard >= 4


async def test_a_version_that_is_too_old_lists_anew_and_removes_what_went_meanwhile() -> None:
    server = Server()
    server.lists = [pages([kustomization("a"), kustomization("b")]), pages([kustomization("b")], version="90")]
    server.watches = [[Gone("too old")], [None]]
    async with watched(server) as it:
        await asyncio.sleep(10)
        assert it.names == {"b"}
        assert server.asked[1:] == [
            "watch from 10",
            "list /apis/kustomize.toolkit.fluxcd.io/v1/kustomizations",
            "watch from 90",
        ]


async def test_a_list_that_loses_its_place_between_pages_begins_again() -> None:
    server = Server()
    broken: list[Json] = [{"items": [kustomization("a")], "version": "10"}, {"error": Gone("expired")}]
    server.lists = [broken, pages([kustomization("a"), kustomization("b")])]
    async with watched(server) as it:
        await asyncio.sleep(10)
        assert it.state.state == "listed"
        assert it.names == {"a", "b"}


async def test_a_cut_stream_goes_on_where_it_was() -> None:
    server = Server()
    server.watches = [[("ADDED", kustomization("a", "11")), Interrupted("reset")], [TimedOut("silence")], [None]]
    async with watched(server) as it:
        await asyncio.sleep(30)
        assert server.asked[1:] == ["watch from 10", "watch from 11", "watch from 11"]
        assert it.names == {"a"}


async def test_a_stream_that_is_cut_again_and_again_without_a_word_is_a_lost_connection() -> None:
    server = Server()
    server.watches = [[Interrupted("reset")]]
    async with watched(server) as it:
        await asyncio.wait({it.task}, timeout=100)
        assert it.task.done()
        with pytest.raises(Interrupted):
            it.task.result()


async def test_an_unreachable_server_is_a_lost_connection_at_once() -> None:
    server = Server()
    server.lists = [Unreachable("refused")]
    async with watched(server) as it:
        await asyncio.wait({it.task}, timeout=1)
        with pytest.raises(Unreachable):
            it.task.result()


async def test_a_kind_that_is_not_there_is_not_asked_for_again_for_minutes_and_found_when_it_comes() -> None:
    server = Server()
    server.served = False
    async with watched(server) as it:
        await asyncio.sleep(250)
        assert it.state.state == "not served"
        assert (server.discoveries, server.asked) == (1, [])
        server.served = True
        server.lists = [pages([kustomization("a")])]
        await asyncio.sleep(120)
        assert it.state.state == "listed"
        assert it.names == {"a"}


async def test_a_kind_that_goes_away_takes_its_rows_along() -> None:
    server = Server()
    server.lists = [pages([kustomization("a")]), NotServed("no such path")]
    server.watches = [[60.0, Gone("definition removed")]]
    async with watched(server) as it:
        await asyncio.sleep(30)
        assert it.names == {"a"}
        server.served = False
        await asyncio.sleep(90)
        assert it.names == set()
        assert it.state.state == "not served"


async def test_what_is_forbidden_is_asked_again_with_growing_pauses_and_keeps_its_last_rows() -> None:
    server = Server()
    server.lists = [pages([kustomization("a")]), Forbidden("may not list kustomizations")]
    server.watches = [[10.0, Gone("x")]]
    async with watched(server) as it:
        await asyncio.sleep(60)
        assert (it.state.state, it.state.detail) == ("restricted", "may not list kustomizations")
        assert it.names == {"a"}
        before = len(server.asked)
        await asyncio.sleep(3600)
        assert len(server.asked) - before <= 10
        server.lists = [pages([kustomization("b")])]
        server.watches = [[None]]
        await asyncio.sleep(1200)
        assert it.state.state == "listed"
        assert it.names == {"b"}


async def test_a_kind_that_can_be_listed_but_not_watched_is_polled() -> None:
    server = Server()
    server.verbs = ("list",)
    server.lists = [pages([kustomization("a")]), pages([kustomization("b")])]
    async with watched(server) as it:
        await asyncio.sleep(5)
        assert it.state.polled
        await asyncio.sleep(60)
        assert it.names == {"b"}
        assert not any(line.startswith("watch") for line in server.asked)


async def test_a_watch_that_is_forbidden_while_lists_are_allowed_is_replaced_by_polling() -> None:
    server = Server()
    server.lists = [pages([kustomization("a")]), pages([kustomization("b")])]
    server.watches = [[Forbidden("may not watch")]]
    async with watched(server) as it:
        await asyncio.sleep(65)
        assert it.names == {"b"}
        assert (it.state.state, it.state.polled) == ("listed", True)
        assert len([line for line in server.asked if line.startswith("watch")]) == 1
        server.watches = [[None]]
        await asyncio.sleep(700)
        assert not it.state.polled


async def test_an_overloaded_server_is_left_alone_as_long_as_it_asks() -> None:
    server = Server()
    server.lists = [Overloaded("too many requests", retry_after=45), pages([kustomization("a")])]
    async with watched(server) as it:
        await asyncio.sleep(40)
        assert (it.state.state, it.state.detail) == ("syncing", "too many requests")
        assert len(server.asked) == 1
        await asyncio.sleep(10)
        assert it.names == {"a"}


async def test_a_server_error_shows_as_failed_until_it_is_over() -> None:
    server = Server()
    server.lists = [ApiError("etcd is down", status=500), pages([kustomization("a")])]
    async with watched(server) as it:
        await asyncio.sleep(1)
        assert (it.state.state, it.state.detail) == ("failed", "etcd is down")
        await asyncio.sleep(10)
        assert it.state.state == "listed"


async def test_watches_that_end_at_once_do_not_flood_the_server() -> None:
    server = Server()
    server.watches = [[]]
    async with watched(server):
        await asyncio.sleep(300)
        assert len(server.asked) < 30


async def test_one_odd_object_is_left_out_and_told_of() -> None:
    server = Server()
    server.lists = [
        pages([kustomization("a"), {"kind": "Kustomization", "metadata": {"name": "odd"}, "spec": {"suspend": "maybe"}}])
    ]
    async with watched(server) as it:
        await asyncio.sleep(1)
        assert it.names == {"a"}
        assert it.state.state == "failed"
        assert it.state.detail.startswith("Some objects are left out")


async def test_the_best_version_that_both_know_is_used() -> None:
    class OnlyOld(Server):
        async def groups(self) -> tuple[ApiGroup, ...]:
            old = GroupVersion(f"{self.kind.group}/v1beta2", "v1beta2")
            return (ApiGroup(self.kind.group, (old,), old),)

    class Unheard(Server):
        async def groups(self) -> tuple[ApiGroup, ...]:
            new = GroupVersion(f"{self.kind.group}/v9", "v9")
            return (ApiGroup(self.kind.group, (new,), new),)

    for server, version in ((OnlyOld(), "v1beta2"), (Unheard(), "v9")):
        async with watched(server):
            await asyncio.sleep(1)
            assert server.asked[0] == f"list /apis/kustomize.toolkit.fluxcd.io/{version}/kustomizations"


async def test_core_kinds_are_not_asked_for_by_discovery() -> None:
    server = Server("Pod")
    async with watched(server) as it:
        await asyncio.sleep(1)
        assert server.asked[0] == "list /api/v1/pods"
        assert server.discoveries == 0
        assert it.state.state == "listed"


def test_every_kind_has_a_decoder_and_a_path() -> None:
    shown: list[Kind] = [kind for kind in KINDS.values() if kind.convert is not None]
    assert len(shown) >= 20
    for kind in shown:
        msgspec.json.Decoder(kind.wire)
