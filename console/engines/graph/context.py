"""What all parts of one run share, and how they call providers."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, TypeVar

from console.engines.graph.deciding import typed
from console.engines.graph.driver import Driver, Lease, Slots
from console.engines.graph.errors import GraphError
from console.engines.graph.laid_out import Layout
from console.engines.graph.ledger import Ledger, Ticket, describe
from console.engines.graph.providers import Previous, Request, Traits
from console.engines.graph.retries import BackoffFactory, attempt, cause_of
from console.engines.graph.saving import Saver
from console.engines.graph.telling import Teller
from console.engines.graph.values import canonical, canonical_bytes
from console.engines.ports.storage import ResourceStorage, SourceStorage
from console.kit.paths import get_path
from console.kit.timing import Clock
from console.model.graph import Action, Deployed, Identity, Path
from console.model.graph_events import GateWaiting, Progress, Retrying, Started

T = TypeVar("T")


class RunContext:
    """One run's identity, helpers and bookkeeping."""

    def __init__(
        self,
        *,
        run_id: str,
        project: str,
        layout: Layout,
        storage: ResourceStorage,
        sources: SourceStorage | None,
        new_id: Callable[[], str],
        concurrency: int,
        backoff: BackoffFactory,
        clock: Clock,
        teller: Teller,
        hash_key: bytes,
        fail_fast: bool = False,
    ) -> None:
        self.run_id = run_id
        self.project = project
        self.layout = layout
        self.storage = storage
        self.sources = sources
        self.new_id = new_id
        self.concurrency = concurrency
        self.clock = clock
        self.teller = teller
        self.fail_fast = fail_fast
        self.saver = Saver(storage, project)
        self.ledger = Ledger(teller)
        self._backoff = backoff
        self.hash_key = hash_key
        self._groups: dict[str, asyncio.Semaphore] = {}
        self._driver: Driver[Any] | None = None
        self._stopped: GraphError | None = None

    async def drive(
        self,
        before: Mapping[T, Any],
        visit: Callable[[T], Callable[[Lease], Any] | None],
        settled: Callable[[T, asyncio.Task[None]], None],
    ) -> None:
        """Walk an order with this run's limit. Raises what :meth:`stop` was given, if the run has been stopped by that."""
        if self._stopped is None:
            self._driver = Driver(before, Slots(self.concurrency), visit, settled, self.saver.under_way)
            try:
                await self._driver.run()
            finally:
                if self._driver.stopping:
                    self.saver.close()
        if self._stopped is not None:
            raise self._stopped

    def stop(self, error: GraphError | None = None) -> None:
        """Start nothing more and cancel what runs; with an error, end the run with it."""
        self._stopped = self._stopped or error
        if self._driver is not None:
            self._driver.stop()

    @property
    def stopping(self) -> bool:
        """Whether the present step has been told to stop."""
        return self._driver is not None and self._driver.stopping

    async def call(
        self,
        ticket: Ticket,
        traits: Traits,
        lease: Lease,
        operation: Callable[[], Awaitable[T]],
        action: Action | None = None,
    ) -> T:
        """A provider's operation, with its time limit, its group's limit and retries. With an action, tries are told."""

        async def once() -> T:
            if action is not None:
                ticket.attempts += 1
                self.teller.tell(Started, ticket.identity, version=ticket.version, action=action, attempt=ticket.attempts)
            async with self._group(traits):
                async with asyncio.timeout(traits.timeout):
                    return await operation()

        return await attempt(once, pauses=self._backoff(), sleep=lease.sleep, on_retry=self._on_retry(ticket))

    async def wait_ready(self, ticket: Ticket, traits: Traits, request: Request[Any, Any]) -> None:
        """The gate of a resource, outside any slot. Raises :class:`GraphError` when its time is up."""
        assert traits.wait_ready is not None
        gate = traits.wait_ready
        self.teller.tell(GateWaiting, ticket.identity)
        try:
            async with asyncio.timeout(traits.ready_timeout) as limit:
                await attempt(
                    lambda: gate(request), pauses=self._backoff(), sleep=asyncio.sleep, on_retry=self._on_retry(ticket)
                )
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise GraphError(f"{ticket.identity} was not ready within {traits.ready_timeout:g} s.") from error

    def _on_retry(self, ticket: Ticket) -> Callable[[int, float, BaseException], None]:
        def told(number: int, pause: float, error: BaseException) -> None:
            text = self.teller.mask(describe(cause_of(error)))
            self.teller.log("%s attempt %d failed, next in %.1f s: %s", ticket.identity, number, pause, text)
            self.teller.tell(Retrying, ticket.identity, version=ticket.version, attempt=number, delay=pause, error=text)

        return told

    def _group(self, traits: Traits) -> AbstractAsyncContextManager[None]:
        if not traits.group or traits.group_limit <= 0:
            return nullcontext()
        return self._groups.setdefault(traits.group, asyncio.Semaphore(traits.group_limit))

    def request(
        self,
        ticket: Ticket,
        traits: Traits,
        values: Mapping[str, Any],
        *,
        id: str,  # noqa: A002 - the word of the domain
        output: Mapping[str, Any] | None = None,
        sources: tuple[str, ...] = (),
        previous: Deployed | None = None,
        config_changed: bool = False,
        sources_changed: bool = False,
    ) -> Request[Any, Any]:
        """What a provider is handed. An output of nothing at all is passed as None where the model wants more."""
        provider = traits.provider

        def progress(text: str, done: int = 0, total: int = 0) -> None:
            self.teller.tell(
                Progress, ticket.identity, version=ticket.version, text=self.teller.mask(text), done=done, total=total
            )

        return Request(
            run_id=self.run_id,
            project=self.project,
            identity=ticket.identity,
            id=id,
            input=typed(values, provider.input_model),
            output=self._output(output, provider.output_model),
            sources=sources,
            previous=None
            if previous is None
            else Previous(
                input=typed(previous.input, provider.input_model),
                output=self._output(previous.output, provider.output_model),
                sources=previous.sources,
            ),
            config_changed=config_changed,
            sources_changed=sources_changed,
            progress=progress,
            open_source=self.sources.open if self.sources is not None else None,
        )

    @staticmethod
    def _output(output: Mapping[str, Any] | None, model: Any) -> Any:
        if output is None:
            return None
        form = typed(output, model)
        return None if form == {} and model is not dict else form

    def stored_request(self, ticket: Ticket, record: Deployed) -> Request[Any, Any]:
        """The request for deleting, reading or awaiting a stored resource."""
        traits = self.layout.traits(record.kind)
        return self.request(ticket, traits, record.input, id=record.id, output=record.output, sources=record.sources)

    def input_hash(self, values: Mapping[str, Any], traits: Traits) -> str:
        """Keyed hash of an input's canonical form."""
        form = canonical_bytes(canonical(values, traits.provider.input_model))
        return hmac.new(self.hash_key, form, hashlib.sha256).hexdigest()

    def learn_secrets(self, record: Deployed) -> None:
        """Have the secrets of a record masked from now on."""
        for path in record.secret_paths:
            self.teller.mask.learn(get_path({"input": record.input, "output": record.output}, path))

    def learn_values(self, values: Mapping[str, Any], paths: tuple[Path, ...]) -> None:
        """Have the values at these paths masked from now on."""
        for path in paths:
            self.teller.mask.learn(get_path(values, path))

    def fail(self, ticket: Ticket, error: BaseException) -> None:
        """Close a ticket as failed; in a fail-fast run that stops everything."""
        self.ledger.fail(ticket, error)
        if self.fail_fast:
            self.stop()

    def good(self, identity: Identity) -> bool:
        """Whether a wanted resource is settled and as wanted."""
        outcome = self.ledger.of(identity).outcome
        return outcome is not None and outcome.good
