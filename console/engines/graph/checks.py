"""Checks before anything is touched: all problems of a graph, gathered."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from console.engines.graph.desired import PENDING, Desired, Graph, path_text
from console.engines.graph.laid_out import Layout
from console.engines.graph.ordering import shortest_cycle
from console.engines.graph.values import convert, field_types, has_path, is_struct
from console.engines.ports.storage import SourceStorage
from console.kit.paths import ABSENT, get_path, is_under
from console.model.graph import Identity, Path


async def problems_of(graph: Graph, layout: Layout, sources: SourceStorage | None) -> list[str]:
    """Everything that is wrong with the graph, as sentences without a full stop; empty if it can be worked on."""
    counts = Counter(item.identity for item in graph.resources())
    problems = [f"{identity} is declared {times} times" for identity, times in sorted(counts.items()) if times > 1]
    for identity in sorted(layout.desired):
        problems += _edge_problems(identity, layout)
        problems += _field_problems(identity, layout)
    cycle = shortest_cycle(layout.parents)
    if cycle:
        problems.append("these wait for each other: " + " → ".join(str(identity) for identity in cycle))
    return problems + await _source_problems(layout, sources)


def _edge_problems(identity: Identity, layout: Layout) -> list[str]:
    problems = []
    if not layout.knows(identity.kind):
        problems.append(f"kind {identity.kind} of {identity} is not registered")
    for edge in layout.dependencies[identity]:
        missing = sorted({parent for parent in edge.parents if parent not in layout.desired})
        problems += [f"{identity} depends on {parent}, which is not in the graph" for parent in missing]
        for item in edge.expression.references if edge.expression else ():
            known = item.parent in layout.desired and layout.knows(item.parent.kind)
            if known and not has_path(layout.output_model(item.parent.kind), item.path):
                problems.append(f"{identity} refers to {item}, but {item.parent.kind} has no such output")
    return problems


def _field_problems(identity: Identity, layout: Layout) -> list[str]:
    """Fields that do not exist, are set twice, or whose static value the model refuses."""
    if not layout.knows(identity.kind):
        return []
    desired, model = layout.desired[identity], layout.traits(identity.kind).provider.input_model
    fields = [edge.field for edge in layout.dependencies[identity] if edge.field is not None]
    problems = [f"{identity} has no field {path_text(field)}" for field in fields if not field or not has_path(model, field)]
    for position, field in enumerate(fields):
        static = get_path(desired.input, field)
        overlaps = any(is_under(field, other) or is_under(other, field) for other in fields[:position])
        if overlaps or (static is not ABSENT and static is not PENDING):
            problems.append(f"field {path_text(field)} of {identity} is set twice")
    return problems + [f"{identity}: {text}" for text in _misfits(desired, model, fields)]


def _misfits(desired: Desired, model: Any, fields: list[Path]) -> list[str]:
    if not is_struct(model):
        return [] if fields else _refusals(desired.input, model, ())
    return _struct_misfits(dict(desired.input), model, fields, ())


def _struct_misfits(value: dict[str, Any], model: Any, fields: list[Path], at: Path) -> list[str]:
    """Field by field, so that those a reference will fill can be left out."""
    problems = []
    types = field_types(model)
    required = {field.encode_name for field in msgspec.structs.fields(model) if field.required}
    referenced = {field[len(at)] for field in fields if is_under(field, at) and len(field) > len(at)}
    for key in sorted(value):
        if key not in types:
            if key not in referenced:
                problems.append(f"there is no field {path_text((*at, key))}")
        elif value[key] is None and key not in required:
            continue  # null counts as absent
        elif key not in referenced:
            problems += _refusals(value[key], types[key], (*at, key))
        elif isinstance(value[key], dict) and is_struct(types[key]):
            problems += _struct_misfits(value[key], types[key], fields, (*at, key))
    missing = sorted(required - referenced - value.keys())
    return problems + [f"field {path_text((*at, key))} is required" for key in missing]


def _refusals(value: Any, model: Any, at: Path) -> list[str]:
    try:
        convert(value, model)
    except msgspec.ValidationError as error:
        return [f"field {path_text(at)}: {error}" if at else str(error)]
    return []


async def _source_problems(layout: Layout, sources: SourceStorage | None) -> list[str]:
    users: dict[str, Identity] = {}
    for identity in sorted(layout.desired):
        for key in layout.desired[identity].sources:
            users.setdefault(key, identity)
    if users and sources is None:
        return [f"{identity} has sources, but there is no source storage" for identity in sorted(set(users.values()))]
    problems = []
    for key, identity in sorted(users.items()):
        assert sources is not None
        try:
            content = await sources.open(key)
        except LookupError:
            problems.append(f"source {key} of {identity} is unknown")
        else:
            close = getattr(content, "aclose", None)
            if close is not None:
                await close()
    return problems
