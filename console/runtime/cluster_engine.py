"""The dispatch engine of one cluster, put together: clients, records, re-checks, dispatcher, holds, and the Lease.

Two field managers: local triggers are held under this console's own name, custom triggers under the engine's, since whoever
holds the Lease goes on with the same records and holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import msgspec

from console.engines.dispatch.clients import ClusterClients
from console.engines.dispatch.constants import DEFAULT_CLUSTER, FIELD_MANAGER, Reason, Timing
from console.engines.dispatch.custom_triggers import CustomTriggers, StatusStore
from console.engines.dispatch.dispatcher import Dispatcher
from console.engines.dispatch.faults import RetryableError
from console.engines.dispatch.hold_rounds import KEEP_SECONDS, SOON_SECONDS, HoldRounds
from console.engines.dispatch.leading import WhileLeading
from console.engines.dispatch.local import AnnotationStore, Declarations, LocalTrigger
from console.engines.dispatch.local_triggers import LocalTriggers
from console.engines.dispatch.modes import Leadership
from console.engines.dispatch.reconciler import TriggerReconciler
from console.engines.dispatch.references import References
from console.engines.dispatch.requests import ApplyRequest, Report, publishing
from console.engines.dispatch.resources import TriggerView
from console.engines.dispatch.routing import RoutedRecords, RoutedTriggers
from console.engines.dispatch.status_writer import StatusWriter
from console.engines.dispatch.tokens import Tokens
from console.engines.dispatch.trigger_rounds import TriggerRounds
from console.engines.dispatch.types import ApplierKey, Binding, ObjectName, Operation, TargetRef, TriggerRef
from console.engines.ports.applier import KUSTOMIZATIONS, Objects
from console.engines.ports.dispatch import ApplierClient, EventSink
from console.errors import JournalError, QuarterdeckError
from console.journal.journal import Journal
from console.kit.supervisor import Supervisor
from console.kit.timing import Clock, Wakeable, backoff
from console.model.holds import LOCAL_HOLDER
from console.model.refs import Ref
from console.runtime.commit_book import CommitBook
from console.runtime.live_objects import OneCluster

LOCAL_MANAGER = LOCAL_HOLDER
LEASE = ObjectName("gitops-reverser-system", "gitops-reverser")
RENEW_SECONDS = 4.0
AGAIN_SECONDS = 10.0
"""Before records that could not be read are tried again; ever longer, since each try lists the appliers whole."""


class JournalLog:
    """The journal as the engine's operation log: durable before anything is put on the applier."""

    def __init__(self, journal: Journal | None) -> None:
        self._journal = journal

    async def write(self, trigger: TriggerRef, operation: Operation) -> None:
        """Store it. :raises JournalError: it was not stored, so nothing may start."""
        if self._journal is None:
            raise JournalError("There is no journal.", "Nothing can be written without one.")
        await self._journal.dispatched(str(trigger), operation.token, msgspec.json.encode(operation))


class RoutedClients:
    """Clients by where a trigger lives: the two kinds write under different field managers."""

    def __init__(self, local_cluster: str, local: ClusterClients, custom: ClusterClients) -> None:
        self._local_cluster = local_cluster
        self._local = local
        self._custom = custom

    def _of(self, key: ApplierKey) -> ClusterClients:
        return self._local if key.cluster == self._local_cluster else self._custom

    async def client(self, key: ApplierKey) -> ApplierClient:
        """The client for an applier."""
        return await self._of(key).client(key)

    async def prefetch(self, key: ApplierKey, source: ObjectName, commit: str) -> None:
        """Let the source of a Kustomization fetch ahead."""
        await self._of(key).prefetch(key, source, commit)


class ClusterEngine:
    """Drives the local triggers of one cluster, and its custom ones while it holds the Lease.

    :param objects: plain objects of the cluster; may be unreachable for a while.
    :param identity: our name as holder of the Lease.
    :param commits: what repositories tell; without it their heads are not known.
    """

    def __init__(
        self,
        name: str,
        cluster_uid: str,
        objects: Objects,
        journal: Journal | None,
        events: EventSink,
        clock: Clock,
        identity: str,
        timing: Timing | None = None,
        commits: CommitBook | None = None,
    ) -> None:
        self.name = name
        self.cluster_uid = cluster_uid
        self.local_cluster = f"connection {name}"
        self.objects = objects
        self.commits = commits or CommitBook()
        self.clock = clock
        tokens = Tokens(clock)
        clusters = OneCluster(objects, self.local_cluster, DEFAULT_CLUSTER)
        self.declarations = Declarations()
        self.clients = ClusterClients(clusters, clock, tokens, timing, LOCAL_MANAGER)
        leading = WhileLeading(objects, self._leads)
        self.custom_clients = ClusterClients(
            OneCluster(leading, self.local_cluster, DEFAULT_CLUSTER), clock, tokens, timing, FIELD_MANAGER
        )
        store = AnnotationStore(clusters, self.declarations, JournalLog(journal), LOCAL_MANAGER)
        self.local = LocalTriggers(clusters, self.clients, self.declarations, store)
        self.local.left = self._take_up
        self.store = store
        self.references = References(objects)
        self.leadership = Leadership(objects, LEASE, identity, clock)
        self._writers = (StatusWriter(StatusStore(leading), timing), StatusWriter(store, timing))
        self.records = RoutedRecords(*self._writers, self._leads)
        self.dispatcher = Dispatcher(
            clients=RoutedClients(self.local_cluster, self.clients, self.custom_clients),
            records=self.records,
            triggers=RoutedTriggers(CustomTriggers(objects, self.custom_clients), self.local, self._leads),
            events=events,
            clock=clock,
            tokens=tokens,
            timing=timing,
        )
        reconciler = TriggerReconciler(leading, self.custom_clients, self.dispatcher, clock, timing, record=self.records.record)
        self._rounds = TriggerRounds(objects, reconciler, self._leads)
        self._noticed: set[tuple[str, str, str]] = set()
        self.operations: dict[TriggerRef, Operation] = {}
        self.changed: Callable[[], None] = _nothing
        self.running = False
        self.claims = False
        self._holds = HoldRounds(objects, self.local, self.declarations, self.dispatcher)
        # Renewing the Lease and handing it back are steps of several calls: a renewal under way would take it again.
        self._lease_turn = asyncio.Semaphore(1)
        self._wake = Wakeable()
        self._round_due = Wakeable()
        self._recovered = asyncio.Event()
        self._supervisor = Supervisor()

    def _leads(self) -> bool:
        return self.leadership.held

    def start(self) -> None:
        """Begin: what an earlier process left in flight is followed to its end, and held again."""
        self.running = True
        for writer in self._writers:
            writer.start()
        self.dispatcher.start()
        self._supervisor.spawn(f"recovery on {self.name}", self._recover)
        self._supervisor.keep(f"holds on {self.name}", self._keep_holds)
        self._supervisor.keep(f"lease on {self.name}", self._renew)
        self._supervisor.keep(f"triggers of {self.name}", self._lead)

    async def stop(self) -> None:
        """End without undoing anything. Records stay for the next process; a Lease of ours is given back."""
        await self._supervisor.stop()
        await self.dispatcher.stop()
        for writer in self._writers:
            await writer.stop()
        if self.claims:
            await self.leadership.resign()

    def request(
        self,
        trigger: TriggerRef,
        key: ApplierKey,
        binding: Binding,
        commit: str,
        reason: Reason,
        targets: Iterable[TargetRef],
        recovered: Operation | None = None,
        report: Callable[[Report], None] | None = None,
    ) -> None:
        """Ask the dispatcher; every state is published to the trigger's record and kept in :attr:`operations`."""

        def heard(said: Report) -> None:
            if said.operation is not None:
                self.operations[trigger.key] = said.operation
            if report is not None:
                report(said)
            self.changed()

        self.dispatcher.request_apply(
            ApplyRequest(
                trigger=trigger,
                key=key,
                binding=binding,
                commit=commit,
                reason=reason,
                targets=tuple(targets),
                report=publishing(self.records, trigger, heard),
                recovered=recovered,
            )
        )

    def find(self, kind: str, namespace: str, name: str) -> LocalTrigger | None:
        """The declared trigger that drives this applier."""
        return self.declarations.of_applier(kind, namespace, name)

    def look(self, refs: Iterable[Ref]) -> None:
        """Objects that changed: whoever resumed one that is held is noticed at once, and so is what an operation waits for."""
        for ref in refs:
            if ref.kind == KUSTOMIZATIONS.kind:
                self._holds.suspect(ref.namespace, ref.name)
            self.dispatcher.look(ref.kind, ref.namespace, ref.name)
            if self.leadership.held:
                self._noticed.add((ref.kind, ref.namespace, ref.name))
                self._round_due.wake()

    async def claim(self) -> bool:
        """Ask for the Lease, and go on renewing it; returns whether we hold it now.

        :raises QuarterdeckError: it could not be asked for; nothing is tried again, for nobody would expect it then.
        """
        async with self._lease_turn:
            self.claims = False
            self.claims = await self.leadership.claim()
        self._wake.wake()
        return self.claims

    async def hand_back(self) -> None:
        """Give the Lease back. What is held stays held: the next engine goes on."""
        async with self._lease_turn:
            self.claims = False
            await self.leadership.resign()

    async def _keep_holds(self) -> None:
        """Keep what is held suspended, whoever resumes it; what an earlier process left is followed before it is judged."""
        await self._recovered.wait()
        await self._holds.run()

    async def _recover(self) -> None:
        """Follow what earlier processes left. What can't be read yet is tried again, beside the holds: one record that nobody
        understands must not leave all others without their keeper."""
        pauses = backoff(first=AGAIN_SECONDS, most=120)
        try:
            while await self._recover_local():
                self._recovered.set()
                await asyncio.sleep(next(pauses))
        finally:
            self._recovered.set()

    async def _recover_local(self) -> bool:
        """Follow what is in flight and not followed; returns whether some records could not be read."""
        found, unread = await self.local.in_flight()
        for trigger, operation in found:
            self._take_up(trigger, operation)
        return bool(unread)

    def _take_up(self, trigger: LocalTrigger, operation: Operation) -> None:
        """Follow an operation that is in flight by its record, unless it is followed, or its end is only not written yet."""
        known = self.operations.get(trigger.ref.key)
        if self.dispatcher.following(trigger.ref, operation.token) or (known and operation.same_as(known)):
            return
        targets = (TargetRef(trigger.namespace, trigger.name),)
        self.operations[trigger.ref.key] = operation
        self.request(trigger.ref, trigger.key, trigger.binding, operation.commit, operation.reason, targets, operation)

    async def _renew(self) -> None:
        """Renew the Lease while it is ours. By itself: a round over many triggers may take longer than a Lease lasts."""
        while True:
            if not self.claims:
                await self._wake.sleep(3600)
                continue
            try:
                async with self._lease_turn:
                    self.claims = self.claims and await self.leadership.claim()
            except QuarterdeckError:
                # Leadership goes by the last renewal that is known to have worked; it ends by itself.
                pass
            self._round_due.wake()
            await self._wake.sleep(RENEW_SECONDS)

    async def _lead(self) -> None:
        """While the Lease is ours: recover and reconcile the custom triggers."""
        recovered, next_round = 0, 0.0
        loop = asyncio.get_running_loop()
        while True:
            # Renewals wake it, so the lead is not noticed late; and what a watch shows does.
            await self._round_due.sleep(KEEP_SECONDS)
            noticed, self._noticed = self._noticed, set()
            if not self.leadership.held:
                continue
            try:
                if recovered != (term := self.leadership.term):
                    # Also after a lapse that was too short to be noticed here: whoever followed something has noticed it.
                    next_round = 0.0
                    self._rounds.forget()
                    await self._recover_custom(await self._rounds.views())
                    recovered = term
                if loop.time() >= next_round:
                    next_round = loop.time() + KEEP_SECONDS
                    await self._rounds.round()
                else:
                    await self._rounds.look(noticed)
            except QuarterdeckError:
                next_round = loop.time() + SOON_SECONDS

    async def _recover_custom(self, views: list[TriggerView]) -> None:
        for view in views:
            operation = view.record.operation
            if operation is None or not operation.in_flight or self.dispatcher.following(view.ref, operation.token):
                continue
            key = await self.references.asked_applier(view)
            # Nothing is asked any more, so what it was asked for need not be known.
            binding = Binding(view.source.url, view.source.revision) if view.source else Binding("", "")
            self.operations[view.ref.key] = operation
            self.request(view.ref, key, binding, operation.commit, operation.reason, (), operation)

    async def hold(self, trigger: LocalTrigger) -> str:
        """Take a Kustomization into hold and have it kept. Raises as :meth:`LocalTriggers.hold`."""
        async with self._holds.turns[trigger.ref.key]:
            return await self.local.hold(trigger)

    async def release(self, trigger: LocalTrigger) -> str:
        """Hand a Kustomization back; returns who still keeps it suspended.

        :raises RetryableError: an operation is in flight.
        """
        operation = self.operations.get(trigger.ref.key)
        if operation is not None and operation.in_flight:
            raise RetryableError(f"{trigger.key} has an operation in flight; it can be released when that has ended")
        async with self._holds.turns[trigger.ref.key]:
            return await self.local.release(trigger)


def _nothing() -> None:
    return None
