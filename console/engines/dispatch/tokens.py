"""Tokens: times that are also identities."""

from __future__ import annotations

from datetime import UTC, datetime

from console.kit.timing import Clock

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Tokens:
    """Makes tokens that strictly increase within a process, as RFC 3339 text with nanoseconds.

    Two within one tick of the clock differ by a nanosecond: the second would otherwise be taken for the first.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = 0

    def new(self) -> str:
        """The next token."""
        since = self._clock.now() - _EPOCH
        nanoseconds = ((since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds) * 1000
        self._last = max(nanoseconds, self._last + 1)
        seconds, rest = divmod(self._last, 1_000_000_000)
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


def written(when: datetime) -> str:
    """A time as it is put into a record: RFC 3339 in UTC."""
    return when.astimezone(UTC).isoformat().replace("+00:00", "Z")


def instant(text: str) -> datetime | None:
    """A time as controllers and records write it; None when it is none. Digits beyond microseconds are dropped."""
    head, dot, tail = text.strip().removesuffix("Z").partition(".")
    body = f"{head}.{tail[:6]}" if dot else head
    try:
        when = datetime.fromisoformat(body)
    except ValueError:
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)
