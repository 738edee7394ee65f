"""What joins a run of the graph engine to the log of steps: calls are recorded before they leave, events as they come."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any

from console.engines.graph import PermanentError, Provider, Registry, Request
from console.errors import JournalError
from console.kit.supervisor import cancel
from console.model.graph import Identity, Outcome
from console.model.graph_events import Finished, GateWaiting, GraphEvent, Progress, Retrying, Skipped
from console.model.operations import State
from console.runtime.graph_plans import Keys
from console.runtime.ports import StepLog


class RecordedKinds:
    """A registry whose kinds record every call in the log before they make it."""

    def __init__(self, kinds: Registry, keys: Keys, log: StepLog) -> None:
        self._kinds = kinds
        self._keys = keys
        self._log = log

    def provider(self, kind: str) -> Provider | None:
        """The provider, recorded; None for an unknown kind."""
        found = self._kinds.provider(kind)
        return None if found is None else _Recorded(found, self._keys, self._log)


class _Recorded:
    """A provider with all that it has; only what writes goes past the log first."""

    def __init__(self, inner: Provider, keys: Keys, log: StepLog) -> None:
        self.input_model = inner.input_model
        self.output_model = inner.output_model
        self._inner = inner
        self._keys = keys
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def create(self, req: Request[Any, Any]) -> Any:
        await self._record(req.identity)
        return await self._through(self._inner.create(req))

    async def update(self, req: Request[Any, Any]) -> Any:
        await self._record(req.identity)
        return await self._through(self._inner.update(req))

    async def delete(self, req: Request[Any, Any]) -> None:
        await self._record(req.identity, req.id)
        await self._through(self._inner.delete(req))

    async def _record(self, identity: Identity, version: str = "") -> None:
        # A replacement that deletes first has one step for both, under the name alone.
        key = self._keys.get((identity, version)) or self._keys[identity, ""]
        try:
            await self._log.begin(key)
        except JournalError as error:
            raise PermanentError(error) from error

    async def _through(self, call: Coroutine[Any, Any, Any] | Awaitable[Any]) -> Any:
        """The call at hand ends even when nothing new may begin; a limit of time, or a second cancellation, ends it."""
        task = asyncio.ensure_future(call)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not self._log.stopping.is_set():
                raise
            return await task
        finally:
            await cancel((task,))


class HearsRun:
    """A listener of the engine that passes on what a step does after its call has left."""

    def __init__(self, keys: Keys, log: StepLog) -> None:
        self._keys = keys
        self._log = log

    async def __call__(self, event: GraphEvent) -> None:
        """Take in one event; those about what does not write say nothing here."""
        key = self._keys.get((event.identity, event.version)) if event.identity is not None else None
        if key is None:
            return
        match event:
            case Retrying():
                await self._log.again(key, event.error, event.delay)
            case Progress():
                self._log.waits(key, f"{event.text} ({event.done}/{event.total})" if event.total else event.text)
            case GateWaiting():
                self._log.waits(key, "being ready")
            case Skipped():
                await self._log.end(key, State.SKIPPED, event.reason)
            case Finished(outcome=Outcome.FAILED):
                await self._log.end(key, State.FAILED, event.error)
            case Finished() if event.outcome.good:
                await self._log.end(key, State.SUCCEEDED, event.outcome.value)
