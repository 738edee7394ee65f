"""The one error tree of the project: each error says what, where and what to do.

A ``message`` names the thing that failed and the fact seen; a ``hint`` says what the operator can do about it. Neither may
hold a secret: whoever raises takes care of that, since both are shown, logged and journaled as they are.
The original exception is always chained (``raise ... from error``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class QuarterdeckError(Exception):
    """The root. ``str(error)`` is the message; :attr:`hint` may be empty."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message

    def sentence(self) -> str:
        """Message and hint as one line for a log, a status bar or standard error."""
        stop = "." if self.hint and self.message[-1:].isalnum() else ""
        return f"{self.message}{stop} {self.hint}".strip()


class ConfigError(QuarterdeckError):
    """A settings, fleet, kubeconfig or docker context file can't be used as it stands."""


class ConnectionProblem(QuarterdeckError):
    """Something between us and a server; the server has not judged the request."""


class Unreachable(ConnectionProblem):
    """No connection could be made (name, route, refused, TLS handshake, ssh)."""


class TimedOut(ConnectionProblem):
    """A deadline of ours passed before the answer came."""


class Interrupted(ConnectionProblem):
    """The connection broke in mid-answer, or a stream ended without saying that it was complete."""


class UnclearAnswer(ConnectionProblem):
    """A write left, but its answer never came: it may or may not have happened. Resolve by reading, never by writing again."""


class LoginExpired(QuarterdeckError):
    """The server wants (other) credentials: 401, an expired certificate, an exec plugin that needs a person."""


class ApiError(QuarterdeckError):
    """The server answered and refused. ``status`` is the HTTP status, ``reason`` the server's own short word if it gave one.

    ``details`` is what it said beyond words: the ``details`` of a Kubernetes ``Status`` (``causes`` names the fields that
    conflict and their managers); empty elsewhere.
    """

    def __init__(
        self, message: str, hint: str = "", *, status: int = 0, reason: str = "", details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message, hint)
        self.status = status
        self.reason = reason
        self.details: Mapping[str, Any] = details or {}


class Forbidden(ApiError):
    """403: these credentials may not do it. The message names the verb and the resource."""


class NotFound(ApiError):
    """404 for one object: it isn't there (any more)."""


class NotServed(ApiError):
    """404 for a whole kind: this server does not know it (CRD or API version absent)."""


class Conflict(ApiError):
    """409, 412 or a failed ``test``: the object changed since it was read, or another owner holds the field."""


class Gone(ApiError):
    """410: a resourceVersion or a continue token is too old; list again."""


class Invalid(ApiError):
    """400 or 422: the server understood and found the request wrong."""


class Overloaded(ApiError):
    """429 or 503: later. :attr:`retry_after` is in seconds, 0 if the server did not say."""

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        status: int = 0,
        reason: str = "",
        details: Mapping[str, Any] | None = None,
        retry_after: float = 0,
    ) -> None:
        super().__init__(message, hint, status=status, reason=reason, details=details)
        self.retry_after = retry_after


class ProtocolError(QuarterdeckError):
    """The answer is not what this kind of server says: half-written JSON, HTML from a proxy, a wrong content type."""


class IdentityChanged(QuarterdeckError):
    """Another cluster, swarm or engine answers under a name that we know."""


class Refused(QuarterdeckError):
    """We decline before anything left: read-only, not armed, stale data, unlawful in this state."""


class WorldMoved(Refused):
    """What a plan was bound to is no longer so; a fresh plan is needed."""


class JournalError(QuarterdeckError):
    """The journal can't be written or read: no new writes to the world until it can."""
