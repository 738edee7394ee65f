"""The graph engine's storage in the journal's file: records, intents, reports of runs, and the lock between processes.

Each write is one committed transaction. Values that a record names as secret are sealed before they reach the file.
"""

from __future__ import annotations

import hashlib
import hmac
import sqlite3
from collections.abc import Mapping
from typing import Any

import msgspec

from console.journal.database import Database
from console.journal.sealing import Sealer
from console.kit.paths import ABSENT, copy_nested, get_path, set_path
from console.kit.timing import Clock, SystemClock
from console.model.graph import Deployed, Identity, Intent, Path, RunReport

STALE_SECONDS = 60.0
"""A lock that has not been renewed for so long belongs to a process that is gone."""

_LIST_RECORDS = (
    "SELECT id, kind, name, input, output, sources, deps, replaces, secret_paths, run_id "
    "FROM graph_resource WHERE namespace = ? AND project = ?"
)
_LIST_INTENTS = (
    "SELECT id, kind, name, input, input_hash, sources, deps, secret_paths, started, run_id "
    "FROM graph_intent WHERE namespace = ? AND project = ?"
)


class GraphStore:
    """Storage of one namespace.

    :param database: the open journal; closing it stays with whoever opened it.
    :param sealer: seals secret values and owns the key of hashes.
    """

    def __init__(self, database: Database, sealer: Sealer, namespace: str = "default", clock: Clock | None = None) -> None:
        self._database = database
        self._sealer = sealer
        self._namespace = namespace
        self._clock = clock or SystemClock()

    @property
    def hash_key(self) -> bytes:
        """The key under which inputs are hashed."""
        return self._sealer.hash_key

    async def list_resources(self, project: str) -> list[Deployed]:
        """All records of the project in this namespace."""
        rows = await self._database.read(lambda db: db.execute(_LIST_RECORDS, (self._namespace, project)).fetchall())
        return [self._record(row) for row in rows]

    async def put_resource(self, project: str, deployed: Deployed) -> None:
        """Create or replace a record and drop its intent, in one transaction."""
        plain = _encode(deployed.input)
        values, output = self._sealed(deployed.secret_paths, input=deployed.input, output=deployed.output)
        now = self._clock.now().timestamp()
        row = (
            self._namespace,
            project,
            deployed.kind,
            deployed.name,
            deployed.id,
            values,
            hmac.new(self.hash_key, plain, hashlib.sha256).hexdigest(),
            output,
            _encode(deployed.sources),
            _encode(deployed.deps),
            deployed.replaces,
            _encode(deployed.secret_paths),
            now,
            now,
            deployed.run_id,
        )

        def work(db: sqlite3.Connection) -> None:
            db.execute(
                "INSERT INTO graph_resource VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT DO UPDATE SET input = excluded.input, input_hash = excluded.input_hash, output = excluded.output, "
                "sources = excluded.sources, deps = excluded.deps, replaces = excluded.replaces, "
                "secret_paths = excluded.secret_paths, updated_at = excluded.updated_at, run_id = excluded.run_id",
                row,
            )
            self._drop_intent(db, project, deployed.id)

        await self._database.write(work)

    async def delete_resource(self, project: str, deployed: Deployed) -> None:
        """Remove a record and an intent of its id; absent is success."""

        def work(db: sqlite3.Connection) -> None:
            db.execute(
                "DELETE FROM graph_resource WHERE namespace = ? AND project = ? AND kind = ? AND name = ? AND id = ?",
                (self._namespace, project, deployed.kind, deployed.name, deployed.id),
            )
            self._drop_intent(db, project, deployed.id)

        await self._database.write(work)

    async def list_intents(self, project: str) -> list[Intent]:
        """Creates that were begun and never recorded."""
        rows = await self._database.read(lambda db: db.execute(_LIST_INTENTS, (self._namespace, project)).fetchall())
        return [self._intent(row) for row in rows]

    async def put_intent(self, project: str, intent: Intent) -> None:
        """Remember that a create begins."""
        values, _output = self._sealed(intent.secret_paths, input=intent.input, output={})
        row = (
            self._namespace,
            project,
            intent.id,
            intent.kind,
            intent.name,
            values,
            intent.input_hash,
            _encode(intent.sources),
            _encode(intent.deps),
            _encode(intent.secret_paths),
            intent.started,
            intent.run_id,
        )
        statement = "INSERT OR REPLACE INTO graph_intent VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        await self._database.write(lambda db: db.execute(statement, row))

    async def lock_run(self, project: str, run_id: str, owner: str) -> str:
        """Take or renew the lock, also from a holder that has not renewed it for a minute. Returns another holder's run id."""
        now = self._clock.now().timestamp()

        def work(db: sqlite3.Connection) -> str:
            db.execute(
                "INSERT INTO graph_run_lock VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE "
                "SET run_id = excluded.run_id, owner = excluded.owner, beat = excluded.beat "
                "WHERE owner = excluded.owner OR beat < ?",
                (self._namespace, project, run_id, owner, now, now - STALE_SECONDS),
            )
            query = "SELECT run_id, owner FROM graph_run_lock WHERE namespace = ? AND project = ?"
            held_by, holder = db.execute(query, (self._namespace, project)).fetchone()
            return "" if holder == owner else str(held_by)

        return await self._database.write(work)

    async def unlock_run(self, project: str, owner: str) -> None:
        """Give the lock back, if this owner has it."""
        statement = "DELETE FROM graph_run_lock WHERE namespace = ? AND project = ? AND owner = ?"
        await self._database.write(lambda db: db.execute(statement, (self._namespace, project, owner)))

    async def put_run(self, project: str, report: RunReport) -> None:
        """Keep the report of a run."""
        now = self._clock.now().timestamp()
        row = (
            self._namespace,
            project,
            report.run_id,
            now - report.duration,
            now,
            report.outcome,
            _encode(report),
        )
        statement = "INSERT OR REPLACE INTO graph_run VALUES (?, ?, ?, ?, ?, ?, ?)"
        await self._database.write(lambda db: db.execute(statement, row))

    async def list_runs(self, project: str, limit: int = 100) -> list[RunReport]:
        """The latest reports, newest first."""
        query = "SELECT report FROM graph_run WHERE namespace = ? AND project = ? ORDER BY finished DESC LIMIT ?"
        rows = await self._database.read(lambda db: db.execute(query, (self._namespace, project, limit)).fetchall())
        return [msgspec.json.decode(row[0], type=RunReport) for row in rows]

    def _drop_intent(self, db: sqlite3.Connection, project: str, record_id: str) -> None:
        db.execute(
            "DELETE FROM graph_intent WHERE namespace = ? AND project = ? AND id = ?", (self._namespace, project, record_id)
        )

    def _record(self, row: tuple[Any, ...]) -> Deployed:
        record_id, kind, name, values, output, sources, deps, replaces, secrets, run_id = row
        paths = msgspec.json.decode(secrets, type=tuple[Path, ...])
        opened = self._opened(paths, input=msgspec.json.decode(values), output=msgspec.json.decode(output))
        return Deployed(
            id=record_id,
            kind=kind,
            name=name,
            input=opened["input"],
            output=opened["output"],
            sources=msgspec.json.decode(sources, type=tuple[str, ...]),
            deps=msgspec.json.decode(deps, type=tuple[Identity, ...]),
            replaces=replaces,
            secret_paths=paths,
            run_id=run_id,
        )

    def _intent(self, row: tuple[Any, ...]) -> Intent:
        record_id, kind, name, values, input_hash, sources, deps, secrets, started, run_id = row
        paths = msgspec.json.decode(secrets, type=tuple[Path, ...])
        return Intent(
            id=record_id,
            kind=kind,
            name=name,
            input=self._opened(paths, input=msgspec.json.decode(values), output={})["input"],
            input_hash=input_hash,
            sources=msgspec.json.decode(sources, type=tuple[str, ...]),
            deps=msgspec.json.decode(deps, type=tuple[Identity, ...]),
            secret_paths=paths,
            started=started,
            run_id=run_id,
        )

    def _sealed(self, paths: tuple[Path, ...], **parts: Mapping[str, Any]) -> tuple[bytes, bytes]:
        """Input and output as JSON with the secret values sealed, whatever their type."""
        data = {name: copy_nested(part) for name, part in parts.items()}
        for path in paths:
            value = get_path(data, path)
            if value is not ABSENT:
                set_path(data, path, self._sealer.seal(_encode(value).decode()))
        return _encode(data["input"]), _encode(data["output"])

    def _opened(self, paths: tuple[Path, ...], **parts: dict[str, Any]) -> dict[str, dict[str, Any]]:
        for path in paths:
            sealed = get_path(parts, path)
            if sealed is not ABSENT:
                set_path(parts, path, msgspec.json.decode(self._sealer.unseal(sealed)))
        return parts


def _encode(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")
