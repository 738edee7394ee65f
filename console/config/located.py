"""YAML and TOML read into one tree that remembers the line of everything, so that a problem can name its place."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import msgspec
import yaml
from yaml.reader import ReaderError

from console.config.problems import Key, Problem

_DEEPEST = 40
_TOML_PLACE = re.compile(r"\s*\(at line (?P<line>\d+), column \d+\)|\s*\(at end of document\)")
_TOML_HEADER = re.compile(r"\s*(?P<open>\[\[?)\s*(?P<name>[^\]]+?)\s*\]\]?\s*(?:#.*)?")
_TOML_KEY = re.compile(
    r"""\s*(?P<name>(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*="""
)
_TOML_PART = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")


class Located(msgspec.Struct):
    """A value and its line. ``value`` is a scalar, a ``list[Located]`` or a ``dict[str, Located]``; ``key_lines`` are the
    lines of the keys of such a dict."""

    value: Any
    line: int = 0
    key_lines: dict[str, int] = {}

    def plain(self) -> Any:
        """The same tree as ordinary dicts, lists and scalars."""
        if isinstance(self.value, dict):
            return {key: item.plain() for key, item in self.value.items()}
        if isinstance(self.value, list):
            return [item.plain() for item in self.value]
        return self.value


class _Loader(yaml.SafeLoader):
    """Safe, and deaf to dates: ``2024-01-01`` stays text, as every schema here would want it."""


_Loader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(text: str, path: str) -> tuple[Located, list[Problem]]:
    """The one document of a YAML file. An empty one is an empty mapping; a syntax error is the only problem told then."""
    loader = None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return Located({}, 1), []
        problems: list[Problem] = []
        return _from_node(loader, node, path, (), problems, 0), problems
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        told = ", ".join(part for part in (error.context, error.problem) if part)
        return Located({}), [Problem(path, mark.line + 1 if mark else 0, (), f"is no YAML: {told}")]
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        return Located({}), [Problem(path, line, (), f"is no YAML: it holds the character U+{ord(text[error.position]):04X}")]
    finally:
        if loader is not None:
            loader.dispose()


def _from_node(loader: yaml.SafeLoader, node: yaml.Node, path: str, key: Key, problems: list[Problem], depth: int) -> Located:
    line = node.start_mark.line + 1
    if depth > _DEEPEST:
        problems.append(Problem(path, line, key, "is nested too deep, or contains itself"))
        return Located(None, line)
    if isinstance(node, yaml.SequenceNode):
        items = [_from_node(loader, item, path, (*key, index), problems, depth + 1) for index, item in enumerate(node.value)]
        return Located(items, line)
    if not isinstance(node, yaml.MappingNode):
        return Located(loader.construct_object(node), line)
    found: dict[str, Located] = {}
    lines: dict[str, int] = {}
    for name_node, item in node.value:
        at = name_node.start_mark.line + 1
        if not isinstance(name_node, yaml.ScalarNode) or name_node.tag == "tag:yaml.org,2002:merge":
            problems.append(Problem(path, at, key, "has a key that isn't plain text (merge keys are not supported)"))
            continue
        name = str(name_node.value)
        if name in found:
            problems.append(Problem(path, at, (*key, name), f"is given twice, first in line {lines[name]}"))
            continue
        lines[name] = at
        found[name] = _from_node(loader, item, path, (*key, name), problems, depth + 1)
    return Located(found, line, lines)


def read_toml(text: str, path: str) -> tuple[Located, list[Problem]]:
    """A TOML file; a syntax error (duplicate keys are one) is the only problem told then."""
    try:
        plain = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _TOML_PLACE.search(str(error))
        line = int(place["line"]) if place and place["line"] else 0
        return Located({}), [Problem(path, line, (), f"is no TOML: {_TOML_PLACE.sub('', str(error))}")]
    return _from_plain(plain, (), _toml_lines(text), 1), []


def _from_plain(value: Any, key: Key, lines: dict[Key, int], parent: int) -> Located:
    line = lines.get(key, parent)
    if isinstance(value, dict):
        items = {name: _from_plain(item, (*key, name), lines, line) for name, item in value.items()}
        return Located(items, line, {name: lines.get((*key, name), item.line) for name, item in items.items()})
    if isinstance(value, list):
        return Located([_from_plain(item, (*key, index), lines, line) for index, item in enumerate(value)], line)
    return Located(value, line)


def _toml_lines(text: str) -> dict[Key, int]:
    """The line of every key. The file is known to be valid; what stands inside multi-line strings is skipped."""
    lines: dict[Key, int] = {}
    counts: dict[Key, int] = {}
    table: Key = ()
    inside = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if inside:
            inside = "" if line.count(inside) % 2 else inside
            continue
        header = _TOML_HEADER.fullmatch(line)
        if header:
            table = tuple(_TOML_PART.findall(header["name"]))
            table = tuple(str(part).strip("\"'") for part in table)
            if header["open"] == "[[":
                index = counts.get(table, 0)
                counts[table] = index + 1
                lines.setdefault(table, number)
                table = (*table, index)
            lines.setdefault(table, number)
            continue
        named = _TOML_KEY.match(line)
        if named:
            parts = [part.strip("\"'") for part in _TOML_PART.findall(named["name"])]
            for length in range(1, len(parts) + 1):
                lines.setdefault((*table, *parts[:length]), number)
        inside = next((quotes for quotes in ('"""', "'''") if line.count(quotes) % 2), "")
    return lines
