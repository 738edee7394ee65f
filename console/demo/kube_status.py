"""Refusals of the simulated Kubernetes API, in the shape of ``meta/v1 Status``."""

from __future__ import annotations

from typing import Any

from console.demo.http_server import Answer
from console.demo.kube_kinds import Kind

_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Expired",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    504: "Timeout",
}


class Refusal(Exception):
    """The server's no. ``details`` and ``metadata`` go into the Status as they are."""

    def __init__(
        self,
        code: int,
        message: str,
        *,
        reason: str = "",
        details: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": metadata or {},
            "status": "Failure",
            "message": message,
            "reason": reason or _REASONS.get(code, "Unknown"),
            "code": code,
        }
        if details:
            self.status["details"] = details

    def answer(self) -> Answer:
        """The refusal as an HTTP answer."""
        seconds = self.status.get("details", {}).get("retryAfterSeconds")
        return Answer.of_json(self.status, self.code, {"Retry-After": str(seconds)} if seconds else None)


def not_found(kind: Kind, name: str) -> Refusal:
    """404 for one object."""
    details = {"name": name, "group": kind.group, "kind": kind.plural}
    return Refusal(404, f'{kind.resource} "{name}" not found', details=details)


def not_served() -> Refusal:
    """404 for a path that this server does not know."""
    return Refusal(404, "the server could not find the requested resource", details={})


def forbidden(user: str, verb: str, kind: Kind, namespace: str, name: str = "") -> Refusal:
    """403 as RBAC words it."""
    named = f' "{name}"' if name else ""
    where = f' in the namespace "{namespace}"' if namespace else " at the cluster scope"
    message = (
        f'{kind.resource}{named} is forbidden: User "{user}" cannot {verb} resource "{kind.plural}" '
        f'in API group "{kind.group}"{where}'
    )
    return Refusal(403, message, details={"name": name, "group": kind.group, "kind": kind.plural})


def invalid(kind: Kind, name: str, *causes: tuple[str, str]) -> Refusal:
    """422 with its causes as (field, message)."""
    listed = [{"reason": "FieldValueInvalid", "message": message, "field": field} for field, message in causes]
    text = ", ".join(f"{field}: {message}" for field, message in causes)
    details = {"name": name, "group": kind.group, "kind": kind.kind, "causes": listed}
    return Refusal(422, f'{kind.kind}.{kind.group} "{name}" is invalid: {text}', details=details)


def stale(kind: Kind, name: str) -> Refusal:
    """409 for a resourceVersion that is no longer the object's."""
    message = (
        f'Operation cannot be fulfilled on {kind.resource} "{name}": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    return Refusal(409, message, details={"name": name, "group": kind.group, "kind": kind.plural})


def uid_mismatch(kind: Kind, name: str, wanted: str) -> Refusal:
    """409 for an apply that names the uid of an object that is not there."""
    message = (
        f'Operation cannot be fulfilled on {kind.resource} "{name}": uid mismatch: the provided object specified uid {wanted}, '
        "and no existing object was found"
    )
    return Refusal(409, message, details={"name": name, "group": kind.group, "kind": kind.plural})


def expired(message: str, new_continue: str = "") -> Refusal:
    """410: a resourceVersion or continue token that is too old, with a token to go on with where there is one."""
    return Refusal(410, message, metadata={"continue": new_continue} if new_continue else None)
