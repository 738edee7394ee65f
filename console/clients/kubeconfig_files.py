"""Single kubeconfig files: reading one, and changing one token in it without touching anything else."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from console.errors import ConfigError
from console.kit.masking import mask_text

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# What can only be meant as the value it is: anything shorter might stand in the file for something else.
_SHORTEST_TOKEN = 16


def load_kubeconfig(path: Path) -> dict[str, Any]:
    """The document; empty if there is no such file. Raises :class:`ConfigError` naming file, line and fault."""
    try:
        document = yaml.load(path.read_text("utf-8"), Loader=_LOADER)
    except FileNotFoundError:
        # As kubectl: KUBECONFIG may name files that don't exist yet.
        return {}
    except OSError as error:
        raise ConfigError(f"{path}: can't be read: {error.strerror or type(error).__name__}.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not text.") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = mask_text(str(getattr(error, "problem", None) or "unreadable"))
        raise ConfigError(f"{path}{line}: is not YAML: {problem}.") from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: is no kubeconfig (not a mapping).")
    return document


def user_entry(path: Path, name: str) -> dict[str, Any]:
    """A user as the file has it at this moment, so that a login made in a shell is noticed; empty if it can't be had."""
    try:
        users = load_kubeconfig(path).get("users")
    except ConfigError:
        return {}
    for entry in users if isinstance(users, list) else ():
        if isinstance(entry, dict) and str(entry.get("name")) == name and isinstance(entry.get("user"), dict):
            return dict(entry["user"])
    return {}


def replace_tokens(path: Path, tokens: Mapping[str, str]) -> bool:
    """Put new tokens (values) where the old ones (keys) stand in a file; returns whether that was done.

    Identity providers may accept a refresh token only once: without this the user's own kubectl would be logged out by us.
    Comments, order and mode of the file stay. kubectl's own lock file is honoured; if it is held, nothing is written.
    """
    path = path.resolve()
    lock = path.with_name(f"{path.name}.lock")
    wanted = {old: new for old, new in tokens.items() if len(old) >= _SHORTEST_TOKEN and old != new}
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError:
        return False
    try:
        text = changed = path.read_text("utf-8")
        for old, new in wanted.items():
            changed = changed.replace(old, new)
        if changed == text:
            return False
        _write(path, changed)
        return True
    except (OSError, UnicodeDecodeError):
        return False
    finally:
        with contextlib.suppress(OSError):
            lock.unlink()


def _write(path: Path, text: str) -> None:
    """All or nothing: a second file takes the place of the first."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(path.stat().st_mode & 0o777)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
