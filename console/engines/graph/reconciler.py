"""The engine's front: one call makes the world match a graph, or says what it would do."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from typing import Literal

from console.engines.graph.checks import problems_of
from console.engines.graph.context import RunContext
from console.engines.graph.desired import EMPTY, Graph
from console.engines.graph.errors import InvalidGraph
from console.engines.graph.exclusive import exclusive
from console.engines.graph.ids import IDGenerator, id_source, uuid7
from console.engines.graph.laid_out import Layout
from console.engines.graph.providers import Registry
from console.engines.graph.retries import Backoff, BackoffFactory
from console.engines.graph.running import perform, plan_only, told
from console.engines.graph.telling import Listener, Masker, Teller
from console.engines.ports.storage import HasHashKey, ResourceStorage, SourceStorage
from console.kit.timing import Clock, SystemClock
from console.model.graph import Plan, RunReport

DEFAULT_CONCURRENCY = 10
"""Operations at once. They mostly wait for a network, so this is not tied to the number of processors."""

Mode = Literal["apply", "plan", "destroy"]


class Reconciler:
    """Makes the world match graphs of resources.

    :param resources: where records of what was made are kept. What else it can do (intents, lock, history) is used if it can.
    :param registry: the kinds.
    :param source: content behind source keys; not needed while no resource has sources.
    :param id_gen: gives an id to each created resource: an object with ``generate_id`` or a plain callable.
    :param concurrency: most operations at once, 0 for the default of 10. Negative raises ``ValueError``.
    :param backoff: a factory, called once per operation, of the waits between tries.
    :param logger: where to log; unset is silent.
    :param events: told of everything that happens; see :class:`~console.engines.graph.EventStream`.
    :param clock: for the instants in events and intents.
    """

    def __init__(
        self,
        resources: ResourceStorage,
        registry: Registry,
        source: SourceStorage | None = None,
        id_gen: IDGenerator | Callable[[], str] = uuid7,
        concurrency: int | None = None,
        backoff: BackoffFactory | None = None,
        logger: logging.Logger | None = None,
        events: Listener | None = None,
        clock: Clock | None = None,
    ) -> None:
        if concurrency is not None and concurrency < 0:
            raise ValueError(f"concurrency must not be negative: {concurrency}")
        self.concurrency = concurrency or DEFAULT_CONCURRENCY
        self._resources = resources
        self._registry = registry
        self._source = source
        self._new_id = id_source(id_gen)
        self._backoff = backoff or Backoff
        self._logger = logger
        self._events = events
        self._clock = clock or SystemClock()
        self._running: dict[str, str] = {}
        self._hash_key = resources.hash_key if isinstance(resources, HasHashKey) else secrets.token_bytes(32)

    async def reconcile(
        self,
        run_id: str,
        project: str,
        graph: Graph,
        *,
        mode: Mode = "apply",
        fail_fast: bool = False,
        prune: bool = True,
        refresh: bool | None = None,
    ) -> RunReport:
        """Make the world match the graph; with ``mode="plan"`` only say how, with "destroy" delete everything of the project.

        ``fail_fast`` stops everything at the first failure; otherwise branches that don't depend on it go on. ``prune=False``
        deletes nothing, as a sub-graph needs. ``refresh`` reads the world first; unset, plans do and applying does not.

        Raises :class:`InvalidGraph` before anything is touched, :class:`Busy`, and :class:`ReconcileError` with the report if
        anything failed. Cancelled, it stores what came through, tells the report as an event and raises ``CancelledError``.
        """
        wanted = EMPTY if mode == "destroy" else graph
        layout = Layout(wanted, self._registry)
        if problems := await problems_of(wanted, layout, self._source):
            raise InvalidGraph(problems)
        run = self._context(run_id, project, layout, fail_fast)
        if mode == "plan":
            return await told(run, plan_only(run, prune=prune, refresh=refresh is not False), kept=False)
        return await self._exclusively(run, prune, bool(refresh), None)

    async def apply(self, run_id: str, plan: Plan, graph: Graph, *, fail_fast: bool = False) -> RunReport:
        """Do what a plan of this graph says. Raises :class:`PlanStale` if graph or storage have changed, else as above."""
        layout = Layout(graph, self._registry)
        if problems := await problems_of(graph, layout, self._source):
            raise InvalidGraph(problems)
        run = self._context(run_id, plan.project, layout, fail_fast)
        return await self._exclusively(run, plan.prune, plan.refresh, plan.digest)

    def _context(self, run_id: str, project: str, layout: Layout, fail_fast: bool) -> RunContext:
        return RunContext(
            run_id=run_id,
            project=project,
            layout=layout,
            storage=self._resources,
            sources=self._source,
            new_id=self._new_id,
            concurrency=self.concurrency,
            backoff=self._backoff,
            clock=self._clock,
            teller=Teller(run_id, self._events, self._clock, self._logger, Masker()),
            hash_key=self._hash_key,
            fail_fast=fail_fast,
        )

    async def _exclusively(self, run: RunContext, prune: bool, refresh: bool, digest: str | None) -> RunReport:
        async with exclusive(self._resources, self._running, run.project, run.run_id, run.stop):
            return await told(run, perform(run, prune=prune, refresh=refresh, digest=digest))
