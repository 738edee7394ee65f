"""How a client call fails, and what a failed write or read means.

Every client call ends in a result or in exactly one of the three errors here (section 1.3 of the specification). The fourth
kind, a starting write of unknown fate, is not an error: it is followed like a started operation.
"""

from __future__ import annotations

from enum import StrEnum

from console.engines.dispatch.constants import ConditionReason
from console.engines.dispatch.records import told
from console.errors import (
    ApiError,
    Conflict,
    Forbidden,
    LoginExpired,
    NotFound,
    NotServed,
    QuarterdeckError,
    Unreachable,
)


class DispatchError(QuarterdeckError):
    """Nothing was started. The message may quote what a controller or a person wrote: it is made short and harmless."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(told(message), hint)


class PermanentError(DispatchError):
    """Configuration that no retry can fix. ``reason`` is a condition reason."""

    def __init__(self, reason: ConditionReason, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.reason = reason


class StaleError(DispatchError):
    """The decision no longer holds: what it was made about has moved."""


class RetryableError(DispatchError):
    """A read or a check failed, or the source could not be brought to the commit."""


class PrefetchHeldError(DispatchError):
    """The applier's source is not the one whose consumers were checked; nothing was fetched ahead."""


class NotPrefetchedError(DispatchError):
    """The source holds the commit already."""


_IN_DOUBT = (408, 499)
"""Statuses below 500 by which proxies speak of time and lost connections, not of the request."""


class WriteFate(StrEnum):
    """What is known about a starting write that did not answer with success."""

    NOT_MADE = "not made"
    GONE = "gone"
    CONFLICT = "conflict"
    FORBIDDEN = "forbidden"
    UNCONFIRMED = "unconfirmed"


def classify_write(error: QuarterdeckError) -> WriteFate:
    """The fate of a starting write that raised ``error`` (table 1.3).

    Only what is known *not* to have been made is called so: an answer below 500, or a connection that never opened. A 503
    may come from a proxy in front of a server that did it; a 429 is given before anything is done.
    """
    if isinstance(error, Conflict):
        return WriteFate.CONFLICT
    if isinstance(error, Forbidden):
        return WriteFate.FORBIDDEN
    if isinstance(error, NotFound | NotServed):
        return WriteFate.GONE
    if isinstance(error, Unreachable | LoginExpired):
        return WriteFate.NOT_MADE
    if isinstance(error, ApiError) and 400 <= error.status < 500 and error.status not in _IN_DOUBT:
        return WriteFate.NOT_MADE
    return WriteFate.UNCONFIRMED


def read_fault(
    error: QuarterdeckError, what: str, missing: ConditionReason = ConditionReason.APPLIER_NOT_FOUND
) -> DispatchError:
    """The error of a *read* of an applier or its source inside a request; raise it ``from`` the original."""
    if isinstance(error, NotFound | NotServed):
        return PermanentError(missing, f"{what} does not exist: {error}")
    if isinstance(error, Forbidden | LoginExpired):
        return PermanentError(ConditionReason.FORBIDDEN, f"{what} may not be read: {error}")
    return RetryableError(f"{what} could not be read: {error}")
