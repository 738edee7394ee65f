"""The palette (ctrl+p): actions, views, targets and themes by any part of their name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, runtime_checkable

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

Entry = tuple[str, str, Callable[[], None]]
"""Title, what it does, and the function that does it."""


@runtime_checkable
class HasPalette(Protocol):
    """An app with things to find."""

    def palette_entries(self) -> Iterable[Entry]:
        """Everything that can be found now."""
        ...


class Finder(Provider):
    """Offers what the app says can be found; names from the wire are shown as they are, never as markup."""

    def _all(self) -> Iterator[Entry]:
        return iter(self.app.palette_entries()) if isinstance(self.app, HasPalette) else iter(())

    async def discover(self) -> Hits:
        """Everything, before anything is typed."""
        for title, text, run in self._all():
            yield DiscoveryHit(Content(title), run, text=title, help=text)

    async def search(self, query: str) -> Hits:
        """What matches, best first."""
        matcher = self.matcher(query)
        for title, text, run in self._all():
            score = max(matcher.match(title), matcher.match(text) * 0.7)
            if score > 0:
                yield Hit(score, Content(title), run, text=title, help=text)
