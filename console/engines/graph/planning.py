"""Working out a plan: steps one and two without a single write. Also run before every apply, to know where gates are needed."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from graphlib import TopologicalSorter
from typing import Any

import msgspec

from console import __version__
from console.engines.graph.deciding import Decision, Situation, decide, resolve
from console.engines.graph.desired import PENDING, as_text, path_text
from console.engines.graph.errors import UnresolvedReference
from console.engines.graph.laid_out import Layout
from console.engines.graph.ordering import delete_order, waves
from console.engines.graph.values import canonical_bytes
from console.kit.masking import is_secret_key
from console.kit.paths import ABSENT, is_under
from console.model.graph import KNOWN_AFTER_APPLY, Action, Changed, Deployed, Identity, Path, Plan, PlannedStep

_KNOWN = (Action.NONE, Action.RECORD)


class Forecast(msgspec.Struct, frozen=True):
    """What each wanted resource is expected to need, with the secret fields of each."""

    decisions: dict[Identity, Decision]
    secrets: dict[Identity, tuple[Path, ...]]
    warnings: tuple[str, ...]


def forecast(layout: Layout, world: Situation) -> Forecast:
    """Decide for every resource, parents first; what a changing parent will give out is unknown."""
    decisions: dict[Identity, Decision] = {}
    secrets: dict[Identity, tuple[Path, ...]] = {}
    warnings: list[str] = []

    def output_of(parent: Identity) -> Mapping[str, Any] | None:
        return world.current[parent].output if decisions[parent].action in _KNOWN else None

    for identity in TopologicalSorter(layout.parents).static_order():
        desired, traits = layout.desired[identity], layout.traits(identity.kind)
        record = world.current.get(identity)
        try:
            resolved = resolve(desired, layout.dependencies[identity], output_of, traits, layout.output_model)
        except UnresolvedReference as error:
            warnings.append(f"{identity} will fail: {error}")
            decisions[identity] = Decision(action=Action.UPDATE if record else Action.CREATE, reason=str(error))
            continue
        secrets[identity] = resolved.secret
        decisions[identity] = decide(desired, resolved, record, layout.parents[identity], traits, world)
    return Forecast(decisions, secrets, tuple(warnings))


def make_plan(
    layout: Layout, world: Situation, outlook: Forecast, *, project: str, prune: bool, refresh: bool, digest: str
) -> Plan:
    """The forecast as something to show and to confirm."""
    warnings = [*world.warnings, *outlook.warnings]
    wave = waves(layout.parents)
    steps = []
    for identity in sorted(layout.desired, key=lambda identity: (wave[identity], identity)):
        decision, traits = outlook.decisions[identity], layout.traits(identity.kind)
        notes = [decision.reason] if decision.reason else []
        if decision.action is Action.REPLACE and traits.singleton_name:
            notes.append("interrupts")
            warnings.append(f"Replacing {identity} interrupts: the old one goes before the new one is made.")
        if decision.action is Action.REPLACE and traits.destructive:
            warnings.append(f"Replacing {identity} is destructive: what it holds is lost.")
        if decision.action.writes and traits.wait_ready is not None:
            warnings.append(f"Waiting until {identity} is ready may take long.")
        steps.append(
            PlannedStep(
                identity=identity,
                action=decision.action,
                wave=wave[identity],
                parents=layout.parents[identity],
                changes=tuple(_shown(change, outlook.secrets.get(identity, ())) for change in decision.changes),
                sources_changed=decision.sources_changed,
                reason=", ".join(notes),
            )
        )
    deletes, more = _planned_deletes(layout, world, outlook) if prune else ((), [])
    return Plan(
        project=project,
        steps=tuple(steps),
        deletes=deletes,
        warnings=(*warnings, *more),
        digest=digest,
        prune=prune,
        refresh=refresh,
    )


def _planned_deletes(layout: Layout, world: Situation, outlook: Forecast) -> tuple[tuple[PlannedStep, ...], list[str]]:
    """Unwanted records, older versions, and those about to be replaced, in the order of their deletion."""
    going = unmatched(layout, world)
    replaced = [
        world.current[identity]
        for identity, decision in outlook.decisions.items()
        if decision.action is Action.REPLACE and not layout.traits(identity.kind).singleton_name
    ]
    ids = {record.id for record in replaced}
    records = {(record.identity, record.id): record for record in (*going, *replaced)}
    before, warnings = delete_order(records.values())
    order = waves(before)
    steps = []
    for key in sorted(records, key=lambda key: (order[key], key)):
        record = records[key]
        reason = "replaced" if record.id in ids or record.identity in layout.desired else "no longer wanted"
        steps.append(
            PlannedStep(
                identity=record.identity,
                action=Action.DELETE,
                wave=order[key],
                parents=record.deps,
                reason=reason,
                version=record.id,
            )
        )
        if layout.knows(record.kind) and layout.traits(record.kind).destructive:
            warnings.append(f"Deleting {record.identity} is destructive: what it holds is lost.")
    return tuple(steps), warnings


def unmatched(layout: Layout, world: Situation) -> list[Deployed]:
    """Records that nothing in the graph asks for, and versions that have been replaced."""
    return [record for identity, record in world.current.items() if identity not in layout.desired] + world.superseded


def _shown(change: tuple[Path, Any, Any], secret: tuple[Path, ...]) -> Changed:
    path, before, after = change
    if any(is_under(path, hidden) or is_under(hidden, path) for hidden in secret) or (path and is_secret_key(path[-1])):
        return Changed(path=path_text(path), secret=True, before="", after="changed")
    return Changed(path=path_text(path), before=_text(before), after=_text(after))


def _text(value: Any) -> str:
    if value is PENDING:
        return KNOWN_AFTER_APPLY
    if value is ABSENT or value is None:
        return ""
    if isinstance(value, dict | list):
        return canonical_bytes(_pending_as_text(value)).decode()
    return as_text(value)


def _pending_as_text(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _pending_as_text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_pending_as_text(item) for item in value]
    return KNOWN_AFTER_APPLY if value is PENDING else value


def plan_digest(layout: Layout, records: list[Deployed], key: bytes, *, project: str, prune: bool) -> str:
    """Keyed digest over everything that a plan rests on: graph, stored records, options, version of this software."""
    wanted = [
        (
            identity,
            _pending_as_text(item.input),
            sorted(item.sources),
            [(edge.field, edge.expression, edge.after) for edge in layout.dependencies[identity]],
        )
        for identity, item in sorted(layout.desired.items())
    ]
    stored = sorted(records, key=lambda record: (record.identity, record.id))
    matter = canonical_bytes([__version__, project, prune, wanted, stored])
    return hmac.new(key, matter, hashlib.sha256).hexdigest()
