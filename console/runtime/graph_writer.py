"""The graph engine as a writer: it draws a plan for a whole graph, and runs it in its own order behind the one write path.

Every call is recorded before it leaves; retries, parallel work, gates and the order are the engine's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from console.engines.graph import PlanStale, ReconcileError, Reconciler, Registry, Request
from console.engines.graph.deciding import typed
from console.engines.graph.desired import Graph
from console.engines.graph.providers import Traits
from console.engines.graph.retries import BackoffFactory
from console.engines.graph.telling import Listener
from console.engines.ports.storage import ResourceStorage
from console.errors import Refused, WorldMoved
from console.kit.masking import MASK
from console.kit.paths import ABSENT, get_path, set_path
from console.kit.supervisor import cancel
from console.kit.timing import Clock
from console.model.graph import Action, Deployed, Identity
from console.model.graph import Plan as GraphPlan
from console.model.plan import Intent, Plan, PlanStep
from console.model.refs import Ref
from console.runtime.graph_log import HearsRun, RecordedKinds
from console.runtime.graph_plans import keys_of, plan_of
from console.runtime.ports import StepLog
from console.views.formats import counted


class GraphWriter:
    """Writes of one project of the graph engine.

    :param kind: the kind of object that stands for the project on the screen.
    :param wanted: the graph that each verb makes the world match; the empty graph deletes everything.
    :param undo: which verb takes back which, where all was made anew.
    """

    def __init__(
        self,
        project: str,
        kind: str,
        wanted: Mapping[str, Graph],
        kinds: Registry,
        storage: ResourceStorage,
        clock: Clock,
        *,
        undo: Mapping[str, str] | None = None,
        backoff: BackoffFactory | None = None,
    ) -> None:
        self._project = project
        self._kind = kind
        self._wanted = dict(wanted)
        self._kinds = kinds
        self._storage = storage
        self._clock = clock
        self._undo = dict(undo or {})
        self._backoff = backoff

    def verbs(self, kind: str) -> tuple[str, ...]:
        """Those that have a graph."""
        return tuple(self._wanted) if kind == self._kind else ()

    async def plan(self, intent: Intent) -> Plan:
        """What would be made and deleted, read now. Raises ``Refused``, and ``GraphError`` for a graph that can't be."""
        if len(intent.targets) != 1:
            raise Refused("One plan is for one graph.", "Choose one object.")
        drawn = await self._draw(intent.verb)
        going = [step for step in drawn.steps if step.action is Action.REPLACE] + list(drawn.deletes)
        loses = any(self._traits(step.identity.kind).destructive for step in going)
        return plan_of(intent, drawn, undo=self._undo.get(intent.verb, ""), loses_data=loses)

    async def run(self, plan: Plan, log: StepLog) -> None:
        """Have the engine do exactly this plan. Cancelled, calls at hand may end and nothing new begins."""
        verb = plan.intent.verb
        drawn = await self._draw(verb)
        if any(step.request.get("digest") != drawn.digest for step in plan.steps):
            raise WorldMoved(f"{self._project} is no longer what the plan was made for.", "Make a new plan.")
        keys = keys_of(drawn)
        engine = self._engine(RecordedKinds(self._kinds, keys, log), HearsRun(keys, log))
        work = asyncio.create_task(engine.apply(log.operation, drawn, self._wanted[verb]), name=f"graph {self._project}")
        stop = asyncio.create_task(log.stopping.wait(), name=f"graph {self._project} stop")
        try:
            await asyncio.wait((work, stop), return_when=asyncio.FIRST_COMPLETED)
            work.cancel()
            await asyncio.wait((work,))
        finally:
            # Only when we are cancelled ourselves is the work not over: then its time of grace ends, too.
            await cancel((stop, work))
        if not work.cancelled() and (error := work.exception()) is not None:
            _raise_unless_told(error)

    async def execute(self, step: PlanStep) -> str:
        """Never used: the engine makes all steps of a plan, or none."""
        raise Refused("A step of a graph is not made by itself.")

    async def applied(self, step: PlanStep) -> bool | None:
        """What a plan drawn now would still create was not made; what it would leave as it is was."""
        verb, version = str(step.request["verb"]), str(step.request["version"])
        kind, name = step.ref.kind, step.ref.name
        if version:
            records = await self._storage.list_resources(self._project)
            record = next((record for record in records if record.id == version), None)
            return True if record is None else await self._gone(record)
        drawn = await self._draw(verb)
        found = next((item for item in drawn.steps if item.identity == Identity(kind, name)), None)
        if found is None or found.action in (Action.NONE, Action.RECORD):
            return True if found else None
        # Only of what does not exist yet can looking tell that nobody made it: an update leaves no mark of its own.
        return False if found.action is Action.CREATE and self._traits(kind).read is not None else None

    async def observe(self, plan: Plan) -> tuple[bool, str]:
        """Complete once a plan drawn now would do nothing."""
        drawn = await self._draw(plan.intent.verb)
        if drawn.nothing:
            there = counted(len(drawn.steps), "resource")
            whole = f"{self._project} is as it should be: {there}"
            return True, whole if drawn.steps else f"nothing of {self._project} is left"
        left = [step for step in (*drawn.steps, *drawn.deletes) if step.action.writes]
        return False, ", ".join(str(step.identity) for step in left[:3])

    async def raw(self, ref: Ref) -> dict[str, Any]:
        """The records of what was made, in the order of their making, secrets masked."""
        records = sorted(await self._storage.list_resources(self._project), key=lambda record: record.id)
        return {"project": self._project, "resources": [_shown(record) for record in records]}

    async def _draw(self, verb: str) -> GraphPlan:
        graph = self._wanted.get(verb)
        if graph is None:
            raise Refused(f"{verb} is not offered for {self._project}.")
        report = await self._engine(self._kinds).reconcile("plan", self._project, graph, mode="plan")
        assert report.plan is not None
        return report.plan

    def _engine(self, kinds: Registry, listener: Listener | None = None) -> Reconciler:
        return Reconciler(self._storage, kinds, backoff=self._backoff, events=listener, clock=self._clock)

    def _traits(self, kind: str) -> Traits:
        provider = self._kinds.provider(kind)
        if provider is None:
            raise Refused(f"Nobody knows how to handle a {kind}.")
        return Traits.of(provider)

    async def _gone(self, record: Deployed) -> bool | None:
        """Whether something that is still on record is gone from the world; None where its kind can't look."""
        traits = self._traits(record.kind)
        if traits.read is None:
            return None
        request = Request(
            run_id="",
            project=self._project,
            identity=record.identity,
            id=record.id,
            input=typed(record.input, traits.provider.input_model),
            output=typed(record.output, traits.provider.output_model),
            sources=record.sources,
        )
        return await traits.read(request) is None


def _shown(record: Deployed) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(record)
    for path in record.secret_paths:
        if get_path(found, path) is not ABSENT:
            set_path(found, path, MASK)
    found["deps"] = [str(parent) for parent in record.deps]
    return {key: value for key, value in found.items() if value and key != "secret_paths"}


def _raise_unless_told(error: BaseException) -> None:
    """A run that failed by its steps has told of each; whatever else kept it from going on is raised."""
    if isinstance(error, ReconcileError) and error.report.failures:
        return
    if isinstance(error, PlanStale):
        raise WorldMoved(error.message, error.hint) from error
    raise error
