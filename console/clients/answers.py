"""What a server answered: its parts, and the error of ours that a refusal means."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from console import errors
from console.kit.masking import mask_text
from console.kit.sanitize import sanitize

T = TypeVar("T")

_MOST_WORDS = 4096
_LONGEST_MESSAGE = 400
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
# What a write may have done although the server calls it a failure: its own backend did not answer in time.
_MAYBE_DONE = re.compile(r"etcdserver: (request timed out|leader changed)|DeadlineExceeded|context deadline exceeded")


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """A complete answer. ``request`` says in words what was asked of whom; ``headers`` have lower-case names.

    ``framed``: the answer carried its own length or end mark, so that a cut would have been noticed. ``safe``: the request
    changes nothing on the server.
    """

    request: str
    status: int
    headers: Mapping[str, str]
    content: bytes
    framed: bool = True
    safe: bool = True

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode("utf-8", "replace")

    @property
    def content_type(self) -> str:
        """The media type without its parameters, in lower case."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def json(self) -> Any:
        """The body as JSON.

        :raises ProtocolError: saying what it is instead. :raises Interrupted: it was cut.
        :raises UnclearAnswer: it can't be read, but the write that it answers has been made.
        """
        return self.decode(_ANY)

    def decode(self, decoder: msgspec.json.Decoder[T]) -> T:
        """The body by a typed decoder; raises as :meth:`json` does."""
        try:
            return decoder.decode(self.content)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._not_json(error) from error

    def _not_json(self, error: Exception) -> errors.QuarterdeckError:
        if is_page(self):
            return errors.ProtocolError(f"{self.request} answered {self.status} with {seen(self)}, not JSON", PROXY_HINT)
        if not self.safe:
            # The server took the request and called it a success in words that can't be read.
            return errors.UnclearAnswer(f"{self.request} answered {self.status}, but unreadably: {seen(self)}", LOOK_HINT)
        if isinstance(error, msgspec.ValidationError):
            return errors.ProtocolError(
                f"{self.request} answered JSON of an unexpected shape: {plain(str(error))}", VERSION_HINT
            )
        if not self.framed:
            return errors.Interrupted(f"{self.request}: the answer broke off after {len(self.content)} bytes", RETRY_HINT)
        return errors.ProtocolError(f"{self.request} answered {seen(self)}, not JSON", PROXY_HINT)


_ANY: msgspec.json.Decoder[Any] = msgspec.json.Decoder()

PROXY_HINT = "A proxy, gateway or login page answers in the server's place: check the address, proxy-url and HTTPS_PROXY."
VERSION_HINT = "The server may be of a version that this console does not know."
LOOK_HINT = "It may have happened: look before doing it again."
RETRY_HINT = "The connection is made again by itself."


def plain(text: str) -> str:
    """Words of a server made fit for a message: one line, harmless, without secrets, not longer than 400 characters."""
    # Looking for secrets in a megabyte without a blank takes minutes; nobody reads on after the first lines.
    text = mask_text(sanitize(" ".join(text[:_MOST_WORDS].split())))
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[: _LONGEST_MESSAGE - 1]}…"


def is_page(response: Response) -> bool:
    """Whether the body is a web page, whatever its headers say."""
    return response.content_type in {"text/html", "application/xhtml+xml"} or response.content[
        :256
    ].lstrip().lower().startswith((b"<!doctype html", b"<html"))


def seen(response: Response) -> str:
    """A body that is not what it should be, in a few words: ``a web page ("Sign in")``, ``text/plain ("no backend")``."""
    if is_page(response):
        title = _TITLE.search(response.text[:20_000])
        return f'a web page ("{plain(title[1])}")' if title else "a web page"
    if not response.content:
        return "an empty body"
    start = plain(response.text[:80])
    return f'{response.content_type or "a body without a type"} ("{start}")'


def server_said(response: Response) -> tuple[str, str, Mapping[str, Any]]:
    """Message, reason and details out of an error body (a Kubernetes Status, Docker's ``message``, plain text)."""
    try:
        body = msgspec.json.decode(response.content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return (seen(response) if is_page(response) else plain(response.text)), "", {}
    if not isinstance(body, dict):
        return plain(response.text), "", {}
    details = body.get("details")
    message = body.get("message") or body.get("error_description") or body.get("error") or ""
    return plain(str(message)), plain(str(body.get("reason") or "")), details if isinstance(details, dict) else {}


def failure(response: Response, *, safe: bool, login_hint: str = "") -> errors.QuarterdeckError:
    """The error that a status outside 2xx and 304 means.

    :param safe: the request changes nothing, so that it can simply be made again.
    """
    status = response.status
    message, reason, details = server_said(response)
    said = f"{response.request}: {message or f'status {status} without a word'}"
    extra: dict[str, Any] = {"status": status, "reason": reason, "details": details}
    page = is_page(response)
    if 300 <= status < 400:
        target = plain(response.headers.get("location", "elsewhere").partition("?")[0])
        return errors.ProtocolError(f"{response.request} redirects to {target}", PROXY_HINT)
    if not safe and (status in {502, 504} or (status >= 500 and _MAYBE_DONE.search(message))):
        return errors.UnclearAnswer(f"{said} ({status})", LOOK_HINT)
    if status == 401:
        return errors.LoginExpired(f"{said} (401)", login_hint or "Log in again for this target; the console then reconnects.")
    if status == 403 and b"forbidden by administrative rules" in response.content:
        # What the usual filters in front of an engine's socket say (HAProxy's words).
        return errors.Forbidden(
            f"{response.request}: not let through", "The filter in front of the engine's socket forbids it.", **extra
        )
    if page and status < 500:
        return errors.ProtocolError(f"{response.request} answered {status} with {message}", PROXY_HINT)
    return _refusal(response, said, message, extra)


def _refusal(response: Response, said: str, message: str, extra: dict[str, Any]) -> errors.QuarterdeckError:
    status = response.status
    if status == 403:
        return errors.Forbidden(
            said, "These credentials may not do it: ask for the permission, or use other credentials.", **extra
        )
    if status == 404:
        return _absent(said, message, extra)
    if status in {409, 412} or "update out of sequence" in message:
        return errors.Conflict(said, "It changed meanwhile, or somebody else owns it: read it again.", **extra)
    if status == 410:
        return errors.Gone(said, "Too old to go on from: list again.", **extra)
    if status in {400, 422, 501}:
        return errors.Invalid(said, "The server did nothing; the request has to be different.", **extra)
    if "not a swarm manager" in message or "not part of a swarm" in message:
        return errors.NotServed(said, "Ask a manager of the swarm instead.", **extra)
    if "does not have a leader" in message:
        return errors.Overloaded(said, "Too few managers are online: bring one back, nothing can change until then.", **extra)
    if status in {429, 502, 503, 504}:
        wait = _retry_after(response, extra["details"])
        hint = (
            f"It is overloaded or restarting; try again in {wait:g} s."
            if wait
            else "It is overloaded or restarting; try again."
        )
        return errors.Overloaded(said, hint, retry_after=wait, **extra)
    if status >= 500:
        return errors.ApiError(f"{said} ({status})", "The server failed inside; its own log says more.", **extra)
    return errors.ApiError(f"{said} ({status})", "The server refused; nothing was changed.", **extra)


def _absent(said: str, message: str, extra: dict[str, Any]) -> errors.ApiError:
    """404 has two meanings: one object isn't there, or nobody here knows such a path.

    Kubernetes names the object in ``details.name``; Docker says "page not found" for an unknown path.
    """
    kubernetes = bool(extra["reason"])
    unknown_path = "page not found" in message or (kubernetes and not extra["details"].get("name")) or not message
    if unknown_path:
        return errors.NotServed(said, "This server does not serve it: a custom resource or an API version is missing.", **extra)
    return errors.NotFound(said, "It isn't there (any more).", **extra)


def _retry_after(response: Response, details: Mapping[str, Any]) -> float:
    for value in (response.headers.get("retry-after"), details.get("retryAfterSeconds")):
        try:
            return max(0.0, float(value or ""))
        except (TypeError, ValueError):
            continue
    return 0.0
