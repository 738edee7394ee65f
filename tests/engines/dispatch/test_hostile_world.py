"""A server that answers badly, people who take things away, clocks that jump: nothing is lost, nothing stays resumed."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta

import pytest

from console.engines.dispatch.constants import LOCAL_RECORD, REQUESTED_AT, Outcome, Reason
from console.engines.dispatch.external import ExternalApplies
from console.engines.dispatch.faults import RetryableError, WriteFate, classify_write
from console.engines.dispatch.records import told
from console.engines.dispatch.tokens import Tokens
from console.engines.dispatch.types import Progress, Suspension, Trace, TriggerRef
from console.engines.ports.applier import APPLICATIONS, FLUX_TRIGGERS, KUSTOMIZATIONS
from console.errors import ApiError, Invalid, Overloaded, ProtocolError, QuarterdeckError, UnclearAnswer
from tests.engines.dispatch.argo_steps import asked as asked_argo
from tests.engines.dispatch.argo_steps import to_the_end as to_the_end_argo
from tests.engines.dispatch.argo_world import argo
from tests.engines.dispatch.local_console import LocalConsole, local
from tests.engines.dispatch.reverser import TEAM, consoles, set_up
from tests.engines.dispatch.world import SHOP, START, A, Asking, C, eventually, kustomization, simulated, to_the_end

pytestmark = pytest.mark.looptime

UNREADABLE = [
    ProtocolError("half-written JSON"),
    ProtocolError("answered 200 with a page of a proxy"),
    ProtocolError("redirects to a login"),
    ApiError("timeout at the proxy", status=408),
    ApiError("closed by the client, says the proxy", status=499),
    Overloaded("later", status=503, retry_after=30),
]


@pytest.mark.parametrize("error", UNREADABLE)
@pytest.mark.parametrize("landed", [True, False])
async def test_an_answer_that_says_nothing_leaves_the_resume_unconfirmed(error: QuarterdeckError, landed: bool) -> None:
    assert classify_write(error) is WriteFate.UNCONFIRMED
    async with simulated() as world:
        world.api.fail("apply", KUSTOMIZATIONS, error, done=landed)
        started = await world.client.request(SHOP, Asking(commit=A, reason=Reason.REPAIR).ask())
        assert started.unconfirmed is error
        ended = await to_the_end(world, started)
        assert ended.outcome is (Outcome.SUCCEEDED if landed else Outcome.FAILED)
        assert world.k["spec"]["suspend"] is True


@pytest.mark.parametrize("error", UNREADABLE)
@pytest.mark.parametrize("landed", [True, False])
async def test_an_answer_that_says_nothing_leaves_the_sync_unconfirmed(error: QuarterdeckError, landed: bool) -> None:
    async with argo() as world:
        world.api.fail("replace", APPLICATIONS, error, done=landed)
        started = await asked_argo(world)
        assert started.unconfirmed is error
        assert (await to_the_end_argo(world, started)).outcome is (Outcome.SUCCEEDED if landed else Outcome.FAILED)


@pytest.mark.scenario("dispatch:R31")
async def test_a_server_that_says_later_started_nothing_and_is_not_asked_again_by_itself() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            world.api.fail("apply", KUSTOMIZATIONS, Overloaded("later", status=429, retry_after=5))
            console.request(A, Reason.REPAIR)
            await console.done()
            assert isinstance(console.error, RetryableError)
            assert "later" in console.error.message
            await asyncio.sleep(60)
            assert len(world.resumes) == 1, "only the worker asks again"
            assert not console.operation(), "the record was taken back"
            assert world.k["spec"]["suspend"] is True


@pytest.mark.scenario("dispatch:P20")
async def test_a_suspend_that_fails_for_ten_minutes_is_tried_until_it_is_made() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            console.request(A, Reason.REPAIR)
            await eventually(lambda: world.resumes)
            world.api.fail("apply", KUSTOMIZATIONS, Overloaded("later", status=503), times=400)
            await asyncio.sleep(600)
            assert world.k["spec"].get("suspend") is not True
            assert "Unresolved" in console.outcomes
            assert console.operation()["outcome"] == "Unresolved"
            world.api.heal()
            await console.done()
            assert world.k["spec"]["suspend"] is True
            assert console.outcomes[-1] == "Succeeded", "what was applied is told, however late"
            await eventually(lambda: console.operation()["outcome"] == "Succeeded")


async def test_a_request_annotation_that_somebody_removes_in_mid_flight_ends_it_at_the_latest_when_overdue() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            world.kustomize.apply_seconds = 20
            console.request(A, Reason.REPAIR)
            await eventually(lambda: "Running" in console.outcomes)
            world.patch(KUSTOMIZATIONS, {"metadata": {"annotations": {REQUESTED_AT: None}}})
            await console.done()
            assert console.outcomes[-1] == "Succeeded"
            assert world.k["spec"]["suspend"] is True


async def test_a_record_that_somebody_removes_in_mid_flight_is_written_again() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            world.kustomize.apply_seconds = 20
            console.request(A)
            await eventually(lambda: "Running" in console.outcomes)
            world.patch(KUSTOMIZATIONS, {"metadata": {"annotations": {LOCAL_RECORD: None}}})
            await console.done()
            assert console.outcomes[-1] == "Succeeded"
            assert world.k["spec"]["suspend"] is True
            await eventually(lambda: "Succeeded" in world.k["metadata"]["annotations"].get(LOCAL_RECORD, ""))


async def test_a_record_that_somebody_spoils_in_mid_flight_stops_no_end_and_is_written_once_it_can_be() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            world.kustomize.apply_seconds = 20
            console.request(A)
            await eventually(lambda: "Running" in console.outcomes)
            good = world.k["metadata"]["annotations"][LOCAL_RECORD]
            world.patch(KUSTOMIZATIONS, {"metadata": {"annotations": {LOCAL_RECORD: "{spoilt"}}})
            await console.done()
            assert world.k["spec"]["suspend"] is True
            console.request(A)
            await console.done(2)
            error = console.reports[-1].error
            assert isinstance(error, RetryableError)
            assert "no JSON" in error.message
            assert LOCAL_RECORD in error.hint
            world.patch(KUSTOMIZATIONS, {"metadata": {"annotations": {LOCAL_RECORD: good}}})
            await eventually(
                lambda: json.loads(world.k["metadata"]["annotations"][LOCAL_RECORD])["operation"].get("completedAt")
            )


async def test_a_record_that_the_server_finds_too_long_starts_nothing() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            world.api.fail(
                "merge", KUSTOMIZATIONS, Invalid("metadata.annotations: Too long: may not be more than 262144 bytes")
            )
            console.request(A)
            await console.done()
            error = console.reports[-1].error
            assert isinstance(error, RetryableError)
            assert "Too long" in error.message
            assert not world.resumes


LOUD = "no such file: \x1b]0;owned\x07\x1b[2J\r\u202egnp.exe [bold red]now[/] " + "x" * 300_000


async def test_a_message_of_a_controller_fits_into_the_record_and_steers_no_terminal() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            world.kustomize.fails = ("BuildFailed", LOUD)
            console.request(A)
            await console.done()
            operation = console.reports[-1].operation
            assert operation is not None
            assert operation.message.startswith("BuildFailed: no such file: ␛]0;owned")
            for message in (operation.message, *(event.message for event in console.events.seen)):
                assert message.isprintable()
                assert len(message) < 10_000
            await eventually(lambda: "Failed" in world.k["metadata"]["annotations"][LOCAL_RECORD])
            assert len(world.k["metadata"]["annotations"][LOCAL_RECORD]) < 20_000


def test_a_message_of_an_apply_that_was_found_is_no_longer_and_no_louder() -> None:
    found = ExternalApplies()
    trigger = TriggerRef("FluxTrigger", TEAM, "shop")
    failed = Progress(Outcome.FAILED, LOUD)
    assert found.look(trigger, Suspension(True, True, True, failed, Trace(ended="1")), None) is None
    operation = found.look(trigger, Suspension(True, True, True, failed, Trace(ended="2")), None)
    assert operation is not None
    assert operation.message.isprintable()
    assert len(operation.message) < 10_000


async def test_an_error_that_quotes_a_controller_is_no_longer_and_no_louder() -> None:
    async with simulated() as world:
        await world.push()
        world.remote.refuses = LOUD
        with pytest.raises(RetryableError, match="cannot fetch") as caught:
            await world.client.request(SHOP, Asking(commit=C).ask())
        assert caught.value.message.isprintable()
        assert len(caught.value.message) < 10_000


def test_a_short_message_is_told_as_it_is() -> None:
    assert told("no such file") == "no such file"
    assert told("ü" * 4000) == "ü" * 4000
    assert told("ü" * 4001) == "ü" * 4000 + " … and 1 characters more"


async def test_an_applier_that_moved_to_another_namespace_is_gone_where_it_was() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            world.kustomize.apply_seconds = 20
            console.request(A, Reason.REPAIR)
            await eventually(lambda: "Running" in console.outcomes)
            moved = kustomization()
            moved["metadata"]["namespace"] = "elsewhere"
            world.api.create(KUSTOMIZATIONS, moved)
            world.api._objects.pop(("Kustomization", SHOP.namespace, SHOP.name))
            world.new_writes()
            await console.done()
            assert (console.outcomes[-1], "deleted" in console.operation()["message"]) == ("Failed", True)
            assert not world.api.writes(KUSTOMIZATIONS), "the one elsewhere is not ours"
            console.request(A, Reason.REPAIR)
            await console.done(2)
            assert console.error is not None
            assert "Kustomization flux-system/shop does not exist" in console.error.message


async def test_a_great_many_owners_of_fields_change_nothing() -> None:
    async with simulated() as world:
        entry = {"operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:labels": {"f:x": {}}}}}
        crowd = [{**entry, "manager": f"tool-{number}", "subresource": ""} for number in range(5000)]
        world.api._objects["Kustomization", SHOP.namespace, SHOP.name]["metadata"]["managedFields"] += crowd
        assert (await world.client.validate(SHOP)).ok
        assert (await world.client.suspension(SHOP)).held


@pytest.mark.parametrize("fields", [None, {}, {"f:spec": None}, {"f:spec": []}, [], "x"])
async def test_owned_fields_of_odd_shape_are_nobodys(fields: object) -> None:
    async with simulated() as world:
        odd = {"manager": "odd", "operation": "Apply", "fieldsV1": fields}
        world.api._objects["Kustomization", SHOP.namespace, SHOP.name]["metadata"]["managedFields"].append(odd)
        assert (await world.client.validate(SHOP)).ok


class Jumping:
    """A clock that somebody sets."""

    def __init__(self) -> None:
        self.time = START

    def now(self) -> datetime:
        return self.time


@pytest.mark.scenario("dispatch:W24")
def test_tokens_increase_even_when_the_clock_is_set_back() -> None:
    clock = Jumping()
    tokens = Tokens(clock)
    made = []
    for hours in (0, -1, -1, 2, 1):
        clock.time = START + timedelta(hours=hours)
        made += [tokens.new(), tokens.new()]
    assert made == sorted(set(made))


@pytest.mark.scenario("dispatch:X5")
@pytest.mark.parametrize("hours", [-1, 1])
async def test_a_clock_that_is_set_in_mid_flight_neither_ends_nor_prolongs_it(hours: int) -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            clock = Jumping()
            console.dispatcher._desk.clock = clock
            await world.kustomize.stop()
            console.request(A, Reason.REPAIR)
            await eventually(lambda: "Requested" in console.outcomes)
            clock.time = START + timedelta(hours=hours)
            await asyncio.sleep(295)
            assert "Unresolved" not in console.outcomes
            await asyncio.sleep(15)
            assert "Unresolved" in console.outcomes
            assert world.k["spec"]["suspend"] is True
            world.kustomize.start()
            await console.done()


async def test_of_two_consoles_that_ask_at_once_one_applies_and_the_other_is_told_why() -> None:
    async with simulated(held=False) as world:
        await asyncio.sleep(5)
        async with local(world) as console:
            other = LocalConsole(world)
            other.start()
            console.request(A)
            other.request(A)
            await asyncio.gather(console.done(), other.done())
            errors = [asking.reports[-1].error for asking in (console, other)]
            told_off = [error for error in errors if error is not None]
            assert len(told_off) == 1
            assert "in flight" in told_off[0].message or "changed just before" in told_off[0].message
            assert len(world.resumes) == 1
            assert world.k["spec"]["suspend"] is True
            await other.stop()


async def test_a_trigger_whose_status_cannot_be_written_starts_nothing() -> None:
    async with simulated() as world:
        set_up(world)
        async with consoles(world) as console:
            world.api.fail("replace", FLUX_TRIGGERS, UnclearAnswer("lost"), times=1)
            console.request(A, Reason.REPAIR)
            await console.done()
            assert isinstance(console.error, RetryableError)
            assert f"FluxTrigger {TEAM}/shop" in console.error.message
            assert not world.resumes
