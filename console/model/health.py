"""How an object is, in one word; what a view turns into a glyph, a word and a tone."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Health(StrEnum):
    """Six states, the same for every kind on every platform."""

    OK = "ok"
    BUSY = "busy"
    WARN = "warn"
    BAD = "bad"
    HELD = "held"
    UNKNOWN = "unknown"

    @property
    def trouble(self) -> int:
        """Sort rank: the larger, the more it needs a person."""
        return _TROUBLE[self]

    @property
    def needs_attention(self) -> bool:
        """Whether it belongs on a list of problems. Unknown does: what can't be read is never well."""
        return self in (Health.BAD, Health.WARN, Health.UNKNOWN)


_TROUBLE = {Health.OK: 0, Health.HELD: 1, Health.BUSY: 2, Health.UNKNOWN: 3, Health.WARN: 4, Health.BAD: 5}


def worst(*states: Health) -> Health:
    """The state that most needs a person; UNKNOWN when there is none to judge."""
    return max(states, key=lambda state: state.trouble, default=Health.UNKNOWN)


class Condition(msgspec.Struct, frozen=True, gc=False):
    """A Kubernetes-style condition. ``status`` is "True", "False" or "Unknown"; ``since`` the last transition (RFC 3339)."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    since: str = ""
    observed_generation: int = 0
