"""The rules of a trigger's record: what a publication may replace, what a withdrawal restores, how it is put on the wire.

Pure. Sections 8.4 and 8.5 of the specification.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from console.engines.dispatch.constants import point
from console.engines.dispatch.types import Operation, TriggerRecord, TriggerStatus
from console.errors import ProtocolError
from console.kit.sanitize import sanitize

_MEND = "Put status.operation right, or remove it when no apply runs there."
_MOST_TOLD = 4000
_WIRE_NAMES = frozenset(field.encode_name for field in msgspec.structs.fields(Operation))


def may_replace(stored: Operation | None, new: Operation) -> bool:
    """Whether a published operation may take the stored one's place: none is stored, or it is the same one, later on.

    A complete record is never replaced by a publication: only the next ``record`` does that.
    """
    if stored is None:
        return True
    if not new.same_as(stored) or stored.outcome.complete:
        return False
    return point(stored.outcome) < point(new.outcome) or (stored.outcome == new.outcome and stored != new)


def further(known: Operation | None, recorded: Operation | None) -> Operation | None:
    """What this process knows of an operation, or what is recorded: whoever lost the lead knows less than who has it."""
    if known is None or (recorded is not None and known.same_as(recorded) and point(known.outcome) < point(recorded.outcome)):
        return recorded
    return known


def merged(stored: TriggerRecord, status: TriggerStatus, remembered: Mapping[str, Operation | None]) -> TriggerRecord:
    """The record after a publication.

    :param remembered: by token, what stood there before that operation was recorded; without it nothing is withdrawn.
    """
    operation, published = stored.operation, status.operation
    if operation is not None and operation.token in status.withdrawn and operation.token in remembered:
        replacement = published if published is not None and published.token not in status.withdrawn else None
        operation = replacement or remembered[operation.token]
    elif published is not None and published.token not in status.withdrawn and may_replace(operation, published):
        if operation is not None and not published.suspend_token:
            published = msgspec.structs.replace(published, suspend_token=operation.suspend_token)
        operation = published
    repair = stored.repair_pending if status.repair_pending is None else status.repair_pending
    return TriggerRecord(operation=operation, repair_pending=repair)


def later(first: TriggerStatus, second: TriggerStatus) -> TriggerStatus:
    """Two unwritten publications as one: the second, with what only the first says."""
    return TriggerStatus(
        operation=second.operation or first.operation,
        repair_pending=first.repair_pending if second.repair_pending is None else second.repair_pending,
        withdrawn=tuple(dict.fromkeys((*first.withdrawn, *second.withdrawn))),
    )


def told(message: str) -> str:
    """A message of a controller as it is recorded and reported: harmless on a terminal, and never so long that the record
    would not fit any more where it is kept (an object's annotations take 256 KiB in all)."""
    rest = len(message) - _MOST_TOLD
    return sanitize(message if rest <= 0 else f"{message[:_MOST_TOLD]} … and {rest} characters more")


def read_operation(value: Any, where: str, hint: str = _MEND) -> Operation | None:
    """An operation as stored; None for none. ``hint``: how it is put right.

    :raises ProtocolError: what is there is no record. Nothing may start over a record that can't be understood.
    """
    if not value:
        return None
    try:
        return msgspec.convert(value, Operation)
    except msgspec.ValidationError as error:
        raise ProtocolError(f"the operation recorded on {where} cannot be understood: {error}", hint) from error


def write_operation(operation: Operation, stored: Any = None) -> dict[str, Any]:
    """An operation for the wire; fields of the same stored operation that we don't know are kept."""
    known: dict[str, Any] = msgspec.to_builtins(operation)
    if not isinstance(stored, dict) or stored.get("token") != operation.token:
        return known
    return {key: value for key, value in stored.items() if key not in _WIRE_NAMES} | known
