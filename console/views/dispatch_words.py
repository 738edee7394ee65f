"""The words of the dispatch engine, as an operator understands them: outcomes, condition reasons, reasons of an apply, errors.

Sources: sections 1.1 to 1.3 and 4 of the engine's behavioural specification; a test holds these tables against the engine.
"""

from __future__ import annotations

from console.model.health import Health

OUTCOMES: dict[str, tuple[Health, str]] = {
    "Requested": (Health.BUSY, "is asked for; the controller has not taken it up yet"),
    "Running": (Health.BUSY, "is being applied"),
    "Settling": (Health.BUSY, "is applied; it is being suspended again, so that nothing else runs"),
    "Unresolved": (Health.WARN, "has not ended in five minutes; it is still followed, and it may still be applied"),
    "Succeeded": (Health.OK, "was applied"),
    "Failed": (Health.BAD, "was not applied, or not well"),
}
"""How far an operation is: what to say behind the commit."""

CONFIGURED: dict[str, str] = {
    "Succeeded": "everything fits: it exists, it applies what is written, and it may be asked",
    "ApplierNotFound": "the Kustomization or Application that it names does not exist in this cluster",
    "UnsupportedSource": "its source can't be driven commit by commit: it must be one Git repository at a branch",
    "SourceMismatch": "it applies another repository or branch than the target writes",
    "AutomatedSyncEnabled": "automated sync is on: Argo CD would apply the newest commit by itself",
    "Forbidden": "the credentials may not read or write it; an administrator has to grant that",
    "Failed": "the check could not be completed; what was known before still counts",
    "HeldByAnotherTrigger": "another trigger came first for the same applier; this one waits until that one lets go",
    "NotBound": "no target may drive it: each is refused for a reason of its own, or can't be judged yet",
    "NotReferenced": "no GitTarget names it, so there is nothing that it would apply",
    "SuspendOwnedElsewhere": "another manager sets spec.suspend, so it can't be held; take the field out of that manifest",
    "NamespaceNotAuthorized": "its namespace is not admitted by the ClusterProvider",
    "ClusterProviderNotFound": "its ClusterProvider does not exist, so nobody can say whether it is admitted",
}
"""Reasons of ``Configured`` and of references."""

HELD: dict[str, str] = {
    "Suspended": "it is suspended, and the controller has taken note of that: nothing runs",
    "Applying": "it is resumed for one apply and will be suspended again after it",
    "Suspending": "the suspend is written; the controller has not taken note of it yet",
    "Resumed": "somebody else resumed it; it will be suspended again",
}
"""Reasons of ``Held``."""

ASKED: dict[str, str] = {
    "CatchUp": "it may be behind a commit that is known",
    "ForeignCommit": "the branch moved to a commit that was not written from here",
    "Refusal": "the same commit again, to take back a live edit that can't be kept",
    "Repair": "the same commit again, because what the cluster has is uncertain",
    "External": "somebody else applied it; it was found, not asked for",
}
"""Why an apply was asked."""

EVENTS: dict[str, str] = {
    "ApplyRequested": "an apply is on its way to the controller",
    "ApplyRequestFailed": "an apply could not be asked for; nothing was started",
    "ApplyFailed": "an apply ran and did not end well",
    "ApplyUnresolved": "an apply has not ended in five minutes; it is still followed",
}
"""Reasons of the engine's Events."""

ENDS: dict[str, str] = {
    "current": "nothing to do: the commit is applied and the controller is idle",
    "stale": "the world moved since the decision: nothing was started; look again and decide again",
    "permanent": "the configuration does not allow it, and no retry will: nothing was started; change what is named",
    "retryable": "something could not be read, or the source could not fetch: nothing was started; ask again later",
    "unconfirmed": "the answer to the request was lost: it may or may not run, so it is followed and never sent twice",
}
"""How a request can end without a clear start (docs/dispatch.md, "The states of an operation")."""
