"""Looking at many objects with few requests: one list where the identity may list, single reads where it may not."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeVar

from console.errors import Forbidden, NotServed

T = TypeVar("T")

Name = tuple[str, str]
"""Namespace and name."""

_EVERYWHERE = ""
_FEW = 3
"""Up to so many namespaces are listed one by one; more of them by one list of the cluster."""

_ASK_AGAIN_SECONDS = 600.0
"""After which a list that was refused is tried again: rights may have been granted meanwhile."""


class Lists:
    """Chooses what to list, and remembers which lists were refused. One per kind of object."""

    def __init__(self) -> None:
        self._refused: dict[str, float] = {}

    async def read(
        self, names: Collection[Name], fetch: Callable[[str], Awaitable[Mapping[Name, T]]]
    ) -> tuple[dict[Name, T], set[Name]]:
        """Look at these objects.

        :param fetch: lists a namespace, or with an empty one the cluster.
        :returns: what was found of them, and those that must be read one by one. A name in neither does not exist.
        :raises QuarterdeckError: a list failed otherwise than by a refusal.
        """
        spaces = Counter(namespace for namespace, _ in names)
        if len(spaces) > _FEW:
            everything = await self._list(_EVERYWHERE, fetch)
            if everything is not None:
                return {name: everything[name] for name in names if name in everything}, set()
        found: dict[Name, T] = {}
        single: set[Name] = set()
        for space, count in spaces.items():
            # A lone object is cheaper read than listed with whatever else lies there.
            listed = await self._list(space, fetch) if count > 1 else None
            here = [name for name in names if name[0] == space]
            if listed is None:
                single.update(here)
            else:
                found.update({name: listed[name] for name in here if name in listed})
        return found, single

    async def _list(self, space: str, fetch: Callable[[str], Awaitable[Mapping[Name, T]]]) -> Mapping[Name, T] | None:
        now = asyncio.get_running_loop().time()
        if self._refused.get(space, 0.0) > now:
            return None
        try:
            return await fetch(space)
        except NotServed:
            return {}
        except Forbidden:
            self._refused[space] = now + _ASK_AGAIN_SECONDS
            return None
