"""Who answered under each name the last time: how a cluster made anew under an old name is noticed.

One JSON file in the state folder, ``identities.json``: connection name -> uid. Losing it costs only the alarm, so a file that
can't be read or written is a problem to report, never a reason not to connect. It is a few lines long, read once and written
only when a connection is made for the first time or accepted anew.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path

import msgspec

_log = logging.getLogger(__name__)


class Identities:
    """Remembered identities.

    :param folder: the state folder; None remembers for this process only.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._path = folder / "identities.json" if folder else None
        self._known: dict[str, str] | None = None

    def known(self, name: str) -> str:
        """The remembered uid of a connection, "" for one never seen."""
        if self._known is None:
            self._known = self._read()
        return self._known.get(name, "")

    def remember(self, name: str, uid: str) -> None:
        """From now on ``uid`` is who this connection is."""
        if self.known(name) != uid:
            # Another console may have learnt of other connections meanwhile.
            self._known = self._read() | (self._known or {}) | {name: uid}
            self._write(self._known)

    def _read(self) -> dict[str, str]:
        if self._path is None:
            return {}
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, str])
        except FileNotFoundError:
            return {}
        except OSError as error:
            _log.warning("%s can't be read, known identities are forgotten: %s.", self._path, error.strerror)
            return {}
        except msgspec.MsgspecError as error:
            _log.warning("%s can't be read, known identities are forgotten: %s.", self._path, error)
            return {}

    def _write(self, known: dict[str, str]) -> None:
        if self._path is None:
            return
        fresh = self._path.with_suffix(f".{os.getpid()}.tmp")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            fresh.write_bytes(msgspec.json.format(msgspec.json.encode(known, order="sorted")))
            fresh.replace(self._path)
        except OSError as error:
            with suppress(OSError):
                fresh.unlink(missing_ok=True)
            _log.warning("%s can't be written, identities are not remembered: %s.", self._path, error.strerror)
