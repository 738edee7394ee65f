"""A journal without a thread of its own: under virtual time a thread that works while the loop idles would lose hours."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from console.errors import JournalError


class InlineExecutor(Executor):
    """Does the work at once, in the loop's thread. Takes and ignores what a pool of threads would be given."""

    def __init__(self, *_: object, **__: object) -> None:
        super().__init__()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """The finished future of one call, which raises ``JournalError`` only."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except JournalError as error:
            future.set_exception(error)
        return future
