"""A raw object as YAML for people: no bookkeeping, no secrets, nothing that could steer a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from console.kit.masking import mask_object
from console.kit.sanitize import sanitize


class _Dumper(yaml.SafeDumper):
    """Block style throughout, several lines as a literal block, no anchors."""

    def ignore_aliases(self, data: object) -> bool:
        """Repeat equal values: an anchor in somebody else's object only confuses."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    block = "\n" in text and not any(line.endswith(" ") for line in text.split("\n"))
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if block else None)


_Dumper.add_representer(str, _text)


def without_bookkeeping(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A Kubernetes object without ``metadata.managedFields``, which fills screens and says little; others as they are."""
    metadata = raw.get("metadata")
    if not isinstance(metadata, Mapping) or "managedFields" not in metadata:
        return dict(raw)
    return {**raw, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def yaml_text(raw: Mapping[str, Any], *, managed_fields: bool = False) -> str:
    """The object as YAML in the server's own order of keys, secrets masked, every line safe to print.

    :param managed_fields: keep ``metadata.managedFields``.
    """
    shown = mask_object(_clean(raw if managed_fields else without_bookkeeping(raw)))
    text = yaml.dump(shown, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1_000_000, default_flow_style=False)
    return sanitize(text, multiline=True)


def _clean(value: Any) -> Any:
    """Sanitize before YAML quotes: a control character must show as a picture, not as an escape in a quoted string."""
    if isinstance(value, Mapping):
        return {sanitize(str(key)): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return sanitize(value, multiline=True) if isinstance(value, str) else value
