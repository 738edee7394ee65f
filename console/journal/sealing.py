"""Keeping secrets in the journal's file as ciphertext, under a key that lies beside it and only its owner may read.

Encryption is Fernet (AES-128-CBC with HMAC-SHA256) of the ``cryptography`` package, loaded when the first secret comes.
The file's key also keys the hashes of inputs, so that a hash of a short secret can't be guessed back.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
from pathlib import Path
from typing import Protocol

from console.errors import JournalError

_KEY_BYTES = 32


class Sealer(Protocol):
    """Turns secret text into text that may be stored, and back."""

    @property
    def hash_key(self) -> bytes:
        """The key for hashes."""
        ...

    def seal(self, text: str) -> str:
        """Ciphertext; different each time."""
        ...

    def unseal(self, sealed: str) -> str:
        """The text again. Raises :class:`~console.errors.JournalError` if it was sealed with another key or altered."""
        ...


class KeySealer:
    """Seals with a key of 32 bytes."""

    def __init__(self, key: bytes) -> None:
        if len(key) != _KEY_BYTES:
            raise JournalError(
                f"The sealing key has {len(key)} bytes, not {_KEY_BYTES}.", "Restore the key file from its backup."
            )
        self._seal_key = base64.urlsafe_b64encode(hmac.digest(key, b"seal", hashlib.sha256))
        self.hash_key = hmac.digest(key, b"hash", hashlib.sha256)

    @classmethod
    def from_file(cls, path: Path) -> KeySealer:
        """The key in the file; a new one (mode 0600) where there is none. Raises :class:`~console.errors.JournalError`."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            except FileExistsError:
                return cls(path.read_bytes())
            with os.fdopen(file, "wb") as stream:
                key = os.urandom(_KEY_BYTES)
                stream.write(key)
                stream.flush()
                os.fsync(stream.fileno())
            return cls(key)
        except OSError as error:
            raise JournalError(f"The key file {path} can't be used: {error.strerror}.") from error

    def seal(self, text: str) -> str:
        """Ciphertext; different each time."""
        from cryptography.fernet import Fernet

        return Fernet(self._seal_key).encrypt(text.encode()).decode()

    def unseal(self, sealed: str) -> str:
        """The text again. Raises :class:`~console.errors.JournalError` if it was sealed with another key or altered."""
        from cryptography.fernet import Fernet, InvalidToken

        try:
            return Fernet(self._seal_key).decrypt(sealed.encode()).decode()
        except InvalidToken as error:
            raise JournalError(
                "A stored secret can't be opened with this key.", "Restore the key file that belongs to this journal."
            ) from error
