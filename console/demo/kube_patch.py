"""Merge patch (RFC 7386), JSON patch (RFC 6902) and the part of strategic merge patch that rollouts use."""

from __future__ import annotations

import copy
from typing import Any

from console.demo import kube_fields
from console.demo.kube_status import Refusal


def merge_patch(target: Any, patch: Any) -> Any:
    """The target with the patch merged in; null removes."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def strategic_patch(target: Any, patch: Any, path: tuple[str, ...] = ()) -> Any:
    """As :func:`merge_patch`, but keyed lists (containers, env) merge by their keys. No directives."""
    if isinstance(patch, list) and isinstance(target, list):
        old = kube_fields.children(target, path, True)
        new = kube_fields.children(patch, path, True)
        if old is not None and new is not None:
            for element, item in new.items():
                old[element] = strategic_patch(old.get(element), item, (*path, element))
            return list(old.values())
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = strategic_patch(result.get(key), value, (*path, f"f:{key}"))
    return result


def json_patch(target: Any, operations: Any) -> Any:
    """The target after the operations.

    Raises 422 when a ``test`` fails or a path is not there, as the API server does, and 400 when it is no JSON patch.
    """
    if not isinstance(operations, list) or not all(isinstance(item, dict) for item in operations):
        raise Refusal(400, "the body is not a JSON patch: a list of operations was expected")
    result = copy.deepcopy(target)
    for operation in operations:
        name, path = operation.get("op"), _pointer(str(operation.get("path", "")))
        if name == "test":
            if _read(result, path) != operation.get("value"):
                raise _unprocessable(f"testing value {operation.get('path')} failed: test failed")
        elif name in ("add", "replace"):
            result = _set(result, path, operation.get("value"), must_exist=name == "replace")
        elif name == "remove":
            _take(result, path)
        elif name in ("move", "copy"):
            source = _pointer(str(operation.get("from", "")))
            value = _take(result, source) if name == "move" else copy.deepcopy(_read(result, source))
            result = _set(result, path, value, must_exist=False)
        else:
            raise Refusal(400, f"unexpected JSON patch operation {name!r}")
    return result


def _unprocessable(message: str) -> Refusal:
    return Refusal(422, f"the server rejected our request due to an error in our request: {message}", reason="Invalid")


def _pointer(text: str) -> list[str]:
    if not text:
        return []
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _step(value: Any, part: str) -> Any:
    try:
        return value[int(part)] if isinstance(value, list) else value[part]
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise _unprocessable(f"missing path at {part!r}") from error


def _read(value: Any, path: list[str]) -> Any:
    for part in path:
        value = _step(value, part)
    return value


def _set(root: Any, path: list[str], new: Any, *, must_exist: bool) -> Any:
    if not path:
        return new
    parent, last = _read(root, path[:-1]), path[-1]
    if must_exist:
        _step(parent, last)
    if isinstance(parent, dict):
        parent[last] = new
    elif isinstance(parent, list) and last == "-":
        parent.append(new)
    elif isinstance(parent, list) and last.isdigit() and int(last) <= len(parent):
        if must_exist:
            parent[int(last)] = new
        else:
            parent.insert(int(last), new)
    else:
        raise _unprocessable(f"missing path at {last!r}")
    return root


def _take(root: Any, path: list[str]) -> Any:
    if not path:
        raise _unprocessable("the whole document can't be removed")
    parent, last = _read(root, path[:-1]), path[-1]
    value = _step(parent, last)
    del parent[int(last) if isinstance(parent, list) else last]
    return value
