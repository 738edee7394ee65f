"""How many connections are made at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Gate:
    """Lets a few in at a time, and never lets one that hangs keep the others out.

    Starting a hundred connections at once costs a burst of TLS handshakes and login plugins, so only ``places`` start
    together. Who has had no answer for ``patience`` seconds only waits, which costs nothing: its place is given away.
    """

    def __init__(self, places: int = 4, patience: float = 5.0) -> None:
        self._places = asyncio.Semaphore(places)
        self._patience = patience

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Wait for a place and hold it, at most for the patience."""
        await self._places.acquire()
        held = True

        def give_back() -> None:
            nonlocal held
            if held:
                held = False
                self._places.release()

        timer = asyncio.get_running_loop().call_later(self._patience, give_back)
        try:
            yield
        finally:
            timer.cancel()
            give_back()
