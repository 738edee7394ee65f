"""What a worker asks of the dispatcher, and what it is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from console.engines.dispatch.constants import Reason, RequestOutcome
from console.engines.dispatch.faults import DispatchError
from console.engines.dispatch.types import ApplierKey, Binding, Operation, TargetRef, TriggerRef, TriggerStatus
from console.engines.ports.dispatch import Records


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """One report about a request.

    Either nothing was asked (``error`` says why, or ``outcome`` is Current), or ``operation`` is the record as it stands
    now, to be published. The last report of an operation is the one whose outcome is complete.
    """

    outcome: RequestOutcome | None = None
    error: DispatchError | None = None
    operation: Operation | None = None

    @property
    def last(self) -> bool:
        """Whether no other report of this request follows."""
        return self.operation is None or not self.operation.in_flight


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ApplyRequest:
    """One decision to be carried out. Its identity is the object itself: :meth:`Dispatcher.abandon` takes the same one.

    ``report`` is called on the event loop, in order, one call at a time; it must not block. ``wanted`` tells whether the
    decision still stands. ``recovered`` is a record in flight of an earlier process: it is followed, nothing is asked.
    """

    trigger: TriggerRef
    key: ApplierKey
    binding: Binding
    commit: str
    reason: Reason
    targets: tuple[TargetRef, ...]
    report: Callable[[Report], None]
    wanted: Callable[[], bool] = _always
    recovered: Operation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefetchRequest:
    """Let the source of a Kustomization fetch a commit ahead of the apply, when nobody else would apply it."""

    trigger: TriggerRef
    key: ApplierKey
    commit: str


def publishing(records: Records, trigger: TriggerRef, then: Callable[[Report], None] | None = None) -> Callable[[Report], None]:
    """A ``report`` callback that publishes each operation to the record of its trigger, and then passes the report on."""

    def report(report: Report) -> None:
        if report.operation is not None:
            records.publish(trigger, TriggerStatus(operation=report.operation))
        if then is not None:
            then(report)

    return report
