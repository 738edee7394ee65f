"""The life of the dispatch engines: one for each live cluster, where this process may run engines at all."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from console.config.triggers import TriggerEntry
from console.engines.dispatch.constants import EventReason
from console.engines.dispatch.local import LocalTrigger
from console.engines.dispatch.types import Binding, TargetRef, TriggerRef
from console.journal.journal import Journal
from console.kit.timing import Clock
from console.model.connections import Connection
from console.model.health import Health
from console.model.kubernetes import Event
from console.model.refs import Ref
from console.model.resource import Upserted
from console.runtime.adoption import KINDS as ADOPTABLE
from console.runtime.adoption import AdoptionWriter
from console.runtime.cluster_engine import ClusterEngine
from console.runtime.commit_book import CommitBook
from console.runtime.custom_dispatch import CustomWriter
from console.runtime.dispatch_writer import DispatchWriter
from console.runtime.live_objects import HasObjects, LiveObjects
from console.runtime.store import Store

_log = logging.getLogger(__name__)
APPLIED_KINDS = frozenset({"Kustomization", "Application", "GitRepository"})
CUSTOM_KINDS = ("FluxTrigger", "ArgoCDTrigger")


class ActivityEvents:
    """What the engine says goes into the console's own activity, with the exact reasons of Kubernetes Events."""

    def __init__(self, connection: str, store: Store, clock: Clock) -> None:
        self._connection = connection
        self._store = store
        self._clock = clock
        self._count = 0

    def event(self, trigger: TriggerRef, target: TargetRef, reason: EventReason, message: str) -> None:
        """Record one."""
        self._count += 1
        now = self._clock.now()
        kind = trigger.name.partition("/")[0] if trigger.kind == "LocalTrigger" else trigger.kind
        name = f"dispatch-{now.timestamp():.6f}-{self._count}"
        self._store.apply(
            Upserted(
                Event(
                    ref=Ref(self._connection, "Event", target.namespace, name, name),
                    health=Health.OK if reason.type == "Normal" else Health.WARN,
                    created=now,
                    at=now,
                    about=Ref(self._connection, kind, target.namespace, target.name),
                    what=reason.value,
                    message=message,
                    source="quarterdeck",
                )
            )
        )


class Dispatching:
    """Starts an engine when its cluster is first live and keeps it to the end. ``run()`` never ends by itself.

    :param triggers: declared local triggers.
    :param identity: our name as holder of a cluster's engine Lease.
    :param commits: what repositories tell of their commits.
    :param file: the fleet file, in which an applier can be adopted; None: not from here.
    :param drives: whether this process runs engines; else they explain and plan, and nothing is written or followed.
    """

    def __init__(
        self,
        triggers: Iterable[TriggerEntry],
        store: Store,
        backend: Callable[[str], object | None],
        journal: Journal | None,
        clock: Clock,
        identity: str,
        *,
        drives: bool,
        commits: CommitBook | None = None,
        file: Path | None = None,
    ) -> None:
        self._entries = tuple(triggers)
        self._store = store
        self._backend = backend
        self._journal = journal
        self._clock = clock
        self._identity = identity
        # A hold outlives the process: lists name the person and where from, as the journal does.
        self._person = f"{journal.who.user}@{journal.who.host}" if journal is not None else identity
        self._drives = drives
        self._commits = commits
        self._file = file
        self.engines: dict[str, ClusterEngine] = {}
        self.problems: tuple[str, ...] = ()

    async def run(self) -> None:
        """Watch connections come alive."""
        changed = asyncio.Event()
        unsubscribe = self._store.subscribe({"Connection"}, lambda _: changed.set())
        unsubscribe_holds = self._store.subscribe(APPLIED_KINDS, self._look)
        try:
            while True:
                changed.clear()
                for resource in tuple(self._store.of("Connection").values()):
                    if isinstance(resource, Connection):
                        self._meet(resource)
                await changed.wait()
        finally:
            unsubscribe()
            unsubscribe_holds()
            await self.stop()

    def _look(self, refs: frozenset[Ref]) -> None:
        """What is watched changed: what the engine waits for among it is read now, not at the next poll."""
        for name, engine in self.engines.items():
            engine.look(ref for ref in refs if ref.connection == name)

    async def stop(self) -> None:
        """Stop every engine; records stay as they are."""
        engines, self.engines = tuple(self.engines.values()), {}
        for engine in engines:
            await engine.stop()

    def writer(self, ref: Ref) -> DispatchWriter | CustomWriter | None:
        """What the engine can do with this object; None if it has nothing to do with it."""
        engine = self.engines.get(ref.connection)
        if engine is None:
            return None
        if ref.kind in CUSTOM_KINDS:
            trigger_ref = TriggerRef(ref.kind, ref.namespace, ref.name)
            return CustomWriter(engine, trigger_ref, self._clock, self._identity)
        trigger = engine.find(ref.kind, ref.namespace, ref.name)
        return DispatchWriter(engine, trigger, self._clock, self._person) if trigger is not None else None

    def writers(self, ref: Ref) -> tuple[object, ...]:
        """What can be done with this object here: what drives it, and what declares it or takes that back."""
        engine = self.engines.get(ref.connection)
        driver = self.writer(ref)
        if engine is None or self._file is None or ref.kind not in ADOPTABLE:
            return () if driver is None else (driver,)
        adopter = AdoptionWriter(
            engine, ref, self._file, partial(self._adopt, engine), partial(self._drop, engine), partial(self._rival, engine)
        )
        return (adopter,) if driver is None else (driver, adopter)

    def _adopt(self, engine: ClusterEngine, entry: TriggerEntry) -> str:
        """Drive a trigger that was declared just now; returns why not, "" if it is driven."""
        self._entries = (*self._entries, entry)
        problem = engine.declarations.adopt(_declared(entry, engine))
        return problem or ", ".join(self._taken(engine))

    def _rival(self, engine: ClusterEngine, ref: Ref) -> str:
        """The other connection to this cluster by which an applier is a trigger already; "" if there is none."""
        others = (other for other in self.engines.values() if other is not engine and other.cluster_uid == engine.cluster_uid)
        return next((other.name for other in others if other.find(ref.kind, ref.namespace, ref.name) is not None), "")

    def _drop(self, engine: ClusterEngine, entry: TriggerEntry) -> None:
        self._entries = tuple(known for known in self._entries if known.name != entry.name)
        engine.declarations.drop(_declared(entry, engine).ref)

    def _meet(self, connection: Connection) -> None:
        name = connection.ref.name
        if name in self.engines or not connection.phase.fresh or "kubernetes" not in connection.platforms:
            return
        if not isinstance(self._backend(name), HasObjects):
            return
        uid = connection.identity or f"connection {name}"
        events = ActivityEvents(name, self._store, self._clock)
        objects = LiveObjects(name, self._backend)
        engine = ClusterEngine(name, uid, objects, self._journal, events, self._clock, self._identity, None, self._commits)
        problems = [engine.declarations.adopt(_declared(entry, engine)) for entry in self._entries if entry.connection == name]
        problems += self._taken(engine)
        self.problems += tuple(problem for problem in problems if problem)
        self.engines[name] = engine
        if self._drives:
            engine.start()
            _log.info("the dispatch engine of %s runs with %d local triggers", name, len(engine.declarations.all()))

    def _taken(self, engine: ClusterEngine) -> list[str]:
        """Triggers that another connection to the same cluster drives already: one applier has one trigger."""
        problems = []
        for other in self.engines.values():
            if other is engine or other.cluster_uid != engine.cluster_uid:
                continue
            taken = {trigger.ref.key for trigger in other.declarations.all()}
            for trigger in engine.declarations.all():
                if trigger.ref.key in taken:
                    engine.declarations.drop(trigger.ref)
                    problems.append(f"{trigger.kind} {trigger.namespace}/{trigger.name} is a trigger by {other.name} already")
        return problems


def _declared(entry: TriggerEntry, engine: ClusterEngine) -> LocalTrigger:
    return LocalTrigger(
        cluster=engine.local_cluster,
        cluster_uid=engine.cluster_uid,
        kind=entry.applier_kind,
        namespace=entry.namespace,
        name=entry.object,
        binding=Binding(entry.url, entry.branch),
        revert_refused_edits=entry.revert_refused_edits,
        hold=entry.hold,
        confirmed=entry.confirmed,
    )
