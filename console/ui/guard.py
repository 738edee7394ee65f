"""A terminal that isn't read never stops the console.

Behind a stalled ssh line the terminal takes no bytes. Textual's own writer then blocks the event loop after thirty frames, and
with it every connection. Here a thread of our own writes, a queue with a bound lies before it, and frames that find
it full are dropped; when the line moves again one whole repaint shows the present.
"""

from __future__ import annotations

import asyncio
import os
import select
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from textual.app import App
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver

from console.ui.thrift import thrifty

MOST_WAITING = 256 * 1024
"""Bytes that may wait before frames are dropped: about thirty full repaints of a large screen."""
MOST_SECONDS = 1.0
"""A frame that waits behind one older than this shows the past: drop it too."""
_LEAVE_SECONDS = 1.0
_SYNC_BEGIN, _SYNC_END = "\x1b[?2026h", "\x1b[?2026l"
_SMALL = 256
"""Mode switches and clipboard sequences are short and must not get lost; frames are longer or begin by moving the cursor."""


def terminal_gone() -> bool:
    """Whether the terminal on standard input was taken away.

    A console that is not its session's leader gets no SIGHUP then; its input would only ever say "end of file" again and again.
    """
    try:
        descriptor = sys.__stdin__.fileno() if sys.__stdin__ is not None else -1
    except (OSError, ValueError):
        return False
    poller = select.poll()
    poller.register(descriptor, 0)
    return any(flags & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, flags in poller.poll(0))


class OutputGuard:
    """A bounded queue before a file descriptor, emptied by one thread.

    :param recovered: called from the thread once everything was written after frames had been dropped.
    """

    def __init__(self, descriptor: int, recovered: Callable[[], None] = lambda: None) -> None:
        self._descriptor = descriptor
        self._recovered = recovered
        self._queue: deque[tuple[float, bytes]] = deque()
        self._waiting = 0
        self._busy_since = 0.0
        self._changed = threading.Condition()
        self._behind = False
        self._stopping = False
        self._dead = False
        self.dropped = 0
        self.written = 0
        self._thread = threading.Thread(target=self._run, name="terminal-output", daemon=True)
        self._thread.start()

    @property
    def behind(self) -> bool:
        """Whether frames are being dropped now."""
        return self._behind

    @property
    def waited(self) -> float:
        """Seconds that the write under way has taken so far; 0 when the line keeps up."""
        began = self._busy_since
        return time.monotonic() - began if began else 0.0

    def frame(self, data: str) -> bool:
        """Queue a frame, or drop it (False) because the terminal is behind."""
        with self._changed:
            if self._behind or self._waiting > MOST_WAITING or self.waited > MOST_SECONDS:
                self._behind = True
                self.dropped += 1
                return False
            self._put(data)
            return True

    def control(self, data: str) -> None:
        """Queue something that must not get lost."""
        with self._changed:
            self._put(data)

    def drain(self, seconds: float) -> bool:
        """Wait until everything is written; False if the terminal did not take it in this time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._dead or (not self._queue and not self._busy_since), seconds)

    def stop(self, seconds: float = _LEAVE_SECONDS) -> None:
        """End the thread; a terminal that takes nothing for so long is left as it is."""
        self.drain(seconds)
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._thread.join(seconds)

    def _put(self, data: str) -> None:
        if self._dead:
            return
        encoded = data.encode("utf-8", "replace")
        self._queue.append((time.monotonic(), encoded))
        self._waiting += len(encoded)
        self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._stopping)
                if not self._queue:
                    return
                data = b"".join(part for _, part in self._queue)
                self._queue.clear()
                self._busy_since = time.monotonic()
            self._write(data)
            with self._changed:
                self._waiting -= len(data)
                self._busy_since = 0.0
                caught_up = self._behind and not self._queue
                if caught_up:
                    self._behind = False
                self._changed.notify_all()
            if caught_up:
                self._recovered()

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view and not self._dead:
            try:
                written = os.write(self._descriptor, view[:65536])
            except BlockingIOError:
                time.sleep(0.01)
            except OSError:
                # The terminal is gone (hang-up): there is nobody to write to, and nothing to report it on.
                self._dead = True
            else:
                self.written += written
                view = view[written:]


@runtime_checkable
class Guarded(Protocol):
    """An app that wants to know of its driver, and that frames were dropped and the line moves again."""

    def driver_ready(self, driver: GuardedDriver) -> None:
        """The driver that writes to the terminal."""
        ...

    def repaint_all(self) -> None:
        """Paint the whole screen as it is now."""
        ...


class GuardedDriver(LinuxDriver):
    """Textual's terminal driver, writing through an :class:`OutputGuard`."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        self._guarded_app = app
        self._guard_loop = asyncio.get_running_loop()
        self._guard: OutputGuard | None = None
        self._frame_open = True
        self._taken = False
        if isinstance(app, Guarded):
            app.driver_ready(self)

    @property
    def guard(self) -> OutputGuard | None:
        """The queue before the terminal; None before the application mode and after it."""
        return self._guard

    def write(self, data: str) -> None:
        """Queue output; frames may be dropped, everything else is kept."""
        if self._guard is None:
            stream = sys.__stderr__
            self._guard = OutputGuard(stream.fileno() if stream is not None else 2, self._on_recovered)
        if data == _SYNC_BEGIN:
            # A frame between these two marks is dropped with them: an opened frame that never ends freezes terminals.
            self._frame_open = not self._guard.behind
            if self._frame_open:
                self._guard.control(data)
        elif data == _SYNC_END:
            if self._frame_open:
                self._guard.control(data)
            self._frame_open = True
        elif len(data) < _SMALL and data.startswith(("\x1b[?", "\x1b]", "\x1bP", "\x1b[>", "\x1b[<")):
            self._guard.control(data)
        elif self._frame_open:
            self._guard.frame(thrifty(data))

    def flush(self) -> None:
        """Nothing to do: the thread writes as soon as there is something."""

    def start_application_mode(self) -> None:
        """Take the terminal, or take it again.

        Again, when a process that was stopped from outside goes on: Textual, which then had no chance to leave the terminal,
        would keep the thread that reads it beside a new one, and take its own settings for those to restore at the end.
        """
        found = self.attrs_before if self._taken else None
        if self._taken:
            self.disable_input()
        take: Callable[[], None] = super().start_application_mode
        take()
        if found is not None:
            self.attrs_before = found
        if self._taken:
            self._on_recovered()
        self._taken = True

    def stop_application_mode(self) -> None:
        """Restore the terminal and see the bytes out, for as long as that makes sense."""
        self._taken = False
        super().stop_application_mode()
        if self._guard is not None:
            self._guard.drain(_LEAVE_SECONDS)

    def close(self) -> None:
        """End the thread."""
        super().close()
        if self._guard is not None:
            self._guard.stop()
            self._guard = None

    def _on_recovered(self) -> None:
        app = self._guarded_app
        if isinstance(app, Guarded) and not self._guard_loop.is_closed():
            self._guard_loop.call_soon_threadsafe(app.repaint_all)


def driver_class() -> type[Driver] | None:
    """The driver to give to the app: ours where there is a POSIX terminal, Textual's choice elsewhere (and in tests)."""
    return GuardedDriver if os.name == "posix" and "TEXTUAL_DRIVER" not in os.environ else None
