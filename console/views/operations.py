"""Operations: what runs comes first, with the step it is in and what would end it; then the past, newest first."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from console.model.operations import Operation
from console.views import columns, formats, words
from console.views.cells import Cell, Column, Context, Table, cell, prose
from console.views.glyphs import attention, state_glyph

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def in_flight_first(operation: Operation) -> tuple[Any, ...]:
    """Running ones by their start, oldest first (they need the eye most); ended ones by their end, newest first."""
    if not operation.state.ended:
        return (0, (operation.started or _EPOCH).timestamp(), operation.ref)
    return (1, -(words.when(operation) or _EPOCH).timestamp(), operation.ref)


def progress(operation: Operation) -> str:
    """``hooks (2/5)``: the step that an operation is in now and how many are behind it; "" when it tells no steps.

    A step that only repeats how the operation ended says nothing new.
    """
    if not operation.steps:
        return "" if operation.step.lower() == operation.state.value else operation.step
    done = sum(step.state.ended for step in operation.steps)
    count = f"{done}/{len(operation.steps)}"
    return f"{operation.step} ({count})" if operation.step else count


def taken(operation: Operation, now: datetime) -> str:
    """How long an operation has taken, until now while it runs."""
    if operation.started is None:
        return ""
    return formats.duration(((operation.ended or now) - operation.started).total_seconds())


def _state(operation: Operation, _: Context) -> Cell:
    return cell(operation.state.value, attention(operation.state.health))


def _who(operation: Operation) -> str:
    return operation.who or ("this console" if operation.origin == "journal" else "")


def _message(operation: Operation, _: Context) -> Cell:
    if not operation.state.ended:
        waiting = f"waits for {formats.awaited(operation.waiting_for)}" if operation.waiting_for else operation.message
        return prose(waiting, "busy" if operation.waiting_for else "plain")
    return prose(operation.message or operation.reason, "plain" if operation.state.health.needs_attention else "muted")


_COLUMNS: tuple[Column[Operation], ...] = (
    Column(
        key="mark",
        title="",
        width=1,
        cell=lambda item, _: state_glyph(item.state),
        sort=lambda item: -item.state.health.trouble,
    ),
    columns.WHERE,
    columns.texted("verb", "OPERATION", lambda item: item.verb, width=12, priority=1, tone="plain"),
    columns.texted("name", "TARGET", lambda item: item.target.path, width=24, priority=1, tone="plain"),
    columns.texted("kind", "KIND", lambda item: words.kind_word(item.target.kind), width=14, priority=5),
    Column(key="state", title="STATE", width=11, cell=_state, sort=lambda item: item.state.value),
    columns.texted("step", "STEP", progress, width=22, priority=3, tone="plain"),
    Column(key="what", title="WHAT", priority=2, cell=_message, sort=lambda item: item.waiting_for or item.message),
    columns.texted("revision", "REV", lambda item: formats.short_sha(item.commit), width=9, priority=6),
    columns.texted("who", "WHO", _who, width=14, priority=5),
    columns.texted("why", "WHY", lambda item: item.why, width=20, priority=7, wide=True),
    Column(
        key="taken",
        title="TOOK",
        width=7,
        align="right",
        priority=4,
        cell=lambda item, context: cell(taken(item, context.now), "muted"),
        sort=lambda item: (item.ended - item.started).total_seconds() if item.started and item.ended else float("inf"),
    ),
    columns.aged(at=lambda item: item.ended or item.started),
)

OPERATIONS: Table[Operation] = Table(
    name="operations",
    title="Operations",
    kinds=("Operation",),
    columns=_COLUMNS,
    one="operation",
    many="operations",
    aliases=("operation", "ops", "op"),
    order=in_flight_first,
)
