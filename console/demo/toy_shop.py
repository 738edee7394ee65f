"""A shop of network, configs, database and services that exists only in memory: something for the graph engine to make."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from console.engines.graph import DesiredGraph, Kind, Kinds, Request, join, resource
from console.errors import Overloaded


class Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is wanted of a part of the shop."""

    image: str = ""
    text: str = ""
    uses: str = ""
    replicas: int = 1


class Address(msgspec.Struct, frozen=True):
    """Where a part can be reached once it is there."""

    address: str


class Manner(msgspec.Struct, frozen=True, kw_only=True):
    """How a kind of part behaves. Times are seconds.

    ``phases`` are told one after another while it is made; ``starts``: seconds until each replica runs, 0 for a kind that is
    ready when made.
    """

    makes: float
    goes: float = 0.5
    phases: tuple[str, ...] = ()
    starts: float = 0.0
    destructive: bool = False


MANNERS = {
    "network": Manner(makes=1.2),
    "config": Manner(makes=0.8),
    "database": Manner(makes=2.4, goes=1.5, phases=("its volume", "its data directory"), starts=1.6, destructive=True),
    "job": Manner(makes=6.0, phases=("table goods", "table orders", "table prices", "indexes")),
    "service": Manner(makes=1.0, starts=0.9),
}
REFUSALS = {"checkout": 2}
"""How often the registry refuses to give the image of a part, before it does."""


class ToyShop:
    """The parts that are there, by the id that the engine gave them.

    :param pace: what all times are multiplied with.
    :param changed: called whenever a part came or went.
    """

    def __init__(self, pace: float = 1.0, changed: Callable[[], None] = lambda: None) -> None:
        self.parts: dict[str, str] = {}
        self.calls: list[str] = []
        self.changed = changed
        self._pace = pace
        self._refused: dict[str, int] = {}

    def kinds(self) -> Kinds:
        """How each kind of part is made, looked at and taken away."""
        found = {name: (_StartedKind if manner.starts else _PartKind)(self, manner) for name, manner in MANNERS.items()}
        return Kinds(found)

    async def make(self, req: Request[Part, Address], manner: Manner) -> Address:
        """Make one. The image of some is refused a few times each time that they are made anew."""
        name = req.identity.name
        self.calls.append(f"create {req.identity}")
        if self._refused.get(req.id, 0) < REFUSALS.get(name, 0):
            await self.pass_by(manner.makes / 2)
            self._refused[req.id] = self._refused.get(req.id, 0) + 1
            raise Overloaded("503: the registry is busy.", status=503)
        for number, phase in enumerate(manner.phases):
            req.progress(phase, number, len(manner.phases))
            await self.pass_by(manner.makes / len(manner.phases))
        if not manner.phases:
            await self.pass_by(manner.makes)
        self.parts[req.id] = str(req.identity)
        self.changed()
        return _address(req)

    async def start(self, req: Request[Part, Address], manner: Manner) -> None:
        """Wait until all replicas run."""
        for number in range(1, req.input.replicas + 1):
            req.progress(f"task {number} of {req.input.replicas}")
            await self.pass_by(manner.starts)

    async def remove(self, req: Request[Part, Address], manner: Manner) -> None:
        """Take one away."""
        self.calls.append(f"delete {req.identity}")
        await self.pass_by(manner.goes)
        self.parts.pop(req.id, None)
        self.changed()

    async def pass_by(self, seconds: float) -> None:
        """Time of the shop."""
        await asyncio.sleep(seconds * self._pace)


class _PartKind(Kind[Part, Address]):
    input_model = Part
    output_model = Address

    def __init__(self, shop: ToyShop, manner: Manner) -> None:
        self._shop = shop
        self._manner = manner
        self.destructive = manner.destructive  # type: ignore[misc] # one class stands for all kinds

    async def create(self, req: Request[Part, Address]) -> Address:
        return await self._shop.make(req, self._manner)

    async def update(self, req: Request[Part, Address]) -> Address:
        return await self._shop.make(req, self._manner)

    async def delete(self, req: Request[Part, Address]) -> None:
        await self._shop.remove(req, self._manner)

    async def read(self, req: Request[Part, Address]) -> Address | None:
        return _address(req) if req.id in self._shop.parts else None


class _StartedKind(_PartKind):
    async def wait_ready(self, req: Request[Part, Address]) -> None:
        await self._shop.start(req, self._manner)


def _address(req: Request[Part, Address]) -> Address:
    return Address(f"{req.identity.name}.shop")


def shop_graph() -> DesiredGraph:
    """All that the shop needs, and what each part needs of the others."""
    network = resource("network", "shop")
    prices = resource("config", "prices", {"text": "currency: EUR"})
    pages = resource("config", "pages", {"text": "language: en"})
    ledger = resource("database", "ledger", {"image": "postgres:17", "uses": network.ref("address")})
    tables = resource("job", "tables", {"image": "migrate:8", "uses": ledger.ref("address")})
    behind = {"uses": join(ledger.ref("address"), ", ", prices.ref("address"))}
    catalogue = resource("service", "catalogue", {"image": "catalogue:3.1", "replicas": 2, **behind}, after=(tables,))
    checkout = resource("service", "checkout", {"image": "checkout:2.4", **behind}, after=(tables,))
    web = resource(
        "service",
        "web",
        {
            "image": "web:5",
            "text": join("catalogue at ", catalogue.ref("address"), ", checkout at ", checkout.ref("address")),
            "uses": pages.ref("address"),
            "replicas": 2,
        },
    )
    return DesiredGraph([network, prices, pages, ledger, tables, catalogue, checkout, web])
