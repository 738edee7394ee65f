"""Adding a local trigger to the text of a ``fleet.yaml``, and taking it out: everything else stays byte for byte.

A fleet file is written by people and kept in Git, so it is not read and written again as a whole. Lines are put in where the
document's own nodes say that ``triggers`` is; what comes of it is read again and must be the old fleet with exactly this
change, else nothing is changed and the lines are left to the operator.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

import msgspec
import yaml

from console.config.fleet import Fleet, parse_fleet
from console.config.triggers import TriggerEntry
from console.errors import ConfigError, WorldMoved

_ALWAYS = ("name", "connection", "kind", "namespace", "object", "url", "branch")


def fields_of(entry: TriggerEntry) -> dict[str, Any]:
    """What is written of a trigger: all but what is so anyway."""
    given = {name: getattr(entry, name) for name in _ALWAYS}
    return given | {name: True for name in ("hold", "revert_refused_edits", "confirmed") if getattr(entry, name)}


def line_of(entry: TriggerEntry) -> str:
    """A trigger as one item of ``triggers``."""
    given = fields_of(entry)
    # JSON is YAML: strings need no other care than quotes.
    return "- {" + ", ".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in given.items()) + "}"


def with_trigger(text: str, path: Path, entry: TriggerEntry) -> str:
    """The text with one more trigger.

    :raises ConfigError: the file is wrong as it is, or the line can't be put in without touching anything else.
    """
    before = parse_fleet(text, path)
    after = _added(text, line_of(entry))
    _check(after, path, msgspec.structs.replace(before, triggers=(*before.triggers, entry)), line_of(entry))
    return after


def without_trigger(text: str, path: Path, name: str) -> str:
    """The text without the trigger of this name, and without ``triggers`` if it was the only one.

    :raises ConfigError: it isn't there, or its lines hold something else too.
    """
    before = parse_fleet(text, path)
    left = tuple(entry for entry in before.triggers if entry.name != name)
    if len(left) == len(before.triggers):
        raise ConfigError(f"{path} declares no trigger {name}.", "It was taken out meanwhile.")
    after = _removed(text, name, last=not left)
    _check(after, path, msgspec.structs.replace(before, triggers=left), f"the trigger {name}")
    return after


def fingerprint(text: str) -> str:
    """What a plan about the file is bound to; the same for a file that isn't there and for an empty one."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_text(path: Path) -> str:
    """The file's text, "" if there is none. :raises ConfigError: it can't be read."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} can't be read: {error}.") from error


def replace_text(path: Path, expected: str, text: str) -> None:
    """Put ``text`` into the file's place as a whole, with the mode that it has; behind a link it is the file that changes.

    :param expected: the :func:`fingerprint` of what must be there still.
    :raises WorldMoved: somebody changed it. :raises ConfigError: it can't be written; the old file is whole.
    """
    real = path.resolve()
    fresh = real.with_name(f".{real.name}.{os.getpid()}.tmp")
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(real.stat().st_mode) if real.exists() else 0o600
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        if fingerprint(read_text(real)) != expected:
            raise WorldMoved(f"{path} was changed since the plan was made.", "Plan again.")
        fresh.replace(real)
    except OSError as error:
        raise ConfigError(f"{path} can't be written: {error.strerror}.", "Nothing was changed.") from error
    finally:
        fresh.unlink(missing_ok=True)


def _check(text: str, path: Path, wanted: Fleet, lines: str) -> None:
    try:
        found = parse_fleet(text, path)
    except ConfigError as error:
        raise _by_hand(path, lines) from error
    if found != wanted:
        raise _by_hand(path, lines)


def _by_hand(path: Path, lines: str) -> ConfigError:
    return ConfigError(f"{path} is written in a way that can't be changed here without touching more.", f"By hand: {lines}")


def _triggers(text: str) -> tuple[yaml.MappingNode | None, yaml.Node | None, yaml.Node | None]:
    """The document's mapping, the key ``triggers`` in it and its value, each None where there is none."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        return None, None, None
    found = next(((key, value) for key, value in root.value if key.value == "triggers"), (None, None))
    return root, *found


def _added(text: str, line: str) -> str:
    _, key, value = _triggers(text)
    if key is None or value is None:
        start = text if not text or text.endswith("\n") else f"{text}\n"
        return f"{start}triggers:\n  {line}\n"
    if isinstance(value, yaml.SequenceNode) and value.value:
        if value.flow_style:
            at = value.end_mark.index - 1
            comma = "" if text[:at].rstrip().endswith(",") else ","
            return f"{text[:at].rstrip()}{comma} {line.removeprefix('- ')}{text[at:]}"
        indent = " " * value.start_mark.column
        at = _line_end(text, _last(value).end_mark.index)
        return f"{text[:at]}{'' if text[:at].endswith(chr(10)) else chr(10)}{indent}{line}\n{text[at:]}"
    # ``triggers:`` or ``triggers: []``: what stands after the colon goes, a comment behind it stays.
    colon = text.index(":", key.end_mark.index) + 1
    end = _line_end(text, colon)
    rest = text[max(value.end_mark.index, colon) : end]
    return f"{text[:colon]}{rest if rest.strip() else chr(10)}  {line}\n{text[end:]}"


def _removed(text: str, name: str, *, last: bool) -> str:
    _, key, value = _triggers(text)
    if key is None or not isinstance(value, yaml.SequenceNode):
        return text
    if last:
        return text[: _line_start(text, key.start_mark.index)] + text[_line_end(text, _last(value).end_mark.index) :]
    index = next(at for at, item in enumerate(value.value) if _named(item, name))
    item = value.value[index]
    if value.flow_style:
        # Up to the next item's beginning, or from the end of the one before.
        if index + 1 < len(value.value):
            return text[: item.start_mark.index] + text[value.value[index + 1].start_mark.index :]
        return text[: value.value[index - 1].end_mark.index] + text[item.end_mark.index :]
    return text[: _line_start(text, item.start_mark.index)] + text[_line_end(text, _last(item).end_mark.index) :]


def _named(item: yaml.Node, name: str) -> bool:
    return isinstance(item, yaml.MappingNode) and any(key.value == "name" and value.value == name for key, value in item.value)


def _last(node: yaml.Node) -> yaml.Node:
    """The node in which ``node`` really ends: a block's own end mark lies behind comments that follow it."""
    if isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
        inner = node.value[-1]
        return _last(inner[1] if isinstance(inner, tuple) else inner)
    return node


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    """Behind the line feed of the line that ``at`` is in; a mark that lies behind one already is at its end."""
    if at and text[at - 1] == "\n":
        return at
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1
