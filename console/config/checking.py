"""A located tree against a msgspec type: every unknown key, wrong type and bad value, not only the first.

The types are the single source: the same ones make the JSON Schemas. Only what the configuration uses is known here: structs,
text, numbers, booleans, literals, tuples, dicts and None.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from console.config.located import Located
from console.config.problems import Key, Problem, nearest

T = TypeVar("T")


def check(tree: Located, wanted: type[T], path: str) -> tuple[T | None, list[Problem]]:
    """The value that a tree means, or None and all problems."""
    problems: list[Problem] = []
    _check(tree, inspect.type_info(wanted), (), path, problems)
    if problems:
        return None, problems
    return msgspec.convert(tree.plain(), wanted), []


def _check(tree: Located, wanted: inspect.Type, key: Key, path: str, problems: list[Problem]) -> None:
    match wanted:
        case inspect.Metadata():
            before = len(problems)
            _check(tree, wanted.type, key, path, problems)
            meaning = (wanted.extra or {}).get("means")
            if meaning and isinstance(tree.value, str) and len(problems) > before:
                problems[before:] = [Problem(path, tree.line, key, f"is {_shown(tree.value)}, not {meaning}")]
        case inspect.StructType():
            if _is(tree, dict, "a mapping", key, path, problems):
                _check_struct(tree, wanted, key, path, problems)
        case inspect.DictType():
            if _is(tree, dict, "a mapping", key, path, problems):
                for name, item in tree.value.items():
                    _check(item, wanted.value_type, (*key, name), path, problems)
        case inspect.VarTupleType() | inspect.ListType():
            if _is(tree, list, "a list", key, path, problems):
                for index, item in enumerate(tree.value):
                    _check(item, wanted.item_type, (*key, index), path, problems)
        case inspect.LiteralType():
            if tree.value not in wanted.values or isinstance(tree.value, bool):
                known = ", ".join(str(value) for value in wanted.values)
                meant = nearest(str(tree.value), [str(value) for value in wanted.values])
                problems.append(Problem(path, tree.line, key, f"is {_shown(tree.value)}, not one of {known}", meant))
        case inspect.UnionType():
            _check_union(tree, wanted, key, path, problems)
        case inspect.StrType():
            if _is(tree, str, "text", key, path, problems):
                _check_text(tree, wanted, key, path, problems)
        case inspect.BoolType():
            _is(tree, bool, "true or false", key, path, problems)
        case inspect.IntType() | inspect.FloatType():
            _check_number(tree, wanted, key, path, problems)


def _check_struct(tree: Located, wanted: inspect.StructType, key: Key, path: str, problems: list[Problem]) -> None:
    fields = {field.encode_name: field for field in wanted.fields}
    for name, item in tree.value.items():
        if name in fields:
            _check(item, fields[name].type, (*key, name), path, problems)
        else:
            at = tree.key_lines.get(name, item.line)
            problems.append(Problem(path, at, (*key, name), "is no known key", nearest(name, fields)))
    for name, field in fields.items():
        if field.required and name not in tree.value:
            problems.append(Problem(path, tree.line, (*key, name), "is missing"))


def _check_union(tree: Located, wanted: inspect.UnionType, key: Key, path: str, problems: list[Problem]) -> None:
    """Taken if any member takes it; else the problems of the member that looks most alike are told."""
    tried: list[list[Problem]] = []
    for member in wanted.types:
        if isinstance(member, inspect.NoneType):
            if tree.value is None:
                return
            continue
        found: list[Problem] = []
        _check(tree, member, key, path, found)
        if not found:
            return
        tried.append(found)
    problems.extend(max(tried, key=lambda found: max(len(problem.key) for problem in found)))


def _check_text(tree: Located, wanted: inspect.StrType, key: Key, path: str, problems: list[Problem]) -> None:
    if wanted.pattern and not re.search(wanted.pattern, tree.value):
        problems.append(Problem(path, tree.line, key, f"is {_shown(tree.value)}, which does not match {wanted.pattern}"))
    elif wanted.min_length and len(tree.value) < wanted.min_length:
        problems.append(Problem(path, tree.line, key, "is empty"))
    elif wanted.max_length and len(tree.value) > wanted.max_length:
        problems.append(Problem(path, tree.line, key, f"is longer than {wanted.max_length} characters"))
    elif not tree.value.isprintable():
        problems.append(Problem(path, tree.line, key, "holds characters that can't be printed"))


def _check_number(
    tree: Located, wanted: inspect.IntType | inspect.FloatType, key: Key, path: str, problems: list[Problem]
) -> None:
    whole = isinstance(wanted, inspect.IntType)
    kinds = (int,) if whole else (int, float)
    if isinstance(tree.value, bool) or not isinstance(tree.value, kinds):
        problems.append(Problem(path, tree.line, key, f"is {_shown(tree.value)}, not a {'whole ' if whole else ''}number"))
    elif wanted.ge is not None and tree.value < wanted.ge:
        problems.append(Problem(path, tree.line, key, f"is {tree.value}, less than {wanted.ge}"))
    elif wanted.le is not None and tree.value > wanted.le:
        problems.append(Problem(path, tree.line, key, f"is {tree.value}, more than {wanted.le}"))


def _is(tree: Located, kind: type, called: str, key: Key, path: str, problems: list[Problem]) -> bool:
    if isinstance(tree.value, kind):
        return True
    quoting = " (put it in quotes)" if kind is str and isinstance(tree.value, bool | int | float) else ""
    problems.append(Problem(path, tree.line, key, f"is {_shown(tree.value)}, not {called}{quoting}"))
    return False


def _shown(value: Any) -> str:
    match value:
        case None:
            return "empty"
        case bool():
            return "true" if value else "false"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return f"“{value if len(value) <= 40 else value[:39] + '…'}”"
        case _:
            return str(value)
