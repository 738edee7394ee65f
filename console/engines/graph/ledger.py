"""The book of one run: what was meant for each resource, how often it was tried and how it ended, told as events."""

from __future__ import annotations

import asyncio

from console.engines.graph.errors import PermanentError, Retryable
from console.engines.graph.retries import cause_of
from console.engines.graph.telling import Teller
from console.errors import QuarterdeckError
from console.model.graph import Action, Identity, Outcome, ResourceReport
from console.model.graph_events import Finished, Queued, Skipped, Waiting


class Ticket:
    """One resource's entry. ``version`` is set for deletes; ``reached`` is what is true already if it goes no further."""

    __slots__ = (
        "action",
        "attempts",
        "began",
        "cause",
        "duration",
        "error",
        "identity",
        "outcome",
        "reached",
        "reason",
        "version",
    )

    def __init__(self, identity: Identity, version: str = "") -> None:
        self.identity = identity
        self.version = version
        self.action: Action | None = None
        self.attempts = 0
        self.began: float | None = None
        self.duration = 0.0
        self.outcome: Outcome | None = None
        self.reached: Outcome | None = None
        self.error = ""
        self.reason = ""
        self.cause: BaseException | None = None

    def report(self) -> ResourceReport:
        """The entry as it goes into the run's report."""
        return ResourceReport(
            identity=self.identity,
            outcome=self.outcome or Outcome.CANCELLED,
            action=self.action,
            attempts=self.attempts,
            duration=self.duration,
            error=self.error,
            reason=self.reason,
            version=self.version,
        )


class Ledger:
    """All tickets of a run, each opened once and closed once."""

    def __init__(self, teller: Teller) -> None:
        self._teller = teller
        self._tickets: dict[tuple[Identity, str], Ticket] = {}
        self.first_failure: Ticket | None = None

    def queue(self, identity: Identity, version: str = "", parents: tuple[Identity, ...] = ()) -> Ticket:
        """Open a ticket."""
        ticket = self._tickets[identity, version] = Ticket(identity, version)
        self._teller.tell(Queued, identity, version=version)
        if parents:
            self._teller.tell(Waiting, identity, version=version, parents=parents)
        return ticket

    def of(self, identity: Identity, version: str = "") -> Ticket:
        """The ticket of a resource that has been queued."""
        return self._tickets[identity, version]

    def begin(self, ticket: Ticket) -> None:
        """Work on it starts: its duration counts from here."""
        ticket.began = asyncio.get_running_loop().time()

    def finish(self, ticket: Ticket, outcome: Outcome) -> None:
        """Close it."""
        ticket.outcome = outcome
        if ticket.began is not None:
            ticket.duration = asyncio.get_running_loop().time() - ticket.began
        self._teller.tell(
            Finished,
            ticket.identity,
            version=ticket.version,
            outcome=outcome,
            duration=ticket.duration,
            error=ticket.error,
        )
        if outcome is not Outcome.UNCHANGED:
            self._teller.log("%s %s %s", ticket.identity, outcome.value, ticket.error, warning=outcome is Outcome.FAILED)

    def fail(self, ticket: Ticket, error: BaseException) -> None:
        """Close it as failed, with the error's masked text."""
        ticket.cause = cause_of(error)
        ticket.error = self._teller.mask(describe(ticket.cause))
        self.first_failure = self.first_failure or ticket
        self.finish(ticket, Outcome.FAILED)

    def skip(self, ticket: Ticket, reason: str) -> None:
        """Close it untried."""
        ticket.outcome = Outcome.SKIPPED
        ticket.reason = self._teller.mask(reason)
        self._teller.tell(Skipped, ticket.identity, version=ticket.version, reason=ticket.reason)

    def cancel_open(self) -> None:
        """Close whatever is still open, as cancelled."""
        for ticket in self._tickets.values():
            if ticket.outcome is None:
                self.finish(ticket, Outcome.CANCELLED)

    def sorted(self) -> list[Ticket]:
        """Wanted resources in identity order, then deletes."""
        return sorted(self._tickets.values(), key=lambda ticket: (bool(ticket.version), ticket.identity, ticket.version))

    def failures(self) -> list[Ticket]:
        """The failed ones, in identity order."""
        return [ticket for ticket in self.sorted() if ticket.outcome is Outcome.FAILED]


def describe(error: BaseException) -> str:
    """An error in one line: our own with their hint, a provider's own words as they are, others with their type in front."""
    if isinstance(error, QuarterdeckError):
        return error.sentence()
    text = str(error)
    if text and isinstance(error, PermanentError | Retryable):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
