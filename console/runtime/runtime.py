"""The console without a face: connections, store, commands. The screen and the headless commands stand on this alike."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Collection, Iterable
from contextlib import AsyncExitStack, aclosing
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

from console.clients.kustomize import KustomizeProgram
from console.config.fleet import Fleet
from console.config.settings import Settings
from console.errors import JournalError, NotServed, QuarterdeckError, Unreachable
from console.journal.journal import Journal
from console.kit.masking import mask_object
from console.kit.supervisor import Supervisor
from console.kit.timing import Clock, SystemClock
from console.model.commits import ApplyOffer, ChangePreview
from console.model.connections import Connection
from console.model.docker import Sample
from console.model.kubernetes import TRIGGER_KINDS, Event, LogLine, LogQuery
from console.model.operations import Operation
from console.model.refs import Ref
from console.model.resource import KindState, Resource, Upserted
from console.model.trigger_report import TriggerReport
from console.runtime.appliers import read_applier
from console.runtime.apply_offers import offer
from console.runtime.arming import Arming
from console.runtime.cluster_engine import ClusterEngine
from console.runtime.commands import Commands
from console.runtime.commit_book import CommitBook, CommitSource
from console.runtime.connections import Link
from console.runtime.dispatching import Dispatching
from console.runtime.gate import Gate
from console.runtime.history import History, others_on
from console.runtime.identities import Identities
from console.runtime.looking import Looking
from console.runtime.ports import Guest, ReadsLogs, ReadsRaw, ReadsStats
from console.runtime.presence import Presence
from console.runtime.previews import HasDryRun, preview
from console.runtime.reading import events_about, operations_on, related_to
from console.runtime.settling import settled
from console.runtime.store import Store
from console.runtime.targets import Target
from console.runtime.trigger_notes import trigger_report
from console.runtime.whoami import whoami


class Runtime:
    """Everything that lives as long as the console: ``async with Runtime(settings, fleet, targets) as runtime``.

    Leaving ends operations at hand, then closes every connection. ``store`` and ``links`` may be read at any time.

    :param connect: names of the targets to connect (None: all); others stay idle until :meth:`connect` or a look.
    :param fleet_file: where an applier can be declared as a trigger (None: not from here).
    :param guests: bring objects of their own to show and to write, on connections that are there anyway.
    :param commits: tells of repositories' commits and gives their files (None: nobody does).
    :param state: the state folder, for remembered identities and the journal (None: neither is kept, nothing can be written).
    """

    def __init__(
        self,
        settings: Settings,
        fleet: Fleet,
        targets: Iterable[Target],
        *,
        clock: Clock | None = None,
        connect: Collection[str] | None = None,
        state: Path | None = None,
        read_only: bool = False,
        guests: Iterable[Guest] = (),
        commits: CommitSource | None = None,
        fleet_file: Path | None = None,
    ) -> None:
        self.settings = settings
        self.fleet = fleet
        self.clock = clock or SystemClock()
        self.store = Store()
        self.journal: Journal | None = None
        self._state = state
        self._connect = connect
        self._read_only, self._fleet_file = read_only, fleet_file
        self._guests = tuple(guests)
        self._commits = CommitBook(commits)
        self._supervisor = Supervisor()
        self._followers = Supervisor()
        self._looking = Looking(self._want)
        self._started: set[str] = set()
        gate, identities = Gate(), Identities(state)
        known = tuple(targets)
        self.links = {target.name: Link(target, self.store, gate, identities, self.clock) for target in known}
        self.arming = Arming(
            self.clock,
            read_only=read_only,
            locked=[target.name for target in known if target.read_only],
            minutes=settings.safety.arm_minutes,
            protected_minutes=settings.safety.arm_minutes_protected,
            changed=self._show_arming,
        )
        self.only_reads = ""
        """Why this console can only read (another one of this account writes, the journal is unusable); "" if it may write."""
        self.history: History | None = None
        self.dispatching: Dispatching | None = None
        self._commands: Commands | None = None
        self._exit = AsyncExitStack()

    @property
    def commands(self) -> Commands:
        """The write path; there once the runtime was entered."""
        if self._commands is None:
            raise RuntimeError("the runtime has not been entered")
        return self._commands

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._supervisor.stop)
            stack.callback(self._looking.close)
            problem = await self._open_journal(stack)
            self._commands = Commands(
                self,
                self.journal,
                self.arming,
                self.clock,
                self._publish_operation,
                journal_problem=problem,
                company=lambda ref: others_on(self.store, ref),
            )
            stack.push_async_callback(self._commands.close)
            # Leaving goes the other way round: what reads the journal stops, operations end, the journal closes, links close.
            stack.push_async_callback(self._followers.stop)
            self._exit = stack.pop_all()
        for guest in self._guests:
            guest.show(self.store.apply)
        self._follow_journal()
        self.connect(self._connect)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exit.aclose()

    def connect(self, names: Iterable[str] | None = None) -> None:
        """Connect these targets (None: all) and keep them connected; those that already are are left alone."""
        for name in tuple(self.links) if names is None else names:
            if name in self.links and name not in self._started:
                self._started.add(name)
                self._supervisor.keep(f"connection {name}", self.links[name].run)

    def reconnect(self, name: str) -> None:
        """Try a lost connection now."""
        self.connect((name,))
        self.links[name].reconnect()

    def accept_identity(self, name: str) -> None:
        """Go on with the cluster, swarm or engine that answers under this name now."""
        self.links[name].accept_identity()

    def connection(self, name: str) -> Connection | None:
        """The connection as it is shown now."""
        link = self.links.get(name)
        return None if link is None else link.connection

    def backend(self, name: str) -> object | None:
        """The live backend behind a connection; its capabilities are asked by shape (:mod:`console.runtime.ports`)."""
        link = self.links.get(name)
        return None if link is None else link.backend

    def writers(self, ref: Ref) -> tuple[object, ...]:
        """What may write to an object now: who brought it, the dispatch engine if it drives it, then the backend."""
        engine = self.dispatching.writers(ref) if self.dispatching else ()
        found = (*(guest.writer(ref) for guest in self._guests), *engine, self.backend(ref.connection))
        return tuple(writer for writer in found if writer is not None)

    def look(self, kinds: Iterable[str], connections: Iterable[str] | None = None) -> Callable[[], None]:
        """Watch these kinds (on these connections; None: all) while somebody looks; returns the function that ends it.

        Standing kinds are watched anyway and cost nothing here. After the end a kind stays watched for another minute.
        """
        return self._looking.look(tuple(self.links) if connections is None else connections, kinds)

    async def settled(
        self, kinds: Collection[str], timeout: float = 20, connections: Iterable[str] | None = None
    ) -> tuple[KindState, ...]:
        """Wait until it is known what these kinds hold; returns why rows are missing, nothing when all are there.

        A kind that the platform of a connection can't have is not waited for. What is still open when ``timeout`` seconds are
        over, and what is behind a connection that can't be made, comes back as "syncing" with the reason as detail.
        """
        names = tuple(self._started) if connections is None else tuple(connections)
        return await settled(self.store, self.links, names, kinds, timeout)

    async def raw(self, ref: Ref) -> dict[str, Any]:
        """The whole object as its server has it, secrets masked.

        :raises NotServed: this connection can't give whole objects.
        """
        brought = next((found for guest in self._guests if (found := guest.writer(ref)) is not None), None)
        backend = brought or self._reach(ref)
        if not isinstance(backend, ReadsRaw):
            raise NotServed(f"{ref.connection} has no whole objects to show.")
        masked: dict[str, Any] = mask_object(await backend.raw(ref))
        return masked

    async def logs(self, ref: Ref, query: LogQuery | None = None) -> AsyncGenerator[LogLine, None]:
        """Lines as they come; notes about gaps and reconnections are lines too."""
        backend = self._reach(ref)
        if not isinstance(backend, ReadsLogs):
            raise NotServed(f"{ref.connection} has no logs to show.")
        async with aclosing(backend.logs(ref, query or LogQuery())) as lines:
            async for line in lines:
                yield line

    async def log_sources(self, ref: Ref) -> tuple[str, ...]:
        """Names of the containers whose logs can be asked for (empty: only one)."""
        backend = self._reach(ref)
        return await backend.log_sources(ref) if isinstance(backend, ReadsLogs) else ()

    async def stats(self, ref: Ref) -> AsyncGenerator[Sample, None]:
        """About one sample of CPU and memory a second."""
        backend = self._reach(ref)
        if not isinstance(backend, ReadsStats):
            raise NotServed(f"{ref.connection} measures nothing.")
        async with aclosing(backend.stats(ref)) as samples:
            async for sample in samples:
                yield sample

    async def trigger_report(self, ref: Ref) -> TriggerReport | None:
        """What the dispatch engine knows about a trigger or an applier; None for other objects.

        :raises QuarterdeckError: its cluster can't be read now.
        """
        engine = self.dispatching.engines.get(ref.connection) if self.dispatching else None
        return await trigger_report(engine, ref) if engine is not None and ref.kind in TRIGGER_KINDS else None

    async def apply_offer(self, ref: Ref) -> ApplyOffer:
        """Which commits can be asked of a trigger's applier now, and for which reasons.

        :raises NotServed: no applier is behind it. :raises QuarterdeckError: its cluster can't be read now.
        """
        return await offer(self._engine(ref), ref)

    async def preview(self, ref: Ref, commit: str) -> ChangePreview:
        """What applying the commit would change, by a dry run of the server. Nothing is stored.

        :raises NotServed: it can't be told here. :raises QuarterdeckError: something that it needs can't be read or built.
        """
        engine, backend = self._engine(ref), self._reach(ref)
        if not isinstance(backend, HasDryRun):
            raise NotServed(f"{ref.connection} makes no dry runs.")
        questions = backend.dry_run
        try:
            applier = await read_applier(engine, ref)
            return await preview(applier, commit, self._commits, questions, KustomizeProgram(os.environ))
        finally:
            await questions.close()

    def events_about(self, ref: Ref) -> tuple[Event, ...]:
        """Events that speak of this object, newest first."""
        return events_about(self.store, ref)

    def operations_on(self, ref: Ref) -> tuple[Operation, ...]:
        """Operations on this object, those in flight first."""
        return operations_on(self.store, ref)

    def related(self, ref: Ref) -> tuple[Resource, ...]:
        """Objects that this one names, and objects that name it."""
        link = self.links.get(ref.connection)
        return related_to(self.store, ref, link.kinds if link else frozenset())

    def _engine(self, ref: Ref) -> ClusterEngine:
        engine = self.dispatching.engines.get(ref.connection) if self.dispatching else None
        if engine is None:
            raise NotServed(f"{ref.kind} {ref.path} is not driven by this console.")
        return engine

    def _reach(self, ref: Ref) -> object:
        link = self.links.get(ref.connection)
        if link is None:
            raise Unreachable(f"There is no connection {ref.connection}.")
        backend = link.backend
        if backend is None:
            raise Unreachable(f"{ref.connection} is {link.phase.value}: {link.connection.reason}".rstrip(": "))
        return backend

    def _want(self, connection: str, kinds: frozenset[str]) -> None:
        if connection in self.links:
            self.links[connection].want(kinds)

    def _follow_journal(self) -> None:
        journal = self.journal
        who = journal.who if journal else whoami(os.environ)
        if journal is not None:
            folder = self.settings.presence_folder
            presence = Presence(folder, who) if folder else None
            self.history = History(journal, self.store, self.writers, lambda: self.commands.running, presence)
            self._followers.keep("journal", self.history.run)
        self.dispatching = Dispatching(
            self.fleet.triggers,
            self.store,
            self.backend,
            journal,
            self.clock,
            f"quarterdeck-{who.user}-{who.host}-{who.pid}",
            # One process of an account runs engines: the one that holds the journal's lease.
            drives=journal is not None and journal.lease.held and not self._read_only,
            commits=self._commits,
            file=self._fleet_file,
        )
        self._followers.keep("dispatch engines", self.dispatching.run)

    def _publish_operation(self, operation: Operation) -> None:
        self.store.apply(Upserted(operation))

    def _show_arming(self, name: str) -> None:
        link = self.links.get(name)
        if link is not None:
            left = self.arming.left(name)
            link.arm(self.clock.now() + timedelta(seconds=left) if left else None)

    async def _open_journal(self, stack: AsyncExitStack) -> str:
        """Open the journal if there is a place for one; returns why it can't be used."""
        if self._state is None:
            return "There is no state folder."
        try:
            self.journal = await Journal.open(
                self._state / "journal.sqlite3", self.clock, whoami(os.environ), engines=not self._read_only
            )
        except QuarterdeckError as error:
            if not self._read_only:
                self.only_reads = error.sentence()
                self.arming.forbid(error.message, error.hint)
            return error.sentence()
        stack.push_async_callback(self.journal.close)
        if not self._read_only:
            try:
                self.journal.check_writable()
            except JournalError as error:
                self.only_reads = error.sentence()
                self.arming.forbid(error.message, error.hint)
        try:
            await self.journal.retain(self.settings.journal.keep_days)
        except JournalError as error:
            return error.sentence()
        return ""
