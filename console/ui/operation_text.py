"""An operation as lines: its phases on one time line, or its steps as a tree; what it waits for and what would end that."""

from __future__ import annotations

from datetime import datetime

from console.kit.sanitize import sanitize
from console.model.operations import Operation, State, StepView
from console.ui.text import Line, Part, line, set_line, width
from console.views import formats
from console.views.glyphs import state_glyph
from console.views.operations import taken
from console.views.step_tree import branches, run_tree

_BARS = 96
"""From this width on each step has a bar that shows when it ran."""
_BAR_ROOM = 24
_TIME = 7
_NAME = 9


def operation_headline(operation: Operation, now: datetime) -> tuple[Part, ...]:
    """What, on what, how it stands, how long."""
    shape = state_glyph(operation.state)
    parts = [Part(f" {shape.text} ", shape.tone), Part(sanitize(f"{operation.verb} {operation.target.path}"), "plain", True)]
    parts += [Part(f" on {sanitize(operation.target.connection)}"), Part(f"   {operation.state.value}", shape.tone)]
    facts = [taken(operation, now), f"by {operation.who}" if operation.who else "", formats.short_sha(operation.commit)]
    parts.append(Part("   " + " · ".join(sanitize(fact) for fact in facts if fact), "muted"))
    return tuple(parts)


def operation_lines(operation: Operation, now: datetime, room: int) -> list[Line]:
    """The steps, then what it waits for, then the message and the reason."""
    if branches(operation.steps):
        lines = [set_line(pieces) for pieces in run_tree(operation.steps, now, room)]
    else:
        span = _span(operation, now)
        lines = [entry for step in operation.steps for entry in _step(step, span, now, room)]
    if not operation.steps and operation.step:
        lines.append(line(Part("◐ ", "busy"), Part(sanitize(operation.step))))
    told = any(step.waiting_for == operation.waiting_for for step in operation.steps if not step.state.ended)
    if operation.waiting_for and not operation.state.ended and not told:
        lines += [
            Line(),
            line(
                Part("Waits for  ", "heading", True), Part(formats.awaited(sanitize(operation.waiting_for)), "busy"), indent=11
            ),
        ]
    if operation.message:
        tone = "bad" if operation.state.health.needs_attention else "plain"
        lines += [Line(), line(Part("Said       ", "heading", True), Part(sanitize(operation.message), tone), indent=11)]
    if operation.why:
        lines += [] if operation.message else [Line()]
        lines.append(line(Part("Why        ", "heading", True), Part(sanitize(operation.why)), indent=11))
    return lines or [line(Part("It tells no steps.", "muted"))]


def _span(operation: Operation, now: datetime) -> tuple[datetime, float] | None:
    """When the time line begins and how many seconds it is long; None where that can't be told or says nothing."""
    starts = [step.started for step in operation.steps if step.started is not None]
    if len(starts) < 2:
        return None
    begin = min(starts)
    end = max([operation.ended or now, *(step.ended for step in operation.steps if step.ended is not None)])
    return (begin, max((end - begin).total_seconds(), 0.001))


def _step(step: StepView, span: tuple[datetime, float] | None, now: datetime, room: int) -> list[Line]:
    """One step: shape, name, title, when it ran and how long; below it, what it waits for and what would end that."""
    shape, indent = state_glyph(step.state), "  " * step.depth
    going = not step.state.ended and step.state is not State.PENDING
    quiet = (step.state.ended and not step.state.health.needs_attention) or step.state is State.PENDING
    tone = "muted" if quiet else "plain"
    parts = [Part(f" {indent}"), Part(f"{shape.text} ", shape.tone)]
    start = width(parts)
    if step.ends:
        parts.append(Part(sanitize(step.key.rpartition("/")[2]).ljust(_NAME), tone, going))
    bar = _bar(step, span, now) if room >= _BARS and step.started is not None else []
    free = room - width(parts) - width(bar) - _TIME - 2
    parts.append(Part(formats.clipped(sanitize(step.title), max(free, 10)), tone))
    if step.attempts > 1:
        parts.append(Part(f"  try {step.attempts}", "warn"))
    below: list[Line] = []
    for label, said, colour in _said(step, going):
        inline = f"  {label}{said}"
        left = room - width(parts) - width(bar) - _TIME - 2
        if not below and len(parts) < 6 and formats.display_width(inline) <= left and not (going and label.startswith("ends")):
            parts.append(Part(inline, colour))
        else:
            place = start + (_NAME if step.ends else 0)
            below.append(line(Part(" " * place), Part(f"{label}{said}", colour), indent=place))
    if step.started is not None:
        time = formats.duration(((step.ended or now) - step.started).total_seconds())
        parts.append(Part(" " * max(room - width(parts) - width(bar) - len(time), 2)))
        # The bar stands in a column of its own, however short the time behind it is.
        if bar:
            parts[-1] = Part(" " * max(room - width(parts[:-1]) - width(bar) - _TIME, 2))
            time = time.rjust(_TIME)
        parts += [*bar, Part(time, "muted")]
    return [Line(tuple(parts), start), *below]


def _said(step: StepView, going: bool) -> list[tuple[str, str, str]]:
    """What is to be read of a step: label, text and tone. What has not begun only says what would end it."""
    if going:
        said = [("", sanitize(step.detail), "muted")] if step.detail else []
        if step.waiting_for:
            said.append(("waits for ", formats.awaited(sanitize(step.waiting_for)), "busy"))
        return [*said, ("ends when ", sanitize(step.ends), "muted")] if step.ends else said
    if step.detail:
        return [("", sanitize(step.detail), "bad" if step.state is State.FAILED else "muted")]
    return [("ends when ", sanitize(step.ends), "faint")] if step.ends and step.state is State.PENDING else []


def _bar(step: StepView, span: tuple[datetime, float] | None, now: datetime) -> list[Part]:
    """When the step ran, drawn on the time line of the whole operation."""
    if span is None or step.started is None:
        return []
    begin, seconds = span
    first = int((step.started - begin).total_seconds() / seconds * _BAR_ROOM)
    last = int(((step.ended or now) - begin).total_seconds() / seconds * _BAR_ROOM)
    first = min(max(first, 0), _BAR_ROOM - 1)
    size = min(max(last - first, 1), _BAR_ROOM - first)
    shape = state_glyph(step.state)
    return [Part(" " * first), Part("━" * size, shape.tone), Part(" " * (_BAR_ROOM - first - size))]
