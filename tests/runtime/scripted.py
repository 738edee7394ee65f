"""A backend whose every answer is written down by the test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from console.model.connections import Identity
from console.model.resource import Change
from console.runtime.ports import Emit

CLUSTER = Identity("uid-1", ("kubernetes",), "Kubernetes v1.36.2")


class Scripted:
    """Connects as told, emits what :meth:`say` is given, breaks when told to.

    ``greetings`` are what each attempt answers, the last one for ever: an identity, an error, or seconds to hang.
    """

    kinds = frozenset({"Kustomization", "Pod"})

    def __init__(self, *greetings: Identity | Exception | float, name: str = "prod") -> None:
        self.endpoint = f"https://{name}.test"
        self.greetings = list(greetings) or [CLUSTER]
        self.wanted: frozenset[str] = frozenset()
        self.attempts = 0
        self.connecting = 0
        self.watches = 0
        self.closed = 0
        self.pings = 0
        self.ping_answers = True
        self.ping_error: Exception | None = None
        self._emit: Emit | None = None
        self._heard: Callable[[], None] | None = None
        self._broken: asyncio.Future[None] | None = None

    async def connect(self) -> Identity:
        self.attempts += 1
        greeting = self.greetings.pop(0) if len(self.greetings) > 1 else self.greetings[0]
        self.connecting += 1
        try:
            if isinstance(greeting, float):
                await asyncio.sleep(greeting)
                return CLUSTER
            if isinstance(greeting, Exception):
                raise greeting
            return greeting
        finally:
            self.connecting -= 1

    async def watch(self, emit: Emit, heard: Callable[[], None]) -> None:
        self.watches += 1
        self._emit, self._heard = emit, heard
        self._broken = asyncio.get_running_loop().create_future()
        try:
            await self._broken
        finally:
            self._emit = self._heard = None

    def say(self, *changes: Change) -> None:
        assert self._emit is not None
        assert self._heard is not None
        for change in changes:
            self._emit(change)
        self._heard()

    def breaks(self, error: Exception | None = None) -> None:
        assert self._broken is not None
        if error is None:
            self._broken.set_result(None)
        else:
            self._broken.set_exception(error)

    async def ping(self) -> None:
        self.pings += 1
        if self.ping_error is not None:
            raise self.ping_error
        await asyncio.sleep(0.02 if self.ping_answers else 10_000)

    def want(self, kinds: frozenset[str]) -> None:
        self.wanted = kinds

    async def close(self) -> None:
        self.closed += 1
