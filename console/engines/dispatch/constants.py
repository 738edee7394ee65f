"""Names and durations of the dispatch engine: what is on the wire, what is in a condition, how long things may take.

Durations are seconds. Sources: sections 3 and 4 of the behavioural specification of the engine.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

REQUESTED_AT = "reconcile.fluxcd.io/requestedAt"
"""Annotation by which Flux is asked for a reconcile; its controllers copy it to ``status.lastHandledReconcileAt``."""

ARGO_REQUEST_INFO = "gitops-reverser/request"
"""Name of the ``info`` entry that carries our token in an Argo CD operation."""

ARGO_FENCE = "gitops-reverser/settled"
"""Annotation on an Application with the token of an operation that was given up unseen; writing it keeps a late update out."""

FIELD_MANAGER = "gitops-reverser"
"""Default field manager of every write to an applier. Two engines of one name could not tell each other's fields apart."""

ARGOCD_INITIATOR = "gitops-reverser"
"""``operation.initiatedBy.username`` of an Argo CD operation."""

FINALIZER = "configbutler.ai/kustomization-hold"
"""On a FluxTrigger: it keeps its Kustomization suspended, or is just handing it back or over."""

LOCAL_RECORD = "quarterdeck/dispatch"
"""Annotation on an applier that carries the record of a local trigger."""

DEFAULT_CLUSTER = "default"
"""Name of the ClusterProvider where none is given."""


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """Every duration of the engine; settable before start and not after."""

    attempt_timeout: float = 30.0
    """One attempt up to and including its starting write; a wait for a running Argo CD operation is not counted."""
    write_timeout: float = 10.0
    """The starting write alone: what has not answered by then is unconfirmed."""
    operation_wait: float = 300.0
    """How long an Argo CD request waits for a running operation; 0 fails at once."""
    poll_interval: float = 2.0
    """Between two reads of an operation's progress, of a fetch, of a running foreign operation."""
    unresolved_after: float = 300.0
    """After this an operation that has not ended is Unresolved (and still followed)."""
    unresolved_poll_max: float = 60.0
    """Cap of the doubling interval after Unresolved."""
    status_retry_interval: float = 5.0
    """Before a failed status write is tried again."""
    record_clock_slack: float = 1.0
    """Tolerance between a controller's whole-second timestamps and ours; more would take the apply before as evidence."""
    late_write_grace: float = 75.0
    """How long a write of unknown fate may still land: the API server's 60 s request timeout and some."""


class Reason(StrEnum):
    """Why an apply is asked. ``External`` only marks an apply that was found, not asked for."""

    FOREIGN_COMMIT = "ForeignCommit"
    CATCH_UP = "CatchUp"
    REFUSAL = "Refusal"
    REPAIR = "Repair"
    EXTERNAL = "External"

    @property
    def may_be_current(self) -> bool:
        """Whether "already applied" is an answer; a Refusal or a Repair applies the unchanged commit on purpose."""
        return self in (Reason.FOREIGN_COMMIT, Reason.CATCH_UP)


class Outcome(StrEnum):
    """How far an operation is. The order of "earlier" is that of :func:`point`."""

    REQUESTED = "Requested"
    RUNNING = "Running"
    SETTLING = "Settling"
    UNRESOLVED = "Unresolved"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"

    @property
    def complete(self) -> bool:
        """Whether the applier itself said that the operation ended."""
        return self in (Outcome.SUCCEEDED, Outcome.FAILED)


def point(outcome: Outcome) -> int:
    """Position of an outcome in an operation's life; both complete ones share the last."""
    return min(list(Outcome).index(outcome), list(Outcome).index(Outcome.SUCCEEDED))


class RequestOutcome(StrEnum):
    """What a request did."""

    CURRENT = "Current"
    RESUMED = "Resumed"
    SYNC_REQUESTED = "SyncRequested"


class ConditionReason(StrEnum):
    """Exact reasons of the conditions ``Configured``, ``Held`` and ``ApplyTriggerReady``."""

    SUCCEEDED = "Succeeded"
    APPLIER_NOT_FOUND = "ApplierNotFound"
    UNSUPPORTED_SOURCE = "UnsupportedSource"
    SOURCE_MISMATCH = "SourceMismatch"
    AUTOMATED_SYNC_ENABLED = "AutomatedSyncEnabled"
    FORBIDDEN = "Forbidden"
    FAILED = "Failed"
    HELD_BY_ANOTHER_TRIGGER = "HeldByAnotherTrigger"
    NOT_BOUND = "NotBound"
    NOT_REFERENCED = "NotReferenced"
    SUSPEND_OWNED_ELSEWHERE = "SuspendOwnedElsewhere"
    NAMESPACE_NOT_AUTHORIZED = "NamespaceNotAuthorized"
    CLUSTER_PROVIDER_NOT_FOUND = "ClusterProviderNotFound"
    SUSPENDED = "Suspended"
    APPLYING = "Applying"
    SUSPENDING = "Suspending"
    RESUMED = "Resumed"


class EventReason(StrEnum):
    """Exact reasons of the Events on GitTargets."""

    APPLY_REQUESTED = "ApplyRequested"
    APPLY_REQUEST_FAILED = "ApplyRequestFailed"
    APPLY_FAILED = "ApplyFailed"
    APPLY_UNRESOLVED = "ApplyUnresolved"

    @property
    def type(self) -> str:
        """The Kubernetes event type."""
        return "Normal" if self is EventReason.APPLY_REQUESTED else "Warning"
