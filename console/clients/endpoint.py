"""Where a server is, how it is reached and who we are there: everything one HTTP client needs to know, and no more."""

from __future__ import annotations

import contextlib
import os
import ssl
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from console.errors import ConfigError

Headers = Callable[[], Awaitable[dict[str, str]]]
ClientCertificate = Callable[[], Awaitable[tuple[bytes, bytes] | None]]


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One server.

    ``base_url`` is ``http(s)://host[:port][/prefix]``; with ``uds`` (path of a unix socket) or ``ssh``
    (``ssh://[user@]host[:port][/path/of/remote.sock]``) its host is only a name for the ``Host`` header.
    ``ca``, ``cert`` and ``key`` are PEM as bytes, or a path as str; an empty ``ca`` means the system's authorities, a given one
    means *only* that one. ``server_name`` replaces the host when the certificate is checked. ``proxy`` is an URL (``http``,
    ``https``, ``socks5`` or ``socks5h``); the environment is never consulted here.

    ``auth`` gives the headers of this very request (and may refresh a token to do so), ``certificate`` a client certificate and
    key that may change in the course of time, ``rejected`` is told when the server refused what they gave.
    ``headers`` are constant and may repeat a name. ``login_hint`` says how a person logs in again.
    """

    base_url: str
    uds: str = ""
    ssh: str = ""
    ca: bytes | str = b""
    cert: bytes | str = b""
    key: bytes | str = b""
    verify: bool = True
    server_name: str = ""
    proxy: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    auth: Headers | None = None
    certificate: ClientCertificate | None = None
    rejected: Callable[[], None] | None = None
    login_hint: str = ""
    connect_timeout: float = 10.0

    def __repr__(self) -> str:
        return f"Endpoint({self.label!r})"

    @property
    def label(self) -> str:
        """The address in words, without credentials: ``host:port``, ``unix:///path`` or ``ssh://user@host``."""
        if self.ssh:
            return self.ssh
        if self.uds:
            return f"unix://{self.uds}"
        parts = urlsplit(self.base_url)
        return f"{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"

    @property
    def secure(self) -> bool:
        """Whether TLS is spoken."""
        return self.base_url.startswith("https://")


def tls_context(endpoint: Endpoint, certificate: tuple[bytes, bytes] | None = None) -> ssl.SSLContext:
    """The TLS settings of an endpoint; raises :class:`ConfigError` naming the file or field that can't be used.

    A given authority is the only one trusted: ``SSL_CERT_FILE``, ``REQUESTS_CA_BUNDLE`` and the like have no say in it.

    :param certificate: PEM of client certificate and key that take the place of the endpoint's own.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not endpoint.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif endpoint.ca:
        _load_authority(context, endpoint.ca)
    else:
        context.load_default_certs()
    cert, key = certificate or (endpoint.cert, endpoint.key)
    if cert:
        _load_certificate(context, cert, key or cert)
    return context


def _load_authority(context: ssl.SSLContext, authority: bytes | str) -> None:
    name = authority if isinstance(authority, str) else "the certificate authority data"
    try:
        if isinstance(authority, str):
            context.load_verify_locations(cafile=authority)
        else:
            context.load_verify_locations(cadata=authority.decode("ascii"))
    except FileNotFoundError as error:
        raise ConfigError(f"{name}: there is no such certificate authority file") from error
    except (ssl.SSLError, OSError, ValueError) as error:
        raise ConfigError(f"{name} can't be read as PEM certificates: {_words(error)}") from error


def _load_certificate(context: ssl.SSLContext, cert: bytes | str, key: bytes | str) -> None:
    with contextlib.ExitStack() as stack:
        cert_path, key_path = (_as_path(stack, value) for value in (cert, key))
        name = cert if isinstance(cert, str) else "the client certificate data"
        try:
            context.load_cert_chain(cert_path, key_path, password=_no_passphrase)
        except FileNotFoundError as error:
            missing = " or ".join(value for value in (cert, key) if isinstance(value, str))
            raise ConfigError(f"{missing}: there is no such client certificate or key file") from error
        except (ssl.SSLError, OSError, ValueError) as error:
            raise ConfigError(f"{name} and its key can't be used: {_words(error)}") from error


def _as_path(stack: contextlib.ExitStack, value: bytes | str) -> str:
    """OpenSSL loads keys from files only: data goes through a file that only we can read, for as long as loading takes."""
    if isinstance(value, str):
        return value
    descriptor, path = tempfile.mkstemp(prefix="quarterdeck-")
    stack.callback(Path(path).unlink)
    with os.fdopen(descriptor, "wb") as file:
        file.write(value)
    return path


def _no_passphrase() -> bytes:
    # Without this OpenSSL would ask on the terminal, which is our screen.
    raise ValueError("the key is protected by a passphrase, which can't be asked for here")


def _words(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return error.reason.replace("_", " ").lower() if error.reason else "not PEM"
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
