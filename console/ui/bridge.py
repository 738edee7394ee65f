"""From the store to the active screen: changes are collected and handed over in batches, at most so many a second.

A single change after a quiet moment is shown at once; a storm of them costs a bounded number of paints. In low-bandwidth mode
the bound is lower.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from console.model.refs import Ref
from console.ui.ports import StoreView

FLUSHES = 20
"""Batches a second; more is not seen, only paid for."""
FLUSHES_LOW = 5
"""The same over a slow line."""

Sink = Callable[[frozenset[Ref]], None]


class StoreBridge:
    """One subscription at a time, to the kinds of the table that is shown.

    :param sink: gets each batch of changed references; an empty batch means that only a kind's state changed.
    """

    def __init__(self, store: StoreView, sink: Sink) -> None:
        self._store = store
        self._sink = sink
        self._dirty: set[Ref] = set()
        self._pending = False
        self._timer: asyncio.TimerHandle | None = None
        self._last = 0.0
        self._unsubscribe: Callable[[], None] | None = None
        self.flushes_per_second = FLUSHES
        self.flushed = 0

    def watch(self, kinds: Iterable[str]) -> None:
        """Hear about these kinds from now on and no others. What was collected for the former ones is dropped."""
        self.close()
        self._unsubscribe = self._store.subscribe(frozenset(kinds), self._hear)

    def close(self) -> None:
        """Hear nothing any more."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._dirty, self._pending = set(), False

    def _hear(self, refs: frozenset[Ref]) -> None:
        self._dirty |= refs
        self._pending = True
        if self._timer is not None:
            return
        loop = asyncio.get_running_loop()
        wait = self._last + 1 / self.flushes_per_second - loop.time()
        if wait <= 0:
            self._flush()
        else:
            self._timer = loop.call_later(wait, self._flush)

    def _flush(self) -> None:
        self._timer = None
        if not self._pending:
            return
        self._last = asyncio.get_running_loop().time()
        dirty, self._dirty, self._pending = frozenset(self._dirty), set(), False
        self.flushed += 1
        self._sink(dirty)
