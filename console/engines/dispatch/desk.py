"""What all attempts of a dispatcher share: collaborators, the slots of the appliers, and the runs of failures."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from console.engines.dispatch.constants import EventReason, Timing
from console.engines.dispatch.tokens import Tokens
from console.engines.dispatch.types import ApplierKey, TargetRef, TriggerRef
from console.engines.ports.dispatch import Clients, EventSink, Records, Triggers
from console.kit.timing import Clock


@dataclass(slots=True, kw_only=True)
class Desk:
    """Everything one dispatcher works with."""

    clients: Clients
    records: Records
    triggers: Triggers
    events: EventSink
    clock: Clock
    tokens: Tokens
    timing: Timing
    started: asyncio.Event = field(default_factory=asyncio.Event)
    stopping: bool = False
    slots: set[ApplierKey] = field(default_factory=set)
    followed: set[tuple[TriggerRef, str]] = field(default_factory=set)
    failing_requests: set[TriggerRef] = field(default_factory=set)
    failing_applies: set[TriggerRef] = field(default_factory=set)

    def emit(self, trigger: TriggerRef, targets: Iterable[TargetRef], reason: EventReason, message: str) -> None:
        """An Event for each target, unless it goes on a run of failures that was told already.

        A run of failed requests ends with the first that reaches the applier, one of failed applies with the first success.
        """
        run = {
            EventReason.APPLY_REQUEST_FAILED: self.failing_requests,
            EventReason.APPLY_FAILED: self.failing_applies,
        }.get(reason)
        if run is not None:
            if trigger.key in run:
                return
            run.add(trigger.key)
        if reason is EventReason.APPLY_REQUESTED:
            self.failing_requests.discard(trigger.key)
        for target in targets:
            self.events.event(trigger, target, reason, message)

    def succeeded(self, trigger: TriggerRef) -> None:
        """An operation of the trigger ended well."""
        self.failing_applies.discard(trigger.key)


def next_interval(previous: float | None, poll: float, most: float) -> float:
    """Seconds until the next read of an unresolved operation: ``poll`` first, then doubled up to ``most``."""
    return poll if previous is None else min(previous * 2, most)
