"""What the graph engine needs from storage: three calls that are required, and three abilities that are not.

A storage has one namespace for its life. All methods are called from one event loop and may be slow; none may block it.
A missing ability costs one feature: without intents no repair after a crash between a create and its record, without a lock
no protection against another process, without history no record of past runs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable

from console.model.graph import Deployed, Intent, RunReport


@runtime_checkable
class ResourceStorage(Protocol):
    """Keeps the records of what was deployed, per project."""

    async def list_resources(self, project: str) -> list[Deployed]:
        """All records of the project in this namespace, in any order."""
        ...

    async def put_resource(self, project: str, deployed: Deployed) -> None:
        """Create or replace the record of this kind, name and id; an intent of that id goes in the same transaction."""
        ...

    async def delete_resource(self, project: str, deployed: Deployed) -> None:
        """Remove the record of this kind, name and id, and an intent of that id. Absent is success."""
        ...


@runtime_checkable
class KeepsIntents(Protocol):
    """Remembers creates that were begun, so that a crash leaves no orphan."""

    async def list_intents(self, project: str) -> list[Intent]:
        """Intents whose record was never written."""
        ...

    async def put_intent(self, project: str, intent: Intent) -> None:
        """Remember durably that a create of this id begins."""
        ...


@runtime_checkable
class LocksRuns(Protocol):
    """One run per project at a time, between processes as well."""

    async def lock_run(self, project: str, run_id: str, owner: str) -> str:
        """Take the lock, or renew it if this owner has it. Returns "" on success, else the run id of the holder.

        ``owner`` is unique to one run of one process; ``run_id`` is what people know it by.
        """
        ...

    async def unlock_run(self, project: str, owner: str) -> None:
        """Give the lock back; nothing happens if this owner does not have it."""
        ...


@runtime_checkable
class KeepsHistory(Protocol):
    """Keeps the reports of finished runs."""

    async def put_run(self, project: str, report: RunReport) -> None:
        """Store how a run ended."""
        ...


@runtime_checkable
class HasHashKey(Protocol):
    """Owns the key under which inputs are hashed, so that a hash of a short secret can't be guessed back."""

    @property
    def hash_key(self) -> bytes:
        """At least 16 bytes, the same for the life of the store."""
        ...


class SourceStorage(Protocol):
    """Gives the content behind source keys."""

    async def open(self, key: str) -> AsyncIterator[bytes]:
        """The content in chunks. An unknown key raises :class:`LookupError`."""
        ...
