"""Storage in memory: for tests, for one-off runs, and as the shape that durable storage follows."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping

from console.engines.graph.errors import SourceMissing
from console.model.graph import Deployed, Intent, RunReport

STALE_SECONDS = 60.0


class InMemoryStorage:
    """Everything that a run can ask of storage, for the life of this object."""

    def __init__(self) -> None:
        self.hash_key = secrets.token_bytes(32)
        self._records: dict[str, dict[tuple[str, str, str], Deployed]] = {}
        self._intents: dict[str, dict[str, Intent]] = {}
        self._runs: dict[str, list[RunReport]] = {}
        self._locks: dict[str, tuple[str, str, float]] = {}

    async def list_resources(self, project: str) -> list[Deployed]:
        """All records of the project."""
        return list(self._records.get(project, {}).values())

    async def put_resource(self, project: str, deployed: Deployed) -> None:
        """Create or replace a record; its intent goes with it."""
        self._records.setdefault(project, {})[deployed.kind, deployed.name, deployed.id] = deployed
        self._intents.get(project, {}).pop(deployed.id, None)

    async def delete_resource(self, project: str, deployed: Deployed) -> None:
        """Remove a record and an intent of its id; absent is success."""
        self._records.get(project, {}).pop((deployed.kind, deployed.name, deployed.id), None)
        self._intents.get(project, {}).pop(deployed.id, None)

    async def list_intents(self, project: str) -> list[Intent]:
        """Creates that were begun and never recorded."""
        return list(self._intents.get(project, {}).values())

    async def put_intent(self, project: str, intent: Intent) -> None:
        """Remember that a create begins."""
        self._intents.setdefault(project, {})[intent.id] = intent

    async def lock_run(self, project: str, run_id: str, owner: str) -> str:
        """Take or renew the lock; the holder's run id if another has it."""
        now = asyncio.get_running_loop().time()
        holder, held_by, beat = self._locks.get(project, ("", "", 0.0))
        if holder and holder != owner and now - beat < STALE_SECONDS:
            return held_by
        self._locks[project] = (owner, run_id, now)
        return ""

    async def unlock_run(self, project: str, owner: str) -> None:
        """Give the lock back."""
        if project in self._locks and self._locks[project][0] == owner:
            del self._locks[project]

    async def put_run(self, project: str, report: RunReport) -> None:
        """Keep a report."""
        self._runs.setdefault(project, []).append(report)

    async def list_runs(self, project: str) -> list[RunReport]:
        """Reports, oldest first."""
        return list(self._runs.get(project, []))


class InMemorySources:
    """Content by key."""

    def __init__(self, content: Mapping[str, bytes] | None = None) -> None:
        self._content = dict(content or {})

    async def open(self, key: str) -> AsyncIterator[bytes]:
        """The content in one chunk. Raises :class:`SourceMissing`."""
        if key not in self._content:
            raise SourceMissing(key)
        return _chunks(self._content[key])


async def _chunks(content: bytes) -> AsyncIterator[bytes]:
    yield content
