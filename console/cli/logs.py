"""What the layers below log: each warning said once, on standard error, and after the screen where there is one."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from console.cli.command import Outside
from console.kit.masking import mask_text
from console.kit.sanitize import sanitize

_MOST = 20
"""So many different warnings are said; what goes wrong that often has said enough."""


class _Said(logging.Handler):
    """Says warnings; while ``later`` is set it keeps them, since anything written now would tear the screen."""

    def __init__(self, outside: Outside, later: bool) -> None:
        super().__init__(logging.WARNING)
        self._outside = outside
        self._later = later
        self._seen: dict[str, str] = {}

    def emit(self, record: logging.LogRecord) -> None:
        text = mask_text(sanitize(record.getMessage()))
        if text in self._seen or len(self._seen) >= _MOST:
            return
        # Only failures of our own come with a traceback; whoever reports one needs it.
        where = "".join(traceback.format_exception(record.exc_info[1])) if record.exc_info else ""
        self._seen[text] = mask_text(sanitize(where, multiline=True)).rstrip()
        if not self._later:
            self._say(text)

    def tell(self) -> None:
        """Say what was kept."""
        for text in self._seen if self._later else ():
            self._say(text)

    def _say(self, text: str) -> None:
        with suppress(OSError, ValueError):
            self._outside.say("\n".join(filter(None, (text, self._seen[text]))))


@contextmanager
def said(outside: Outside, later: bool) -> Iterator[None]:
    """While this lasts, warnings of the console go to standard error in words.

    :param later: keep them until the end, for as long as a screen is drawn.
    """
    handler = _Said(outside, later)
    logger = logging.getLogger("console")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.tell()
