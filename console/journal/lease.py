"""Which process runs engines: an operating-system lock beside the journal.

The lock is ``flock(2)``: the kernel gives it back when the process ends, however it ends, so there is nothing to clean up and
nothing to time out. The file's text says who holds it, for the message only.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from console.errors import JournalError


class Lease:
    """The exclusive right to write to the journal at ``path`` (and so to run engines for this account)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    @property
    def held(self) -> bool:
        """Whether this process holds it."""
        return self._file is not None

    def acquire(self, holder: str) -> bool:
        """Take it if nobody has it; returns whether we hold it now.

        :param holder: who we are, in words; others read it from :meth:`holder`.
        :raises JournalError: the lock file can't be opened.
        """
        if self._file is not None:
            return True
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise JournalError(f"The journal's lock {self._path} can't be opened: {error.strerror}.") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            return False
        self._file = file
        # Losing this text to a full disk loses words, not the lock.
        try:
            os.ftruncate(file, 0)
            os.pwrite(file, holder.encode()[:500], 0)
        except OSError:
            pass
        return True

    def holder(self) -> str:
        """Who holds the lease, in its own words; empty if that can't be read."""
        try:
            return self._path.read_text(errors="replace").strip()
        except OSError:
            return ""

    def release(self) -> None:
        """Give it back; harmless if not held."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
