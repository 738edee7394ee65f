"""A kubeconfig's cluster and user entries turned into an endpoint: TLS, proxy, impersonation and one way to log in."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import msgspec

from console.clients.endpoint import Endpoint
from console.clients.exec_plugin import plugin_from
from console.clients.kubeconfig_files import user_entry
from console.clients.oidc import OidcLogin
from console.clients.proxies import proxy_for
from console.errors import ConfigError, LoginExpired

_REMOVED_PROVIDERS = {"gcp": "gke-gcloud-auth-plugin", "azure": "kubelogin"}
# What a header's name may hold (RFC 9110, token); the rest is percent-encoded, as kubectl does for extra attributes.
_TOKEN = "!#$&'*+-.^_`|~"


class UserPlace(msgspec.Struct, frozen=True):
    """Which file holds a user, and under which name."""

    file: Path
    name: str


class _Login(Protocol):
    async def headers(self) -> dict[str, str]: ...

    def rejected(self) -> None: ...


def endpoint_of(
    where: str, cluster: Mapping[str, Any], user: Mapping[str, Any], *, env: Mapping[str, str], place: UserPlace
) -> Endpoint:
    """The endpoint of a context.

    :param where: the context in words, for messages.
    :param place: where a login made in a shell, or renewed by us, can be found again.
    :param env: whose ``HTTPS_PROXY`` and ``NO_PROXY`` count if the cluster has no ``proxy-url``, and what plugins are run in.
    :raises ConfigError: something is missing, contradicts itself or can't be decoded.
    """
    server = _server(where, cluster, user)
    plain: dict[str, Any] = {
        "base_url": server,
        "ca": _material(where, cluster, "certificate-authority"),
        "verify": not cluster.get("insecure-skip-tls-verify"),
        "server_name": str(cluster.get("tls-server-name") or ""),
        "proxy": str(cluster.get("proxy-url") or "") or proxy_for(server, env),
        "cert": _material(where, user, "client-certificate"),
        "key": _material(where, user, "client-key"),
        "headers": _impersonation(user),
    }
    if not plain["verify"] and plain["ca"]:
        raise ConfigError(
            f"{where}: a certificate authority and insecure-skip-tls-verify exclude each other.", "Remove one of them."
        )
    if plain["cert"] and not plain["key"]:
        raise ConfigError(f"{where}: the client certificate has no client-key.", "Add client-key or client-key-data.")
    login = _login(where, user, place, env)
    if login is not None:
        return Endpoint(**plain, auth=login.headers, rejected=login.rejected, login_hint=_hint(user))
    plugin = plugin_from(where, user.get("exec"), cluster, plain, env)
    if plugin is None:
        return Endpoint(**plain, login_hint=_hint(user))
    return Endpoint(
        **plain, auth=plugin.headers, certificate=plugin.certificate, rejected=plugin.rejected, login_hint=plugin.login_hint
    )


def _server(where: str, cluster: Mapping[str, Any], user: Mapping[str, Any]) -> str:
    server = str(cluster.get("server") or "").strip()
    if not server:
        raise ConfigError(f"{where}: its cluster has no server.", "Add the address of the API server.")
    if "://" not in server:
        tls = any(
            cluster.get(key) for key in ("certificate-authority", "certificate-authority-data", "insecure-skip-tls-verify")
        ) or any(user.get(key) for key in ("client-certificate", "client-certificate-data"))
        server = f"{'https' if tls else 'http'}://{server}"
    if not server.startswith(("http://", "https://")):
        raise ConfigError(f"{where}: the server's address is neither http nor https.")
    return server


def _material(where: str, entry: Mapping[str, Any], key: str) -> bytes | str:
    """PEM by value (``…-data``, base64), which wins, or the path."""
    data = entry.get(f"{key}-data")
    if data:
        try:
            return base64.b64decode("".join(str(data).split()), validate=True)
        except (binascii.Error, ValueError) as error:
            raise ConfigError(f"{where}: {key}-data is not base64.") from error
    return str(entry.get(key) or "") or b""


def _login(where: str, user: Mapping[str, Any], place: UserPlace, env: Mapping[str, str]) -> _Login | None:
    """The user's way to log in by headers; None if there is none or it is an exec plugin."""
    token, token_file = str(user.get("token") or ""), str(user.get("tokenFile") or "")
    name = str(user.get("username") or "")
    if (token or token_file) and name:
        raise ConfigError(f"{where}: its user has a token and a password.", "Keep one of them.")
    if token_file:
        return _TokenFile(Path(token_file), token)
    if token or name:
        return _Constant(user, place)
    provider = user.get("auth-provider")
    if not isinstance(provider, dict):
        return None
    if user.get("exec"):
        raise ConfigError(f"{where}: its user has an exec plugin and an auth provider.", "Keep one of them.")
    kind = str(provider.get("name") or "")
    if kind == "oidc":
        return OidcLogin(where, provider.get("config") or {}, str(place.file), place.name, env=env)
    hint = f"Use an exec plugin instead: {_REMOVED_PROVIDERS[kind]}." if kind in _REMOVED_PROVIDERS else ""
    raise ConfigError(f"{where}: the auth provider {kind!r} is not supported (kubectl dropped it too).", hint)


class _Constant:
    """A token or a password as the file has it; read again once it was refused, since a login in a shell changes the file."""

    def __init__(self, user: Mapping[str, Any], place: UserPlace) -> None:
        self._value = _authorization(user)
        self._place = place

    async def headers(self) -> dict[str, str]:
        return {"Authorization": self._value}

    def rejected(self) -> None:
        self._value = _authorization(user_entry(self._place.file, self._place.name)) or self._value


def _authorization(user: Mapping[str, Any]) -> str:
    if user.get("token"):
        return f"Bearer {user['token']}"
    if user.get("username"):
        return "Basic " + base64.b64encode(f"{user['username']}:{user.get('password') or ''}".encode()).decode()
    return ""


class _TokenFile:
    """Tokens of pods are replaced about hourly: the file is read for each request, the last good token bridges a gap."""

    def __init__(self, path: Path, last: str) -> None:
        self._path = path
        self._last = last

    async def headers(self) -> dict[str, str]:
        try:
            self._last = self._path.read_text("utf-8").strip() or self._last
        except (OSError, UnicodeDecodeError) as error:
            if not self._last:
                raise LoginExpired(f"{self._path}: the token can't be read.", "Check the file named by tokenFile.") from error
        return {"Authorization": f"Bearer {self._last}"}

    def rejected(self) -> None:
        self._last = ""


def _impersonation(user: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    headers: list[tuple[str, str]] = []
    if user.get("as"):
        headers.append(("Impersonate-User", str(user["as"])))
    if user.get("as-uid"):
        headers.append(("Impersonate-Uid", str(user["as-uid"])))
    headers += [("Impersonate-Group", str(group)) for group in user.get("as-groups") or ()]
    for key, values in (user.get("as-user-extra") or {}).items():
        name = f"Impersonate-Extra-{quote(str(key).lower(), safe=_TOKEN)}"
        headers += [(name, str(value)) for value in values or ()]
    return tuple(headers)


def _hint(user: Mapping[str, Any]) -> str:
    if user.get("auth-provider"):
        return "Log in again at the identity provider, in the way you made this kubeconfig's login."
    if user.get("client-certificate") or user.get("client-certificate-data"):
        return "The client certificate may have expired: get a new one for this kubeconfig."
    return "The token or password in the kubeconfig is not accepted: get a new one, then reconnect."
