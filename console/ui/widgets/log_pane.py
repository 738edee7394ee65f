"""A log as it comes: followed, bounded, with its gaps named."""

from __future__ import annotations

from collections import deque
from contextlib import aclosing
from typing import Any

import msgspec
from textual.timer import Timer

from console.errors import QuarterdeckError
from console.model.kubernetes import LogLine, LogQuery
from console.model.refs import Ref
from console.ui.describe_text import log_lines
from console.ui.ports import ConsoleRuntime
from console.ui.text import Line, Part, line
from console.ui.widgets.text_pane import TextPane
from console.views import formats

MOST_LINES = 10_000
"""Lines that are kept; the oldest go first."""
_MOST_WAITING = 2_000
"""Lines that may arrive between two paints; what is more is counted and said."""
_SINCE = (0, 3600, 900, 60)


class LogPane(TextPane):
    """The log of one object. The stream lives as long as the pane shows it and no longer."""

    def __init__(self, runtime: ConsoleRuntime, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(most=MOST_LINES, id=id)
        self._runtime = runtime
        self._ref: Ref | None = None
        self.query_now = LogQuery()
        self.sources: tuple[str, ...] = ()
        self.times = False
        self.following = True
        self._arrived: deque[LogLine] = deque()
        self._kept: deque[LogLine] = deque(maxlen=MOST_LINES)
        self._lost = 0
        self._paint_timer: Timer | None = None

    @property
    def state(self) -> str:
        """What is shown, in a few words, for the frame."""
        since = (
            f"last {formats.duration(self.query_now.since)}" if self.query_now.since else f"last {self.query_now.tail} lines"
        )
        words = [self.query_now.container, "previous run" if self.query_now.previous else "", since]
        words += ["following" if self.following else "paused (G follows)", "wrapped" if self.wrapped else ""]
        return " · ".join(word for word in words if word)

    def on_mount(self) -> None:
        """Paint arrivals in batches: a log that pours must not pour repaints."""
        self._paint_timer = self.set_interval(0.1, self._paint)

    def open(self, ref: Ref) -> None:
        """Show the log of this object from now on; the same one is left as it is."""
        if ref == self._ref:
            return
        self._ref, self.sources = ref, ()
        self.query_now = LogQuery()
        self.following = True
        self._restart()

    def close_stream(self) -> None:
        """Stop reading."""
        self._ref = None
        self.workers.cancel_group(self, "log")

    def ask(self, **changes: Any) -> None:
        """Read again with another question (``previous``, ``since``, ``container``...)."""
        self.query_now = msgspec.structs.replace(self.query_now, **changes)
        self._restart()

    def next_since(self) -> None:
        """All, one hour, a quarter, a minute, and round again."""
        at = _SINCE.index(self.query_now.since) if self.query_now.since in _SINCE else 0
        self.ask(since=_SINCE[(at + 1) % len(_SINCE)])

    def next_container(self) -> bool:
        """The next container's log; False when there is only one."""
        if len(self.sources) < 2:
            return False
        at = self.sources.index(self.query_now.container) if self.query_now.container in self.sources else -1
        self.ask(container=self.sources[(at + 1) % len(self.sources)])
        return True

    def toggle_times(self) -> None:
        """Show or hide when each line was written."""
        self.times = not self.times
        self.put([shown for entry in self._kept for shown in self._lines_of(entry)], keep_place=True)

    def _restart(self) -> None:
        self.workers.cancel_group(self, "log")
        self._arrived.clear()
        self._kept.clear()
        self._lost = 0
        self.put([line(Part("Reading …", "muted"))])
        if self._ref is not None:
            self.run_worker(self._read(self._ref), group="log", exclusive=True, exit_on_error=False, description="log")

    async def _read(self, ref: Ref) -> None:
        try:
            if not self.sources:
                self.sources = await self._runtime.log_sources(ref)
                if len(self.sources) > 1 and not self.query_now.container:
                    self.query_now = msgspec.structs.replace(self.query_now, container=self.sources[0])
            stream = self._runtime.logs(ref, self.query_now)
            first = True
            async with aclosing(stream) as entries:
                async for entry in entries:
                    if first:
                        self.put([])
                        first = False
                    self._arrive(entry)
            if first:
                self.put([line(Part("The log is empty.", "muted"))])
            elif entry.stream != "note":
                self._arrive(LogLine("the log ends here", stream="note"))
        except QuarterdeckError as error:
            if not self._kept:
                self.put([])
            self._arrive(LogLine(error.sentence(), stream="note"))

    def _arrive(self, entry: LogLine) -> None:
        if len(self._arrived) >= _MOST_WAITING:
            self._arrived.popleft()
            self._lost += 1
        self._arrived.append(entry)

    def _paint(self) -> None:
        if not self._arrived:
            return
        entries = list(self._arrived)
        self._arrived.clear()
        if self._lost:
            entries.insert(0, LogLine(f"{self._lost} lines came too fast and were left out", stream="note"))
            self._lost = 0
        self._kept.extend(entries)
        self.add(shown for entry in entries for shown in self._lines_of(entry))

    def _lines_of(self, entry: LogLine) -> list[Line]:
        return log_lines(entry, times=self.times, now=self._runtime.clock.now(), origins=not self.query_now.container)
