"""Flux's ``postBuild`` substitution of variables in built objects.

Source: Flux "Kustomization", post build variable substitution: ``${name}``, ``${name:=default}``, ``${name:-default}``; ``$$``
keeps a dollar sign; an unknown variable becomes empty; objects marked ``substitute: disabled`` are left alone. The other bash
functions are not known here: an object that uses one can't be told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import yaml

from console.engines.preview.documents import JsonObject, read_yaml
from console.errors import Invalid
from console.kit.dig import mapping, text

_MARK = "kustomize.toolkit.fluxcd.io/substitute"
_VARIABLE = re.compile(r"\$\$(?=\{)|\$\{(?P<inside>[^{}]*)\}")
_OPENED = re.compile(r"(?<!\$)\$\{")
_PLAIN = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::?[=-](?P<default>.*))?", re.DOTALL)


def substituted(obj: JsonObject, variables: Mapping[str, str]) -> JsonObject:
    """The object with variables filled in. :raises Invalid: it uses a function that is not known here."""
    if not variables or _marked(obj):
        return obj
    before = yaml.safe_dump(obj, sort_keys=False, width=1_000_000, allow_unicode=True)
    if len(_OPENED.findall(before)) != sum(match["inside"] is not None for match in _VARIABLE.finditer(before)):
        raise Invalid("It uses a variable inside another one, which is not known here.")
    after = _VARIABLE.sub(lambda match: _value(match, variables), before)
    if after == before:
        return obj
    return mapping(read_yaml(after.encode(), f"{text(obj, 'kind')} {text(obj, 'metadata', 'name')}")[0])


def uses_variables(obj: JsonObject) -> bool:
    """Whether anything would be filled in."""
    return not _marked(obj) and _OPENED.search(yaml.safe_dump(obj, width=1_000_000)) is not None


def _marked(obj: JsonObject) -> bool:
    labels, annotations = mapping(obj, "metadata", "labels"), mapping(obj, "metadata", "annotations")
    return "disabled" in (labels.get(_MARK), annotations.get(_MARK))


def _value(match: re.Match[str], variables: Mapping[str, str]) -> str:
    inside = match["inside"]
    if inside is None:
        return "$"
    found = _PLAIN.fullmatch(inside)
    if found is None:
        raise Invalid(f"It uses ${{{inside}}}, a function of the substitution that is not known here.")
    # A value stays on its line, as in kustomize-controller: it must not become another field.
    value = variables.get(found["name"], "").replace("\n", "")
    return value or found["default"] or ""
