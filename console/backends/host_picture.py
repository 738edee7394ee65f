"""The containers of one host: the list at once, and what only an inspection tells soon after."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import msgspec

from console.backends.containers import container
from console.backends.docker_wire import Inspected, WireContainer
from console.clients.docker import DockerClient
from console.errors import NotFound, QuarterdeckError
from console.model.resource import Change, Listed

INSPECTED_AT_ONCE = 4
_CONTAINERS = msgspec.json.Decoder(list[WireContainer])
_INSPECTED = msgspec.json.Decoder(Inspected)


class HostPicture:
    """Reads containers, and inspects those that changed since it last did."""

    def __init__(self, connection: str, client: DockerClient) -> None:
        self._connection = connection
        self._client = client
        self._inspected: dict[str, Inspected] = {}

    def changed(self, identity: str) -> None:
        """Something happened to this container: what was inspected is old."""
        self._inspected.pop(identity, None)

    async def read(self) -> AsyncGenerator[list[Change], None]:
        """The list as it is, then the list with what inspections told (only if there were any)."""
        answer = await self._client.request("GET", "/containers/json", {"all": True})
        wires = answer.decode(_CONTAINERS)
        present = {wire.id for wire in wires}
        self._inspected = {key: seen for key, seen in self._inspected.items() if key in present}
        todo = [wire for wire in wires if not self._known(wire)]
        yield self._listed(wires)
        if todo:
            await self._inspect(todo)
            yield self._listed(wires)

    def _known(self, wire: WireContainer) -> bool:
        seen = self._inspected.get(wire.id)
        return seen is not None and seen.state.status == wire.state

    def _listed(self, wires: list[WireContainer]) -> list[Change]:
        found = tuple(container(self._connection, wire, self._inspected.get(wire.id)) for wire in wires)
        return [Listed(self._connection, "Container", found)]

    async def _inspect(self, wires: list[WireContainer]) -> None:
        turn = asyncio.Semaphore(INSPECTED_AT_ONCE)

        async def one(wire: WireContainer) -> None:
            async with turn:
                try:
                    answer = await self._client.request("GET", f"/containers/{wire.id}/json")
                except NotFound:
                    # It went between the list and the question; its removal is an event of its own.
                    return
            self._inspected[wire.id] = answer.decode(_INSPECTED)

        results = await asyncio.gather(*(one(wire) for wire in wires), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, QuarterdeckError):
                raise result
