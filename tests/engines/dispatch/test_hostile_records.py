"""Records and addresses that somebody got wrong, by hand or by design: each is refused by name, and stops nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from console.engines.dispatch.argo_reading import (
    automated,
    build_operation,
    carries,
    initiator,
    orphan,
    running,
    unsupported,
)
from console.engines.dispatch.argo_step import argo_step
from console.engines.dispatch.binding import binding_mismatch, same_repository, shown
from console.engines.dispatch.constants import LOCAL_RECORD, Outcome, Reason, RequestOutcome, Timing
from console.engines.dispatch.custom_triggers import StatusStore
from console.engines.dispatch.faults import PermanentError, RetryableError
from console.engines.dispatch.flux_reading import (
    SuspendOwners,
    already_applied,
    pin,
    read_suspension,
    ready_condition,
    repository_source,
    source_name,
    suspend_owners,
)
from console.engines.dispatch.flux_step import flux_step, has_evidence
from console.engines.dispatch.local import read_local
from console.engines.dispatch.local_triggers import foreign_holder
from console.engines.dispatch.references import References
from console.engines.dispatch.resources import trigger_view
from console.engines.dispatch.status_writer import StatusWriter
from console.engines.dispatch.types import Binding, Operation, Source, Started, TriggerRef, TriggerStatus
from console.engines.ports.applier import APPLICATIONS, FLUX_TRIGGERS, KUSTOMIZATIONS, JsonObject
from console.errors import Forbidden, ProtocolError
from console.kit.timing import LoopClock
from tests.engines.dispatch.apiserver import ApiServer
from tests.engines.dispatch.argo_steps import asked as asked_argo
from tests.engines.dispatch.argo_world import application, argo
from tests.engines.dispatch.reverser import TEAM, consoles, flux_trigger, set_up
from tests.engines.dispatch.world import SHOP, START, URL, WANT, A, Asking, C, eventually, simulated

NONSENSE = {"token": 7, "outcome": "Perhaps"}


def other_trigger(name: str, kustomization: str) -> JsonObject:
    """A trigger with a record that nobody can understand."""
    _, trigger = flux_trigger(name, operation=NONSENSE)
    trigger["spec"]["kustomizationRef"]["name"] = kustomization
    return trigger


@pytest.mark.looptime
async def test_a_record_nobody_understands_stops_only_its_own_trigger() -> None:
    async with simulated() as world:
        set_up(world)
        world.api.create(FLUX_TRIGGERS, other_trigger("broken", "elsewhere"))
        references = References(world.api)
        assert [view.ref.name for view in await references.triggers("FluxTrigger")] == ["shop"]
        with pytest.raises(ProtocolError, match="FluxTrigger team-a/broken cannot be understood") as caught:
            await references.trigger(TriggerRef("FluxTrigger", TEAM, "broken"))
        assert "status.operation" in caught.value.hint
        async with consoles(world) as console:
            console.request(A, Reason.REPAIR)
            await console.done()
            assert console.outcomes[-1] == "Succeeded"


@pytest.mark.looptime
async def test_nothing_is_asked_while_the_record_of_a_rival_for_the_applier_is_not_understood() -> None:
    async with simulated() as world:
        set_up(world)
        world.api.create(FLUX_TRIGGERS, other_trigger("rival", SHOP.name))
        async with consoles(world) as console:
            console.request(A, Reason.REPAIR)
            await console.done()
            assert isinstance(console.error, RetryableError)
            assert "team-a/rival" in console.error.message
            assert not world.resumes


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:X17")
async def test_nothing_is_fetched_ahead_while_a_record_may_be_one_in_flight() -> None:
    async with simulated() as world:
        set_up(world)
        source = {
            "gitRepository": {"namespace": SHOP.namespace, "name": SHOP.name},
            "url": URL,
            "revision": "main",
            "prefetch": True,
        }
        world.api.edit(FLUX_TRIGGERS, TEAM, "shop", lambda trigger: trigger["status"].update(source=source), "gotk-x")
        world.api.create(FLUX_TRIGGERS, other_trigger("broken", "elsewhere"))
        async with consoles(world) as console:
            with pytest.raises(ProtocolError):
                await console.dispatcher._desk.triggers.prefetch_source(console.ref(), trigger_view(console.trigger()).key)


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:W21")
async def test_who_holds_an_applier_is_told_whatever_its_record_says() -> None:
    async with simulated() as world:
        world.api.create(FLUX_TRIGGERS, other_trigger("broken", "elsewhere"))
        assert await foreign_holder(world.api, "Kustomization", SHOP) == ""
        world.api.create(FLUX_TRIGGERS, other_trigger("rival", SHOP.name))
        assert await foreign_holder(world.api, "Kustomization", SHOP) == "FluxTrigger team-a/rival"


@pytest.mark.parametrize(
    "annotation",
    [
        pytest.param("{", id="half"),
        pytest.param("[]", id="list"),
        pytest.param('"x"', id="string"),
        pytest.param("\x1b[2J", id="escape"),
        pytest.param('{"operation": 1}', id="number"),
        pytest.param('{"operation": {"token": 5}}', id="odd operation"),
        pytest.param("x" * 300_000, id="huge"),
        pytest.param("[" * 100_000, id="deep"),
    ],
)
def test_an_annotation_nobody_understands_says_which_and_how_to_put_it_right(annotation: str) -> None:
    metadata = {"namespace": "a", "name": "b", "annotations": {LOCAL_RECORD: annotation}}
    with pytest.raises(ProtocolError, match="Kustomization a/b") as caught:
        read_local({"kind": "Kustomization", "metadata": metadata})
    assert LOCAL_RECORD in caught.value.hint
    assert len(caught.value.message) < 500


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:W11")
async def test_a_withdrawal_restores_what_was_really_replaced_not_what_was_read_first() -> None:
    clock = LoopClock(START)
    clock.now()
    api = ApiServer(clock)
    api.create(*flux_trigger())
    writer = StatusWriter(StatusStore(api))
    writer.start()
    trigger = TriggerRef("FluxTrigger", TEAM, "shop")
    found = {"token": "found", "reason": "External", "outcome": "Succeeded"}
    reconciler = lambda: api.edit(FLUX_TRIGGERS, TEAM, "shop", lambda t: t["status"].update(operation=found), "gotk-x")  # noqa: E731
    api.before("replace", FLUX_TRIGGERS, reconciler)
    await writer.record(trigger, Operation(token="T", reason=Reason.REPAIR, outcome=Outcome.REQUESTED))
    writer.publish(trigger, TriggerStatus(withdrawn=("T",)))
    await eventually(lambda: api.peek(FLUX_TRIGGERS, TEAM, "shop")["status"]["operation"] == found)
    await writer.stop()


@pytest.mark.parametrize(
    "url", ["https://[git.example.test/a", "https://git.example.test:port/a", "https://git.example.test:99999/a"]
)
def test_an_address_that_is_none_matches_only_itself(url: str) -> None:
    assert same_repository(url, url)
    assert not same_repository(url, "https://git.example.test/a")
    assert "git.example.test" in binding_mismatch(Source(url, "main"), WANT)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://token-1234@git.example.test/a/b", "https://git.example.test/a/b"),
        ("https://jane:secret@git.example.test/a/b", "https://git.example.test/a/b"),
        ("HTTP://jane:se@cret@git.example.test", "HTTP://git.example.test"),
        ("ssh://git:secret@git.example.test/a@b", "ssh://git@git.example.test/a@b"),
        ("ssh://git@git.example.test/a", "ssh://git@git.example.test/a"),
        ("https://git.example.test/a@b", "https://git.example.test/a@b"),
        ("git@git.example.test:a/b", "git@git.example.test:a/b"),
    ],
)
def test_no_credential_of_an_address_is_told(url: str, told: str) -> None:
    assert shown(url) == told
    message = binding_mismatch(Source(url, "main"), Binding("https://other.example.test/x", "main"))
    assert told in message
    assert "secret" not in message


@pytest.mark.scenario("dispatch:AC30")
def test_an_application_that_asks_for_no_retries_gets_none() -> None:
    assert build_operation(application(syncPolicy={"retry": {}}), C, "T")["retry"] == {"refresh": False}


@pytest.mark.looptime
@pytest.mark.scenario("dispatch:R28", "dispatch:AC37")
async def test_a_write_that_is_forbidden_is_not_called_a_read() -> None:
    async with simulated() as world:
        world.api.fail("apply", KUSTOMIZATIONS, Forbidden("no", "Ask for it.", status=403))
        with pytest.raises(PermanentError, match="Kustomization flux-system/shop may not be resumed") as caught:
            await world.client.request(SHOP, Asking(commit=A, reason=Reason.REPAIR).ask())
        assert caught.value.hint == "Ask for it."
    async with argo() as application_world:
        application_world.api.fail("replace", APPLICATIONS, Forbidden("no", "Ask for it.", status=403))
        with pytest.raises(PermanentError, match="no operation may be set on Application argocd/shop"):
            await asked_argo(application_world)


@pytest.mark.parametrize("odd", [None, "7", [], {}, True])
def test_a_status_of_odd_shape_is_no_evidence(odd: object) -> None:
    started = Started(outcome=RequestOutcome.RESUMED, token="T", commit=C, requested_at=START, resume_generation=3)
    conditions = [{"type": "Ready", "status": "True", "observedGeneration": odd, "lastTransitionTime": odd}]
    obj = {"status": {"conditions": conditions, "history": [odd]}}
    assert not has_evidence(obj, started, 1.0)
    started.resume_generation, started.guard_generation = 0, 3
    assert not has_evidence(obj, started, 1.0)
    started.guard_generation = 0
    assert not has_evidence(obj, started, 1.0)
    assert not has_evidence({"status": {"history": odd}}, started, 1.0)


def test_a_published_source_of_odd_shape_is_none() -> None:
    _, trigger = flux_trigger(source="https://git.example.test/a")
    assert trigger_view({**trigger, "kind": "FluxTrigger"}).source is None
    _, trigger = flux_trigger(source={"url": 5, "gitRepository": "shop"})
    assert trigger_view({**trigger, "kind": "FluxTrigger"}).source == Source("", "")


ODD_PARTS: list[Any] = [None, "x", 7, True, [], ["x", None, 7], {}, {"x": 1}]


@pytest.mark.parametrize("part", ODD_PARTS, ids=repr)
def test_an_object_of_odd_shape_is_read_as_one_that_says_nothing(part: Any) -> None:
    obj = {
        "metadata": {"managedFields": part, "annotations": part},
        "spec": {"sourceRef": part, "ref": part},
        "status": {"conditions": part, "history": part, "artifact": part},
    }
    started = Started(outcome=RequestOutcome.RESUMED, token="T", commit=C, requested_at=START)
    assert suspend_owners(obj, "m") == SuspendOwners(False, (), ())
    assert source_name(obj) is None
    assert repository_source(obj).revision == "master"
    assert ready_condition(obj) is None
    assert not already_applied(obj, C)
    assert read_suspension(obj, "m").suspended is False
    assert flux_step(obj, started, 1.0).progress.outcome is Outcome.RUNNING
    assert flux_step({"spec": part, "status": part, "metadata": part}, started, 1.0).suspend is False


@pytest.mark.parametrize("part", ODD_PARTS, ids=repr)
def test_an_application_of_odd_shape_is_read_as_one_that_says_nothing(part: Any) -> None:
    app = {"metadata": {}, "spec": {"syncPolicy": part}, "status": {"operationState": part, "history": part}}
    started = Started(outcome=RequestOutcome.SYNC_REQUESTED, token="T", commit=C, requested_at=START, recovered=True)
    assert unsupported(app) == "it has no source"
    assert not running({"status": {"operationState": part}})
    assert orphan(app) is None
    assert initiator({"operation": part, "status": {"operationState": part}}) == "somebody unknown"
    assert not carries(part, "T")
    assert not carries({"info": part}, "T")
    assert argo_step(app, started, START, Timing()).progress.outcome is Outcome.REQUESTED
    assert automated({"spec": {"syncPolicy": {"automated": part}}}) is (part is not None), "what is there may be on"


@pytest.mark.scenario("dispatch:V5", "dispatch:J14")
def test_what_somebody_wrote_into_a_source_steers_no_terminal() -> None:
    assert pin({"spec": {"ref": {"tag": "v1\x1b[2J"}}}) == "tag v1␛[2J"
    loud = "https://git.example.test/\x1b]0;x\x07\u202e"
    for source in (Source(loud, "main"), Source(URL, "main\x1b[2J\u202e")):
        assert binding_mismatch(source, WANT).isprintable()
