"""One SQLite file, one thread of its own, errors of ours.

Every statement runs on a single-thread executor: the loop never waits for a disk, and there is exactly one writer.
``synchronous=FULL`` in WAL mode: a committed record survives a power cut (SQLite documentation, "PRAGMA synchronous").
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from console.errors import JournalError
from console.journal.schema import check_version, migrate

T = TypeVar("T")
BUSY_SECONDS = 5.0


class Database:
    """A migrated journal file. Use :meth:`open`, then :meth:`write` and :meth:`read`."""

    def __init__(self, path: Path, connection: sqlite3.Connection, executor: ThreadPoolExecutor) -> None:
        self.path = path
        self._connection = connection
        self._executor = executor

    @classmethod
    async def open(cls, path: Path) -> Database:
        """Open or create the file (0600, its folder 0700) and migrate it.

        :raises JournalError: no access, no space, damaged, or written by a newer program.
        """
        executor = ThreadPoolExecutor(1, thread_name_prefix="journal")
        try:
            connection = await asyncio.get_running_loop().run_in_executor(executor, _guarded, path, lambda: _connect(path))
        except BaseException:
            executor.shutdown(wait=False)
            raise
        return cls(path, connection, executor)

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` in one transaction, committed to the disk when this returns. A cancelled caller does not undo it."""

        def transaction() -> T:
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                return work(self._connection)

        return await asyncio.shield(self._run(transaction))

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` for its result."""
        return await self._run(lambda: work(self._connection))

    async def close(self) -> None:
        """Wait for what is under way, then close."""
        await self._run(self._connection.close)
        self._executor.shutdown(wait=True)

    def _run(self, work: Callable[[], T]) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self._executor, _guarded, self.path, work)


def _connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        check_version(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _guarded(path: Path, work: Callable[[], T]) -> T:
    try:
        return work()
    except sqlite3.DatabaseError as error:
        raise _explained(path, error) from error
    except OSError as error:
        raise JournalError(
            f"The journal {path} can't be used: {error.strerror or error}.",
            "Nothing is written to any target until it can; reading goes on.",
        ) from error


def _explained(path: Path, error: sqlite3.DatabaseError) -> JournalError:
    text = str(error)
    if "full" in text:
        return JournalError(
            f"The disk of the journal {path} is full.", "Free some space: nothing is written to any target before."
        )
    if "readonly" in text or "unable to open" in text:
        return JournalError(
            f"The journal {path} can't be written: {text}.",
            "Check the folder's owner and whether its disk is mounted read-only.",
        )
    if "malformed" in text or "not a database" in text:
        return JournalError(
            f"The journal {path} is damaged: {text}.", "Move it away to start a new one; keep it for the record."
        )
    if "locked" in text or "busy" in text:
        return JournalError(f"The journal {path} is held by another program.", "Close what has it open and try again.")
    return JournalError(f"The journal {path} failed: {text}.")
