"""The graph engine's storage in the journal's file: one contract with storage in memory, and what only a file can get wrong."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from console.engines.graph import EMPTY, DesiredGraph, InMemoryStorage, Kind, Kinds, Reconciler, Request, Secret, ref, resource
from console.engines.ports.storage import HasHashKey, KeepsHistory, KeepsIntents, LocksRuns, ResourceStorage
from console.errors import JournalError
from console.journal.database import Database
from console.journal.graph_store import GraphStore
from console.journal.sealing import KeySealer
from console.model.graph import Deployed, Identity, Intent, RunReport

KEY = bytes(range(32))
RECORD = Deployed(
    id="1",
    kind="k",
    name="n",
    input={"text": "x", "password": "hunter2", "deep": {"list": [1, {"pin": 1234}]}},
    output={"token": "tok", "number": 1.5, "none": None},
    sources=("b", "a"),
    deps=(Identity("k", "parent"),),
    replaces="0",
    secret_paths=(("input", "password"), ("input", "deep", "list", "1", "pin"), ("output", "token"), ("output", "absent")),
    run_id="r",
)


class SteppedClock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.at = datetime(2030, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        """The set instant."""
        return self.at


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await Database.open(tmp_path / "journal.db")
    yield opened
    await opened.close()


@pytest.fixture(params=["memory", "file"])
async def storage(request: pytest.FixtureRequest, database: Database) -> InMemoryStorage | GraphStore:
    return InMemoryStorage() if request.param == "memory" else GraphStore(database, KeySealer(KEY))


async def test_it_can_do_all_that_a_run_may_ask(storage: InMemoryStorage | GraphStore) -> None:
    for ability in (ResourceStorage, KeepsIntents, LocksRuns, KeepsHistory, HasHashKey):
        assert isinstance(storage, ability)


async def test_a_record_comes_back_as_it_was_put(storage: InMemoryStorage | GraphStore) -> None:
    await storage.put_resource("p", RECORD)
    assert await storage.list_resources("p") == [RECORD]
    assert await storage.list_resources("other") == []


async def test_a_record_is_replaced_by_identity_and_id(storage: InMemoryStorage | GraphStore) -> None:
    newer = msgspec.structs.replace(RECORD, input={}, secret_paths=())
    other_version = msgspec.structs.replace(newer, id="2", replaces="1")
    for record in (RECORD, newer, other_version):
        await storage.put_resource("p", record)
    assert sorted(await storage.list_resources("p"), key=lambda record: record.id) == [newer, other_version]
    await storage.delete_resource("p", newer)
    await storage.delete_resource("p", newer)
    assert await storage.list_resources("p") == [other_version]


async def test_an_intent_goes_with_its_record(storage: InMemoryStorage | GraphStore) -> None:
    intent = Intent(
        id="1",
        kind="k",
        name="n",
        input={"password": "hunter2"},
        input_hash="h",
        deps=(Identity("k", "p"),),
        secret_paths=(("input", "password"),),
        started="2030-01-01T00:00:00+00:00",
    )
    await storage.put_intent("p", intent)
    await storage.put_intent("p", msgspec.structs.replace(intent, id="2"))
    assert (await storage.list_intents("p"))[0] == intent
    await storage.put_resource("p", RECORD)
    assert [item.id for item in await storage.list_intents("p")] == ["2"]
    await storage.delete_resource("p", msgspec.structs.replace(RECORD, id="2"))
    assert await storage.list_intents("p") == []


async def test_the_lock_has_one_holder(storage: InMemoryStorage | GraphStore) -> None:
    assert await storage.lock_run("p", "run", "first") == ""
    assert await storage.lock_run("p", "run", "first") == ""
    assert await storage.lock_run("p", "run", "second") == "run"
    assert await storage.lock_run("other", "run", "second") == ""
    await storage.unlock_run("p", "second")
    assert await storage.lock_run("p", "later", "second") == "run"
    await storage.unlock_run("p", "first")
    assert await storage.lock_run("p", "later", "second") == ""


async def test_reports_are_kept(storage: InMemoryStorage | GraphStore) -> None:
    report = RunReport(run_id="r", project="p", outcome="succeeded", duration=2.5)
    await storage.put_run("p", report)
    assert await storage.list_runs("p") == [report]


class Account(msgspec.Struct):
    """An input with a secret."""

    name: str = ""
    password: Secret = ""


class AccountKind(Kind[Account, Account]):
    """Echoes its input."""

    input_model = Account
    output_model = Account

    async def create(self, req: Request[Account, Account]) -> Account:
        """What was asked for."""
        return req.input

    async def update(self, req: Request[Account, Account]) -> Account:
        """What was asked for."""
        return req.input

    async def delete(self, req: Request[Account, Account]) -> None:
        """Nothing to do."""


def accounts(password: str) -> DesiredGraph:
    """One account, and one that is made from its output."""
    first = resource("account", "a", Account("alice", password))
    return DesiredGraph([first, resource("account", "b", {"name": "bob", "password": ref("account", "a", "password")})])


async def test_the_engine_converges_over_it(storage: InMemoryStorage | GraphStore) -> None:
    engine = Reconciler(storage, Kinds({"account": AccountKind()}))
    assert (await engine.reconcile("1", "p", accounts("one"))).totals["created"] == 2
    assert (await engine.reconcile("2", "p", accounts("one"))).totals == {"created": 0, "updated": 0, "deleted": 0}
    assert (await engine.reconcile("3", "p", accounts("two"))).totals["updated"] == 2
    plan = (await engine.reconcile("4", "p", EMPTY, mode="plan")).plan
    assert plan is not None
    assert (await engine.apply("5", plan, EMPTY)).totals["deleted"] == 2
    assert sorted(report.run_id for report in await storage.list_runs("p")) == ["1", "2", "3", "5"]


async def test_a_plan_holds_over_a_reopened_file(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    database = await Database.open(path)
    engine = Reconciler(GraphStore(database, KeySealer(KEY)), Kinds({"account": AccountKind()}))
    await engine.reconcile("1", "p", accounts("one"))
    plan = (await engine.reconcile("2", "p", accounts("two"), mode="plan")).plan
    await database.close()
    database = await Database.open(path)
    assert plan is not None
    report = await Reconciler(GraphStore(database, KeySealer(KEY)), Kinds({"account": AccountKind()})).apply(
        "3", plan, accounts("two")
    )
    assert report.totals["updated"] == 2
    await database.close()


@pytest.mark.scenario("graph:G59")
async def test_no_secret_reaches_the_file(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    database = await Database.open(path)
    store = GraphStore(database, KeySealer(KEY))
    await Reconciler(store, Kinds({"account": AccountKind()})).reconcile("1", "p", accounts("correct-horse"))
    await store.put_resource("p", RECORD)
    await store.put_intent("p", Intent(id="9", kind="k", name="n", input={"a": "staple"}, secret_paths=(("input", "a"),)))
    await database.close()
    content = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"alice" in content
    for secret in (b"correct-horse", b"hunter2", b"1234", b'"tok"', b"staple"):
        assert secret not in content


async def test_namespaces_do_not_see_each_other(database: Database) -> None:
    one, two = GraphStore(database, KeySealer(KEY), "one"), GraphStore(database, KeySealer(KEY), "two")
    await one.put_resource("p", RECORD)
    assert await two.list_resources("p") == []
    await two.delete_resource("p", RECORD)
    assert await one.list_resources("p") == [RECORD]
    assert await one.lock_run("p", "r", "1") == await two.lock_run("p", "s", "2") == ""


async def test_a_lock_that_is_not_renewed_for_a_minute_can_be_taken(database: Database) -> None:
    clock = SteppedClock()
    store = GraphStore(database, KeySealer(KEY), clock=clock)
    assert await store.lock_run("p", "gone", "1") == ""
    clock.at += timedelta(seconds=59)
    assert await store.lock_run("p", "next", "2") == "gone"
    clock.at += timedelta(seconds=2)
    assert await store.lock_run("p", "next", "2") == ""
    assert await store.lock_run("p", "gone", "1") == "next"


async def test_another_key_does_not_open_what_was_sealed(database: Database) -> None:
    await GraphStore(database, KeySealer(KEY)).put_resource("p", RECORD)
    with pytest.raises(JournalError, match="can't be opened with this key"):
        await GraphStore(database, KeySealer(bytes(32))).list_resources("p")


def test_the_key_file_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "state" / "graph.key"
    first = KeySealer.from_file(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert KeySealer.from_file(path).unseal(first.seal("x")) == "x"
    assert KeySealer.from_file(path).hash_key == first.hash_key
    path.write_bytes(b"short")
    with pytest.raises(JournalError, match="5 bytes"):
        KeySealer.from_file(path)


async def test_an_older_journal_gains_the_tables(tmp_path: Path) -> None:
    from console.journal.schema import MIGRATIONS

    path = tmp_path / "journal.db"
    older = sqlite3.connect(path)
    older.executescript(f"{MIGRATIONS[0]} PRAGMA user_version = 1;")
    older.close()
    database = await Database.open(path)
    await GraphStore(database, KeySealer(KEY)).put_resource("p", RECORD)
    await database.close()
