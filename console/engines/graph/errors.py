"""The errors of the graph engine, and the two that providers raise to steer it."""

from __future__ import annotations

from collections.abc import Sequence

from console.errors import QuarterdeckError
from console.model.graph import RunReport


class GraphError(QuarterdeckError):
    """Root of what a run can raise."""


class InvalidGraph(GraphError):
    """The graph can't be worked on; nothing was touched. :attr:`problems` has every one found, not just the first."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        lead = "The graph has a problem" if len(self.problems) == 1 else f"The graph has {len(self.problems)} problems"
        super().__init__(f"{lead}: " + "; ".join(self.problems), "Correct the declarations; nothing has been changed.")


class ReconcileError(GraphError):
    """Something in the run failed. ``__cause__`` is the first failure in identity order; :attr:`report` has all of them."""

    def __init__(self, message: str, report: RunReport) -> None:
        super().__init__(message, "What succeeded is stored; run it again once the cause is mended.")
        self.report = report


class StateNotSaved(GraphError):
    """A provider succeeded but the record could not be written. The intent stays; the next run repairs it."""


class StateNotListed(GraphError):
    """Storage could not say what exists, so nothing was done."""


class PlanStale(GraphError):
    """Storage or graph have changed since the plan was made."""

    def __init__(self, project: str) -> None:
        super().__init__(f"The plan for {project} no longer holds: what it was based on has changed.", "Make a new plan.")


class Busy(GraphError):
    """Another run of the same project is under way; :attr:`holder` is its run id."""

    def __init__(self, project: str, holder: str) -> None:
        super().__init__(f"Run {holder} is working on {project}.", "Wait for it to end, or cancel it.")
        self.holder = holder


class LockLost(GraphError):
    """Another process took the project's lock during the run, so this run stopped."""

    def __init__(self, project: str, holder: str) -> None:
        super().__init__(f"Run {holder} has taken over {project}; this run stopped.", "This machine may have been asleep.")
        self.holder = holder


class SourceMissing(GraphError, LookupError):
    """There is no content behind a source key."""

    def __init__(self, key: str) -> None:
        super().__init__(f"There is no source {key}.")


class UnresolvedReference(GraphError):
    """A parent was made but its output lacks the value that a child needs."""


class ProviderFailed(GraphError):
    """Stands in for a provider's error whose own text would have shown a secret."""


class PermanentError(Exception):
    """Raised by a provider: trying again is of no use. ``cause`` is what gets reported."""

    def __init__(self, cause: BaseException | str) -> None:
        super().__init__(str(cause))
        self.cause: BaseException = cause if isinstance(cause, BaseException) else self


class Retryable(Exception):
    """Raised by a provider: try again although the cause looks final. ``after`` is the least wait in seconds."""

    def __init__(self, cause: BaseException | str, after: float = 0.0) -> None:
        super().__init__(str(cause))
        self.cause: BaseException = cause if isinstance(cause, BaseException) else self
        self.after = after


class GateClosed(Exception):
    """Raised by ``wait_ready``: waiting will not make it ready (it is suspended). Its children are skipped, not failed."""
