"""Waiting until it is known what kinds hold on connections, or why it can't be."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping

from console.model.connections import Phase
from console.model.resource import KindState
from console.runtime.connections import Link
from console.runtime.store import Store

_WAITING = (Phase.IDLE, Phase.CONNECTING)


async def settled(
    store: Store, links: Mapping[str, Link], names: Collection[str], kinds: Collection[str], timeout: float
) -> tuple[KindState, ...]:
    """Why rows of these kinds are missing on these connections, once that is known; at the latest after ``timeout`` seconds."""
    changed = asyncio.Event()
    unsubscribe = store.subscribe({*kinds, "Connection"}, lambda _: changed.set())
    try:
        async with asyncio.timeout(timeout):
            while any(_open(store, links.get(name), kind) for name in names for kind in kinds):
                await changed.wait()
                changed.clear()
    except TimeoutError:
        pass
    finally:
        unsubscribe()
    missing = (_missing(store, links.get(name), name, kind) for name in names for kind in kinds)
    return tuple(state for state in missing if state is not None)


def _open(store: Store, link: Link | None, kind: str) -> bool:
    """Whether it is worth waiting for this kind on this connection."""
    if link is None or not (link.phase in _WAITING or link.phase.fresh):
        return False
    if link.phase.fresh and kind not in link.kinds:
        return False
    return store.kind_state(link.target.name, kind).state == "syncing"


def _missing(store: Store, link: Link | None, name: str, kind: str) -> KindState | None:
    if link is None:
        return KindState(name, kind, "syncing", f"There is no connection {name}.")
    state = store.kind_state(name, kind)
    if link.kinds and kind not in link.kinds:
        return None
    if not link.phase.fresh:
        return KindState(name, kind, "syncing", f"{link.phase.value}: {link.connection.reason}".rstrip(": "))
    return None if state.state == "listed" else state
