"""One kind of one cluster, kept true: list by pages, say that it is listed, watch with bookmarks, go on after each break.

What ends a watch decides what follows (Kubernetes API concepts, "Efficient detection of changes"): an orderly end or a cut goes
on from the last version, 410 lists anew with removals, silence starts the stream again, 403 is asked again after growing
pauses, 404 means that the kind is no longer served. Only what is wrong with the whole connection is raised.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, Protocol

import msgspec

from console.backends.kube_assembler import Assembler, Key
from console.backends.kube_kinds import Kind
from console.backends.kube_served import REMEMBERED, Served, ServedKinds
from console.clients.kubernetes_wire import Page, WatchEvent
from console.errors import (
    ApiError,
    Forbidden,
    Gone,
    Interrupted,
    LoginExpired,
    NotFound,
    NotServed,
    Overloaded,
    ProtocolError,
    TimedOut,
    Unreachable,
)
from console.kit.timing import Wakeable, backoff

POLL = 30.0
"""Seconds between lists of a kind that can't be watched."""
DENIED_FIRST, DENIED_MOST = 30.0, 900.0
"""Pauses in seconds between attempts to read what was forbidden."""
WATCH_DENIED = 600.0
"""Seconds for which a kind is polled when it may be listed, but not watched."""
TURN = 100
"""Objects of a page that are converted before the loop gets a turn: some milliseconds' worth."""
_BRIEF = 5.0
"""A watch that ends sooner than this (seconds) is followed by a pause, so that a server in trouble isn't flooded."""
_FAILURES_IN_A_ROW = 3


class Lists(Protocol):
    """The part of the Kubernetes client that is needed here."""

    def list_pages(
        self,
        path: str,
        decoder: msgspec.json.Decoder[Any],
        *,
        on_bad: Callable[[ProtocolError], None] | None = None,
    ) -> AsyncGenerator[Page[Any], None]:
        """Pages of a list."""
        ...

    def watch(
        self,
        path: str,
        resource_version: str,
        decoder: msgspec.json.Decoder[Any],
        *,
        on_bad: Callable[[ProtocolError], None] | None = None,
    ) -> AsyncGenerator[WatchEvent[Any], None]:
        """Changes since a version."""
        ...


class Informer:
    """Keeps one kind in one namespace (or in all: ``namespace`` empty) and remembers where it was.

    :param turn: held while a list is read, so that not all kinds list at once.
    :param listed: called with whether the kind is polled when the list is complete.
    """

    def __init__(
        self,
        kind: Kind,
        namespace: str,
        client: Lists,
        served: ServedKinds,
        assembler: Assembler,
        turn: asyncio.Semaphore,
        heard: Callable[[], None],
        listed: Callable[[bool], None],
    ) -> None:
        self.kind = kind
        self._namespace = namespace if kind.namespaced else ""
        self._client = client
        self._served = served
        self._assembler = assembler
        self._turn = turn
        self._heard = heard
        self._listed = listed
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(kind.wire)
        self._version = ""
        self._odd = ""
        self._wake = Wakeable()
        self._denied = backoff(DENIED_FIRST, 2, DENIED_MOST)
        self._broken = backoff(1, 2, 30)
        self._cuts = 0
        self._polled_until = 0.0

    def hurry(self) -> None:
        """End a pause: something may have changed (a person asked, a definition was installed)."""
        self._wake.wake()

    async def run(self) -> None:
        """Keep the kind until cancelled; raises when the connection as a whole is lost."""
        while True:
            pause = 0.0
            try:
                pause = await self._step()
            except Gone:
                self._version = ""
                pause = next(self._broken)
            except (LoginExpired, Unreachable):
                raise
            except (Interrupted, TimedOut):
                self._cuts += 1
                if self._cuts >= _FAILURES_IN_A_ROW:
                    raise
                pause = next(self._broken)
            except Forbidden as error:
                self._version = ""
                self._assembler.state(self.kind, "restricted", error.message)
                pause = next(self._denied)
            except (NotFound, NotServed):
                # The definition went away between the question and the list; ask what there is now.
                self._version = ""
                self._served.forget()
                pause = next(self._broken)
            except Overloaded as error:
                if not self._version:
                    self._assembler.state(self.kind, "syncing", error.message)
                pause = max(error.retry_after, next(self._broken))
            except (ApiError, ProtocolError) as error:
                self._version = ""
                self._assembler.state(self.kind, "failed", error.message)
                pause = max(5.0, next(self._broken))
            if pause:
                await self._wake.sleep(pause)

    async def _step(self) -> float:
        """One list or one watch; returns the pause after it in seconds."""
        served = await self._served.find(self.kind)
        if served is None:
            self._version = ""
            self._heard()
            self._assembler.clear(self.kind)
            self._assembler.state(self.kind, "not served", "This cluster doesn't have the kind.")
            return REMEMBERED
        watchable = served.watchable and asyncio.get_running_loop().time() >= self._polled_until
        if not self._version:
            await self._list(served, polled=not watchable)
        if not watchable:
            self._version = ""
            return POLL
        try:
            return await self._watch(served)
        except Forbidden:
            self._polled_until = asyncio.get_running_loop().time() + WATCH_DENIED
            self._listed(True)
            return POLL

    async def _list(self, served: Served, *, polled: bool) -> None:
        path = served.path(self._namespace)
        present: set[Key] = set()
        version = ""
        self._odd = ""
        async with self._turn, aclosing(self._client.list_pages(path, self._decoder, on_bad=self._note_odd)) as pages:
            async for page in pages:
                self._heard()
                version = page.resource_version or version
                for number, wire in enumerate(page.items, 1):
                    present.add(self._assembler.take(self.kind, wire))
                    if number % TURN == 0:
                        await asyncio.sleep(0)
        self._assembler.listed(self.kind, self._namespace, present)
        self._version = version
        self._listed(polled)
        self._restart_pauses()
        if self._odd:
            self._assembler.state(self.kind, "failed", self._odd)

    async def _watch(self, served: Served) -> float:
        began = asyncio.get_running_loop().time()
        path = served.path(self._namespace)
        async with aclosing(self._client.watch(path, self._version, self._decoder, on_bad=self._note_odd)) as events:
            async for event in events:
                self._heard()
                self._cuts = 0
                if event.object is not None:
                    if event.type == "DELETED":
                        self._assembler.drop(self.kind, event.object.metadata)
                    else:
                        self._assembler.take(self.kind, event.object)
                self._version = event.resource_version or self._version
        self._heard()
        if asyncio.get_running_loop().time() - began < _BRIEF:
            return next(self._broken)
        self._restart_pauses()
        return 0.0

    def _restart_pauses(self) -> None:
        self._cuts = 0
        self._denied = backoff(DENIED_FIRST, 2, DENIED_MOST)
        self._broken = backoff(1, 2, 30)

    def _note_odd(self, error: ProtocolError) -> None:
        """An object of a shape nobody expects is left out; the kind is not called complete then."""
        self._odd = f"Some objects are left out: {error.message}"
