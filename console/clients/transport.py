"""The bridge from httpx to sockets: one pool per server over tcp, TLS, a unix socket, a proxy or ssh.

httpx's own transport can't be given a network backend, so this one drives httpcore's pool through its public interface. What
goes wrong on the way surfaces as httpcore's exceptions; :func:`connection_problem` turns them into ours.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

import httpcore
import httpx

from console import errors
from console.clients.answers import LOOK_HINT, RETRY_HINT, plain
from console.clients.endpoint import Endpoint, tls_context
from console.clients.ssh import SshBackend, ssh_hint
from console.clients.unix_sockets import UnixBackend

# An idle connection is given up before the usual load balancers forget it, so that a write rarely meets a dead one.
KEEPALIVE = 30.0

# What httpcore, anyio and the ssl module raise when a connection can't be made or breaks.
WIRE_ERRORS = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.TimeoutException,
    httpcore.ProxyError,
    ssl.SSLError,
    OSError,
    UnicodeError,  # a host name that can't be one
)


class Exchange:
    """How far one request got: :attr:`opened` a connection for it, began to be :attr:`sent`, was :attr:`answered`."""

    def __init__(self, request: str) -> None:
        self.request = request
        self.opened = False
        self.sent = False
        self.answered = False

    @property
    def stale(self) -> bool:
        """Whether it went over a kept connection and met with nothing: most likely that had been dead before."""
        return self.sent and not self.opened and not self.answered

    async def trace(self, name: str, info: dict[str, Any]) -> None:
        """httpcore's trace extension."""
        if name.endswith("send_request_headers.started"):
            # The CONNECT to a proxy isn't our request yet.
            self.sent = self.sent or info["request"].method != b"CONNECT"
        elif name.startswith("connection.connect_"):
            self.opened = True
        elif name.endswith("receive_response_headers.complete"):
            self.answered = self.sent


class PoolTransport(httpx.AsyncBaseTransport):
    """All connections to one endpoint.

    :param certificate: client certificate and key to use in place of the endpoint's own.
    """

    def __init__(self, endpoint: Endpoint, certificate: tuple[bytes, bytes] | None = None) -> None:
        self._ssh = SshBackend(endpoint.ssh) if endpoint.ssh else None
        context = tls_context(endpoint, certificate) if endpoint.secure else None
        self._sockets = _Sockets(urlsplit(endpoint.base_url).hostname or "", endpoint.server_name)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context,
            proxy=_proxy(endpoint.proxy) if endpoint.proxy else None,
            # Each watch and each log holds one for long: a limit would let them starve the short requests.
            max_connections=None,
            # Over ssh each idle one is a process.
            max_keepalive_connections=4 if endpoint.ssh else None,
            keepalive_expiry=KEEPALIVE,
            uds=endpoint.uds or None,
            network_backend=self._ssh or self._sockets,
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; httpcore's exceptions pass through."""
        url = request.url
        sent = httpcore.Request(
            method=request.method,
            url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        async with self._sockets.closing_on_failure():
            response = await self._pool.handle_async_request(sent)
        assert isinstance(response.stream, AsyncIterable)
        return httpx.Response(response.status, headers=response.headers, stream=_Body(response.stream))

    async def aclose(self) -> None:
        """Close all connections and end the ssh children."""
        await self._pool.aclose()
        if self._ssh is not None:
            await self._ssh.close()


class _Body(httpx.AsyncByteStream):
    def __init__(self, stream: AsyncIterable[bytes]) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            yield chunk

    async def aclose(self) -> None:
        close = getattr(self._stream, "aclose", None)
        if close is not None:
            await close()


class _Sockets(httpcore.AsyncNetworkBackend):
    """Opens sockets; checks the server's certificate against another name (``tls-server-name``), through proxies as well.

    httpcore forgets a socket whose TLS or SOCKS handshake was cancelled or failed: what a request opened is closed here if it
    fails.
    """

    def __init__(self, host: str, name: str) -> None:
        self._inner = httpcore.AnyIOBackend()
        self._host, self._name = host, name
        self._opened: dict[asyncio.Task[Any] | None, httpcore.AsyncNetworkStream] = {}

    @asynccontextmanager
    async def closing_on_failure(self) -> AsyncIterator[None]:
        """Around one request of the running task, in which httpcore makes the connection too."""
        task = asyncio.current_task()
        try:
            yield
        except BaseException:
            stream = self._opened.pop(task, None)
            if stream is not None:
                await stream.aclose()
            raise
        finally:
            self._opened.pop(task, None)

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        stream = await self._inner.connect_tcp(host, port, timeout, local_address, socket_options)
        self._opened[asyncio.current_task()] = stream
        return _NamedStream(stream, self._host, self._name) if self._name else stream

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None
    ) -> httpcore.AsyncNetworkStream:
        stream = await UnixBackend().connect_unix_socket(path, timeout, socket_options)
        self._opened[asyncio.current_task()] = stream
        return stream

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _NamedStream(httpcore.AsyncNetworkStream):
    def __init__(self, inner: httpcore.AsyncNetworkStream, host: str, name: str) -> None:
        self._inner, self._host, self._name = inner, host, name

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return await self._inner.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        name = self._name if server_hostname == self._host else server_hostname
        return _NamedStream(await self._inner.start_tls(ssl_context, name, timeout), self._host, self._name)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


def _proxy(url: str) -> httpcore.Proxy:
    parts = urlsplit(url)
    auth = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    if parts.scheme not in {"http", "https", "socks5", "socks5h"} or not parts.hostname:
        raise errors.ConfigError(f"{plain(url)} can't be used as a proxy.", "Give http://, https:// or socks5:// and a host.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 1080)
    context = tls_context(Endpoint(base_url=url)) if parts.scheme == "https" else None
    return httpcore.Proxy(f"{parts.scheme}://{host}:{port}", auth=auth, ssl_context=context)


def connection_problem(error: Exception, exchange: Exchange, endpoint: Endpoint, *, safe: bool) -> errors.QuarterdeckError:
    """What a failure on the wire means, by how far the request had got."""
    where, words = endpoint.label, _words(error)
    tls = _cause(error, ssl.SSLError)
    if isinstance(tls, ssl.SSLCertVerificationError):
        hint = "Check certificate-authority, tls-server-name and the address; don't switch the check off."
        return errors.Unreachable(f"{where}: the server's certificate is not accepted: {tls.verify_message}.", hint)
    if tls is not None and tls.reason and ("CERTIFICATE" in tls.reason or "UNKNOWN_CA" in tls.reason) and "ALERT" in tls.reason:
        hint = endpoint.login_hint or "Renew the client certificate, or check that it belongs to this server."
        return errors.LoginExpired(f"{where}: the server does not accept our client certificate ({words}).", hint)
    if tls is not None and tls.reason in {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"} and not exchange.sent:
        return errors.Unreachable(
            f"{where}: what answers there does not speak TLS.", "Is it an http:// address, or another port?"
        )
    if isinstance(error, httpcore.ProxyError):
        return errors.Unreachable(
            f"{where}: the proxy {_proxy_label(endpoint)} refused: {words}.", "Check the proxy and its credentials."
        )
    if isinstance(error, httpcore.UnsupportedProtocol | httpcore.LocalProtocolError):
        return errors.ProtocolError(
            f"{exchange.request} can't be put in HTTP: {words}.", "A header or the path has a character it may not have."
        )
    if not exchange.sent:
        if isinstance(error, TimeoutError | httpcore.TimeoutException):
            words = f"no connection within {endpoint.connect_timeout:g} s"
        return errors.Unreachable(f"{where}: {words}.", _reach_hint(endpoint, words))
    if not safe:
        return errors.UnclearAnswer(
            f"{exchange.request} was sent, but its answer was lost: {words}.",
            LOOK_HINT,
        )
    if exchange.answered:
        return errors.Interrupted(f"{exchange.request}: the answer broke off: {words}.", RETRY_HINT)
    if isinstance(error, httpcore.RemoteProtocolError) and "disconnected" not in words:
        return errors.ProtocolError(
            f"{exchange.request}: what {where} answered isn't HTTP: {words}.", "Check port and scheme (http or https)."
        )
    return errors.Interrupted(f"{exchange.request}: {words}.", RETRY_HINT)


def _cause(error: BaseException | None, kind: type[ssl.SSLError]) -> ssl.SSLError | None:
    while error is not None:
        if isinstance(error, kind):
            return error
        error = error.__cause__ or error.__context__
    return None


def _words(error: BaseException) -> str:
    """What the outermost exception says, or what is behind it if that is only a general remark."""
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or link.__context__
    texts = [text for text in map(str, chain) if text and text != "All connection attempts failed"]
    text = texts[0] if texts else type(error).__name__
    for link in chain:
        if isinstance(link, OSError) and link.errno and (str(link) in text or not texts):
            text = os.strerror(link.errno) if link.errno > 0 else link.strerror or text
    text = plain(text).rstrip(".")
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def _proxy_label(endpoint: Endpoint) -> str:
    return Endpoint(base_url=endpoint.proxy).label


def _reach_hint(endpoint: Endpoint, words: str) -> str:
    if endpoint.ssh:
        return ssh_hint(words)
    if endpoint.uds:
        if "ermission" in words:
            return "You may not use this socket: join its group (often docker), or use another context."
        return "Is the engine running, and is this its socket?"
    if endpoint.proxy:
        return f"It was tried through the proxy {_proxy_label(endpoint)}."
    if "name" in words.lower() or "idna" in words:
        return "The name can't be resolved from here: check the address, DNS and the VPN."
    return "Check the address, the route or VPN, and that the server runs."
