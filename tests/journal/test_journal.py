"""The journal: durable, private, explained when it can't be used."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from console.errors import JournalError
from console.journal.database import Database
from console.journal.export import as_json, as_markdown
from console.journal.journal import Journal
from console.journal.lease import Lease
from console.journal.records import Who
from console.journal.schema import MIGRATIONS
from console.model.operations import State, StepView
from console.model.plan import Intent, Plan, PlanStep
from console.model.refs import Ref

WEB = Ref("harbour", "SwarmService", "", "web", "abc")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class SetClock:
    """A clock that tests turn by hand."""

    def __init__(self) -> None:
        self.instant = NOON

    def now(self) -> datetime:
        return self.instant


def scale_plan(before: str = "2", after: str = "4") -> Plan:
    return Plan(
        intent=Intent(verb="scale", targets=(WEB,), arguments={"replicas": after}),
        steps=(PlanStep(key="web", title="Scale web", ref=WEB, precondition={"Version.Index": "7"}),),
        undo=Intent(verb="scale", targets=(WEB,), arguments={"replicas": before}),
    )


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
async def journal(tmp_path: Path, clock: SetClock) -> AsyncIterator[Journal]:
    opened = await Journal.open(tmp_path / "state" / "journal.db", clock, Who(user="ops", host="bastion"))
    yield opened
    await opened.close()


async def test_an_operation_is_kept_with_its_steps_calls_and_end(journal: Journal, clock: SetClock) -> None:
    operation = await journal.begin(scale_plan(), "traffic doubles at noon")
    await journal.step_started(operation, "web", "POST /services/abc/update?version=7")
    clock.instant += timedelta(seconds=3)
    await journal.step_ended(operation, "web", State.SUCCEEDED, "accepted", 0.25)
    await journal.end(operation, State.SUCCEEDED, "4 of 4 tasks run")

    (record,) = await journal.operations()
    assert (record.state, record.message, record.why) == (State.SUCCEEDED, "4 of 4 tasks run", "traffic doubles at noon")
    assert [(step.state, step.detail, step.attempts) for step in record.steps] == [(State.SUCCEEDED, "accepted", 1)]
    assert [(call.request, call.result, call.seconds) for call in record.calls] == [
        ("POST /services/abc/update?version=7", "accepted", 0.25)
    ]
    assert record.plan == scale_plan()
    assert record.view().undoable


async def test_an_operation_undone_since_is_not_offered_for_undo_again(journal: Journal) -> None:
    first = await journal.begin(scale_plan(), "")
    await journal.end(first, State.SUCCEEDED, "")
    second = await journal.begin(scale_plan("4", "2"), "", undo_of=first)
    await journal.end(second, State.SUCCEEDED, "")

    newest, oldest = await journal.operations()
    assert (newest.id, newest.view().undoable) == (second, True)
    assert (oldest.id, oldest.view().undoable) == (first, False)


async def test_a_record_is_on_the_disk_before_begin_returns(journal: Journal) -> None:
    operation = await journal.begin(scale_plan(), "")
    await journal.step_started(operation, "web", "call")
    other = sqlite3.connect(journal.path)
    try:
        assert other.execute("SELECT state FROM steps WHERE operation = ?", (operation,)).fetchall() == [("running",)]
    finally:
        other.close()


async def test_steps_that_never_began_are_skipped_when_an_operation_ends(journal: Journal) -> None:
    operation = await journal.begin(scale_plan(), "")
    await journal.end(operation, State.CANCELLED, "cancelled before the first call")
    (record,) = await journal.operations()
    assert [step.state for step in record.steps] == [State.SKIPPED]


async def test_unfinished_operations_are_found_after_a_crash(tmp_path: Path, clock: SetClock) -> None:
    path = tmp_path / "journal.db"
    script = (
        "import asyncio, os, sys\n"
        "from pathlib import Path\n"
        "from tests.journal.test_journal import SetClock, scale_plan\n"
        "from console.journal.journal import Journal\n"
        "from console.journal.records import Who\n"
        "async def main():\n"
        "    journal = await Journal.open(Path(sys.argv[1]), SetClock(), Who(user='ops'))\n"
        "    operation = await journal.begin(scale_plan(), '')\n"
        "    await journal.step_started(operation, 'web', 'call')\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())\n"
    )
    ended = subprocess.run([sys.executable, "-c", script, str(path)], check=False, timeout=60)
    assert ended.returncode == -9
    journal = await Journal.open(path, clock, Who(user="ops"))
    try:
        (record,) = await journal.unfinished()
        assert [step.state for step in record.steps] == [State.RUNNING]
        assert journal.lease.held, "the kernel gives a dead process's lease back"
    finally:
        await journal.close()


async def test_a_second_console_reads_but_may_not_begin(journal: Journal, clock: SetClock) -> None:
    await journal.begin(scale_plan(), "")
    second = await Journal.open(journal.path, clock, Who(user="ops", host="bastion", pid=2))
    try:
        assert len(await second.operations()) == 1
        with pytest.raises(JournalError, match="ops@bastion"):
            await second.begin(scale_plan(), "")
    finally:
        await second.close()


async def test_the_lease_passes_on_when_its_holder_lets_go(tmp_path: Path) -> None:
    first, second = Lease(tmp_path / "j.lock"), Lease(tmp_path / "j.lock")
    assert first.acquire("first")
    assert not second.acquire("second")
    assert second.holder() == "first"
    first.release()
    assert second.acquire("second")
    second.release()


async def test_the_file_is_for_its_owner_only(journal: Journal) -> None:
    await journal.begin(scale_plan(), "")
    for file in journal.path.parent.iterdir():
        mode = stat.S_IMODE(file.stat().st_mode)
        assert mode == 0o600, file.name
    assert stat.S_IMODE(journal.path.parent.stat().st_mode) == 0o700


async def test_a_journal_of_a_newer_version_is_refused_and_left_as_it_is(tmp_path: Path, clock: SetClock) -> None:
    path = tmp_path / "journal.db"
    newer = sqlite3.connect(path)
    newer.execute("CREATE TABLE unknown (a)")
    newer.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    newer.close()
    with pytest.raises(JournalError, match="has format"):
        await Journal.open(path, clock, Who(user="ops"))
    same = sqlite3.connect(path)
    assert same.execute("SELECT name FROM sqlite_master").fetchall() == [("unknown",)]
    same.close()


async def test_a_damaged_file_is_named_and_kept(tmp_path: Path, clock: SetClock) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(b"this is no database" * 100)
    with pytest.raises(JournalError, match=r"journal\.db is damaged"):
        await Journal.open(path, clock, Who(user="ops"))
    assert path.read_bytes().startswith(b"this is no database")


async def test_a_folder_that_cannot_be_made_is_explained(tmp_path: Path, clock: SetClock) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    with pytest.raises(JournalError, match="can't be used"):
        await Journal.open(tmp_path / "state" / "journal.db", clock, Who(user="ops"))


async def test_a_full_disk_refuses_new_operations_and_reading_goes_on(tmp_path: Path, clock: SetClock) -> None:
    database = await Database.open(tmp_path / "journal.db")
    lease = Lease(tmp_path / "journal.lock")
    lease.acquire("the test")
    journal = Journal(database, lease, clock, Who(user="ops"))
    try:
        kept = await journal.begin(scale_plan(), "")
        # SQLite's own limit answers exactly as a full disk does: SQLITE_FULL.
        pages = await database.read(lambda connection: connection.execute("PRAGMA page_count").fetchone()[0])
        await database.read(lambda connection: connection.execute(f"PRAGMA max_page_count = {pages}").fetchone())
        with pytest.raises(JournalError, match="full"):
            for _ in range(200):
                await journal.begin(scale_plan(), "reason " * 200)
        assert kept in [record.id for record in await journal.operations()]
    finally:
        await journal.close()


async def test_retention_drops_only_ended_operations_and_says_so(journal: Journal, clock: SetClock) -> None:
    old = await journal.begin(scale_plan(), "")
    await journal.end(old, State.SUCCEEDED, "")
    in_doubt = await journal.begin(scale_plan(), "")
    clock.instant += timedelta(days=40)
    said = await journal.retain(30)
    assert "Dropped 1 operations" in said
    assert [record.id for record in await journal.operations()] == [in_doubt]
    assert [text for _, text in await journal.notes()] == [said]
    assert await journal.retain(30) == ""


async def test_secrets_in_reasons_and_results_are_masked(journal: Journal) -> None:
    operation = await journal.begin(scale_plan(), "with password=hunter2hunter2")
    await journal.step_started(operation, "web", "GET https://ops:hunter2hunter2@registry.internal/v2/")
    await journal.step_ended(operation, "web", State.FAILED, "401 for token=hunter2hunter2", 0.1)
    await journal.end(operation, State.FAILED, "Authorization: Bearer hunter2hunter2")
    assert b"hunter2" not in journal.path.read_bytes() + journal.path.with_name("journal.db-wal").read_bytes()


async def test_an_id_prefix_finds_its_operation(journal: Journal) -> None:
    first = await journal.begin(scale_plan(), "")
    await journal.begin(scale_plan(), "")
    assert [record.id for record in await journal.operations(ids=[first[:12]])] == [first]


async def test_exports_name_what_by_whom_and_how_it_ended(journal: Journal) -> None:
    operation = await journal.begin(scale_plan(), "a | b \x1b[31m")
    await journal.end(operation, State.FAILED, "no answer")
    records = await journal.operations()
    markdown = as_markdown(records)
    assert "## scale SwarmService web on harbour" in markdown
    assert "state: **failed** no answer" in markdown
    assert "a \\| b \u241b[31m" in markdown
    assert f'"id": "{operation}"' in as_json(records)


async def test_what_a_step_went_through_is_kept_under_it_with_secrets_masked(journal: Journal, clock: SetClock) -> None:
    operation = await journal.begin(scale_plan(), "")
    await journal.step_started(operation, "web", "POST")
    await journal.step_ended(operation, "web", State.SUCCEEDED, "asked", 0.1)
    fetch = StepView(
        key="web/fetch", title="fetch", state=State.SUCCEEDED, depth=1, started=NOON, ended=NOON, ends="it is there"
    )
    apply = StepView(key="web/apply", title="apply", state=State.FAILED, depth=1, detail="https://ana:s3cret@git.test refused")
    await journal.end(operation, State.FAILED, "no", (fetch, apply))

    (record,) = await journal.operations()
    shown = record.view().steps
    assert [step.key for step in shown] == ["web", "web/fetch", "web/apply"]
    assert shown[1] == fetch
    assert "s3cret" not in shown[2].detail and "refused" in shown[2].detail
    (bare,) = await journal.operations(ids=[await journal.begin(scale_plan(), "")])
    assert [step.key for step in bare.view().steps] == ["web"]
