"""The journal's tables and how an older file becomes today's.

``PRAGMA user_version`` counts migrations. A file with a higher number was written by a newer Quarterdeck: it is refused whole,
since a column that we don't know may be the one that says a write is in doubt.
"""

from __future__ import annotations

import sqlite3

from console.errors import JournalError
from console.journal.graph_schema import GRAPH_TABLES

MIGRATIONS = (
    """
    CREATE TABLE operations (
        id TEXT PRIMARY KEY,
        verb TEXT NOT NULL,
        connection TEXT NOT NULL,
        target BLOB NOT NULL,
        plan BLOB NOT NULL,
        plan_hash TEXT NOT NULL,
        undo BLOB,
        undo_of TEXT NOT NULL DEFAULT '',
        who BLOB NOT NULL,
        why TEXT NOT NULL DEFAULT '',
        state TEXT NOT NULL,
        message TEXT NOT NULL DEFAULT '',
        started REAL NOT NULL,
        ended REAL
    ) STRICT;
    CREATE INDEX operations_by_time ON operations (started);
    CREATE INDEX operations_open ON operations (state) WHERE ended IS NULL;
    CREATE TABLE steps (
        operation TEXT NOT NULL REFERENCES operations (id) ON DELETE CASCADE,
        key TEXT NOT NULL,
        title TEXT NOT NULL,
        state TEXT NOT NULL,
        detail TEXT NOT NULL DEFAULT '',
        started REAL,
        ended REAL,
        attempts INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (operation, key)
    ) STRICT;
    CREATE TABLE calls (
        operation TEXT NOT NULL REFERENCES operations (id) ON DELETE CASCADE,
        step TEXT NOT NULL,
        request TEXT NOT NULL,
        result TEXT NOT NULL DEFAULT '',
        started REAL NOT NULL,
        seconds REAL
    ) STRICT;
    CREATE INDEX calls_by_operation ON calls (operation);
    CREATE TABLE notes (at REAL NOT NULL, text TEXT NOT NULL) STRICT;
    """,
    GRAPH_TABLES,
    """
    CREATE TABLE dispatched (
        token TEXT NOT NULL,
        applier TEXT NOT NULL,
        record BLOB NOT NULL,
        written REAL NOT NULL,
        PRIMARY KEY (token, applier)
    ) STRICT;
    """,
    """
    CREATE TABLE phases (
        operation TEXT PRIMARY KEY REFERENCES operations (id) ON DELETE CASCADE,
        views BLOB NOT NULL
    ) STRICT;
    """,
)


def check_version(database: sqlite3.Connection) -> int:
    """The file's format, read before anything is written: a newer, foreign or damaged file stays as it is.

    :raises JournalError: the file is newer than this program.
    """
    version: int = database.execute("PRAGMA user_version").fetchone()[0]
    if version > len(MIGRATIONS):
        raise JournalError(
            f"The journal has format {version}; this Quarterdeck knows up to {len(MIGRATIONS)}.",
            "A newer Quarterdeck wrote it: use that one, or move the file away to start a new journal.",
        )
    return version


def migrate(database: sqlite3.Connection) -> None:
    """Bring the file to today's form, each step in a transaction of its own."""
    for number in range(check_version(database), len(MIGRATIONS)):
        database.executescript(f"BEGIN IMMEDIATE; {MIGRATIONS[number]} PRAGMA user_version = {number + 1}; COMMIT;")
