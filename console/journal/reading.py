"""From rows to records."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from console.errors import JournalError
from console.journal.records import CallRecord, OperationRecord, StepRecord, Who
from console.model.operations import State, StepView
from console.model.plan import Intent, Plan

_COLUMNS = "id, plan, plan_hash, who, why, state, message, started, ended, undo, undo_of"


def read_operations(
    database: sqlite3.Connection, *, oldest: float | None = None, ids: Sequence[str] = (), unfinished: bool = False
) -> tuple[OperationRecord, ...]:
    """Operations with their steps and calls, newest first.

    :param oldest: only those begun at or after this Unix time.
    :param ids: only those whose id begins with one of these (an id is 32 hex digits).
    :raises JournalError: a row does not decode.
    """
    where, values = ["1"], list[Any]()
    if oldest is not None:
        where.append("started >= ?")
        values.append(oldest)
    if ids:
        where.append("(" + " OR ".join(["substr(id, 1, length(?)) = ?"] * len(ids)) + ")")
        values.extend(value for prefix in ids for value in (prefix, prefix))
    if unfinished:
        where.append("ended IS NULL")
    condition = " AND ".join(where)
    rows = database.execute(
        f"SELECT {_COLUMNS} FROM operations WHERE {condition} ORDER BY started DESC, rowid DESC",
        values,
    ).fetchall()
    undone = {
        row[0]
        for row in database.execute(
            "SELECT undo_of FROM operations WHERE undo_of <> '' AND state IN (?, ?)",
            (State.SUCCEEDED.value, State.RUNNING.value),
        )
    }
    steps, calls = _steps(database, condition, values), _calls(database, condition, values)
    phases = dict(
        database.execute(
            f"SELECT operation, views FROM phases WHERE operation IN (SELECT id FROM operations WHERE {condition})", values
        )
    )
    return tuple(_operation(row, steps[row[0]], calls[row[0]], phases.get(row[0], b"[]"), row[0] in undone) for row in rows)


def _steps(database: sqlite3.Connection, condition: str, values: list[Any]) -> defaultdict[str, list[StepRecord]]:
    found: defaultdict[str, list[StepRecord]] = defaultdict(list)
    for operation, key, title, state, detail, started, ended, attempts in database.execute(
        "SELECT operation, key, title, state, detail, started, ended, attempts FROM steps"
        f" WHERE operation IN (SELECT id FROM operations WHERE {condition}) ORDER BY rowid",
        values,
    ):
        found[operation].append(
            StepRecord(
                key=key,
                title=title,
                state=State(state),
                detail=detail,
                started=_instant(started),
                ended=_instant(ended),
                attempts=attempts,
            )
        )
    return found


def _calls(database: sqlite3.Connection, condition: str, values: list[Any]) -> defaultdict[str, list[CallRecord]]:
    found: defaultdict[str, list[CallRecord]] = defaultdict(list)
    for operation, step, request, result, started, seconds in database.execute(
        "SELECT operation, step, request, result, started, seconds FROM calls"
        f" WHERE operation IN (SELECT id FROM operations WHERE {condition}) ORDER BY rowid",
        values,
    ):
        began = datetime.fromtimestamp(started, UTC)
        found[operation].append(CallRecord(step=step, request=request, result=result, started=began, seconds=seconds))
    return found


def _operation(
    row: Sequence[Any], steps: list[StepRecord], calls: list[CallRecord], phases: bytes, undone: bool
) -> OperationRecord:
    identity, plan, plan_hash, who, why, state, message, started, ended, undo, undo_of = row
    try:
        return OperationRecord(
            id=identity,
            plan=msgspec.json.decode(plan, type=Plan),
            plan_hash=plan_hash,
            who=msgspec.json.decode(who, type=Who),
            why=why,
            state=State(state),
            message=message,
            started=datetime.fromtimestamp(started, UTC),
            ended=_instant(ended),
            undo=msgspec.json.decode(undo, type=Intent) if undo else None,
            undo_of=undo_of,
            undone=undone,
            steps=tuple(steps),
            calls=tuple(calls),
            phases=msgspec.json.decode(phases, type=tuple[StepView, ...]),
        )
    except (msgspec.DecodeError, ValueError) as error:
        raise JournalError(f"Operation {identity} in the journal can't be read: {error}.") from error


def _instant(value: float | None) -> datetime | None:
    return None if value is None else datetime.fromtimestamp(value, UTC)
