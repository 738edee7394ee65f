"""OpenID Connect logins of a kubeconfig: the ID token while it is valid, then a new one by the refresh token.

Sources: OpenID Connect Core 1.0 (section 12, refresh), OpenID Connect Discovery 1.0 (section 4.3: the issuer found must be the
issuer asked), RFC 6749 section 2.3.1 (client credentials).
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from console import errors
from console.clients.answers import plain
from console.clients.endpoint import Endpoint
from console.clients.kubeconfig_files import replace_tokens, user_entry
from console.clients.proxies import proxy_for
from console.kit.timing import Clock, SystemClock

if TYPE_CHECKING:
    from console.clients.http import HttpClient

_EARLY = timedelta(seconds=10)
_HINT = "Log in again at the identity provider, in the way this kubeconfig's login was made."


class _Discovery(msgspec.Struct, frozen=True):
    issuer: str
    token_endpoint: str
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class _Tokens(msgspec.Struct, frozen=True):
    id_token: str = ""
    refresh_token: str = ""


_DISCOVERY = msgspec.json.Decoder(_Discovery)
_TOKENS = msgspec.json.Decoder(_Tokens)


def expiry(token: str) -> datetime | None:
    """When a JWT expires (its ``exp`` claim); None if it doesn't say. The signature is the API server's business."""
    try:
        payload = token.split(".")[1]
        claims = msgspec.json.decode(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return datetime.fromtimestamp(float(claims["exp"]), UTC)
    except (IndexError, KeyError, TypeError, ValueError, OverflowError, binascii.Error, msgspec.DecodeError):
        return None


class OidcLogin:
    """One user's login.

    :param where: the context in words. :param config: the ``auth-provider.config`` as written.
    :param file: the kubeconfig that holds it under user ``name``: read again before a refresh (perhaps kubectl was faster), and
        given the new tokens after one.
    """

    def __init__(
        self,
        where: str,
        config: Mapping[str, Any],
        file: str,
        name: str,
        *,
        env: Mapping[str, str],
        clock: Clock | None = None,
    ) -> None:
        self._where = where
        self._config = {str(key): str(value) for key, value in config.items() if value is not None}
        self._file, self._name = Path(file), name
        self._env = env
        self._clock = clock or SystemClock()
        self._refused = ""
        self._running: asyncio.Task[str] | None = None

    async def headers(self) -> dict[str, str]:
        """The Authorization header; raises :class:`LoginExpired` when only a person can help."""
        token = self._config.get("id-token", "")
        if not self._valid(token):
            task = self._running
            if task is None or task.done():
                task = self._running = asyncio.create_task(self._renew(), name=f"login of {self._where}")
            # A refresh token may count only once: who stops waiting must not stop the exchange.
            token = await asyncio.shield(task)
        return {"Authorization": f"Bearer {token}"}

    def rejected(self) -> None:
        """The server refused the present token, whatever its date says."""
        self._refused = self._config.get("id-token", "")

    def _valid(self, token: str) -> bool:
        if not token or token == self._refused:
            return False
        ends = expiry(token)
        return ends is None or ends - _EARLY > self._clock.now()

    async def _renew(self) -> str:
        provider = user_entry(self._file, self._name).get("auth-provider")
        config = provider.get("config") if isinstance(provider, dict) else None
        if isinstance(config, dict):
            self._config |= {str(key): str(value) for key, value in config.items() if value is not None}
        if self._valid(self._config.get("id-token", "")):
            return self._config["id-token"]
        old = dict(self._config)
        if not old.get("refresh-token") or not old.get("idp-issuer-url"):
            raise errors.LoginExpired(f"{self._where}: the login has expired, and there is nothing to renew it with.", _HINT)
        tokens = await self._refresh(old)
        self._config["id-token"] = tokens.id_token
        self._config["refresh-token"] = tokens.refresh_token or old["refresh-token"]
        changed = {old[key]: self._config[key] for key in ("id-token", "refresh-token") if old.get(key)}
        replace_tokens(self._file, changed)
        return tokens.id_token

    async def _refresh(self, config: Mapping[str, str]) -> _Tokens:
        issuer = config["idp-issuer-url"]
        try:
            discovery = await self._discover(issuer)
            tokens = await self._exchange(discovery, config)
        except errors.ConnectionProblem as error:
            raise errors.Unreachable(f"{self._where}: its identity provider can't be asked: {error}", error.hint) from error
        except (errors.ApiError, errors.LoginExpired) as error:
            raise errors.LoginExpired(f"{self._where}: the login could not be renewed: {error}", _HINT) from error
        if not tokens.id_token:
            raise errors.LoginExpired(
                f"{self._where}: {urlsplit(issuer).hostname} renewed the login without an ID token.", _HINT
            )
        return tokens

    async def _discover(self, issuer: str) -> _Discovery:
        client = self._client(issuer)
        try:
            response = await client.request("GET", "/.well-known/openid-configuration", timeout=15)
        finally:
            await client.close()
        discovery = response.decode(_DISCOVERY)
        if discovery.issuer.rstrip("/") != issuer.rstrip("/"):
            raise errors.ProtocolError(
                f"{self._where}: the identity provider at {urlsplit(issuer).hostname} calls itself {plain(discovery.issuer)}.",
                "Correct idp-issuer-url; the refresh token was not sent.",
            )
        return discovery

    async def _exchange(self, discovery: _Discovery, config: Mapping[str, str]) -> _Tokens:
        target = urlsplit(discovery.token_endpoint)
        form = {"grant_type": "refresh_token", "refresh_token": config["refresh-token"]}
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        client_id, secret = config.get("client-id", ""), config.get("client-secret", "")
        if secret and "client_secret_basic" in discovery.token_endpoint_auth_methods_supported:
            pair = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            form |= {"client_id": client_id, **({"client_secret": secret} if secret else {})}
        client = self._client(f"{target.scheme}://{target.netloc}")
        path = (target.path or "/") + (f"?{target.query}" if target.query else "")
        try:
            response = await client.request("POST", path, content=urlencode(form).encode(), headers=headers, timeout=15)
        finally:
            await client.close()
        return response.decode(_TOKENS)

    def _client(self, url: str) -> HttpClient:
        if not url.startswith("https://"):
            raise errors.ConfigError(
                f"{self._where}: its identity provider is not reached by https.", "Tokens are not sent in the clear."
            )
        ca: bytes | str = self._config.get("idp-certificate-authority", "")
        if data := self._config.get("idp-certificate-authority-data"):
            try:
                ca = base64.b64decode(data, validate=True)
            except binascii.Error as error:
                raise errors.ConfigError(f"{self._where}: idp-certificate-authority-data is not base64.") from error
        # Few logins need it, and the wire is not loaded before the first paint.
        from console.clients.http import HttpClient

        return HttpClient(Endpoint(base_url=url, ca=ca, proxy=proxy_for(url, self._env)))
