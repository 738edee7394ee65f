"""Carries out what workers decided: one attempt a request, one operation an applier, and never a decision of its own.

It keeps no queue and repeats nothing. Section 7 of the specification.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from functools import partial
from typing import Any

from console.engines.dispatch.attempt import Attempt
from console.engines.dispatch.constants import Timing
from console.engines.dispatch.desk import Desk
from console.engines.dispatch.faults import RetryableError
from console.engines.dispatch.requests import ApplyRequest, PrefetchRequest
from console.engines.dispatch.tokens import Tokens
from console.engines.dispatch.types import TriggerRef
from console.engines.ports.dispatch import Clients, EventSink, Records, Triggers
from console.errors import QuarterdeckError
from console.kit.timing import Clock

_log = logging.getLogger(__name__)


class Dispatcher:
    """One per process, started and stopped with it; runs only where the worker runs."""

    def __init__(
        self,
        *,
        clients: Clients,
        records: Records,
        triggers: Triggers,
        events: EventSink,
        clock: Clock,
        tokens: Tokens,
        timing: Timing | None = None,
    ) -> None:
        self._desk = Desk(
            clients=clients,
            records=records,
            triggers=triggers,
            events=events,
            clock=clock,
            tokens=tokens,
            timing=timing or Timing(),
        )
        self._attempts: dict[int, Attempt] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Begin; recovered requests that came before go on now."""
        self._desk.started.set()

    async def stop(self) -> None:
        """End without undoing or reporting anything; records stay as they are, for the next process to recover.

        A starting write on the wire is awaited for its own short timeout.
        """
        self._desk.stopping = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def request_apply(self, request: ApplyRequest) -> None:
        """Start one attempt. Never blocks; everything that comes of it is reported."""
        attempt = Attempt(self._desk, request)
        self._attempts[id(request)] = attempt
        self._spawn(attempt.run(), f"apply on {request.key}", attempt)

    def abandon(self, request: ApplyRequest) -> None:
        """The worker no longer wants reports. See :meth:`Attempt.abandon`."""
        attempt = self._attempts.get(id(request))
        if attempt is not None:
            attempt.abandon()

    def following(self, trigger: TriggerRef, token: str) -> bool:
        """Whether an attempt of this process carries out or watches the operation of this token."""
        return (trigger.key, token) in self._desk.followed

    def look(self, kind: str, namespace: str, name: str) -> None:
        """An object is known to have changed: attempts that wait for it read it now, live as ever."""
        for attempt in tuple(self._attempts.values()):
            attempt.look(kind, namespace, name)

    def prefetch_source(self, request: PrefetchRequest) -> None:
        """Let the source fetch ahead when nobody else would apply it. Reports nothing; errors are only logged."""
        if self._desk.started.is_set() and not self._desk.stopping:
            self._spawn(self._prefetch(request), f"prefetch for {request.key}", None)

    async def _prefetch(self, request: PrefetchRequest) -> None:
        try:
            async with asyncio.timeout(self._desk.timing.attempt_timeout):
                source = await self._desk.triggers.prefetch_source(request.trigger, request.key)
                if source is not None:
                    await self._desk.clients.prefetch(request.key, source, request.commit)
        except (QuarterdeckError, TimeoutError) as error:
            _log.info("nothing was fetched ahead for %s: %s", request.key, error)

    def _spawn(self, work: Coroutine[Any, Any, None], name: str, attempt: Attempt | None) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(partial(self._ended, attempt))

    def _ended(self, attempt: Attempt | None, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            _log.error("%s ended unexpectedly", task.get_name(), exc_info=error)
        if attempt is None:
            return
        if error is not None and not self._desk.stopping:
            if attempt.may_have_started:
                # What may run on the applier must be followed to its end, whatever went wrong here.
                self._spawn(attempt.follow_again(), task.get_name(), attempt)
                return
            failure = RetryableError(f"asking {attempt.request.key} ended unexpectedly: {type(error).__name__}")
            failure.__cause__ = error
            attempt.give_up(failure)
        attempt.release()
        self._attempts.pop(id(attempt.request), None)
