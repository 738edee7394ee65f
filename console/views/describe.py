"""The detail pane as data: any object as sections of marked lines, for the screen and for ``get`` alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from console.kit.masking import mask_text
from console.model.connections import Connection
from console.model.docker import Container, Stack
from console.model.health import Condition
from console.model.kubernetes import Event, KubeObject, Trigger, Workload
from console.model.operations import Operation
from console.model.refs import Ref
from console.model.resource import Resource
from console.views import formats, operations, reasons, tables, words
from console.views.cells import EMPTY, Cell, Context, Tone, cell, prose, row_cells
from console.views.explain import explain
from console.views.glyphs import glyph, phase_glyph, state_glyph

_MOST_EVENTS = 8
_MOST_OPERATIONS = 5
_NOT_FACTS = frozenset({"mark", "name", "where", "namespace", "kind", "what", "age", "wanted", "applied"})

_SAID_BY_CONDITIONS = frozenset({"configured", "ready"})


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One line: an optional shape, a label or a sentence, a value, and something short at the right edge.

    ``wraps`` marks a sentence that may take several screen lines; ``ref`` is the object that Enter would open.
    """

    label: Cell = EMPTY
    value: Cell = EMPTY
    mark: Cell = EMPTY
    right: Cell = EMPTY
    depth: int = 0
    wraps: bool = False
    ref: Ref | None = None


class Section(msgspec.Struct, frozen=True):
    """A heading with its lines; never empty."""

    title: str
    lines: tuple[Line, ...]


def heading(resource: Resource, context: Context) -> tuple[Line, Line]:
    """The two lines above all sections: what it is, and where."""
    place = [resource.ref.connection]
    if resource.ref.namespace:
        place.append(f"ns {resource.ref.namespace}")
    kind = words.kind_word(resource.ref.kind)
    if isinstance(resource, Trigger):
        if resource.applier is not None and resource.applier.kind != resource.ref.kind:
            kind = f"{kind} → {resource.applier.kind}"
        source = formats.repository(resource.source)
        place.extend([f"{source}@{resource.branch}" if resource.branch else source] if source else [])
    shape = phase_glyph(resource.phase) if isinstance(resource, Connection) else glyph(resource.health)
    stale = EMPTY if context.fresh(resource.ref.connection) else cell("not live", "warn")
    return (
        Line(mark=shape, label=cell(words.title(resource), "plain"), value=cell(kind, "muted"), right=stale),
        Line(label=prose(" · ".join(place), "muted")),
    )


def describe(
    resource: Resource,
    context: Context,
    *,
    related: Iterable[Resource] = (),
    operations_on: Iterable[Operation] = (),
    events: Iterable[Event] = (),
) -> tuple[Section, ...]:
    """All sections of an object, those that say most first; empty ones are left out.

    :param related: objects around it: they sharpen the explanation and are listed with their state.
    """
    around = tuple(related)
    sections = (
        Section("Why", tuple(Line(label=Cell(text), wraps=True) for text in explain(resource, context, around))),
        Section("Conditions", tuple(conditions(resource))),
        Section("Operation", _steps(resource, context)),
        Section("Facts", tuple(facts(resource, context))),
        Section("Related", _related(resource, around, context)),
        Section("Operations", _operations(operations_on, context)),
        Section("Events", _events(events, context)),
        Section("Labels", _labels(resource)),
    )
    return tuple(section for section in sections if section.lines)


def conditions(resource: Resource) -> Iterable[Line]:
    """Conditions in words, the ones that say no first in their own order of importance."""
    found: tuple[Condition | None, ...] = ()
    generation = 0
    if isinstance(resource, Trigger):
        found = (resource.configured, resource.ready, *resource.conditions)
        generation = resource.generation
    elif isinstance(resource, KubeObject | Workload):
        found = resource.conditions
        generation = getattr(resource, "generation", 0)
    seen: set[str] = set()
    for condition in found:
        if condition is None or condition.type in seen:
            continue
        seen.add(condition.type)
        yield _condition(condition, generation)


# Conditions whose "True" is bad news (Kubernetes API conventions: names of a problem, not of a quality).
_BAD_WHEN_TRUE = frozenset(
    {"Stalled", "ReplicaFailure", "FailureTarget", "Failed", "FetchFailed", "IncludeUnavailable", "Released"}
)
_BUSY_WHEN_TRUE = frozenset({"Reconciling", "Progressing", "ArtifactOutdated", "Suspended"})


def _condition(condition: Condition, generation: int) -> Line:
    tone: Tone
    if condition.type == "Held":
        shape, tone = ("◆", "held") if condition.status == "True" else ("○", "muted")
    elif condition.status == "Unknown":
        shape, tone = "◐", "busy"
    elif condition.type in _BAD_WHEN_TRUE:
        shape, tone = ("■", "bad") if condition.status == "True" else ("●", "ok")
    elif condition.type in _BUSY_WHEN_TRUE:
        shape, tone = ("●", "ok")
    else:
        shape, tone = ("●", "ok") if condition.status == "True" else ("■", "bad")
    told = condition.message or reasons.CONDITIONS.get(condition.reason, "")
    value = " · ".join(part for part in (condition.reason, told) if part)
    if not words.current(condition, generation):
        value = f"of an older generation: {value}" if value else "of an older generation"
    return Line(
        mark=Cell(shape, tone), label=cell(condition.type), value=prose(value, "plain" if tone in ("bad", "busy") else "muted")
    )


def _steps(resource: Resource, context: Context) -> tuple[Line, ...]:
    if not isinstance(resource, Operation):
        return ()
    return tuple(
        Line(
            mark=state_glyph(step.state),
            label=cell(step.title, "plain" if step.state.health.needs_attention or not step.state.ended else "muted"),
            value=prose(
                f"waits for {formats.awaited(step.waiting_for)}" if step.waiting_for and not step.state.ended else step.detail,
                "muted",
            ),
            right=cell(
                formats.duration(((step.ended or context.now) - step.started).total_seconds()) if step.started else "", "muted"
            ),
            depth=step.depth,
        )
        for step in resource.steps
    )


def facts(resource: Resource, context: Context) -> Iterable[Line]:
    """What its table shows in columns, as label and value, and what is too long for a column."""
    table = tables.table_of(resource.ref.kind)
    skipped = _NOT_FACTS | _SAID_BY_CONDITIONS if isinstance(resource, Trigger) else _NOT_FACTS
    in_full = [(label, text) for label, text in _long_facts(resource) if text]
    told_below = {label for label, _ in in_full}
    if table is not None:
        for column, shown in zip(table.columns, row_cells(table.columns, resource, context), strict=True):
            title = column.title.lower()
            if column.key not in skipped and title not in told_below and shown.text and shown.text != "—":
                yield Line(label=cell(title, "muted"), value=shown)
    for label, text in in_full:
        yield Line(label=cell(label, "muted"), value=prose(text), wraps=True)
    for label, at in (("created", resource.created), ("changed", resource.changed)):
        if at is not None:
            yield Line(label=cell(label, "muted"), value=cell(f"{formats.timestamp(at)} ({formats.ago(at, context.now)})"))
    if resource.ref.uid:
        yield Line(label=cell("uid", "muted"), value=cell(resource.ref.uid, "muted"))


def _long_facts(resource: Resource) -> Iterable[tuple[str, str]]:
    match resource:
        case Trigger():
            return (("url", resource.source), ("wanted", resource.wanted), ("applied", resource.applied))
        case KubeObject():
            return (("what", resource.summary), ("full revision", resource.revision))
        case Stack():
            used = (
                ("network", resource.networks),
                ("config", resource.configs),
                ("secret", resource.secrets),
                ("volume", resource.volumes),
            )
            return (("uses", ", ".join(formats.counted(number, word) for word, number in used if number)),)
        case Container():
            return (("image id", resource.image_id), ("networks", ", ".join(resource.networks)))
        case Connection():
            return (("endpoint", resource.endpoint), ("identity", resource.identity))
        case Operation():
            return (("why", resource.why), ("plan", resource.plan_hash))
        case _:
            return ()


def _related(resource: Resource, around: tuple[Resource, ...], context: Context) -> tuple[Line, ...]:
    lines = [
        Line(
            mark=glyph(item.health),
            label=cell(f"{words.kind_word(item.ref.kind)} {words.title(item)}"),
            value=words.what(item, context),
            ref=item.ref,
        )
        for item in sorted(around, key=lambda item: (-item.health.trouble, item.ref))
    ]
    known = {item.ref for item in around}
    named = [*resource.related, *([resource.applier] if isinstance(resource, Trigger) and resource.applier else [])]
    lines.extend(
        Line(mark=Cell(" "), label=cell(f"{words.kind_word(ref.kind)} {ref.path}", "muted"), ref=ref)
        for ref in dict.fromkeys(named)
        if not any(_named_alike(ref, other) for other in known)
    )
    return tuple(lines)


def _named_alike(one: Ref, other: Ref) -> bool:
    identity: Callable[[Ref], Any] = lambda ref: (ref.connection, ref.kind, ref.namespace, ref.name)  # noqa: E731
    return bool(identity(one) == identity(other))


def _operations(found: Iterable[Operation], context: Context) -> tuple[Line, ...]:
    return tuple(
        Line(
            mark=state_glyph(item.state),
            label=cell(f"{item.verb} {item.state.value}"),
            value=prose(item.message or item.waiting_for or operations.progress(item), "muted"),
            right=cell(formats.age(words.when(item), context.now), "muted"),
            ref=item.ref,
        )
        for item in sorted(found, key=operations.in_flight_first)[:_MOST_OPERATIONS]
    )


def _events(found: Iterable[Event], context: Context) -> tuple[Line, ...]:
    newest = sorted(found, key=lambda item: item.at, reverse=True)[:_MOST_EVENTS]
    return tuple(
        Line(
            mark=glyph(item.health),
            label=cell(f"{item.what} ×{item.count}" if item.count > 1 else item.what),
            value=prose(item.message, "plain" if item.health.needs_attention else "muted"),
            right=cell(formats.age(item.at, context.now), "muted"),
            ref=item.ref,
        )
        for item in newest
    )


def _labels(resource: Resource) -> tuple[Line, ...]:
    return tuple(Line(label=cell(key, "muted"), value=cell(mask_text(value))) for key, value in sorted(resource.labels.items()))


def notes_section(title: str, notes: Iterable[str]) -> tuple[Section, ...]:
    """Sentences from elsewhere as a section; none when there is nothing to say."""
    lines = tuple(Line(label=prose(note), wraps=not note.startswith(" ")) for note in notes)
    return (Section(title, lines),) if lines else ()


def as_text(sections: Iterable[Section], width: int = 100) -> str:
    """Sections as plain text, for printing and for copying; labels aligned within a section."""
    lines: list[str] = []
    for section in sections:
        lines.append(section.title)
        labels = [formats.display_width(line.label.text) + 2 * line.depth for line in section.lines if line.value.text]
        column = min(max(labels, default=0), 32)
        for line in section.lines:
            mark = f"{line.mark.text} " if line.mark.text else ""
            label = "  " * line.depth + line.label.text
            if line.value.text:
                label = formats.padded(label, max(column, formats.display_width(label)))
            text = f"  {mark}{label}  {line.value.text}".rstrip()
            if line.right.text:
                gap = width - formats.display_width(text) - formats.display_width(line.right.text)
                text = f"{text}{' ' * max(gap, 2)}{line.right.text}"
            lines.append(text)
        lines.append("")
    return "\n".join(lines[:-1])
