"""Time, identity and waking up in the simulated world: all of it deterministic, none of it asked of the machine."""

from __future__ import annotations

import asyncio
import hashlib
from datetime import UTC, datetime, timedelta

_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"


class WorldClock:
    """The world's own time: it stands still until somebody advances it."""

    def __init__(self, start: datetime) -> None:
        self._start = start.astimezone(UTC)
        self.elapsed = 0.0

    def now(self) -> datetime:
        """The present instant of the world, aware, in UTC."""
        return self._start + timedelta(seconds=self.elapsed)

    def ago(self, seconds: float) -> datetime:
        """An instant before the present one."""
        return self.now() - timedelta(seconds=seconds)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.elapsed += seconds


class Bell:
    """Wakes everybody who waits, any number of times; who comes later waits for the next ring."""

    def __init__(self) -> None:
        self._waiters: set[asyncio.Future[None]] = set()

    def ring(self) -> None:
        """Wake all who wait now."""
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self, timeout: float | None = None) -> bool:
        """Wait for the next ring; False when ``timeout`` seconds (of the event loop) passed first."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            async with asyncio.timeout(timeout):
                await waiter
        except TimeoutError:
            return False
        finally:
            self._waiters.discard(waiter)
        return True


class Names:
    """Identities derived from a seed and a word: the same word always gives the same one."""

    def __init__(self, seed: int, scope: str) -> None:
        self._prefix = f"{seed}/{scope}/"
        self._count = 0

    def hexadecimal(self, word: str, length: int = 64) -> str:
        """A hexadecimal identity (a container, a commit, a digest)."""
        return hashlib.sha256((self._prefix + word).encode()).hexdigest()[:length]

    def uid(self, word: str) -> str:
        """A Kubernetes uid, in the shape of a random UUID."""
        h = self.hexadecimal(word, 32)
        return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"

    def swarm_id(self, word: str) -> str:
        """A Swarm identity: 25 characters of base 36."""
        value = int(self.hexadecimal(word), 16)
        digits = []
        for _ in range(25):
            value, digit = divmod(value, 36)
            digits.append(_BASE36[digit])
        return "".join(digits)

    def next_word(self, stem: str) -> str:
        """A word not given before, for things that come to be while the world runs."""
        self._count += 1
        return f"{stem}#{self._count}"

    def suffix(self, word: str, length: int = 5) -> str:
        """The random-looking end of a generated name (letters and digits that Kubernetes itself uses)."""
        alphabet = "bcdfghjklmnpqrstvwxz2456789"
        value = int(self.hexadecimal(word), 16)
        return "".join(alphabet[(value >> (8 * i)) % len(alphabet)] for i in range(length))


def rfc3339(at: datetime) -> str:
    """An instant as Kubernetes writes it: whole seconds, Z."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339_nano(at: datetime) -> str:
    """An instant as the Docker Engine writes it: nanoseconds, Z."""
    return at.strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"


def parse_time(text: str) -> datetime:
    """An instant from either form; fractions beyond microseconds are cut."""
    body = text.removesuffix("Z")
    head, _, fraction = body.partition(".")
    at = datetime.fromisoformat(head).replace(tzinfo=UTC)
    return at + timedelta(microseconds=int((fraction + "000000")[:6])) if fraction else at
