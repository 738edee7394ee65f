"""Consoles of several people on one bastion see each other's running operations.

Where the configuration names a shared folder, each console keeps one small file there, ``HOST-PID.json``, replaced whole at
each change and taken away at the end. What others wrote is read with suspicion: size-limited, decoded strictly, and shown only
while its process lives. Nothing here decides anything; preconditions at the target do.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import msgspec

from console.journal.records import Who
from console.model.operations import Operation

LARGEST_FILE = 256 * 1024


class Present(msgspec.Struct, frozen=True):
    """What one console says of itself."""

    who: Who
    operations: tuple[Operation, ...] = ()


class Presence:
    """This console's file in ``folder``, and the view of everybody else's."""

    def __init__(self, folder: Path, who: Who) -> None:
        self._folder = folder
        self._who = who
        self._file = folder / f"{who.host or 'host'}-{who.pid}.json"

    def tell(self, operations: Iterable[Operation]) -> str:
        """Replace our file; returns why that failed, empty if it didn't. A failure costs company, never an operation."""
        content = msgspec.json.encode(Present(self._who, tuple(operations)))
        try:
            file, name = tempfile.mkstemp(dir=self._folder, prefix=".quarterdeck-")
            try:
                with os.fdopen(file, "wb") as stream:
                    stream.write(content)
                # Colleagues have other accounts: they must be able to read it. Steps and reasons in it are masked already.
                Path(name).chmod(0o644)
                Path(name).replace(self._file)
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError as error:
            return f"Colleagues can't see this console: {self._folder}: {error.strerror}."
        return ""

    def others(self) -> tuple[Present, ...]:
        """Every other live console on this machine; files of dead processes and files that can't be read are passed over."""
        found = []
        try:
            files = sorted(self._folder.glob("*.json"))
        except OSError:
            return ()
        for file in files:
            if file != self._file and (present := _read(file)) is not None and self._alive(present.who):
                found.append(present)
        return tuple(found)

    def leave(self) -> None:
        """Take our file away."""
        try:
            self._file.unlink(missing_ok=True)
        except OSError:
            # A file of a dead process is passed over by everybody.
            return

    def _alive(self, who: Who) -> bool:
        if who.host != self._who.host or who.pid <= 0:
            return False
        try:
            os.kill(who.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


def _read(file: Path) -> Present | None:
    try:
        # Not followed: a link in a shared folder could point anywhere.
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            content = stream.read(LARGEST_FILE + 1)
        return msgspec.json.decode(content, type=Present) if len(content) <= LARGEST_FILE else None
    except (OSError, msgspec.MsgspecError):
        return None
