"""A trigger as the dispatch engine sees it, in sections to scan: who drives it, what is written beside what is applied, and
what runs.

One for the detail pane and for ``quarterdeck describe``.
"""

from __future__ import annotations

from collections.abc import Iterable

from console.model.health import Health
from console.model.kubernetes import Trigger
from console.model.operations import State, StepView
from console.model.resource import Resource
from console.model.trigger_report import RecordedOperation, TriggerReport, WrittenBinding
from console.views import formats
from console.views.cells import EMPTY, Cell, Context, cell, prose
from console.views.describe import Line, Section
from console.views.dispatch_words import ASKED, CONFIGURED, OUTCOMES
from console.views.glyphs import glyph, state_glyph

_LABEL = 13
"""Cells of the labels; values stand in a column behind them."""
_BEFORE = 2 + 2 + _LABEL + 2
_LEAST_SIDE = 18


def sheet(report: TriggerReport, resource: Resource | None, context: Context, width: int) -> tuple[Section, ...]:
    """The sections, those that say most first. ``width`` in terminal cells decides whether two sides fit beside each other."""
    row = resource if isinstance(resource, Trigger) else None
    sections = (
        Section("Dispatch", tuple(_standing(report, row, context))),
        Section("Written and applied", tuple(_sides(report, max(width - _BEFORE, 20)))),
        _operation(report.operation, context),
        Section("Adopting it", tuple(Line(label=prose(text), wraps=not text.startswith("- ")) for text in report.declaration)),
    )
    return tuple(section for section in sections if section.lines)


def _label(text: str) -> Cell:
    return cell(formats.padded(text, _LABEL), "muted")


def _standing(report: TriggerReport, row: Trigger | None, context: Context) -> Iterable[Line]:
    for index, said in enumerate(report.driver):
        mark, label = (glyph(report.driven), "driven") if index == 0 else (Cell(" "), "")
        yield Line(mark=mark, label=_label(label), value=prose(said))
    if report.applier:
        yield Line(mark=Cell(" "), label=_label("applier"), value=cell(report.applier))
    yield from _configured(report)
    yield from _held(report, context)
    for rival in report.rivals:
        said = "came first: this one waits until that one lets go" if rival.first else "waits for this one"
        yield Line(
            mark=glyph(Health.BAD if rival.first else Health.WARN),
            label=_label("also named by"),
            value=prose(f"{rival.who}: {said}"),
        )
    yield from _commits(report, row)
    if report.repair_pending:
        said = "the last state of the cluster is uncertain; apply again with the reason Repair"
        yield Line(mark=glyph(Health.WARN), label=_label("repair"), value=cell(said, "warn"))


_STATUS = {"True": (Health.OK, "yes"), "False": (Health.BAD, "no")}


def _configured(report: TriggerReport) -> Iterable[Line]:
    found = report.configured
    if found is None:
        return
    health, word = _STATUS.get(found.status, (Health.UNKNOWN, "not known"))
    meant = CONFIGURED.get(found.reason, "")
    yield Line(
        mark=glyph(health),
        label=_label("configured"),
        value=prose(f"{word}: {meant}" if meant else word, "plain" if health is Health.OK else "bad"),
    )
    said = " · ".join(part for part in (found.reason if health is not Health.OK else "", found.message) if part)
    if said:
        yield Line(mark=Cell(" "), label=_label(""), value=prose(said, "muted"))


def _held(report: TriggerReport, context: Context) -> Iterable[Line]:
    if report.held is None:
        return
    if report.held:
        by = f"by {report.held_by}" if report.held_by else "yes"
        end = report.held_until
        until = f"until {formats.clock_time(end, context.now)}" if end is not None else "until somebody releases it"
        over = end is not None and context.now >= end
        said = ", ".join(part for part in (by, report.held_why, f"{until} (overdue)" if over else until) if part)
        yield Line(mark=glyph(Health.HELD), label=_label("held"), value=prose(said, "warn" if over else "held"))
    else:
        yield Line(mark=glyph(Health.UNKNOWN), label=_label("held"), value=cell("no", "muted"))
    for note in report.held_notes:
        yield Line(mark=Cell(" "), label=_label(""), value=prose(note, "muted"))


def _commits(report: TriggerReport, row: Trigger | None) -> Iterable[Line]:
    applied = formats.short_sha(report.applied)
    wanted = formats.short_sha(formats.revision(row.wanted).rpartition("@")[2]) if row is not None else ""
    flying = report.operation
    if flying is not None and flying.in_flight:
        wanted = formats.short_sha(flying.commit)
    if not applied and not wanted:
        return
    if not wanted or applied == wanted:
        said, health = f"{applied} is applied" + (", as wanted" if wanted else ""), Health.OK
    elif not applied:
        said, health = f"{wanted} is wanted; nothing was applied yet", Health.WARN
    else:
        said, health = f"{applied} is applied  ≠  {wanted} is wanted", Health.WARN
    if flying is not None and flying.in_flight:
        health = Health.BUSY
    yield Line(mark=glyph(health), label=_label("commit"), value=cell(said, "plain" if health is Health.OK else "warn"))


def _sides(report: TriggerReport, room: int) -> Iterable[Line]:
    applies = formats.repository(report.repository)
    for index, written in enumerate(report.written):
        if index:
            yield Line()
        yield from _compared(written, report, applies, room)
    if not report.written and applies:
        yield Line(mark=Cell(" "), label=_label("applied"), value=prose(f"{applies} at {report.branch}"))


def _compared(written: WrittenBinding, report: TriggerReport, applies: str, room: int) -> Iterable[Line]:
    repository = formats.repository(written.repository)
    if "repository" in written.differs and repository == applies:
        # They differ in what is left out for short.
        repository, applies = written.repository, report.repository
    rows = (("repository", repository, applies), ("branch", written.branch, report.branch))
    applier = report.applier.partition(" in ")[0]
    heads = (f"{written.who} {'writes' if written.who.startswith('GitTarget') else 'says'}", f"{applier} applies")
    side = (room - 5) // 2
    beside = side >= _LEAST_SIDE and all(formats.display_width(text) <= side for text in (repository, applies))
    if beside:
        left, right = (head if formats.display_width(head) <= side else head.rpartition(" ")[0] for head in heads)
        left, right = formats.clipped(left, side), formats.clipped(right, side)
        yield Line(mark=Cell(" "), label=_label(""), value=cell(f"{formats.padded(left, side)}     {right}", "muted"))
        for name, ours, theirs in rows:
            yield _row(name, f"{formats.padded(ours or 'not known', side)}  {_sign(written, name, theirs)}  ", theirs, written)
    else:
        for who, at in ((heads[0], 1), (heads[1], 2)):
            yield Line(mark=Cell(" "), label=cell(who, "muted"))
            for row in rows:
                yield _row(row[0], "", row[at], written)
    state = {"eligible": (Health.OK, "may ask it"), "refused": (Health.BAD, "may not ask it")}
    health, word = state.get(written.state, (Health.UNKNOWN, "can't be judged yet"))
    said = f"{written.who} {word}{': ' + written.why if written.why else ''}"
    yield Line(mark=glyph(health), label=prose(said, "muted" if health is Health.OK else "bad"), wraps=True)


def _sign(written: WrittenBinding, name: str, theirs: str) -> str:
    return "?" if not theirs or not written.repository else "≠" if name in written.differs else "="


def _row(name: str, left: str, right: str, written: WrittenBinding) -> Line:
    differs = name in written.differs
    mark = glyph(Health.BAD) if differs else Cell(" ")
    return Line(mark=mark, label=_label(name), value=cell(f"{left}{right or 'not known'}", "bad" if differs else "plain"))


def _operation(operation: RecordedOperation | None, context: Context) -> Section:
    if operation is None:
        return Section("Operation", ())
    health, words = OUTCOMES.get(operation.outcome, (Health.UNKNOWN, operation.outcome))
    end = operation.completed or context.now
    took = formats.duration((end - operation.requested).total_seconds()) if operation.requested is not None else ""
    head = Line(
        mark=glyph(health),
        label=cell(f"{formats.short_sha(operation.commit) or 'no commit'} {words}", "plain"),
        right=cell(took if operation.in_flight or operation.completed else "", "muted"),
    )
    asked = f"{operation.reason}: {ASKED.get(operation.reason, 'a reason that is not known here')}"
    lines = [head, Line(mark=Cell(" "), label=cell(asked, "muted"), wraps=True)]
    if operation.message and not any(step.waiting_for == operation.message for step in operation.phases):
        said = prose(f"It says: {operation.message}", "bad" if health is Health.BAD else "muted")
        lines.append(Line(mark=Cell(" "), label=said, wraps=True))
    if operation.in_flight or health is Health.BAD:
        lines += [_phase(step) for step in operation.phases]
    return Section("Operation in flight" if operation.in_flight else "Last operation", tuple(lines))


def _phase(step: StepView) -> Line:
    now = not step.state.ended and step.state is not State.PENDING
    told = f"waits for {formats.awaited(step.waiting_for)}" if now and step.waiting_for else step.detail
    name = formats.padded(step.key.rpartition("/")[2], 8) if step.depth == 1 else ""
    quiet = step.state is State.PENDING or (step.state.ended and not step.state.health.needs_attention)
    return Line(
        mark=state_glyph(step.state),
        label=cell(name + step.title, "muted" if quiet else "plain"),
        value=prose(told, "busy" if now else "muted") if told else EMPTY,
        depth=max(step.depth - 1, 0),
    )
