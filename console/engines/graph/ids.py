"""Ids for created resources: time-ordered, unique, no coordination (RFC 9562, version 7)."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable
from typing import Protocol


class IDGenerator(Protocol):
    """Gives a unique id to each created resource."""

    def generate_id(self) -> str:
        """A new id."""
        ...


def uuid7() -> str:
    """48 bits of milliseconds since 1970, then randomness: sorts by time of creation to the millisecond."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=value))


def id_source(generator: IDGenerator | Callable[[], str]) -> Callable[[], str]:
    """A generator object or a plain callable, as a callable."""
    return generator if callable(generator) else generator.generate_id
