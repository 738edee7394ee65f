"""One dispatcher for custom and local triggers: each question goes to where the trigger lives.

Here it is also held that a console which is not the elected engine touches no custom trigger, whatever else is asked of it.
"""

from __future__ import annotations

from collections.abc import Callable

from console.engines.dispatch.faults import RetryableError
from console.engines.dispatch.local import LOCAL_KIND
from console.engines.dispatch.types import ApplierKey, ObjectName, Operation, Recorded, TargetRef, TriggerRef, TriggerStatus
from console.engines.ports.dispatch import Decision, Records, Triggers


def _local(trigger: TriggerRef) -> bool:
    return trigger.kind == LOCAL_KIND


class RoutedRecords:
    """The status writers of both kinds of triggers as one.

    :param leads: whether this console is the elected engine now; asked at each call.
    """

    def __init__(self, custom: Records, local: Records, leads: Callable[[], bool]) -> None:
        self._custom = custom
        self._local = local
        self._leads = leads

    def publish(self, trigger: TriggerRef, status: TriggerStatus) -> None:
        """Pass it on; what is said about a custom trigger without the lead is dropped, since its engine says it now."""
        if _local(trigger):
            self._local.publish(trigger, status)
        elif self._leads():
            self._custom.publish(trigger, status)

    async def record(self, trigger: TriggerRef, operation: Operation) -> Recorded:
        """Pass it on. :raises RetryableError: a custom trigger, and this console is not the elected engine."""
        if _local(trigger):
            return await self._local.record(trigger, operation)
        _require_lead(trigger, self._leads)
        return await self._custom.record(trigger, operation)


class RoutedTriggers:
    """The re-checks of both kinds of triggers as one. ``leads`` as for :class:`RoutedRecords`."""

    def __init__(self, custom: Triggers, local: Triggers, leads: Callable[[], bool]) -> None:
        self._custom = custom
        self._local = local
        self._leads = leads

    def _of(self, trigger: TriggerRef) -> Triggers:
        if _local(trigger):
            return self._local
        _require_lead(trigger, self._leads)
        return self._custom

    def drives(self, trigger: TriggerRef) -> bool:
        """A local trigger always; a custom one only while this console is the elected engine."""
        return _local(trigger) or self._leads()

    async def still_asked(self, decision: Decision) -> tuple[TargetRef, ...]:
        """Pass it on. :raises RetryableError: a custom trigger, and this console is not the elected engine."""
        return await self._of(decision.trigger).still_asked(decision)

    async def require_held(self, decision: Decision) -> None:
        """Pass it on. Raises as :meth:`still_asked`."""
        await self._of(decision.trigger).require_held(decision)

    async def prefetch_source(self, trigger: TriggerRef, key: ApplierKey) -> ObjectName | None:
        """Pass it on. Raises as :meth:`still_asked`."""
        return await self._of(trigger).prefetch_source(trigger, key)


def _require_lead(trigger: TriggerRef, leads: Callable[[], bool]) -> None:
    if not leads():
        raise RetryableError(f"{trigger} belongs to the elected engine, which this console is not: it only displays")
