"""Values inside inputs and outputs: paths, canonical form, comparison, and which of them are secret.

Two inputs are equal when their canonical forms are: keys sorted, an absent field the same as null and as its default, numbers
compared by value. The form follows the kind's model, a ``msgspec.Struct`` type or any other that msgspec converts.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

import msgspec

from console.engines.graph.desired import PENDING
from console.kit.paths import ABSENT
from console.model.graph import Path

SECRET: Final = msgspec.Meta(extra={"secret": True})
"""Marks a field of an input or output model: ``password: Annotated[str, SECRET]``."""

Secret = Annotated[str, SECRET]
"""Text that is sealed in storage and never shown."""


def convert(value: Any, model: Any) -> Any:
    """The value as the model's type. Where it does not fit as it stands, a null counts as absent.

    Raises :class:`msgspec.ValidationError`.
    """
    try:
        return msgspec.convert(value, model)
    except msgspec.ValidationError:
        stripped = _without_nulls(value)
        if stripped == value:
            raise
        return msgspec.convert(stripped, model)


def builtins(value: Any) -> dict[str, Any]:
    """What a provider returned, as plain JSON-like data without absent and null fields at the top."""
    plain = msgspec.to_builtins(value) if value is not None else {}
    if not isinstance(plain, dict):
        raise TypeError(f"a provider must return a struct or a mapping, not {type(value).__name__}")
    return {str(key): item for key, item in plain.items() if item is not None}


def canonical(value: Mapping[str, Any], model: Any) -> Any:
    """Comparable form of an input; what no longer fits the model is compared as it stands."""
    try:
        return _canonical(convert(value, model))
    except msgspec.ValidationError:
        return _canonical(value)


def canonical_bytes(form: Any) -> bytes:
    """A canonical form as bytes, for hashing."""
    return msgspec.json.encode(form, order="deterministic")


def _canonical(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        form = {}
        for field in msgspec.structs.fields(type(value)):
            item = getattr(value, field.name)
            if item is None or item is ABSENT:
                continue
            if field.default is not msgspec.NODEFAULT and item == field.default:
                continue
            if field.default_factory is not msgspec.NODEFAULT and item == field.default_factory():
                continue
            form[field.encode_name] = _canonical(item)
        return form
    if isinstance(value, Mapping):
        return {str(key): _canonical(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((_canonical(item) for item in value), key=canonical_bytes)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if value is PENDING or isinstance(value, bool | int | float | str | None):
        return value
    return msgspec.to_builtins(value)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def differences(before: Any, after: Any, path: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    """Where two canonical forms differ, down to values of dicts; lists are compared whole. ABSENT: a missing side."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            yield from differences(before.get(key, ABSENT), after.get(key, ABSENT), (*path, key))
    elif type(before) is not type(after) or before != after:
        yield path, before, after


def is_struct(model: Any) -> bool:
    """Whether the model is a struct type, whose fields are known."""
    return isinstance(model, type) and issubclass(model, msgspec.Struct)


def has_path(model: Any, path: Path) -> bool:
    """Whether a value of this type can have something at the path. Free-form types can have anything."""
    if not path:
        return True
    return any(has_path(inner, path[1:]) for inner in _inner_types(model, path[0]))


def field_types(model: Any) -> dict[str, Any]:
    """Field name on the wire -> declared type, for a struct type."""
    return {field.encode_name: field.type for field in msgspec.structs.fields(model)}


def _inner_types(model: Any, part: str) -> list[Any]:
    """The types that may stand under ``part`` in a value of type ``model``."""
    origin, arguments = typing.get_origin(model), typing.get_args(model)
    if origin is Annotated:
        return _inner_types(arguments[0], part)
    if origin in (typing.Union, types.UnionType):
        return [inner for option in arguments for inner in _inner_types(option, part)]
    if is_struct(model):
        fields = field_types(model)
        return [fields[part]] if part in fields else []
    base = origin or model
    if base is Any:
        return [Any]
    if isinstance(base, type) and issubclass(base, Mapping):
        return [arguments[1] if len(arguments) == 2 else Any]
    if base in (list, tuple, set, frozenset):
        if not part.isdecimal():
            return []
        if base is tuple and arguments and arguments[-1] is not Ellipsis:
            return [arguments[int(part)]] if int(part) < len(arguments) else []
        return [arguments[0] if arguments else Any]
    return []


def secret_at(model: Any, path: Path) -> bool:
    """Whether the model marks the value at the path, or anything around it, as secret."""
    if _is_secret(model):
        return True
    return bool(path) and any(secret_at(inner, path[1:]) for inner in _inner_types(model, path[0]))


def secret_paths(value: Any, model: Any, path: Path = ()) -> Iterator[Path]:
    """Paths of the secret values that are present in plain data of this model."""
    if _is_secret(model):
        if value is not None and value is not PENDING:
            yield path
    elif isinstance(value, Mapping):
        for key, item in value.items():
            for inner in _inner_types(model, key)[:1]:
                yield from secret_paths(item, inner, (*path, key))
    elif isinstance(value, list | tuple):
        for position, item in enumerate(value):
            for inner in _inner_types(model, str(position))[:1]:
                yield from secret_paths(item, inner, (*path, str(position)))


def _is_secret(model: Any) -> bool:
    origin, arguments = typing.get_origin(model), typing.get_args(model)
    if origin is Annotated:
        marks = (note for note in arguments[1:] if isinstance(note, msgspec.Meta))
        return any((note.extra or {}).get("secret") for note in marks) or _is_secret(arguments[0])
    return origin in (typing.Union, types.UnionType) and any(_is_secret(option) for option in arguments)
