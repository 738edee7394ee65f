"""One HTTP client per server: sends, judges the answer, and raises only errors of :mod:`console.errors`.

A read over a kept connection that turns out dead is sent once more on a new one. A write is never sent twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import httpx
import msgspec

from console import __version__, errors
from console.clients.answers import LOOK_HINT, RETRY_HINT, Response, failure
from console.clients.endpoint import Endpoint
from console.clients.transport import WIRE_ERRORS, Exchange, PoolTransport, connection_problem

Params: TypeAlias = Mapping[str, str | int | float | bool | Sequence[str]]

_READS = frozenset({"GET", "HEAD", "OPTIONS"})
# httpx fails by itself too: a broken gzip body, a header that isn't one.
_FAILURES = (*WIRE_ERRORS, httpx.HTTPError, httpx.InvalidURL)
_TRIES = 3


class StreamAnswer(msgspec.Struct, frozen=True):
    """A streamed answer: its head, and its body as it comes, in pieces of any size."""

    status: int
    headers: Mapping[str, str]
    body: AsyncIterator[bytes]


class HttpClient:
    """Talks to one endpoint. Nothing happens before the first request; :meth:`close` gives back every socket and child."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._client: httpx.AsyncClient | None = None
        self._certificate: tuple[bytes, bytes] | None = None
        self._closed = False

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        json: Any = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        safe: bool | None = None,
    ) -> Response:
        """One request and its whole answer (2xx or 304); anything else raises.

        :param json: sent as JSON unless ``content`` (bytes as they are) is given.
        :param timeout: seconds for connecting, sending and the whole answer.
        :param safe: it changes nothing on the server; by default true for GET, HEAD and OPTIONS.
        :raises UnclearAnswer: something not safe left, and no answer came.
        """
        safe = method in _READS if safe is None else safe
        if content is None and json is not None:
            content = msgspec.json.encode(json)
            headers = {"Content-Type": "application/json", **(headers or {})}
        renewed = False
        for attempt in range(1, _TRIES + 1):
            exchange = Exchange(f"{method} {path} on {self.endpoint.label}")
            again = safe and attempt < _TRIES
            request = await self._build(method, path, params, content, {"Accept-Encoding": "gzip", **(headers or {})}, exchange)
            try:
                async with asyncio.timeout(timeout) as deadline:
                    return await self._whole(request, exchange, safe)
            except _FAILURES as error:
                if isinstance(error, TimeoutError) and deadline.expired():
                    raise self._too_late(exchange, timeout, safe) from error
                if not (again and exchange.stale):
                    raise self._problem(error, exchange, safe) from error
            except errors.LoginExpired:
                if self.endpoint.rejected is None:
                    raise
                self.endpoint.rejected()
                if renewed or not again:
                    raise
                renewed = True
        raise AssertionError("the last try returns or raises")

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        json: Any = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = 30.0,
        silence: float | None = None,
        open_ended: bool = False,
        safe: bool | None = None,
    ) -> AsyncIterator[StreamAnswer]:
        """An answer that is read while it comes; leaving the block drops the connection.

        :param timeout: seconds until the head of the answer (None: a log may be silent from the start).
        :param silence: seconds without a byte after which the stream counts as dead (:class:`TimedOut`).
        :param open_ended: this answer may rightly end with its connection (Docker's raw streams); else that is
            :class:`Interrupted`.
        """
        safe = method in _READS if safe is None else safe
        if content is None and json is not None:
            content = msgspec.json.encode(json)
            headers = {"Content-Type": "application/json", **(headers or {})}
        exchange = Exchange(f"{method} {path} on {self.endpoint.label}")
        response = await self._head(method, path, params, content, headers, exchange, timeout, safe)
        try:
            body = self._pieces(response, exchange, silence, safe, open_ended)
            try:
                yield StreamAnswer(response.status_code, _headers(response), body)
            finally:
                await body.aclose()
        finally:
            await response.aclose()

    async def stream_bytes(self, method: str, path: str, **options: Any) -> AsyncGenerator[bytes, None]:
        """The body of :meth:`stream` in pieces. Close it (``contextlib.aclosing``) when leaving early."""
        async with self.stream(method, path, **options) as answer:
            async for piece in answer.body:
                yield piece

    async def close(self) -> None:
        """Drop all connections, streams included. The client can't be used afterwards."""
        self._closed = True
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _build(
        self,
        method: str,
        path: str,
        params: Params | None,
        content: bytes | None,
        headers: Mapping[str, str],
        exchange: Exchange,
    ) -> httpx.Request:
        endpoint = self.endpoint
        own = {**headers, **(await endpoint.auth() if endpoint.auth else {})}
        client = await self._ready()
        try:
            return client.build_request(
                method,
                endpoint.base_url.rstrip("/") + path,
                params=params,
                content=content,
                headers=[*own.items(), *endpoint.headers],
                extensions={"trace": exchange.trace},
            )
        except (httpx.InvalidURL, ValueError) as error:
            raise errors.ConfigError(
                f"{endpoint.label} can't be used as an address with {path}", "Check the server's URL."
            ) from error

    async def _ready(self) -> httpx.AsyncClient:
        """The pool; a new one when the client certificate has changed, since a connection keeps the one it began with."""
        endpoint = self.endpoint
        certificate = await endpoint.certificate() if endpoint.certificate else None
        if self._closed:
            raise errors.Unreachable(f"{endpoint.label}: this connection has been closed")
        if self._client is None or certificate != self._certificate:
            old, self._certificate = self._client, certificate
            self._client = httpx.AsyncClient(
                transport=PoolTransport(endpoint, certificate),
                trust_env=False,
                follow_redirects=False,
                timeout=httpx.Timeout(None, connect=endpoint.connect_timeout),
                headers={"User-Agent": f"quarterdeck/{__version__}"},
            )
            if old is not None:
                client = self._client
                await old.aclose()
                return client
        return self._client

    async def _whole(self, request: httpx.Request, exchange: Exchange, safe: bool) -> Response:
        response = await self._send(request)
        try:
            await response.aread()
        finally:
            await response.aclose()
        return self._judged(response, exchange, safe)

    async def _head(
        self,
        method: str,
        path: str,
        params: Params | None,
        content: bytes | None,
        headers: Mapping[str, str] | None,
        exchange: Exchange,
        timeout: float | None,
        safe: bool,
    ) -> httpx.Response:
        """The head of a good answer; a refusal is read to its end and raised."""
        request = await self._build(method, path, params, content, {"Accept-Encoding": "identity", **(headers or {})}, exchange)
        try:
            async with asyncio.timeout(timeout) as deadline:
                response = await self._send(request)
                page = "html" in response.headers.get("content-type", "")
                if page or not _good(response.status_code):
                    try:
                        await response.aread()
                    finally:
                        await response.aclose()
                    # A page is no stream of anything that we ask for; decoding it says what it is.
                    self._judged(response, exchange, safe).json()
        except _FAILURES as error:
            if isinstance(error, TimeoutError) and deadline.expired():
                raise self._too_late(exchange, timeout or 0, safe) from error
            raise self._problem(error, exchange, safe) from error
        except errors.LoginExpired:
            if self.endpoint.rejected is not None:
                self.endpoint.rejected()
            raise
        return response

    async def _send(self, request: httpx.Request) -> httpx.Response:
        client = self._client
        if client is None:
            raise errors.Unreachable(f"{self.endpoint.label}: this connection has been closed")
        return await client.send(request, stream=True)

    async def _pieces(
        self, response: httpx.Response, exchange: Exchange, silence: float | None, safe: bool, open_ended: bool
    ) -> AsyncGenerator[bytes, None]:
        pieces = response.aiter_bytes()
        while True:
            try:
                async with asyncio.timeout(silence) as watchdog:
                    piece = await anext(pieces)
            except StopAsyncIteration:
                break
            except _FAILURES as error:
                if isinstance(error, TimeoutError) and watchdog.expired():
                    raise errors.TimedOut(f"{exchange.request}: not a byte for {silence:g} s", RETRY_HINT) from error
                raise self._problem(error, exchange, safe) from error
            yield piece
        if not (open_ended or _framed(response)):
            raise errors.Interrupted(f"{exchange.request}: the stream ended without its end mark", RETRY_HINT)

    def _judged(self, response: httpx.Response, exchange: Exchange, safe: bool) -> Response:
        answer = Response(
            request=exchange.request,
            status=response.status_code,
            headers=_headers(response),
            content=response.content,
            framed=_framed(response),
            safe=safe,
        )
        if _good(answer.status):
            return answer
        raise failure(answer, safe=safe, login_hint=self.endpoint.login_hint)

    def _problem(self, error: Exception, exchange: Exchange, safe: bool) -> errors.QuarterdeckError:
        problem = connection_problem(error, exchange, self.endpoint, safe=safe)
        if isinstance(problem, errors.LoginExpired) and self.endpoint.rejected is not None:
            self.endpoint.rejected()
        return problem

    def _too_late(self, exchange: Exchange, timeout: float, safe: bool) -> errors.QuarterdeckError:
        if not exchange.sent:
            return errors.Unreachable(f"{self.endpoint.label}: no connection within {timeout:g} s", "Check the route or VPN.")
        if not safe:
            return errors.UnclearAnswer(
                f"{exchange.request} was sent, but no answer came within {timeout:g} s",
                LOOK_HINT,
            )
        return errors.TimedOut(f"{exchange.request}: no answer within {timeout:g} s", "The server hangs or is overloaded.")


def _good(status: int) -> bool:
    return 200 <= status < 300 or status == 304


def _headers(response: httpx.Response) -> Mapping[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def _framed(response: httpx.Response) -> bool:
    """Whether the body says itself where it ends."""
    headers = response.headers
    return (
        "content-length" in headers or "chunked" in headers.get("transfer-encoding", "") or response.status_code in {204, 304}
    )
