"""Plans: what would be done, without doing it; and secrets, which no plan, event, report or log may show."""

from __future__ import annotations

import logging
from typing import Annotated, Any

import msgspec
import pytest

from console.engines.graph import (
    EMPTY,
    SECRET,
    DesiredGraph,
    InMemoryStorage,
    Kind,
    PermanentError,
    PlanStale,
    ReconcileError,
    Request,
    Secret,
    join,
    ref,
)
from console.model.graph import KNOWN_AFTER_APPLY, Action, Changed, Identity, Plan
from console.model.graph_events import Progress, Retrying
from tests.engines.graph.world import PROJECT, Heard, PlainStorage, Storage, World, concat, deployed, graph, kinds, reconciler


@pytest.fixture
def world() -> World:
    return World()


async def plan_of(engine: Any, wanted: DesiredGraph, **more: Any) -> Plan:
    """The plan for this graph."""
    plan = (await engine.reconcile("plan", PROJECT, wanted, mode="plan", **more)).plan
    assert isinstance(plan, Plan)
    return plan


@pytest.mark.scenario("graph:G44")
async def test_what_a_parent_will_give_is_known_after_apply_and_nothing_is_written(world: World) -> None:
    plan = await plan_of(
        reconciler(world, PlainStorage(world)), graph(concat("a", "x"), concat("b", join("<", ref("concat", "a", "text"), ">")))
    )
    assert world.calls == ["list"]
    first, second = plan.steps
    assert (first.identity, first.action, first.wave) == (Identity("concat", "a"), Action.CREATE, 0)
    assert (second.action, second.wave, second.parents) == (Action.CREATE, 1, (Identity("concat", "a"),))
    assert second.changes == (Changed(path="text", after=KNOWN_AFTER_APPLY),)
    assert plan.totals == {"create": 2}


async def test_a_child_whose_own_part_is_equal_may_or_may_not_change(world: World) -> None:
    storage = PlainStorage(world)
    engine = reconciler(world, storage)
    text = ref("concat", "a", "text")
    await engine.reconcile("1", PROJECT, graph(concat("a", "x"), concat("b", text, "!"), concat("c", text, "!")))
    plan = await plan_of(engine, graph(concat("a", "y"), concat("b", text, "!"), concat("c", text, "?")))
    assert [step.action for step in plan.steps] == [Action.UPDATE, Action.MAYBE_UPDATE, Action.UPDATE]
    assert plan.steps[0].changes == (Changed(path="text", before="x", after="y"),)
    assert plan.steps[1].changes == (Changed(path="text", before="x", after=KNOWN_AFTER_APPLY),)


async def test_a_plan_of_nothing_says_so(world: World) -> None:
    storage = PlainStorage(world, [deployed("a", input={"text": "x"})])
    plan = await plan_of(reconciler(world, storage), graph(concat("a", "x")))
    assert plan.nothing
    assert plan.totals == {"none": 1}


async def test_deletes_are_listed_in_their_order(world: World) -> None:
    storage = PlainStorage(world, [deployed("a"), deployed("b", deps=["a"]), deployed("c", deps=["b"])])
    plan = await plan_of(reconciler(world, storage), EMPTY)
    assert [(step.identity.name, step.wave) for step in plan.deletes] == [("c", 0), ("b", 1), ("a", 2)]
    assert (await plan_of(reconciler(world, storage), EMPTY, prune=False)).deletes == ()


async def test_a_plan_can_be_applied_and_does_what_it_said(world: World) -> None:
    storage = PlainStorage(world, [deployed("old")])
    engine = reconciler(world, storage)
    wanted = graph(concat("a", "x"))
    plan = await plan_of(engine, wanted)
    report = await engine.apply("apply", plan, wanted)
    assert report.totals == {"created": 1, "updated": 0, "deleted": 1}


@pytest.mark.scenario("graph:G45")
async def test_a_plan_is_refused_once_storage_has_changed(world: World) -> None:
    storage = PlainStorage(world)
    engine = reconciler(world, storage)
    wanted = graph(concat("a", "x"))
    plan = await plan_of(engine, wanted)
    await storage.put_resource(PROJECT, deployed("b"))
    world.calls.clear()
    with pytest.raises(PlanStale):
        await engine.apply("apply", plan, wanted)
    assert world.calls == ["list"]


async def test_a_plan_of_another_graph_is_refused(world: World) -> None:
    engine = reconciler(world, PlainStorage(world))
    plan = await plan_of(engine, graph(concat("a", "x")))
    with pytest.raises(PlanStale):
        await engine.apply("apply", plan, graph(concat("a", "y")))


async def test_what_is_destructive_or_slow_is_warned_of(world: World) -> None:
    class Volume(Kind[dict[str, str], dict[str, str]]):
        destructive = True

    class Service(Kind[dict[str, str], dict[str, str]]):
        async def wait_ready(self, req: Request[Any, Any]) -> None:
            """Never called in a plan."""

    registry = kinds(world, volume=Volume(), service=Service())
    engine = reconciler(world, PlainStorage(world, [deployed("data", kind="volume")]), registry=registry)
    plan = await plan_of(engine, graph(concat("web", kind="service")))
    assert plan.warnings == (
        "Waiting until service/web is ready may take long.",
        "Deleting volume/data is destructive: what it holds is lost.",
    )


async def test_a_plan_reads_the_world_first_unless_told_not_to(world: World) -> None:
    storage = PlainStorage(world, [deployed("a", kind="readable", input={"text": "x"})])
    engine = reconciler(world, storage)
    wanted = graph(concat("a", "x", kind="readable"))
    plan = await plan_of(engine, wanted)
    assert (plan.steps[0].action, plan.steps[0].reason) == (Action.CREATE, "vanished")
    assert (await plan_of(engine, wanted, refresh=False)).nothing
    await engine.apply("apply", plan, wanted)
    assert world.of("create") == ["a"]


PASSWORD = "hunter2-öß"


class Login(msgspec.Struct):
    """An input with a secret."""

    user: str = ""
    password: Annotated[str, SECRET] = ""
    nested: dict[str, Secret] = {}


class Token(msgspec.Struct):
    """An output with a secret."""

    token: Secret = ""


class Account(Kind[Login, Token]):
    """Gives out a token made of the password; fails with it in its message on request."""

    input_model = Login
    output_model = Token
    faults: list[Exception]

    def __init__(self) -> None:
        self.faults = []

    async def create(self, req: Request[Login, Token]) -> Token:
        """Tell too much on the way."""
        req.progress(f"logging in with {req.input.password}", 1, 2)
        if self.faults:
            raise self.faults.pop(0)
        return Token(token="token-" + req.input.password)

    async def update(self, req: Request[Login, Token]) -> Token:
        """As create."""
        return await self.create(req)


def account(password: str) -> DesiredGraph:
    """An account, and a resource that uses its token in a field nobody marked."""
    from console.engines.graph import resource

    return graph(
        resource("account", "db", {"user": "u", "password": password, "nested": {"k": password}}),
        concat("app", join("t=", ref("account", "db", "token"))),
    )


@pytest.mark.scenario("graph:G59")
@pytest.mark.looptime
async def test_a_secret_is_shown_nowhere(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    heard, kind = Heard(), Account()
    logger = logging.getLogger("graph-test")
    engine = reconciler(world, Storage(world), registry=kinds(world, account=kind), events=heard, logger=logger)
    await engine.reconcile("1", PROJECT, account("first-secret"))
    plan = await plan_of(engine, account(PASSWORD))
    assert [change for step in plan.steps for change in step.changes if change.secret] == [
        Changed(path="nested.k", after="changed", secret=True),
        Changed(path="password", after="changed", secret=True),
        Changed(path="text", after="changed", secret=True),
    ]
    kind.faults = [OSError(f"bad password {PASSWORD}"), PermanentError(ValueError(f"really bad {PASSWORD}"))]
    with pytest.raises(ReconcileError) as caught:
        await engine.reconcile("2", PROJECT, account(PASSWORD))
    await engine.reconcile("3", PROJECT, account(PASSWORD))
    assert heard.of(Progress)
    assert heard.of(Retrying)
    shown = [repr(plan), msgspec.json.encode(plan).decode(), *map(repr, heard), repr(caught.value.report), caplog.text]
    shown += [str(caught.value), str(caught.value.__cause__)]
    for text in shown:
        assert PASSWORD not in text
        assert "first-secret" not in text


async def test_a_stored_record_names_its_secrets_for_storage_to_seal(world: World) -> None:
    storage = InMemoryStorage()
    await reconciler(world, storage, registry=kinds(world, account=Account())).reconcile("1", PROJECT, account(PASSWORD))
    paths = {record.name: set(record.secret_paths) for record in await storage.list_resources(PROJECT)}
    assert paths == {
        "db": {("input", "password"), ("input", "nested", "k"), ("output", "token")},
        "app": {("input", "text")},
    }
