"""What fails, what is tried again, what is skipped, and what stays."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from console.engines.graph import (
    EMPTY,
    Backoff,
    PermanentError,
    ReconcileError,
    Retryable,
    StateNotSaved,
    ref,
)
from console.engines.graph.retries import is_permanent
from console.errors import Conflict, Forbidden, Invalid, LoginExpired, NotFound, Overloaded, Unreachable
from console.model.graph import Deployed, Outcome
from console.model.graph_events import Retrying, Started
from tests.engines.graph.world import PROJECT, Heard, PlainStorage, Storage, World, concat, deployed, graph, reconciler

pytestmark = pytest.mark.looptime

AFTER_A = [("concat", "a")]


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.scenario("graph:G16")
async def test_a_failed_parent_skips_its_child_and_nothing_else(world: World) -> None:
    world.scripts["create a"] = [PermanentError("no such image")]
    storage = PlainStorage(world)
    wanted = graph(
        concat("a"), concat("b"), concat("c", after=[("concat", "a"), ("concat", "b")]), concat("d", after=[("concat", "c")])
    )
    with pytest.raises(ReconcileError, match=r"concat/a: no such image") as caught:
        await reconciler(world, storage).reconcile("r", PROJECT, wanted)
    assert storage.names == ["b"]
    assert world.of("create") == ["a", "b"]
    report = caught.value.report
    assert [entry.outcome for entry in report.resources] == [
        Outcome.FAILED,
        Outcome.CREATED,
        Outcome.SKIPPED,
        Outcome.SKIPPED,
    ]
    assert report.of("concat", "c").reason == "parent concat/a failed"
    assert report.totals["created"] == 1


@pytest.mark.scenario("graph:G18")
async def test_nothing_is_deleted_in_a_run_with_a_failed_create(world: World) -> None:
    world.scripts["create bar"] = [PermanentError("no")]
    storage = PlainStorage(world, [deployed("foo")])
    with pytest.raises(ReconcileError) as caught:
        await reconciler(world, storage).reconcile("r", PROJECT, graph(concat("bar")))
    assert world.of("delete") == []
    assert storage.names == ["foo"]
    assert caught.value.report.of("concat", "foo").outcome is Outcome.SKIPPED


@pytest.mark.scenario("graph:G21")
async def test_a_failed_delete_keeps_its_parents_and_nothing_else(world: World) -> None:
    world.scripts["delete b"] = [PermanentError("in use")]
    stored = [deployed("a"), deployed("b", deps=["a"]), deployed("c", deps=["b"]), deployed("other")]
    storage = PlainStorage(world, stored)
    with pytest.raises(ReconcileError, match="concat/b") as caught:
        await reconciler(world, storage).reconcile("r", PROJECT, EMPTY)
    assert storage.names == ["a", "b"]
    assert caught.value.report.totals["deleted"] == 2
    assert caught.value.report.of("concat", "a").reason == "concat/b may still need it"


@pytest.mark.scenario("graph:G52")
async def test_a_skipped_child_keeps_its_record(world: World) -> None:
    world.scripts["update a"] = [PermanentError("no")]
    stored = [deployed("a", input={"text": "old"}), deployed("b", deps=["a"])]
    storage = PlainStorage(world, stored)
    with pytest.raises(ReconcileError):
        await reconciler(world, storage).reconcile("r", PROJECT, graph(concat("a", "new"), concat("b", after=AFTER_A)))
    assert storage.names == ["a", "b"]


@pytest.mark.scenario("graph:G29")
async def test_an_operation_that_fails_twice_is_tried_three_times(world: World) -> None:
    world.scripts["create a"] = [Unreachable("refused"), OSError("reset"), None]
    heard = Heard()
    report = await reconciler(world, PlainStorage(world), events=heard).reconcile("r", PROJECT, graph(concat("a")))
    assert report.of("concat", "a").attempts == 3
    assert [(event.attempt, event.delay) for event in heard.of(Retrying)] == [(1, 0.5), (2, 0.75)]
    assert [event.attempt for event in heard.of(Started)] == [1, 2, 3]
    assert report.of("concat", "a").duration == pytest.approx(1.25)


@pytest.mark.scenario("graph:G30")
async def test_a_permanent_error_is_tried_once_and_its_cause_reported(world: World) -> None:
    cause = RuntimeError("quota exceeded")
    world.scripts["create a"] = [PermanentError(cause)]
    with pytest.raises(ReconcileError) as caught:
        await reconciler(world, PlainStorage(world)).reconcile("r", PROJECT, graph(concat("a")))
    assert caught.value.__cause__ is cause
    assert caught.value.report.of("concat", "a").attempts == 1
    assert caught.value.report.of("concat", "a").error == "RuntimeError: quota exceeded"


@pytest.mark.scenario("graph:G31")
async def test_when_the_allowance_is_used_up_the_last_error_is_reported(world: World) -> None:
    world.scripts["create a"] = [OSError(f"try {number}") for number in range(1, 50)]
    began = asyncio.get_running_loop().time()
    with pytest.raises(ReconcileError) as caught:
        await reconciler(world, PlainStorage(world), backoff=Backoff.interactive).reconcile("r", PROJECT, graph(concat("a")))
    entry = caught.value.report.of("concat", "a")
    assert entry.attempts > 5
    assert entry.error == f"OSError: try {entry.attempts}"
    assert asyncio.get_running_loop().time() - began <= 120


async def test_the_default_waits_grow_to_a_minute_and_end_after_a_quarter_of_an_hour(world: World) -> None:
    world.scripts["create a"] = [OSError("down") for _number in range(100)]
    heard = Heard()
    with pytest.raises(ReconcileError):
        await reconciler(world, PlainStorage(world), events=heard, backoff=None).reconcile("r", PROJECT, graph(concat("a")))
    delays = [event.delay for event in heard.of(Retrying)]
    assert 0.25 <= delays[0] <= 0.75
    assert 30 <= delays[-1] <= 90
    assert 600 < sum(delays) <= 900


@pytest.mark.scenario("graph:G32")
async def test_a_resource_in_back_off_gives_its_slot_to_another(world: World) -> None:
    world.scripts["create a"] = [OSError("not yet"), None]
    world.delays = {"b": 0.1}
    await reconciler(world, PlainStorage(world), concurrency=1).reconcile("r", PROJECT, graph(concat("a"), concat("b")))
    assert world.calls == ["list", "create a", "create b", "put b", "create a", "put a"]
    assert world.most == 1


async def test_retry_after_is_honoured(world: World) -> None:
    world.scripts["create a"] = [Overloaded("later", status=429, retry_after=7), Retryable("not yet", after=9), None]
    heard = Heard()
    await reconciler(world, PlainStorage(world), events=heard).reconcile("r", PROJECT, graph(concat("a")))
    assert [event.delay for event in heard.of(Retrying)] == [7, 9]


async def test_one_try_is_limited_in_time_and_then_tried_again(world: World) -> None:
    async def hang() -> None:
        await asyncio.sleep(1000)

    world.scripts["create a"] = [hang, None]
    report = await reconciler(world, PlainStorage(world)).reconcile("r", PROJECT, graph(concat("a")))
    assert report.of("concat", "a").attempts == 2
    assert report.duration == pytest.approx(120.5)


class Teapot(Exception):
    """An error of some client that carries its status."""

    def __init__(self, status_code: int) -> None:
        super().__init__(f"status {status_code}")
        self.status_code = status_code


@pytest.mark.parametrize(
    "error",
    [
        *(Teapot(status) for status in (400, 401, 403, 404, 409, 422)),
        TypeError("x"),
        ValueError("x"),
        NotImplementedError(),
        KeyError("x"),
        PermissionError("x"),
        Forbidden("x", status=403),
        Invalid("x", status=422),
        Conflict("x", status=409),
        LoginExpired("x"),
        PermanentError("x"),
    ],
    ids=repr,
)
def test_what_is_final_is_not_tried_again(error: Exception) -> None:
    assert is_permanent(error)
    assert not is_permanent(Retryable(error))


@pytest.mark.parametrize(
    "error",
    [
        *(Teapot(status) for status in (429, 500, 502, 503)),
        ConnectionResetError(),
        TimeoutError(),
        RuntimeError("?"),
        Unreachable("x"),
    ],
    ids=repr,
)
def test_what_may_pass_is_tried_again(error: Exception) -> None:
    assert not is_permanent(error)


async def test_a_delete_that_finds_nothing_has_succeeded(world: World) -> None:
    world.scripts["delete a"] = [NotFound("gone", status=404)]
    storage = PlainStorage(world, [deployed("a")])
    await reconciler(world, storage).reconcile("r", PROJECT, EMPTY)
    assert storage.names == []


@pytest.mark.scenario("graph:G35")
async def test_when_listing_fails_nothing_is_done(world: World) -> None:
    class Broken(PlainStorage):
        async def list_resources(self, project: str) -> list[Deployed]:
            raise OSError("disk gone")

    with pytest.raises(ReconcileError, match="disk gone") as caught:
        await reconciler(world, Broken(world)).reconcile("r", PROJECT, graph(concat("a")))
    assert world.calls == []
    assert isinstance(caught.value.__cause__, OSError)


@pytest.mark.scenario("graph:G40")
async def test_a_record_that_cannot_be_saved_leaves_the_intent_for_the_next_run(world: World) -> None:
    storage = Storage(world)
    storage.put_faults = [OSError("full")] * 3
    engine = reconciler(world, storage)
    with pytest.raises(ReconcileError) as caught:
        await engine.reconcile("1", PROJECT, graph(concat("a", kind="readable")))
    assert isinstance(caught.value.__cause__, StateNotSaved)
    assert [intent.name for intent in await storage.list_intents(PROJECT)] == ["a"]
    await engine.reconcile("2", PROJECT, graph(concat("a", kind="readable")))
    assert world.of("create") == ["a"]
    assert len(world.objects) == 1
    assert [record.name for record in await storage.list_resources(PROJECT)] == ["a"]
    assert await storage.list_intents(PROJECT) == []


async def test_a_passing_fault_of_storage_does_no_harm(world: World) -> None:
    storage = Storage(world)
    storage.put_faults = [OSError("busy")] * 2
    await reconciler(world, storage).reconcile("1", PROJECT, graph(concat("a")))
    assert [record.name for record in await storage.list_resources(PROJECT)] == ["a"]


async def test_a_storage_that_hangs_is_given_five_seconds(world: World) -> None:
    class Hanging(PlainStorage):
        async def put_resource(self, project: str, deployed: Deployed) -> None:
            await asyncio.sleep(1000)

    with pytest.raises(ReconcileError, match="not saved within 5 s") as caught:
        await reconciler(world, Hanging(world)).reconcile("r", PROJECT, graph(concat("a")))
    assert caught.value.report.duration == pytest.approx(5)


async def test_a_value_that_a_parent_does_not_give_fails_the_child_by_name(world: World) -> None:
    wanted = graph(concat("a", "x"), concat("b", ref("concat", "a", "extra")))
    with pytest.raises(ReconcileError, match="Field text needs concat/a:extra") as caught:
        await reconciler(world, PlainStorage(world)).reconcile("r", PROJECT, wanted)
    assert caught.value.report.of("concat", "a").outcome is Outcome.CREATED
    assert world.of("create") == ["a"]


async def test_a_value_of_the_wrong_type_fails_the_child_before_its_provider_is_called(world: World) -> None:
    from console.engines.graph import resource

    wanted = graph(concat("a", "not a number"), resource("concat", "b", {"number": ref("concat", "a", "text")}))
    with pytest.raises(ReconcileError, match=r"concat/b.*number"):
        await reconciler(world, PlainStorage(world)).reconcile("r", PROJECT, wanted)
    assert world.of("create") == ["a"]


async def test_all_failures_are_reported_in_identity_order_and_the_first_is_the_cause(world: World) -> None:
    first, second = PermanentError(RuntimeError("one")), PermanentError(RuntimeError("two"))
    world.scripts = {"create b": [second], "create a": [first]}
    world.delays = {"a": 5.0}
    with pytest.raises(ReconcileError) as caught:
        await reconciler(world, PlainStorage(world)).reconcile("r", PROJECT, graph(concat("b"), concat("a"), concat("c")))
    assert [str(entry.identity) for entry in caught.value.report.failures] == ["concat/a", "concat/b"]
    assert caught.value.__cause__ is first.cause
    assert "2 of 3 resources failed" in str(caught.value)


@pytest.mark.scenario("graph:G51")
@pytest.mark.parametrize("finishes", [False, True])
async def test_failing_fast_cancels_what_runs_and_stores_what_still_came(world: World, finishes: bool) -> None:
    async def stubborn() -> None:
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            if not finishes:
                raise

    async def fail() -> None:
        await asyncio.sleep(1)
        raise PermanentError("no")

    world.scripts = {"create a": [fail], "create b": [stubborn]}
    storage = PlainStorage(world, [deployed("old")])
    wanted = graph(concat("a"), concat("b"), concat("c", after=AFTER_A), concat("d", after=[("concat", "b")]))
    with pytest.raises(ReconcileError) as caught:
        await reconciler(world, storage).reconcile("r", PROJECT, wanted, fail_fast=True)
    assert world.of("create") == ["a", "b"]
    assert world.of("delete") == []
    report = caught.value.report
    assert report.of("concat", "b").outcome is (Outcome.CREATED if finishes else Outcome.CANCELLED)
    assert storage.names == (["b", "old"] if finishes else ["old"])
    assert report.of("concat", "c").outcome is Outcome.CANCELLED
    assert report.of("concat", "d").outcome is Outcome.CANCELLED


async def test_failing_fast_reports_the_failure_that_came_first(world: World) -> None:
    late: Any = PermanentError("late")
    world.scripts = {"create a": [late], "create b": [PermanentError("early")]}
    world.delays = {"a": 5.0, "b": 1.0}
    with pytest.raises(ReconcileError, match="early"):
        await reconciler(world, PlainStorage(world)).reconcile("r", PROJECT, graph(concat("a"), concat("b")), fail_fast=True)


async def test_a_failed_run_can_be_repeated_and_then_finishes(world: World) -> None:
    world.scripts["create a"] = [PermanentError("no")]
    storage = Storage(world)
    engine = reconciler(world, storage)
    wanted = graph(concat("a", "x"), concat("b", ref("concat", "a", "text")))
    with pytest.raises(ReconcileError):
        await engine.reconcile("1", PROJECT, wanted)
    await engine.reconcile("2", PROJECT, wanted)
    assert sorted(record.name for record in await storage.list_resources(PROJECT)) == ["a", "b"]
    assert await storage.list_intents(PROJECT) == []
