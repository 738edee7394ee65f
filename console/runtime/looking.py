"""Which on-demand kinds somebody looks at now, so that only those are watched."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable

LINGER = 60.0
"""Seconds that a kind stays watched after the last look: going back to a screen must not list everything again."""


class Looking:
    """Counts looks per (connection, kind).

    :param changed: called with a connection's name and all kinds looked at on it whenever that set changes.
    """

    def __init__(self, changed: Callable[[str, frozenset[str]], None]) -> None:
        self._changed = changed
        self._looks: Counter[tuple[str, str]] = Counter()
        self._timers: dict[object, asyncio.TimerHandle] = {}

    def wanted(self, connection: str) -> frozenset[str]:
        """The kinds that are looked at on a connection, those that linger too."""
        return frozenset(kind for (name, kind), count in self._looks.items() if name == connection and count > 0)

    def look(self, connections: Iterable[str], kinds: Iterable[str]) -> Callable[[], None]:
        """Begin to look; returns the function that ends it (calling it twice does no harm)."""
        pairs = [(name, kind) for name in connections for kind in frozenset(kinds)]
        self._count(pairs, 1)
        token = object()
        ended = False

        def end() -> None:
            nonlocal ended
            if not ended:
                ended = True
                self._timers[token] = asyncio.get_running_loop().call_later(LINGER, self._forget, token, pairs)

        return end

    def close(self) -> None:
        """Stop all timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _forget(self, token: object, pairs: list[tuple[str, str]]) -> None:
        self._timers.pop(token, None)
        self._count(pairs, -1)

    def _count(self, pairs: list[tuple[str, str]], by: int) -> None:
        for name in {name for name, _ in pairs}:
            before = self.wanted(name)
            for pair in pairs:
                if pair[0] == name:
                    self._looks[pair] += by
            if (now := self.wanted(name)) != before:
                self._changed(name, now)
