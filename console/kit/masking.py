"""The one place that masks secrets: in objects that are shown, plans that are hashed, calls that are journaled.

A key is secret by its name; a value is secret by its shape (credentials in a URL, bearer and basic headers, private keys).
When in doubt, mask: an operator can ask the platform itself for a value, but can't take it back from a screenshot.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

MASK = "••••••"

_SECRET_KEY = re.compile(
    r"(pass(word|wd|phrase)?|secret|token|credential|private[_-]?key|api[_-]?key|access[_-]?key|auth(orization)?$|cookie|"
    r"dsn$|connection[_-]?string|client[_-]?key[_-]?data|kubeconfig|dockerconfigjson|htpasswd)",
    re.IGNORECASE,
)
# Names that hold a *reference* to a secret, a policy about one, or a boolean; hiding them would hide facts that matter.
_INNOCENT_KEY = re.compile(
    r"(secretref|secretname|secretkeyref|secretref|secretid|imagepullsecrets?|automountserviceaccounttoken|passwordfile|"
    r"tokenfile|secrets?|.*(_file|_path|name|ref|id|ttl|expiry|expirationseconds|seconds))$",
    re.IGNORECASE,
)
# Both patterns begin at the beginning of a word only: tried at each of its letters, a long word would take quadratic time.
_URL_USERINFO = re.compile(r"(?<![a-z])(?P<scheme>[a-z][a-z0-9+.-]*://)[^/\s:@]*:[^/\s@]+@", re.IGNORECASE)
_HEADER = re.compile(r"\b(?P<scheme>bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)
_PEM = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_ASSIGNMENT = re.compile(
    r"(?<![A-Za-z0-9_.-])(?P<key>[A-Za-z0-9_.-]*(?:password|passwd|secret|token|api[_-]?key|access[_-]?key)[A-Za-z0-9_.-]*)(?P<sep>\s*[=:]\s*)(?P<value>[^\s,;&\"']+)",
    re.IGNORECASE,
)


def is_secret_key(key: str) -> bool:
    """Whether a value under this key must not be shown."""
    return bool(_SECRET_KEY.search(key)) and not _INNOCENT_KEY.fullmatch(key)


def mask_text(text: str) -> str:
    """Free text (an error, a log line of ours, a command line) with credentials by shape or assignment masked."""
    text = _PEM.sub(MASK, text)
    text = _URL_USERINFO.sub(lambda m: f"{m['scheme']}{MASK}@", text)
    text = _HEADER.sub(lambda m: f"{m['scheme']} {MASK}", text)
    return _ASSIGNMENT.sub(lambda m: f"{m['key']}{m['sep']}{MASK}" if is_secret_key(m["key"]) else m.group(), text)


def mask_env(pairs: Sequence[str]) -> list[str]:
    """``NAME=value`` entries as in a container's environment, secret ones masked by name or by shape."""
    masked = []
    for pair in pairs:
        name, equals, value = pair.partition("=")
        masked.append(f"{name}{equals}{MASK if value and is_secret_key(name) else mask_text(value)}")
    return masked


def mask_object(value: Any, *, secret: bool = False) -> Any:
    """A deep copy of a JSON-like value with everything secret masked.

    A Kubernetes ``Secret`` loses all of ``data`` and ``stringData``, and the copy of itself that ``kubectl apply`` leaves in
    an annotation; a list of ``{"name", "value"}`` (an environment) is masked by each entry's name; a list of ``NAME=value``
    strings under ``Env`` likewise.
    """
    if isinstance(value, Mapping):
        return _mask_mapping(value, secret)
    if isinstance(value, list | tuple):
        return [mask_object(item, secret=secret) for item in value]
    if secret and value not in (None, "", True, False):
        return MASK
    return mask_text(value) if isinstance(value, str) else value


def _mask_mapping(value: Mapping[Any, Any], secret: bool) -> dict[Any, Any]:
    whole_secret = value.get("kind") == "Secret"
    named_secret = isinstance(value.get("name"), str) and is_secret_key(value["name"])
    result: dict[Any, Any] = {}
    for key, item in value.items():
        name = str(key)
        if whole_secret and name in {"data", "stringData"} and isinstance(item, Mapping):
            result[key] = dict.fromkeys(item, MASK)
        elif name == "kubectl.kubernetes.io/last-applied-configuration":
            result[key] = MASK
        elif name in {"Env", "env"} and isinstance(item, list) and all(isinstance(entry, str) for entry in item):
            result[key] = mask_env(item)
        elif name == "value" and named_secret and item is not None:
            result[key] = MASK
        else:
            result[key] = mask_object(item, secret=secret or is_secret_key(name))
    return result
