"""The rehearsal: a run of the graph engine to look at, over a toy world, through the same write path as everything else."""

from __future__ import annotations

from console.demo.toy_shop import ToyShop, shop_graph
from console.engines.graph import EMPTY, Backoff, InMemoryStorage
from console.kit.timing import Clock, SystemClock
from console.model.assembly import Assembly
from console.model.health import Health
from console.model.refs import Ref
from console.model.resource import Upserted
from console.runtime.graph_writer import GraphWriter
from console.runtime.ports import Emit

KIND = "Rehearsal"
REHEARSE, DISMANTLE = "rehearse", "dismantle"


class Rehearsal:
    """One object, "shop", on a connection that is there anyway; satisfies :class:`~console.runtime.ports.Guest`.

    :param pace: what all times of the toy world are multiplied with.
    """

    def __init__(self, connection: str, *, clock: Clock | None = None, pace: float = 1.0) -> None:
        clock = clock or SystemClock()
        self.ref = Ref(connection, KIND, "", "shop", "rehearsal-shop")
        self.shop = ToyShop(pace, self._tell)
        self.storage = InMemoryStorage()
        graph = shop_graph()
        self._wanted = len(graph.resources())
        self._clock = clock
        self._began = clock.now()
        self._emit: Emit | None = None
        self._writer = GraphWriter(
            "shop",
            KIND,
            {REHEARSE: graph, DISMANTLE: EMPTY},
            self.shop.kinds(),
            self.storage,
            clock,
            undo={REHEARSE: DISMANTLE},
            backoff=lambda: Backoff(first=1.0 * pace, factor=2.0, jitter=0.0),
        )

    def show(self, emit: Emit) -> None:
        """Emit the shop now and whenever a part came or went."""
        self._emit = emit
        self._tell()

    def writer(self, ref: Ref) -> GraphWriter | None:
        """The graph engine, for the shop."""
        return self._writer if (ref.connection, ref.kind, ref.name) == (self.ref.connection, KIND, self.ref.name) else None

    def _tell(self) -> None:
        made = len(self.shop.parts)
        if self._emit is not None:
            self._emit(
                Upserted(
                    Assembly(
                        ref=self.ref,
                        health=Health.OK if made == self._wanted else Health.BUSY if made else Health.UNKNOWN,
                        reason=_said(made, self._wanted),
                        created=self._began,
                        changed=self._clock.now(),
                        wanted=self._wanted,
                        made=made,
                    )
                )
            )


def _said(made: int, wanted: int) -> str:
    if made == wanted:
        return ""
    return f"Only {made} of {wanted} parts are there." if made else "Nothing of it is there: rehearse makes it."
