"""Where the operator is, as data: a table, a scope and a filter; and the way back and forth between such places."""

from __future__ import annotations

import msgspec

from console.model.refs import Ref


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """One place. ``target`` is a connection's name or a group of them, ``owner`` a stack or an app; "" means all.

    ``cursor`` is the object that the cursor was on when the place was left.
    """

    table: str = "bridge"
    target: str = ""
    namespace: str = ""
    owner: str = ""
    filter: str = ""
    problems: bool = False
    cursor: Ref | None = None

    @property
    def scope(self) -> tuple[str, ...]:
        """The scope in words, widest first; empty means everything."""
        named = ((self.target, ""), (self.namespace, "ns "), (self.owner, ""))
        return tuple(f"{label}{value}" for value, label in named if value)

    def wider(self) -> Place | None:
        """The same table with the narrowest part of its scope given up, or None if there is none."""
        for field in ("owner", "namespace", "target"):
            if getattr(self, field):
                return msgspec.structs.replace(self, **{field: "", "cursor": None})
        return None


def same_place(one: Place, other: Place) -> bool:
    """Whether two places differ in nothing but the cursor."""
    return msgspec.structs.replace(one, cursor=None) == msgspec.structs.replace(other, cursor=None)


class History:
    """Places in the order of visiting, as in a web browser: going somewhere new forgets what lay ahead."""

    def __init__(self, first: Place, most: int = 100) -> None:
        self._places = [first]
        self._at = 0
        self._most = most

    @property
    def here(self) -> Place:
        """The present place."""
        return self._places[self._at]

    @property
    def can_back(self) -> bool:
        """Whether there is an earlier place."""
        return self._at > 0

    @property
    def can_forward(self) -> bool:
        """Whether there is a later place."""
        return self._at < len(self._places) - 1

    def amend(self, place: Place) -> None:
        """The present place changed a little (cursor, filter): no new entry."""
        self._places[self._at] = place

    def go(self, place: Place) -> None:
        """A new place."""
        if same_place(place, self.here):
            self.amend(place)
            return
        del self._places[self._at + 1 :]
        self._places.append(place)
        del self._places[: -self._most]
        self._at = len(self._places) - 1

    def back(self) -> Place:
        """The earlier place, which becomes the present one; stays put at the beginning."""
        self._at = max(self._at - 1, 0)
        return self.here

    def forward(self) -> Place:
        """The later place, which becomes the present one; stays put at the end."""
        self._at = min(self._at + 1, len(self._places) - 1)
        return self.here
