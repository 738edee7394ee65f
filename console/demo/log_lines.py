"""Log lines of simulated programs: a pure function of the source and of time, so that tail, since and follow always agree."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec

# What real logs contain and a terminal must not obey: colours, a title change, a cursor jump, wide characters, markup.
_HOSTILE = (
    "\x1b[31mERROR\x1b[0m upstream reset by peer \x1b]0;owned\x07 after 3 tries",
    "\x1b[2J\x1b[1;1Hretrying [bold]now[/bold] [/x]",
    "受注を確認しました 注文 №4711 ✓ 東京倉庫",
    "délai dépassé: tâche “réindexation” 🚚 après 5 s",
    "signing in with password=correct-horse-battery token=8f2a61c09d",
)
_PLAIN = (
    "GET /healthz 200 1ms",
    "GET /api/items?page={n} 200 {ms}ms",
    "POST /api/orders 201 {ms}ms",
    "cache refreshed, {n} entries",
    "worker {n} idle",
    "connection pool: {n} in use, 2 waiting",
    "job {n} done in {ms}ms",
)


class LogSource(msgspec.Struct, frozen=True):
    """A program that writes a line every ``period`` seconds since ``started`` (and stopped at ``ended``, if it did)."""

    name: str
    started: datetime
    period: float = 2.0
    ended: datetime | None = None
    last_words: str = ""

    def count(self, now: datetime) -> int:
        """How many lines there are at ``now``."""
        until = min(now, self.ended) if self.ended else now
        lines = max(0, int((until - self.started).total_seconds() / self.period) + 1)
        return lines + (1 if self.ended and self.ended <= now and self.last_words else 0)

    def at(self, index: int) -> datetime:
        """When a line was written."""
        at = self.started + timedelta(seconds=index * self.period)
        return min(at, self.ended) if self.ended else at

    def text(self, index: int) -> str:
        """The line, without its end."""
        if self.ended and self.last_words and self.at(index + 1) >= self.ended and index == self.count(self.ended) - 1:
            return self.last_words
        digest = hashlib.sha256(f"{self.name}/{index}".encode()).digest()
        if digest[0] < 12:
            return _HOSTILE[digest[1] % len(_HOSTILE)]
        line = _PLAIN[digest[1] % len(_PLAIN)].format(n=digest[2], ms=1 + digest[3] % 90)
        level = "WARN" if digest[4] < 16 else "INFO"
        return f"{level} {line}"

    def stream(self, index: int) -> int:
        """1 for standard output, 2 for standard error."""
        return 2 if self.text(index).startswith(("WARN", "\x1b", "ERROR")) else 1

    def range(self, now: datetime, *, tail: int | None, since: datetime | None) -> Iterator[int]:
        """The indices of the lines that a query asks for. A long-lived program keeps its last 2000."""
        end = self.count(now)
        first = max(0, end - 2000)
        if since is not None:
            first = max(first, int((since - self.started).total_seconds() / self.period))
            while first < end and self.at(first) < since:
                first += 1
        if tail is not None:
            first = max(first, end - tail)
        return iter(range(first, end))
