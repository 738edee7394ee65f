"""Deciding what one resource needs: resolve its references, match it with its record, compare. Pure and synchronous."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from console.engines.graph.desired import PENDING, Dependency, Desired, Expression, Reference, as_text, path_text
from console.engines.graph.errors import UnresolvedReference
from console.engines.graph.providers import Traits
from console.engines.graph.values import canonical, convert, differences, secret_at, secret_paths
from console.kit.paths import ABSENT, copy_nested, get_path, set_path
from console.model.graph import Action, Deployed, Identity, Path

OutputOf = Callable[[Identity], Mapping[str, Any] | None]
"""The output of a parent, or None while it is unknown (in a plan)."""


class Resolved(msgspec.Struct, frozen=True):
    """Input with references replaced by values. ``unknown`` are the fields whose value only applying will tell."""

    values: dict[str, Any]
    unknown: tuple[Path, ...] = ()
    secret: tuple[Path, ...] = ()


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What to do and why. ``changes`` are (path, before, after) in canonical form."""

    action: Action
    changes: tuple[tuple[Path, Any, Any], ...] = ()
    config_changed: bool = False
    sources_changed: bool = False
    reason: str = ""


class Situation(msgspec.Struct, kw_only=True):
    """What exists as a run begins, after repair and refresh.

    ``current`` is the record of each identity; ``superseded`` are older versions that were replaced but not yet deleted.
    ``reuse`` has ids for creates that were begun before; ``reasons`` says why ("vanished", "drift", "adopted"); ``drifted`` has
    those whose outside object differs from its stored input; ``unsaved`` those whose record must be written anew; ``blocked``
    those of which nobody can say whether they exist.
    """

    current: dict[Identity, Deployed] = {}
    superseded: list[Deployed] = []
    reuse: dict[Identity, str] = {}
    reasons: dict[Identity, str] = {}
    drifted: dict[Identity, tuple[str, ...]] = {}
    adopted: set[Identity] = set()
    blocked: dict[Identity, BaseException] = {}
    unsaved: set[Identity] = set()
    warnings: list[str] = []


def resolve(
    desired: Desired, dependencies: Iterable[Dependency], output_of: OutputOf, traits: Traits, model_of: Callable[[str], Any]
) -> Resolved:
    """Fill in the references. ``model_of(kind)`` is the output model, to see which values are secret.

    Raises :class:`UnresolvedReference` naming field and reference when a parent's output lacks the value.
    """
    values: dict[str, Any] = copy_nested(desired.input)
    unknown: list[Path] = []
    secret: list[Path] = []
    for dependency in dependencies:
        if dependency.field is None or dependency.expression is None:
            continue
        value = _evaluate(dependency.field, dependency.expression, output_of)
        if value is PENDING:
            unknown.append(dependency.field)
        set_path(values, dependency.field, value)
        if any(secret_at(model_of(item.parent.kind), item.path) for item in dependency.expression.references):
            secret.append(dependency.field)
    secret.extend(path for path in secret_paths(values, traits.provider.input_model) if path not in secret)
    return Resolved(values, tuple(unknown), tuple(secret))


def _evaluate(field: Path, expression: Expression, output_of: OutputOf) -> Any:
    parts: list[Any] = []
    for piece in expression.pieces:
        if not isinstance(piece, Reference):
            parts.append(piece)
            continue
        output = output_of(piece.parent)
        if output is None:
            return PENDING
        value = get_path(output, piece.path)
        if value is ABSENT or value is None:
            raise UnresolvedReference(f"Field {path_text(field)} needs {piece}, and the output of {piece.parent} lacks it.")
        parts.append(value)
    return parts[0] if len(parts) == 1 else "".join(as_text(part) for part in parts)


def decide(
    desired: Desired,
    resolved: Resolved,
    record: Deployed | None,
    parents: tuple[Identity, ...],
    traits: Traits,
    world: Situation,
) -> Decision:
    """Compare a resource with its record and choose the action."""
    identity = desired.identity
    reason = world.reasons.get(identity, "")
    model = traits.provider.input_model
    if record is None:
        return Decision(action=Action.CREATE, changes=_all_new(resolved, model), config_changed=True, reason=reason)
    values = _with_known(resolved, record)
    changes = tuple(differences(canonical(record.input, model), canonical(values, model)))
    drifted = world.drifted.get(identity, ())
    sources_changed = frozenset(record.sources) != frozenset(desired.sources)
    shown = changes + tuple((path, get_path(record.input, path), PENDING) for path in resolved.unknown)
    if any(path[0] in traits.replace_on for path, _before, _after in changes if path):
        action = Action.REPLACE
    elif changes or sources_changed or drifted:
        action = Action.UPDATE
    elif resolved.unknown:
        action = Action.MAYBE_UPDATE
    elif frozenset(record.deps) != frozenset(parents) or identity in world.unsaved:
        action = Action.RECORD
    else:
        action = Action.NONE
    shown += tuple(((field,), "drifted", get_path(values, (field,))) for field in drifted)
    return Decision(
        action=action,
        changes=shown,
        config_changed=bool(changes or drifted or resolved.unknown),
        sources_changed=sources_changed,
        reason=reason or ("new dependencies" if action is Action.RECORD else ""),
    )


def _with_known(resolved: Resolved, record: Deployed) -> dict[str, Any]:
    """The values, with those still unknown taken from the record, so that only the known part is compared."""
    if not resolved.unknown:
        return resolved.values
    values: dict[str, Any] = copy_nested(resolved.values)
    for path in resolved.unknown:
        stored = get_path(record.input, path)
        set_path(values, path, None if stored is ABSENT else stored)
    return values


def _all_new(resolved: Resolved, model: Any) -> tuple[tuple[Path, Any, Any], ...]:
    form = canonical(resolved.values, model)
    return tuple(differences({}, form)) if isinstance(form, dict) else ()


def typed(value: Mapping[str, Any], model: Any) -> Any:
    """Stored data as the model's type, or as it is where the model has moved on. The result is the receiver's to change."""
    own = copy_nested(value)
    try:
        return convert(own, model)
    except msgspec.ValidationError:
        return own


def merged_output(previous: Mapping[str, Any], fresh: Mapping[str, Any]) -> dict[str, Any]:
    """An update's output: what the provider did not set keeps its previous value."""
    return {**previous, **fresh}


def record_secrets(resolved: Resolved, output: Mapping[str, Any], traits: Traits) -> tuple[Path, ...]:
    """Where a record holds secrets, for storage to seal them."""
    inputs = (("input", *path) for path in resolved.secret)
    outputs = (("output", *path) for path in secret_paths(output, traits.provider.output_model))
    return (*inputs, *outputs)
